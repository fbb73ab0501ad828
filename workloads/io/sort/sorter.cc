#include "io/sort/sorter.h"

#include <mpi.h>

#include <algorithm>

#include "io/sort/numbers.h"

namespace sesame::workload::sort {
namespace {

constexpr int kAskTag = 1, kCountTag = 2, kNumbersTag = 3;

}  // namespace

Sorter::Sorter(std::vector<double>& numbers, double portion, Stamps& stamps)
    : numbers_(numbers), portion_(portion), stamps_(stamps) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
}

void Sorter::run() {
  sort();
  for (int anyone = 1; anyone != 0;) {
    ++rounds_;
    // Odd ranks ask first, so that no rank asks one that itself waits for an answer.
    const bool odd = rank_ % 2 == 1;
    bool has_traded = odd ? ask() : answer();
    if (has_traded) sort();
    const bool again = odd ? answer() : ask();
    if (again) sort();
    const int mine = has_traded || again;
    stamps_.stamp(Phase::kDoneWait);
    MPI_Allreduce(&mine, &anyone, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  }
}

void Sorter::sort() {
  stamps_.stamp(Phase::kSort);
  std::make_heap(numbers_.begin(), numbers_.end(), less);
  std::sort_heap(numbers_.begin(), numbers_.end(), less);
}

// Sends the lowest number to the rank below, which answers how many of its numbers are higher.
bool Sorter::ask() {
  if (rank_ == 0) return false;
  stamps_.stamp(Phase::kAsk);
  int count = 0;
  const double offer[] = {numbers_.front(), static_cast<double>(numbers_.size())};
  MPI_Send(offer, 2, MPI_DOUBLE, rank_ - 1, kAskTag, MPI_COMM_WORLD);
  MPI_Recv(&count, 1, MPI_INT, rank_ - 1, kCountTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (count == 0) return false;
  ++trades_;
  traded_ += count;
  settle(rank_ - 1, false, count);
  return true;
}

bool Sorter::answer() {
  if (rank_ == ranks_ - 1) return false;
  stamps_.stamp(Phase::kAnswer);
  double offer[2];
  MPI_Recv(offer, 2, MPI_DOUBLE, rank_ + 1, kAskTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const long higher =
      numbers_.end() - std::upper_bound(numbers_.begin(), numbers_.end(), offer[0], less);
  const double smaller = std::min(static_cast<double>(numbers_.size()), offer[1]);
  const long most = std::max(1L, static_cast<long>(portion_ * smaller));
  const int count = static_cast<int>(std::min(higher, most));
  MPI_Send(&count, 1, MPI_INT, rank_ + 1, kCountTag, MPI_COMM_WORLD);
  if (count == 0) return false;
  settle(rank_ + 1, true, count);
  return true;
}

// Both have both portions then; the lower rank keeps the lower half.
void Sorter::settle(int neighbour, bool keep_low, int count) {
  double* own = keep_low ? &numbers_[numbers_.size() - count] : numbers_.data();
  std::vector<double> other(count), both(2 * static_cast<std::size_t>(count));
  MPI_Sendrecv(own, count, MPI_DOUBLE, neighbour, kNumbersTag, other.data(), count, MPI_DOUBLE,
               neighbour, kNumbersTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::merge(own, own + count, other.begin(), other.end(), both.begin(), less);
  std::copy_n(both.begin() + (keep_low ? 0 : count), count, own);
}

}  // namespace sesame::workload::sort
