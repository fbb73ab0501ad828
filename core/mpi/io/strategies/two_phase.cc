// Two-phase I/O (del Rosario, Bordawekar and Choudhary, "Improved parallel I/O via a two-phase
// run-time access strategy", 1993) in ROMIO's general form (Thakur, Gropp and Lusk, 1999). Steps,
// messages and windows are those of its ad_read_coll.c and ad_write_coll.c.
//
// Many small, interleaved extents of the ranks become few large accesses of aggregators. The range
// that all ranks access together is divided into one domain for each aggregator. Every rank sends
// each aggregator the list of its extents in that domain. Then all ranks run the same number of
// rounds. In each, an aggregator accesses the next window of its domain, a cb_buffer_size long, and
// exchanges the bytes of the window with the ranks that requested them. Reads access the file first
// and then send; writes receive first.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/mpi/collectives/allreduce.h"
#include "core/mpi/collectives/alltoall.h"
#include "core/mpi/collectives/workspace.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/sorted_request.h"
#include "core/mpi/io/strategies/aggregation.h"
#include "core/mpi/io/strategies/file_domains.h"
#include "core/mpi/io/strategies/strategies.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using collectives::byte_type;
using collectives::RequestBatch;
using collectives::Source;
using collectives::Target;
using storage::Extent;

// The smallest range that contains the requests of all ranks; empty if all requests are.
Extent agree_on_range(Transfer& transfer, const SortedRequest& sorted) {
  // The greatest end, and the smallest start as the greatest distance from UINT64_MAX.
  std::array<uint64_t, 2> bounds{};
  if (!sorted.empty()) bounds = {sorted.end(), UINT64_MAX - sorted.begin()};
  Rank& rank = this_rank();
  const collectives::Reduction greatest{2, DatatypeRef(rank.datatypes.find(MPI_UINT64_T)),
                                        OpRef(rank.ops.find(MPI_MAX))};
  collectives::allreduce(transfer, MPI_IN_PLACE, bounds.data(), greatest);
  const uint64_t begin = UINT64_MAX - bounds[1];
  return bounds[0] == 0 ? Extent{} : Extent{begin, bounds[0] - begin};
}

class TwoPhase {
 public:
  TwoPhase(Strand& strand, Transfer& transfer, FileObject& file, SortedRequest& sorted,
           std::span<const int> aggregators)
      : strand_(strand),
        transfer_(transfer),
        file_(file),
        sorted_(sorted),
        aggregators_(aggregators) {}

  int run(Extent range);

 private:
  struct AggregatorShare {  // this rank's data in one aggregator's domain
    int aggregator;         // its rank
    std::span<const Extent> extents;
    std::byte* data;  // the part not moved yet
  };

  void divide_request(Extent range);
  void exchange_lists();
  std::vector<int> exchange_counts(const std::vector<int>& mine);
  int count_rounds();
  void read_round(int round);
  void write_round(int round);
  WindowExtents take_window(int round);
  int read_window(const WindowExtents& window, std::byte* buffer, uint64_t* valid);
  int write_window(const WindowExtents& window, std::byte* buffer);
  void record_error(int error) { error_ = collectives::first_error(error_, error); }

  Strand& strand_;
  Transfer& transfer_;
  FileObject& file_;
  SortedRequest& sorted_;
  std::span<const int> aggregators_;
  std::vector<Extent> extents_;
  std::vector<AggregatorShare> shares_;
  DomainRequests requests_;
  // Fits an int (machine::kLongestCollectiveBuffer). So do the bytes that one rank requests in a
  // window, because its extents do not overlap.
  uint64_t window_bytes_ = 0;
  uint64_t valid_ = 0;  // bytes read for this rank
  int error_ = MPI_SUCCESS;
};

void TwoPhase::divide_request(Extent range) {
  const FileDomains domains(range, static_cast<int>(aggregators_.size()),
                            file_.collective.cb_align);
  std::vector<DomainShare> shares;
  cut_at_domains(sorted_.extents(), domains, extents_, shares);
  std::byte* data = sorted_.data();
  for (const DomainShare& share : shares) {
    shares_.push_back({aggregators_[static_cast<size_t>(share.domain)],
                       std::span(extents_).subspan(share.first, share.count), data});
    data += share.bytes;
  }
}

// Sends each rank a number; returns the numbers that this rank received, by sender.
std::vector<int> TwoPhase::exchange_counts(const std::vector<int>& mine) {
  std::vector<int> theirs(mine.size());
  collectives::alltoall(transfer_, Source{mine.data(), sizeof(int), DatatypeRef(&byte_type())},
                        Target{theirs.data(), sizeof(int), DatatypeRef(&byte_type())});
  return theirs;
}

// Sends each aggregator the list of this rank's extents in its domain.
void TwoPhase::exchange_lists() {
  std::vector<int> counts(static_cast<size_t>(transfer_.size()));
  for (const AggregatorShare& share : shares_) {
    counts[static_cast<size_t>(share.aggregator)] = static_cast<int>(share.extents.size());
  }
  counts = exchange_counts(counts);
  std::vector<std::pair<int, std::vector<Extent>>> lists;
  for (int rank = 0; rank < transfer_.size(); ++rank) {
    const int count = counts[static_cast<size_t>(rank)];
    if (count > 0) lists.emplace_back(rank, static_cast<size_t>(count));
  }
  RequestBatch messages(lists.size() + shares_.size());
  const auto bytes_of = [](size_t count) { return static_cast<Count>(count * sizeof(Extent)); };
  for (auto& [rank, list] : lists) {
    if (rank == transfer_.rank()) continue;
    transfer_.start_receive(messages.next(), list.data(), bytes_of(list.size()), byte_type(), rank);
  }
  for (const AggregatorShare& share : shares_) {
    if (share.aggregator == transfer_.rank()) continue;
    transfer_.start_send(messages.next(), share.extents.data(), bytes_of(share.extents.size()),
                         byte_type(), share.aggregator);
  }
  transfer_.wait_all(messages.started());
  for (auto& [rank, list] : lists) {
    if (rank == transfer_.rank()) {
      const auto own = std::ranges::find(shares_, rank, &AggregatorShare::aggregator);
      list.assign(own->extents.begin(), own->extents.end());
    }
    requests_.add(rank, std::move(list));
  }
}

// The number of rounds that the aggregator with the longest domain needs.
int TwoPhase::count_rounds() {
  int rounds = 0;
  if (!requests_.empty()) {
    const uint64_t bytes = requests_.end() - requests_.begin();
    rounds = static_cast<int>((bytes + window_bytes_ - 1) / window_bytes_);
  }
  ControlGroup(transfer_).maximum({&rounds, 1});
  return rounds;
}

WindowExtents TwoPhase::take_window(int round) {
  if (requests_.empty()) return {};
  const uint64_t begin = requests_.begin() + static_cast<uint64_t>(round) * window_bytes_;
  if (begin >= requests_.end()) return {};
  return requests_.extract({begin, std::min(window_bytes_, requests_.end() - begin)});
}

// Charges an access to the whole window, or, without data sieving, to the runs in it.
int TwoPhase::read_window(const WindowExtents& window, std::byte* buffer, uint64_t* valid) {
  if (window.empty()) return MPI_SUCCESS;
  yield_for_files(strand_);
  MPI_TRY(move_bytes(file_, storage::Direction::kRead, window.runs, buffer, valid));
  const bool sieving = file_.sieves(sorted_.direction());
  charge_access_time(strand_, file_, storage::Direction::kRead,
                     sieving ? std::span(&window.range, 1) : window.runs);
  return MPI_SUCCESS;
}

int TwoPhase::write_window(const WindowExtents& window, std::byte* buffer) {
  if (window.empty()) return MPI_SUCCESS;
  if (window.has_holes() && file_.sieves(sorted_.direction())) {
    return read_modify_write(strand_, file_, window.range, window.runs, buffer);
  }
  uint64_t moved = 0;
  return access_extents(strand_, file_, storage::Direction::kWrite, window.runs, buffer, &moved);
}

// The bytes of the share that were read: those before the end of the file.
uint64_t bytes_before(const WindowExtents& window, const WindowExtents::Share& share,
                      uint64_t valid) {
  uint64_t bytes = 0;
  for (const Extent& extent : window.extents_of(share)) {
    const uint64_t offset = window.buffer_offset(extent.offset);
    if (offset >= valid) break;
    bytes += std::min(extent.bytes, valid - offset);
  }
  return bytes;
}

// Copy between a share's packed bytes and the window's buffer.
void gather_share(const WindowExtents& window, const WindowExtents::Share& share,
                  const std::byte* buffer, std::byte* packed, uint64_t bytes) {
  for (const Extent& extent : window.extents_of(share)) {
    const uint64_t length = std::min(extent.bytes, bytes);
    if (length == 0) break;
    std::memcpy(packed, buffer + window.buffer_offset(extent.offset), length);
    packed += length;
    bytes -= length;
  }
}

void scatter_share(const WindowExtents& window, const WindowExtents::Share& share,
                   const std::byte* packed, std::byte* buffer) {
  for (const Extent& extent : window.extents_of(share)) {
    std::memcpy(buffer + window.buffer_offset(extent.offset), packed, extent.bytes);
    packed += extent.bytes;
  }
}

// Where each share's bytes are contiguous: in the window's buffer itself, or in a copy.
class ShareBuffers {
 public:
  ShareBuffers(const WindowExtents& window, std::byte* buffer, bool always_copy) {
    uint64_t copied = 0;
    std::vector<bool> copies;
    for (const WindowExtents::Share& share : window.shares) {
      copies.push_back(always_copy || !window.is_contiguous(share));
      if (copies.back()) copied += share.bytes;
    }
    copy_ = std::make_unique_for_overwrite<std::byte[]>(copied);
    std::byte* next = copy_.get();
    for (size_t i = 0; i < window.shares.size(); ++i) {
      const WindowExtents::Share& share = window.shares[i];
      buffers_.push_back(
          copies[i] ? next : buffer + window.buffer_offset(window.extents[share.first].offset));
      if (copies[i]) next += share.bytes;
    }
    copies_ = std::move(copies);
  }

  std::byte* operator[](size_t share) const { return buffers_[share]; }
  bool is_copy(size_t share) const { return copies_[share]; }

 private:
  std::unique_ptr<std::byte[]> copy_;
  std::vector<std::byte*> buffers_;
  std::vector<bool> copies_;
};

void TwoPhase::read_round(int round) {
  const WindowExtents window = take_window(round);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(window.packed_bytes);
  uint64_t valid = 0;
  record_error(read_window(window, buffer.get(), &valid));
  const int me = transfer_.rank();
  std::vector<int> counts(static_cast<size_t>(transfer_.size()));
  const ShareBuffers share_buffers(window, buffer.get(), false);
  for (size_t i = 0; i < window.shares.size(); ++i) {
    const WindowExtents::Share& share = window.shares[i];
    const uint64_t bytes = bytes_before(window, share, valid);
    counts[static_cast<size_t>(share.rank)] = static_cast<int>(bytes);
    if (share_buffers.is_copy(i))
      gather_share(window, share, buffer.get(), share_buffers[i], bytes);
  }
  const std::vector<int> incoming = exchange_counts(counts);
  RequestBatch messages(window.shares.size() + shares_.size());
  for (const AggregatorShare& share : shares_) {
    const int count = incoming[static_cast<size_t>(share.aggregator)];
    if (count == 0 || share.aggregator == me) continue;
    transfer_.start_receive(messages.next(), share.data, count, byte_type(), share.aggregator);
  }
  std::byte* own = nullptr;
  for (size_t i = 0; i < window.shares.size(); ++i) {
    const int rank = window.shares[i].rank;
    const int count = counts[static_cast<size_t>(rank)];
    if (rank == me) own = share_buffers[i];
    if (count == 0 || rank == me) continue;
    transfer_.start_send(messages.next(), share_buffers[i], count, byte_type(), rank);
  }
  transfer_.wait_all(messages.started());
  for (AggregatorShare& share : shares_) {
    const auto count = static_cast<size_t>(incoming[static_cast<size_t>(share.aggregator)]);
    if (count > 0 && share.aggregator == me) std::memcpy(share.data, own, count);
    share.data += count;
    valid_ += count;
  }
}

void TwoPhase::write_round(int round) {
  const WindowExtents window = take_window(round);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(window.packed_bytes);
  const int me = transfer_.rank();
  std::vector<int> counts(static_cast<size_t>(transfer_.size()));
  for (const WindowExtents::Share& share : window.shares) {
    counts[static_cast<size_t>(share.rank)] = static_cast<int>(share.bytes);
  }
  const std::vector<int> outgoing = exchange_counts(counts);
  // If ranks write the same bytes, the highest rank wins, in whichever order messages arrive.
  const ShareBuffers share_buffers(window, buffer.get(), window.has_overlaps());
  RequestBatch messages(window.shares.size() + shares_.size());
  std::byte* own = nullptr;
  for (size_t i = 0; i < window.shares.size(); ++i) {
    const WindowExtents::Share& share = window.shares[i];
    if (share.rank == me) own = share_buffers[i];
    if (share.rank == me) continue;
    transfer_.start_receive(messages.next(), share_buffers[i], static_cast<Count>(share.bytes),
                            byte_type(), share.rank);
  }
  for (AggregatorShare& share : shares_) {
    const int count = outgoing[static_cast<size_t>(share.aggregator)];
    if (count == 0) continue;
    if (share.aggregator == me) {
      std::memcpy(own, share.data, static_cast<size_t>(count));
    } else {
      transfer_.start_send(messages.next(), share.data, count, byte_type(), share.aggregator);
    }
    share.data += count;
  }
  transfer_.wait_all(messages.started());
  for (size_t i = 0; i < window.shares.size(); ++i) {
    if (share_buffers.is_copy(i))
      scatter_share(window, window.shares[i], share_buffers[i], buffer.get());
  }
  record_error(write_window(window, buffer.get()));
}

int TwoPhase::run(Extent range) {
  // A window is cb_buffer_size bytes, or more if the number of rounds would not fit an int.
  constexpr uint64_t kMaxRounds = std::numeric_limits<int>::max() - 1;
  window_bytes_ = std::max(file_.collective.cb_buffer_size, range.bytes / kMaxRounds + 1);
  window_bytes_ = std::min(window_bytes_, machine::kLongestCollectiveBuffer);
  divide_request(range);
  exchange_lists();
  const int rounds = count_rounds();
  const bool reads = sorted_.direction() == storage::Direction::kRead;
  for (int round = 0; round < rounds; ++round) reads ? read_round(round) : write_round(round);
  // A write ends when all of it is complete, and all ranks learn about failures.
  if (!reads) {
    int worst = error_;
    ControlGroup(transfer_).maximum({&worst, 1});
    record_error(worst);
  }
  MPI_TRY(error_);
  sorted_.finish(reads ? valid_ : sorted_.bytes());
  return transfer_.error();
}

}  // namespace

int access_two_phase(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request) {
  const int wanted = file.collective.cb_nodes;
  std::vector<int>& aggregators = file.shared->aggregators[wanted];
  if (aggregators.empty()) {
    aggregators = choose_aggregators(*file.comm, strand.rank->world.network, wanted);
  }
  SortedRequest sorted(request);
  const Extent range = agree_on_range(transfer, sorted);
  if (range.bytes == 0) return transfer.error();
  return TwoPhase(strand, transfer, file, sorted, aggregators).run(range);
}

}  // namespace sesame::mpi
