#include "ess/ppm/flow.h"

#include <mpi.h>

#include <algorithm>
#include <utility>

namespace sesame::workload {
namespace {

constexpr double kCourant = 0.6;

}  // namespace

Flow::Flow(MPI_Comm comm, long width, long height, double cell, Border border,
           const std::function<Gas(double, double)>& state)
    : comm_(comm), width_(width), height_(height), cell_(cell), border_(border) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  rows_ = block_of(height, ranks_, rank_);
  for (long row = rows_.begin; row < rows_.end; ++row) {
    for (long x = 0; x < width; ++x) {
      cells_.push_back(to_conserved(
          state((static_cast<double>(x) + 0.5) * cell, (static_cast<double>(row) + 0.5) * cell)));
    }
  }
  below_.resize(kGhosts * width);
  above_.resize(kGhosts * width);
  exchange_phase_ = phases_.add("exchange");
  sweep_phase_ = phases_.add("sweep");
  step_phase_ = phases_.add("find step");
}

double Flow::step(double limit) {
  const double length = std::min(limit, longest_step());
  const double ratio = length / cell_;
  if (steps_++ % 2 == 0) {
    sweep_rows(ratio);
    sweep_columns(ratio);
  } else {
    sweep_columns(ratio);
    sweep_rows(ratio);
  }
  return length;
}

double Flow::longest_step() const {
  double fastest = 0;
  for (const Conserved& cell : cells_) {
    const Gas gas = to_gas(cell);
    fastest = std::max(fastest, std::max(std::abs(gas.u), std::abs(gas.v)) + gas.sound());
  }
  return kCourant * cell_ / largest(fastest, comm_);
}

void Flow::sweep_rows(double ratio) {
  Phases::Scope scope(phases_, sweep_phase_);
  Line line(static_cast<int>(width_));
  for (long row = 0; row < rows_.size(); ++row) {
    Conserved* const cells = &cells_[row * width_];
    auto& moved = line.cells();
    for (long i = -kGhosts; i < width_ + kGhosts; ++i) {
      const long from =
          border_ == Border::kPeriodic ? (i + width_) % width_ : std::clamp(i, 0L, width_ - 1);
      moved[i + kGhosts] = cells[from];
    }
    line.advance(ratio);
    std::copy_n(moved.begin() + kGhosts, width_, cells);
  }
}

void Flow::sweep_columns(double ratio) {
  exchange();
  Phases::Scope scope(phases_, sweep_phase_);
  // Along a column the two velocities are exchanged.
  const auto turned = [](const Conserved& cell) {
    return Conserved{cell[0], cell[2], cell[1], cell[3]};
  };
  const long count = rows_.size();
  Line line(static_cast<int>(count));
  for (long x = 0; x < width_; ++x) {
    auto& moved = line.cells();
    for (int i = 0; i < kGhosts; ++i) {
      moved[i] = turned(below_[i * width_ + x]);
      moved[kGhosts + count + i] = turned(above_[i * width_ + x]);
    }
    for (long i = 0; i < count; ++i) moved[kGhosts + i] = turned(cells_[i * width_ + x]);
    line.advance(ratio);
    for (long i = 0; i < count; ++i) cells_[i * width_ + x] = turned(moved[kGhosts + i]);
  }
}

void Flow::exchange() {
  Phases::Scope scope(phases_, exchange_phase_);
  const bool periodic = border_ == Border::kPeriodic;
  const int before = rank_ > 0 ? rank_ - 1 : periodic ? ranks_ - 1 : MPI_PROC_NULL;
  const int after = rank_ + 1 < ranks_ ? rank_ + 1 : periodic ? 0 : MPI_PROC_NULL;
  const int numbers = static_cast<int>(kGhosts * width_ * 4);
  const Conserved* const last = &cells_[(rows_.size() - kGhosts) * width_];
  MPI_Sendrecv(last, numbers, MPI_DOUBLE, after, 0, below_.data(), numbers, MPI_DOUBLE, before, 0,
               comm_, MPI_STATUS_IGNORE);
  MPI_Sendrecv(cells_.data(), numbers, MPI_DOUBLE, before, 1, above_.data(), numbers, MPI_DOUBLE,
               after, 1, comm_, MPI_STATUS_IGNORE);
  for (int i = 0; i < kGhosts; ++i) {
    if (before == MPI_PROC_NULL) std::copy_n(cells_.begin(), width_, &below_[i * width_]);
    if (after == MPI_PROC_NULL) std::copy_n(cells_.end() - width_, width_, &above_[i * width_]);
  }
}

Conserved Flow::totals() const {
  std::vector<Conserved> sums(height_, Conserved{});
  for (long row = rows_.begin; row < rows_.end; ++row) {
    for (long x = 0; x < width_; ++x) {
      for (int k = 0; k < 4; ++k) sums[row][k] += at(x, row)[k];
    }
  }
  // Other ranks' rows are zeros here: sums of one number and zeros are exact.
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(height_ * 4), MPI_DOUBLE, MPI_SUM,
                comm_);
  Conserved whole{};
  for (const Conserved& sum : sums) {
    for (int k = 0; k < 4; ++k) whole[k] += sum[k] * cell_ * cell_;
  }
  return whole;
}

}  // namespace sesame::workload
