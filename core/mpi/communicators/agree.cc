#include "core/mpi/communicators/agree.h"

#include <algorithm>
#include <bit>

#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {
namespace {

const DatatypeObject& int_type() { return *this_rank().datatypes.find(MPI_INT); }

void keep_greater(std::span<int> values, std::span<const int> others) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], others[i]);
}

// Concurrent agreements propose contexts of different series. The contexts of a series are equal
// modulo kSeries times kSeriesStep.
constexpr uint32_t kSeries = 32;
constexpr uint32_t kSeriesStep = 4;  // the most contexts that one agreement allocates

// The least free context of a series that depends on the agreement and the number of failed
// attempts.
uint32_t propose(uint32_t next_free, uint64_t identity, uint64_t attempt) {
  uint64_t mixed = (identity + attempt * 0x632be59bd9b4e019ull) * 0x9e3779b97f4a7c15ull;
  mixed ^= mixed >> 32;
  const auto series = static_cast<uint32_t>(mixed % kSeries) * kSeriesStep;
  constexpr uint32_t kPeriod = kSeries * kSeriesStep;
  return next_free + (series + kPeriod - next_free % kPeriod) % kPeriod;
}

}  // namespace

ControlGroup::ControlGroup(Transfer& transfer)
    : transfer_(transfer), size_(transfer.size()), me_(transfer.rank()), int_type_(int_type()) {}

ControlGroup::ControlGroup(Transfer& transfer, MembersRef members, int me)
    : transfer_(transfer),
      members_(std::move(members)),
      size_(members_->size()),
      me_(me),
      int_type_(int_type()) {}

int ControlGroup::peer(int number) const {
  return members_ == nullptr ? number : transfer_.comm().local->rank_of((*members_)[number]);
}

void ControlGroup::send(std::span<const int> values, int to) {
  transfer_.send(values.data(), static_cast<Count>(values.size()), int_type_, peer(to));
}

void ControlGroup::receive(std::span<int> values, int from) {
  transfer_.receive(values.data(), static_cast<Count>(values.size()), int_type_, peer(from));
}

// Recursive doubling among the greatest power of two of ranks. If there are more ranks, the first
// ones form pairs, and the odd rank of a pair takes part for both.
void ControlGroup::maximum(std::span<int> values) {
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
    keep_greater(values, others);
  }
  const int number = folded ? me_ / 2 : me_ - extra;
  for (int mask = 1; mask < power; mask *= 2) {
    const int other = number ^ mask;
    const int partner = other < extra ? other * 2 + 1 : other + extra;
    transfer_.send_receive(values.data(), static_cast<Count>(values.size()), int_type_,
                           peer(partner), others.data(), static_cast<Count>(others.size()),
                           int_type_, peer(partner));
    keep_greater(values, others);
  }
  if (folded) send(values, me_ - 1);
}

// In round k each rank has 2^k consecutive blocks, its own first, and receives as many. At the end
// each rank has received a message from every other rank, directly or through others. All ranks
// have therefore written their values to the list.
SharedListRef ControlGroup::gather_to_all(std::span<const int> mine) {
  if (this_rank().world.remote != nullptr) return gather_copies(mine);
  const size_t block = mine.size();
  const CommObject& comm = transfer_.comm();
  SharedListRef all = this_rank().world.shared_lists.find_or_create(
      {comm.context, transfer_.tag(), (*comm.local)[0]}, block * static_cast<size_t>(size_));
  std::copy(mine.begin(), mine.end(),
            all->values.begin() + static_cast<ptrdiff_t>(block) * static_cast<ptrdiff_t>(me_));
  for (int have = 1; have < size_; have *= 2) {
    const int more = std::min(have, size_ - have);
    transfer_.send_receive_length(static_cast<Count>(block) * more, int_type_,
                                  peer((me_ - have + size_) % size_), peer((me_ + have) % size_));
  }
  return all;
}

// The same where workers share no memory: the messages carry the blocks, which are in the order in
// which they arrive until the end.
SharedListRef ControlGroup::gather_copies(std::span<const int> mine) {
  const int block = static_cast<int>(mine.size());
  std::vector<int> found(mine.size() * static_cast<size_t>(size_));
  std::ranges::copy(mine, found.begin());
  for (int have = 1; have < size_; have *= 2) {
    const Count count = Count{block} * std::min(have, size_ - have);
    transfer_.send_receive(found.data(), count, int_type_, peer((me_ - have + size_) % size_),
                           found.data() + static_cast<ptrdiff_t>(have) * block, count, int_type_,
                           peer((me_ + have) % size_));
  }
  std::ranges::rotate(found, found.end() - static_cast<ptrdiff_t>(me_) * block);
  auto all = std::make_shared<SharedList>();
  all->values = std::move(found);
  return all;
}

template <typename Receive, typename Send>
void ControlGroup::follow_tree(int root, Receive receive, Send send) {
  const int number = (me_ - root + size_) % size_;
  int mask = 1;
  while (mask < size_ && (number & mask) == 0) mask *= 2;
  if (number != 0) receive((me_ - mask + size_) % size_);
  for (mask /= 2; mask > 0; mask /= 2) {
    if (number + mask < size_) send((me_ + mask) % size_);
  }
}

void ControlGroup::broadcast_fixed(std::span<int> values, int root) {
  follow_tree(
      root, [&](int from) { receive(values, from); }, [&](int to) { send(values, to); });
}

void ControlGroup::broadcast(std::vector<int>& values, int root) {
  int length = static_cast<int>(values.size());
  broadcast_fixed(std::span(&length, 1), root);
  values.resize(static_cast<size_t>(length));
  if (length > 0) broadcast_fixed(values, root);
}

// The root broadcasts the address of a parcel that has the list. The parcel exists until the last
// rank has taken its reference to the list, since the root may return before that.
SharedListRef ControlGroup::broadcast_shared(std::vector<int> values, int root) {
  if (this_rank().world.remote != nullptr) return broadcast_copies(std::move(values), root);
  struct Parcel {
    SharedListRef list;
    int takers;  // ranks that have not taken their reference yet
  };
  Parcel* parcel = nullptr;
  int words[3] = {static_cast<int>(values.size()), 0, 0};
  if (me_ == root) {
    parcel = new Parcel{std::make_shared<SharedList>(), size_};
    parcel->list->values = std::move(values);
    const auto address = reinterpret_cast<uintptr_t>(parcel);
    words[1] = static_cast<int>(address >> 32);
    words[2] = static_cast<int>(address & 0xffffffff);
  }
  broadcast_fixed(words, root);
  parcel = reinterpret_cast<Parcel*>(static_cast<uintptr_t>(static_cast<uint32_t>(words[1])) << 32 |
                                     static_cast<uint32_t>(words[2]));
  SharedListRef list = parcel->list;
  if (--parcel->takers == 0) delete parcel;
  if (const int length = words[0]; length > 0) {
    follow_tree(
        root, [&](int from) { transfer_.receive_length(length, int_type_, peer(from)); },
        [&](int to) { transfer_.send_length(length, int_type_, peer(to)); });
  }
  return list;
}

// The same where workers share no memory, with the same messages.
SharedListRef ControlGroup::broadcast_copies(std::vector<int> values, int root) {
  int words[3] = {static_cast<int>(values.size()), 0, 0};
  broadcast_fixed(words, root);
  values.resize(static_cast<size_t>(words[0]));
  if (!values.empty()) broadcast_fixed(values, root);
  auto list = std::make_shared<SharedList>();
  list->values = std::move(values);
  return list;
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

SharedListRef exchange_between_groups(Transfer& inter, const std::vector<int>& mine) {
  Transfer local = inter.local();
  std::vector<int> theirs;
  if (inter.rank() == 0) theirs = exchange_lists(inter, mine, 0);
  return ControlGroup(local).broadcast_shared(std::move(theirs), 0);
}

void maximum_of_both_groups(Transfer& inter, std::span<int> values) {
  Transfer local = inter.local();
  ControlGroup control(local);
  control.maximum(values);
  const SharedListRef theirs = exchange_between_groups(inter, {values.begin(), values.end()});
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], theirs->values[i]);
}

// Other strands of the rank may allocate contexts, too. They do so in the order of simulated time.
static void await_turn(Rank& rank) {
  if (rank.interface.has_contenders()) yield_until_now(self());
}

uint32_t agree_on_context(Rank& rank, uint32_t count, AgreementKind kind,
                          const std::function<void(std::span<int>)>& maximum) {
  int& in_progress = rank.objects.agreements;
  await_turn(rank);
  const bool contended = kind.concurrent || in_progress > 0;
  ++in_progress;
  for (uint64_t attempt = 0;; ++attempt) {
    const bool apart = kind.concurrent || attempt > 0;
    const uint32_t mine =
        apart ? propose(rank.next_context, kind.identity, attempt) : rank.next_context;
    int proposal[2] = {static_cast<int>(mine), contended ? 1 : 0};
    maximum(proposal);
    await_turn(rank);
    const auto context = static_cast<uint32_t>(proposal[0]);
    int refused = context < rank.next_context ? 1 : 0;
    if (refused == 0) rank.next_context = context + count;
    if (proposal[1] != 0) {
      maximum(std::span(&refused, 1));
      await_turn(rank);
    }
    if (refused != 0) continue;
    --in_progress;
    return context;
  }
}

}  // namespace sesame::mpi
