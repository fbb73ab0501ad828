#include "core/postprocess/columns.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "core/base/check.h"

namespace sesame::postprocess {
namespace {

// Rows of one block stay in the cache while its columns are filled.
constexpr size_t kBlock = 128;

template <typename Row>
struct Block {
  const RowStore<Row>& rows;
  const uint32_t* order;
  size_t from;
  size_t count;

  const Row& row(size_t i) const { return rows[order == nullptr ? from + i : order[from + i]]; }
};

template <typename Row, typename T, typename Get>
void fill(const Block<Row>& block, T* out, Get get) {
  for (size_t i = 0; i < block.count; ++i) out[i] = get(block.row(i));
}

template <typename Row>
void fill_times(const Block<Row>& block, const HostClock& clock, int64_t* out) {
  if (clock.drift == 0) {
    fill(block, out, [&](const Row& row) { return row.begin + clock.offset; });
  } else {
    fill(block, out, [&](const Row& row) { return clock.at(row.begin); });
  }
}

// Never destroyed: batches may live as long as the interpreter.
struct SpareMemory {
  static constexpr size_t kMostPieces = 64;
  std::mutex lock;
  std::unordered_map<size_t, std::vector<void*>> pieces;  // by size
};

SpareMemory& spare_memory() {
  static auto* spare = new SpareMemory;
  return *spare;
}

}  // namespace

ColumnMemory::ColumnMemory(size_t bytes) : bytes_(bytes), memory_(nullptr) {
  SpareMemory& spare = spare_memory();
  {
    std::lock_guard guard(spare.lock);
    std::vector<void*>& pieces = spare.pieces[bytes];
    if (!pieces.empty()) {
      memory_ = pieces.back();
      pieces.pop_back();
    }
  }
  if (memory_ == nullptr) memory_ = std::malloc(bytes);
  CHECK(memory_ != nullptr);
}

ColumnMemory::~ColumnMemory() {
  SpareMemory& spare = spare_memory();
  std::lock_guard guard(spare.lock);
  std::vector<void*>& pieces = spare.pieces[bytes_];
  if (pieces.size() < SpareMemory::kMostPieces) {
    pieces.push_back(memory_);
  } else {
    std::free(memory_);
  }
}

IoColumns::IoColumns(size_t most)
    : room(most),
      rank(most),
      thread(most),
      begin_ns(most),
      duration_ns(most),
      call(most),
      file(most),
      other_file(most),
      handle(most),
      offset(most),
      size(most),
      bytes(most),
      comm(most),
      completion(most),
      error(most),
      flags(most) {}

void IoColumns::append(const RowOrigin& origin, const RowStore<IoRow>& source,
                       const uint32_t* order, size_t from, size_t count) {
  auto file_of = [&](int32_t number) {
    return number < 0 ? -1 : (*origin.files)[static_cast<size_t>(number)];
  };
  for (size_t done = 0; done < count; done += kBlock) {
    Block<IoRow> block{source, order, from + done, std::min(kBlock, count - done)};
    std::fill_n(rank.data() + rows, block.count, origin.rank);
    std::fill_n(thread.data() + rows, block.count, origin.thread);
    fill_times(block, origin.clock, begin_ns.data() + rows);
    fill(block, duration_ns.data() + rows, [](const IoRow& row) { return row.duration; });
    fill(block, call.data() + rows, [&](const IoRow& row) { return (*origin.calls)[row.call]; });
    fill(block, file.data() + rows, [&](const IoRow& row) { return file_of(row.file); });
    fill(block, other_file.data() + rows,
         [&](const IoRow& row) { return file_of(row.other_file); });
    fill(block, handle.data() + rows, [](const IoRow& row) { return row.handle; });
    fill(block, offset.data() + rows, [](const IoRow& row) { return row.offset; });
    fill(block, size.data() + rows, [](const IoRow& row) { return row.size; });
    fill(block, bytes.data() + rows, [](const IoRow& row) { return row.bytes; });
    fill(block, comm.data() + rows, [](const IoRow& row) { return row.comm; });
    fill(block, completion.data() + rows, [](const IoRow& row) { return row.completion; });
    fill(block, error.data() + rows, [](const IoRow& row) { return row.error; });
    fill(block, flags.data() + rows, [](const IoRow& row) { return row.flags; });
    rows += block.count;
  }
}

MpiColumns::MpiColumns(size_t most)
    : room(most),
      rank(most),
      thread(most),
      begin_ns(most),
      duration_ns(most),
      call(most),
      comm(most),
      peer(most),
      tag(most),
      bytes(most),
      completion(most),
      made(most),
      flags(most) {}

void MpiColumns::append(const RowOrigin& origin, const RowStore<MpiRow>& source,
                        const uint32_t* order, size_t from, size_t count) {
  for (size_t done = 0; done < count; done += kBlock) {
    Block<MpiRow> block{source, order, from + done, std::min(kBlock, count - done)};
    std::fill_n(rank.data() + rows, block.count, origin.rank);
    std::fill_n(thread.data() + rows, block.count, origin.thread);
    fill_times(block, origin.clock, begin_ns.data() + rows);
    fill(block, duration_ns.data() + rows, [](const MpiRow& row) { return row.duration; });
    fill(block, call.data() + rows, [&](const MpiRow& row) { return (*origin.calls)[row.call]; });
    fill(block, comm.data() + rows, [](const MpiRow& row) { return row.comm; });
    fill(block, peer.data() + rows, [](const MpiRow& row) { return row.peer; });
    fill(block, tag.data() + rows, [](const MpiRow& row) { return row.tag; });
    fill(block, bytes.data() + rows, [](const MpiRow& row) { return row.bytes; });
    fill(block, completion.data() + rows, [](const MpiRow& row) { return row.completion; });
    fill(block, made.data() + rows, [](const MpiRow& row) { return row.made; });
    fill(block, flags.data() + rows, [](const MpiRow& row) { return row.flags; });
    rows += block.count;
  }
}

}  // namespace sesame::postprocess
