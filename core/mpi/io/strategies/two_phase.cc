// Two-phase I/O (del Rosario, Bordawekar and Choudhary, "Improved parallel I/O via a two-phase
// run-time access strategy", 1993) in ROMIO's general form (Thakur, Gropp and Lusk, 1999): the
// steps, messages and windows are those of its ad_read_coll.c and ad_write_coll.c.
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

// The smallest range that holds what all ranks want; empty if nobody wants anything.
Extent agree_on_range(Transfer& transfer, const SortedRequest& sorted) {
  // The greatest end, and the smallest beginning as the greatest distance from the last address.
  std::array<uint64_t, 2> outmost{};
  if (!sorted.empty()) outmost = {sorted.end(), UINT64_MAX - sorted.begin()};
  Rank& rank = this_rank();
  const collectives::Reduction greatest{2, DatatypeRef(rank.datatypes.find(MPI_UINT64_T)),
                                        OpRef(rank.ops.find(MPI_MAX))};
  collectives::allreduce(transfer, MPI_IN_PLACE, outmost.data(), greatest);
  const uint64_t begin = UINT64_MAX - outmost[1];
  return outmost[0] == 0 ? Extent{} : Extent{begin, outmost[0] - begin};
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
  struct AggregatorShare {  // where a share of this rank goes to or comes from
    int aggregator;         // its rank
    std::span<const Extent> pieces;
    std::byte* data;  // what has not been moved yet
  };

  void find_shares(Extent range);
  void exchange_lists();
  std::vector<int> exchange_counts(const std::vector<int>& mine);
  int count_rounds();
  void read_round(int round);
  void write_round(int round);
  WindowParts take_window(int round);
  int read_window(const WindowParts& parts, std::byte* buffer, uint64_t* valid);
  int write_window(const WindowParts& parts, std::byte* buffer);
  void note(int error) { error_ = collectives::first_error(error_, error); }

  Strand& strand_;
  Transfer& transfer_;
  FileObject& file_;
  SortedRequest& sorted_;
  std::span<const int> aggregators_;
  std::vector<Extent> pieces_;
  std::vector<AggregatorShare> shares_;
  DomainRequests requests_;
  // At most what an int holds (machine::kLongestCollectiveBuffer), and so is what one rank wants of
  // a window: its pieces do not overlap.
  uint64_t window_bytes_ = 0;
  uint64_t valid_ = 0;  // bytes read
  int error_ = MPI_SUCCESS;
};

void TwoPhase::find_shares(Extent range) {
  const FileDomains domains(range, static_cast<int>(aggregators_.size()),
                            file_.collective.cb_align);
  std::vector<DomainShare> shares;
  cut_at_domains(sorted_.extents(), domains, pieces_, shares);
  std::byte* data = sorted_.data();
  for (const DomainShare& share : shares) {
    shares_.push_back({aggregators_[static_cast<size_t>(share.domain)],
                       std::span(pieces_).subspan(share.first, share.pieces), data});
    data += share.bytes;
  }
}

// What this rank tells each other one becomes what each other one told it.
std::vector<int> TwoPhase::exchange_counts(const std::vector<int>& mine) {
  std::vector<int> theirs(mine.size());
  collectives::alltoall(transfer_, Source{mine.data(), sizeof(int), DatatypeRef(&byte_type())},
                        Target{theirs.data(), sizeof(int), DatatypeRef(&byte_type())});
  return theirs;
}

// Every rank tells the aggregators which pieces of their domains it wants.
void TwoPhase::exchange_lists() {
  std::vector<int> counts(static_cast<size_t>(transfer_.size()));
  for (const AggregatorShare& share : shares_) {
    counts[static_cast<size_t>(share.aggregator)] = static_cast<int>(share.pieces.size());
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
    transfer_.start_send(messages.next(), share.pieces.data(), bytes_of(share.pieces.size()),
                         byte_type(), share.aggregator);
  }
  transfer_.wait_all(messages.started());
  for (auto& [rank, list] : lists) {
    if (rank == transfer_.rank()) {
      const auto own = std::ranges::find(shares_, rank, &AggregatorShare::aggregator);
      list.assign(own->pieces.begin(), own->pieces.end());
    }
    requests_.add(rank, std::move(list));
  }
}

// As many as the aggregator with the longest domain needs.
int TwoPhase::count_rounds() {
  int rounds = 0;
  if (!requests_.empty()) {
    const uint64_t bytes = requests_.end() - requests_.begin();
    rounds = static_cast<int>((bytes + window_bytes_ - 1) / window_bytes_);
  }
  ControlGroup(transfer_).maximum({&rounds, 1});
  return rounds;
}

WindowParts TwoPhase::take_window(int round) {
  if (requests_.empty()) return {};
  const uint64_t begin = requests_.begin() + static_cast<uint64_t>(round) * window_bytes_;
  if (begin >= requests_.end()) return {};
  return requests_.take({begin, std::min(window_bytes_, requests_.end() - begin)});
}

// The file system sees the whole window, or without data sieving the runs in it.
int TwoPhase::read_window(const WindowParts& parts, std::byte* buffer, uint64_t* valid) {
  if (parts.empty()) return MPI_SUCCESS;
  yield_until_now(strand_);
  MPI_TRY(move_bytes(file_, storage::Direction::kRead, parts.runs, buffer, valid));
  const bool sieving = file_.sieves(sorted_.direction());
  charge_access_time(strand_, file_, storage::Direction::kRead,
                     sieving ? std::span(&parts.window, 1) : parts.runs);
  return MPI_SUCCESS;
}

int TwoPhase::write_window(const WindowParts& parts, std::byte* buffer) {
  if (parts.empty()) return MPI_SUCCESS;
  if (parts.has_holes() && file_.sieves(sorted_.direction())) {
    return read_modify_write(strand_, file_, parts.window, parts.runs, buffer);
  }
  uint64_t moved = 0;
  return move(strand_, file_, storage::Direction::kWrite, parts.runs, buffer, &moved);
}

// What of the share was read: all of it, or what comes before the end of the file.
uint64_t bytes_before(const WindowParts& parts, const WindowParts::Share& share, uint64_t valid) {
  uint64_t bytes = 0;
  for (const Extent& part : parts.parts_of(share)) {
    const uint64_t place = parts.position_of(part.offset);
    if (place >= valid) break;
    bytes += std::min(part.bytes, valid - place);
  }
  return bytes;
}

// Copies between a share's bytes in a row and the window's buffer.
void gather_share(const WindowParts& parts, const WindowParts::Share& share,
                  const std::byte* buffer, std::byte* row, uint64_t bytes) {
  for (const Extent& part : parts.parts_of(share)) {
    const uint64_t length = std::min(part.bytes, bytes);
    if (length == 0) break;
    std::memcpy(row, buffer + parts.position_of(part.offset), length);
    row += length;
    bytes -= length;
  }
}

void scatter_share(const WindowParts& parts, const WindowParts::Share& share, const std::byte* row,
                   std::byte* buffer) {
  for (const Extent& part : parts.parts_of(share)) {
    std::memcpy(buffer + parts.position_of(part.offset), row, part.bytes);
    row += part.bytes;
  }
}

// Where each share stands in a row: in the buffer itself, or in a copy beside it.
class Rows {
 public:
  Rows(const WindowParts& parts, std::byte* buffer, bool always_copy) {
    uint64_t copied = 0;
    std::vector<bool> copies;
    for (const WindowParts::Share& share : parts.shares) {
      copies.push_back(always_copy || !parts.is_in_a_row(share));
      if (copies.back()) copied += share.bytes;
    }
    copy_ = std::make_unique_for_overwrite<std::byte[]>(copied);
    std::byte* next = copy_.get();
    for (size_t i = 0; i < parts.shares.size(); ++i) {
      const WindowParts::Share& share = parts.shares[i];
      rows_.push_back(copies[i] ? next
                                : buffer + parts.position_of(parts.parts[share.first].offset));
      if (copies[i]) next += share.bytes;
    }
    copies_ = std::move(copies);
  }

  std::byte* operator[](size_t share) const { return rows_[share]; }
  bool is_copy(size_t share) const { return copies_[share]; }

 private:
  std::unique_ptr<std::byte[]> copy_;
  std::vector<std::byte*> rows_;
  std::vector<bool> copies_;
};

void TwoPhase::read_round(int round) {
  const WindowParts parts = take_window(round);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(parts.packed_bytes);
  uint64_t valid = 0;
  note(read_window(parts, buffer.get(), &valid));
  const int me = transfer_.rank();
  std::vector<int> counts(static_cast<size_t>(transfer_.size()));
  const Rows rows(parts, buffer.get(), false);
  for (size_t i = 0; i < parts.shares.size(); ++i) {
    const WindowParts::Share& share = parts.shares[i];
    const uint64_t bytes = bytes_before(parts, share, valid);
    counts[static_cast<size_t>(share.rank)] = static_cast<int>(bytes);
    if (rows.is_copy(i)) gather_share(parts, share, buffer.get(), rows[i], bytes);
  }
  const std::vector<int> incoming = exchange_counts(counts);
  RequestBatch messages(parts.shares.size() + shares_.size());
  for (const AggregatorShare& share : shares_) {
    const int count = incoming[static_cast<size_t>(share.aggregator)];
    if (count == 0 || share.aggregator == me) continue;
    transfer_.start_receive(messages.next(), share.data, count, byte_type(), share.aggregator);
  }
  std::byte* own = nullptr;
  for (size_t i = 0; i < parts.shares.size(); ++i) {
    const int rank = parts.shares[i].rank;
    const int count = counts[static_cast<size_t>(rank)];
    if (rank == me) own = rows[i];
    if (count == 0 || rank == me) continue;
    transfer_.start_send(messages.next(), rows[i], count, byte_type(), rank);
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
  const WindowParts parts = take_window(round);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(parts.packed_bytes);
  const int me = transfer_.rank();
  std::vector<int> counts(static_cast<size_t>(transfer_.size()));
  for (const WindowParts::Share& share : parts.shares) {
    counts[static_cast<size_t>(share.rank)] = static_cast<int>(share.bytes);
  }
  const std::vector<int> outgoing = exchange_counts(counts);
  // Where ranks write the same bytes the highest one wins, whoever's message comes first.
  const Rows rows(parts, buffer.get(), parts.has_overlaps());
  RequestBatch messages(parts.shares.size() + shares_.size());
  std::byte* own = nullptr;
  for (size_t i = 0; i < parts.shares.size(); ++i) {
    const WindowParts::Share& share = parts.shares[i];
    if (share.rank == me) own = rows[i];
    if (share.rank == me) continue;
    transfer_.start_receive(messages.next(), rows[i], static_cast<Count>(share.bytes), byte_type(),
                            share.rank);
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
  for (size_t i = 0; i < parts.shares.size(); ++i) {
    if (rows.is_copy(i)) scatter_share(parts, parts.shares[i], rows[i], buffer.get());
  }
  note(write_window(parts, buffer.get()));
}

int TwoPhase::run(Extent range) {
  // A window is a cb_buffer_size, or as much more as keeps the number of rounds an int.
  constexpr uint64_t kMostRounds = std::numeric_limits<int>::max() - 1;
  window_bytes_ = std::max(file_.collective.cb_buffer_size, range.bytes / kMostRounds + 1);
  window_bytes_ = std::min(window_bytes_, machine::kLongestCollectiveBuffer);
  find_shares(range);
  exchange_lists();
  const int rounds = count_rounds();
  const bool reads = sorted_.direction() == storage::Direction::kRead;
  for (int round = 0; round < rounds; ++round) reads ? read_round(round) : write_round(round);
  // After a write nobody goes on before all of it is done, and all know if it failed somewhere.
  if (!reads) {
    int worst = error_;
    ControlGroup(transfer_).maximum({&worst, 1});
    note(worst);
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
