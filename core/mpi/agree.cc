#include "core/mpi/agree.h"

#include <algorithm>
#include <bit>

#include "core/mpi/world.h"

namespace sesame::mpi {
namespace {

const DatatypeObject& int_type() { return *this_rank().datatypes.find(MPI_INT); }

void take_greater(std::span<int> values, std::span<const int> others) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], others[i]);
}

// Agreements draw their numbers from this many series.
constexpr uint32_t kSeries = 32;
constexpr uint32_t kSeriesStep = 4;  // as many contexts as one agreement takes at most

// The least free number in a series that depends on who asks and how often it has failed.
uint32_t proposal_apart(uint32_t next_free, uint64_t identity, uint64_t attempt) {
  uint64_t mixed = (identity + attempt * 0x632be59bd9b4e019ull) * 0x9e3779b97f4a7c15ull;
  mixed ^= mixed >> 32;
  const auto series = static_cast<uint32_t>(mixed % kSeries) * kSeriesStep;
  constexpr uint32_t kPeriod = kSeries * kSeriesStep;
  return next_free + (series + kPeriod - next_free % kPeriod) % kPeriod;
}

}  // namespace

Circle::Circle(Transfer& transfer)
    : transfer_(transfer), size_(transfer.size()), me_(transfer.rank()), int_type_(int_type()) {}

Circle::Circle(Transfer& transfer, std::vector<int> ranks, int me)
    : transfer_(transfer),
      ranks_(std::move(ranks)),
      size_(static_cast<int>(ranks_.size())),
      me_(me),
      int_type_(int_type()) {}

void Circle::send(std::span<const int> values, int to) {
  transfer_.send(values.data(), static_cast<Count>(values.size()), int_type_, peer(to));
}

void Circle::receive(std::span<int> values, int from) {
  transfer_.receive(values.data(), static_cast<Count>(values.size()), int_type_, peer(from));
}

// Recursive doubling among the greatest power of two; the first ranks beyond it fold in pairs.
void Circle::maximum(std::span<int> values) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  const int extra = size_ - power;
  std::vector<int> others(values.size());
  const bool folded = me_ < 2 * extra;
  if (folded && me_ % 2 == 0) {
    send(values, me_ + 1);
    receive(values, me_ + 1);
    return;
  }
  if (folded) {
    receive(others, me_ - 1);
    take_greater(values, others);
  }
  const int place = folded ? me_ / 2 : me_ - extra;
  for (int mask = 1; mask < power; mask *= 2) {
    const int other = place ^ mask;
    const int partner = other < extra ? other * 2 + 1 : other + extra;
    transfer_.send_receive(values.data(), static_cast<Count>(values.size()), int_type_,
                           peer(partner), others.data(), static_cast<Count>(others.size()),
                           int_type_, peer(partner));
    take_greater(values, others);
  }
  if (folded) send(values, me_ - 1);
}

// In round k everyone has 2^k blocks in a row, its own first, and gets as many from behind.
std::vector<int> Circle::gather_to_all(std::span<const int> mine) {
  const size_t block = mine.size();
  std::vector<int> all(block * static_cast<size_t>(size_));
  std::copy(mine.begin(), mine.end(), all.begin());
  for (int have = 1; have < size_; have *= 2) {
    const int more = std::min(have, size_ - have);
    const auto count = static_cast<Count>(block) * more;
    transfer_.send_receive(all.data(), count, int_type_, peer((me_ - have + size_) % size_),
                           all.data() + block * static_cast<size_t>(have), count, int_type_,
                           peer((me_ + have) % size_));
  }
  const size_t own_place = block * static_cast<size_t>(me_);
  std::rotate(all.begin(), all.end() - static_cast<long>(own_place), all.end());
  return all;
}

void Circle::broadcast_fixed(std::span<int> values, int root) {
  const int place = (me_ - root + size_) % size_;
  int mask = 1;
  while (mask < size_ && (place & mask) == 0) mask *= 2;
  if (place != 0) receive(values, (me_ - mask + size_) % size_);
  for (mask /= 2; mask > 0; mask /= 2) {
    if (place + mask < size_) send(values, (me_ + mask) % size_);
  }
}

void Circle::broadcast(std::vector<int>& values, int root) {
  int length = static_cast<int>(values.size());
  broadcast_fixed(std::span(&length, 1), root);
  values.resize(static_cast<size_t>(length));
  if (length > 0) broadcast_fixed(values, root);
}

std::vector<int> exchange_lists(Transfer& transfer, const std::vector<int>& mine, int peer) {
  const DatatypeObject& type = int_type();
  const int my_length = static_cast<int>(mine.size());
  int length = 0;
  transfer.send_receive(&my_length, 1, type, peer, &length, 1, type, peer);
  std::vector<int> theirs(static_cast<size_t>(length));
  transfer.send_receive(mine.data(), my_length, type, peer, theirs.data(), length, type, peer);
  return theirs;
}

std::vector<int> exchange_between_groups(Transfer& inter, std::vector<int> mine) {
  Transfer local = inter.local();
  Circle circle(local);
  std::vector<int> theirs;
  if (inter.rank() == 0) theirs = exchange_lists(inter, mine, 0);
  circle.broadcast(theirs, 0);
  return theirs;
}

void maximum_of_both_groups(Transfer& inter, std::span<int> values) {
  Transfer local = inter.local();
  Circle circle(local);
  circle.maximum(values);
  take_greater(values, exchange_between_groups(inter, {values.begin(), values.end()}));
}

uint32_t agree_on_context(Rank& rank, uint32_t count, AgreementKind kind,
                          const std::function<void(std::span<int>)>& maximum) {
  int& under_way = rank.objects.agreements;
  const bool contended = kind.concurrent || under_way > 0;
  ++under_way;
  for (uint64_t attempt = 0;; ++attempt) {
    const bool apart = kind.concurrent || attempt > 0;
    const uint32_t mine =
        apart ? proposal_apart(rank.next_context, kind.identity, attempt) : rank.next_context;
    int proposal[2] = {static_cast<int>(mine), contended ? 1 : 0};
    maximum(proposal);
    const auto context = static_cast<uint32_t>(proposal[0]);
    int refused = context < rank.next_context ? 1 : 0;
    if (refused == 0) rank.next_context = context + count;
    if (proposal[1] != 0) maximum(std::span(&refused, 1));
    if (refused != 0) continue;
    --under_way;
    return context;
  }
}

}  // namespace sesame::mpi
