#include "io/requests/contents.h"

#include <mpi.h>

#include <algorithm>

#include "io/scramble.h"
#include "kit/ranks.h"

namespace sesame::workload::requests {
namespace {

constexpr std::uint64_t kTagMask = 0xffff;
constexpr long kBlocksAtOnce = 64;

std::uint64_t word_of(long place, Tag tag) {
  return (scramble(static_cast<std::uint64_t>(place)) & ~kTagMask) | tag;
}

}  // namespace

Tag tag_of(int rank, long number) {
  const auto key = (static_cast<std::uint64_t>(rank) << 40) + static_cast<std::uint64_t>(number);
  return static_cast<Tag>(1 + scramble(key) % kTagMask);
}

void fill(const Layout& layout, long block, long blocks, Tag tag, Words& words) {
  const long count = blocks * layout.words();
  words.resize(count);
  for (long i = 0; i < count; ++i) words[i] = word_of(block * layout.words() + i, tag);
}

Contents::Contents(const Layout& layout, bool shared)
    : layout_(layout), shared_(shared), last_(layout.blocks) {}

Block Contents::part() const {
  if (!shared_) return {0, layout_.blocks};
  return block_of(layout_.blocks, number_of_ranks(), this_rank());
}

void Contents::make(SharedFile& file) const {
  Words words;
  const Block mine = part();
  for (long block = mine.begin; block < mine.end; block += kBlocksAtOnce) {
    const long count = std::min(kBlocksAtOnce, mine.end - block);
    fill(layout_, block, count, 0, words);
    file.write(words.data(), count * layout_.block_bytes, block * layout_.block_bytes);
  }
  if (shared_) MPI_Barrier(MPI_COMM_WORLD);
}

void Contents::wrote(long block, long blocks, Tag tag) { std::fill_n(&last_[block], blocks, tag); }

long Contents::wrong(long block, long blocks, const Words& words) const {
  long result = 0;
  for (long b = 0; b < blocks; ++b) {
    bool right = true;
    for (long i = b * layout_.words(); i < (b + 1) * layout_.words(); ++i) {
      const Tag tag = shared_ ? static_cast<Tag>(words[i] & kTagMask) : last_[block + b];
      right &= words[i] == word_of(block * layout_.words() + i, tag);
    }
    result += !right;
  }
  return result;
}

std::vector<Tag> Contents::tags_of_part() const {
  if (!shared_) return last_;
  const int ranks = number_of_ranks();
  const int mine = static_cast<int>(part().size());
  std::vector<int> sent(ranks), sent_at(ranks), got(ranks, mine), got_at(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const Block block = block_of(layout_.blocks, ranks, rank);
    sent[rank] = static_cast<int>(block.size());
    sent_at[rank] = static_cast<int>(block.begin);
    got_at[rank] = rank * mine;
  }
  std::vector<Tag> tags(static_cast<std::size_t>(ranks) * mine);
  MPI_Alltoallv(last_.data(), sent.data(), sent_at.data(), MPI_UINT16_T, tags.data(), got.data(),
                got_at.data(), MPI_UINT16_T, MPI_COMM_WORLD);
  return tags;
}

long Contents::right_at_the_end(SharedFile& file) const {
  const Block mine = part();
  const std::vector<Tag> tags = tags_of_part();
  Words words(layout_.words());
  std::vector<Tag> possible;
  long right = 0;
  for (long block = mine.begin; block < mine.end; ++block) {
    possible.clear();
    for (std::size_t at = block - mine.begin; at < tags.size(); at += mine.size()) {
      if (tags[at] != 0) possible.push_back(tags[at]);
    }
    if (possible.empty()) possible.push_back(0);  // no rank wrote
    file.read(words.data(), layout_.block_bytes, block * layout_.block_bytes);
    bool all = true;
    for (long i = 0; i < layout_.words(); ++i) {
      const Tag tag = static_cast<Tag>(words[i] & kTagMask);
      all &= words[i] == word_of(block * layout_.words() + i, tag);
      all &= std::find(possible.begin(), possible.end(), tag) != possible.end();
    }
    right += all;
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return right;
}

}  // namespace sesame::workload::requests
