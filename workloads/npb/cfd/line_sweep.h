// Solves systems along the lines of one direction over a multi-partition: elimination from the
// first layer of pieces to the last, substitution back. Between layers what the next piece needs of
// a line's end goes to the neighbour, for all lines in one message.
//
// A Solver has
//   kForward, kBackward  numbers that go on for each line, kSaved: kept for each point;
//   forward<d>(piece, batch, length, carry, saved), backward<d>(the same) for one batch of lines.
// The carry of the ends of the cube is 0: changes vanish on the boundary.
#ifndef WORKLOADS_NPB_CFD_LINE_SWEEP_H_
#define WORKLOADS_NPB_CFD_LINE_SWEEP_H_

#include <mpi.h>

#include <utility>

#include "npb/cfd/domain.h"
#include "npb/cfd/lanes.h"

namespace sesame::workload::cfd {

template <typename Solver>
class LineSweep {
 public:
  explicit LineSweep(Domain& domain) : domain_(domain) {}

  template <int d>
  void run(Solver& solver) {
    if (domain_.parts[d] == 1) {
      run_alone<d>(solver);
      return;
    }
    saved_.resize(saved_before<d>(domain_.parts[d]));
    for (int layer = 0; layer < domain_.parts[d]; ++layer) {
      pass_on<d>(layer, Solver::kForward, 0, layer);
      Piece& piece = domain_.piece_in_layer(d, layer);
      const Lines lines(piece, d);
      Lanes* saved = &saved_[saved_before<d>(layer)];
      for (int i = 0; i < lines.batches(); ++i, saved += lines.length() * Solver::kSaved) {
        solver.template forward<d>(piece, lines.batch(i), lines.length(),
                                   &carry_[i * Solver::kForward], saved);
      }
    }
    for (int layer = domain_.parts[d] - 1; layer >= 0; --layer) {
      pass_on<d>(layer, Solver::kBackward, 1, domain_.parts[d] - 1 - layer);
      Piece& piece = domain_.piece_in_layer(d, layer);
      const Lines lines(piece, d);
      Lanes* saved = &saved_[saved_before<d>(layer)];
      for (int i = 0; i < lines.batches(); ++i, saved += lines.length() * Solver::kSaved) {
        solver.template backward<d>(piece, lines.batch(i), lines.length(),
                                    &carry_[i * Solver::kBackward], saved);
      }
    }
  }

 private:
  // Whole lines in one piece: what is saved of one batch stays in the cache.
  template <int d>
  void run_alone(Solver& solver) {
    Piece& piece = domain_.pieces[0];
    const Lines lines(piece, d);
    saved_.resize(lines.length() * Solver::kSaved);
    for (int i = 0; i < lines.batches(); ++i) {
      const Batch batch = lines.batch(i);
      Lanes forward[Solver::kForward] = {}, backward[Solver::kBackward] = {};
      solver.template forward<d>(piece, batch, lines.length(), forward, saved_.data());
      solver.template backward<d>(piece, batch, lines.length(), backward, saved_.data());
    }
  }

  // How much is saved for the layers before this one.
  template <int d>
  long saved_before(int layer) {
    long total = 0;
    for (int i = 0; i < layer; ++i) {
      const Lines lines(domain_.piece_in_layer(d, i), d);
      total += long{lines.batches()} * lines.length() * Solver::kSaved;
    }
    return total;
  }

  // Sends the carry of the last layer to the neighbour and gets that of layer `layer`, the
  // `stage`-th, from the neighbour on side `from`. All ranks do so at the same time.
  template <int d>
  void pass_on(int layer, int numbers, int from, int stage) {
    const Lines lines(domain_.piece_in_layer(d, layer), d);
    const std::size_t size = std::size_t(lines.batches()) * numbers;
    if (stage == 0) {
      carry_.assign(size, Lanes{});
      return;
    }
    std::swap(carry_, outgoing_);
    carry_.resize(size);
    MPI_Sendrecv(outgoing_.data(), static_cast<int>(outgoing_.size()) * kLanes, MPI_DOUBLE,
                 domain_.neighbour[d][1 - from], 2 * d + from, carry_.data(),
                 static_cast<int>(size) * kLanes, MPI_DOUBLE, domain_.neighbour[d][from],
                 2 * d + from, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  Domain& domain_;
  std::vector<Lanes> carry_, outgoing_, saved_;
};

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_LINE_SWEEP_H_
