// Solves systems along the lines of one direction over a multi-partition: elimination from the
// first layer of subdomains to the last, substitution back. Between layers what the next subdomain
// needs of a line's end goes to the neighbour, for all lines in one message.
//
// A Solver has the types
//   Row       data of a point of each line of a batch, kept from elimination to substitution;
//   Forward, Backward  values carried from point to point along a batch of lines, made of Lanes;
// and the functions forward<d>(subdomain, batch, length, Forward&, Row*) and
// backward<d>(subdomain, batch, length, Backward&, const Row*), Row* being `length` rows. Carried
// values are 0 at the ends of the cube: changes vanish on the boundary.
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
    if (domain_.layers[d] == 1) {
      run_undivided<d>(solver);
      return;
    }
    const int layers = domain_.layers[d];
    rows_.resize(rows_before<d>(layers));
    for (int layer = 0; layer < layers; ++layer) {
      forward_.pass_on(domain_, d, layer, kLower, layer == 0);
      for_batches<d>(layer, [&](Subdomain& subdomain, const Lines& lines, int i, Row* rows) {
        solver.template forward<d>(subdomain, lines.batch(i), lines.length(), forward_[i], rows);
      });
    }
    for (int layer = layers - 1; layer >= 0; --layer) {
      backward_.pass_on(domain_, d, layer, kUpper, layer == layers - 1);
      for_batches<d>(layer, [&](Subdomain& subdomain, const Lines& lines, int i, Row* rows) {
        solver.template backward<d>(subdomain, lines.batch(i), lines.length(), backward_[i], rows);
      });
    }
  }

 private:
  using Row = typename Solver::Row;
  static constexpr int kLower = 0, kUpper = 1;

  // The values carried along all lines of a layer.
  template <typename Carry>
  class Front {
   public:
    Carry& operator[](int batch) { return carry_[batch]; }

    // Sends the values carried out of the last layer to the neighbour and receives those for layer
    // `layer` from the neighbour on side `from`. All ranks do so at the same time.
    void pass_on(Domain& domain, int d, int layer, int from, bool at_the_start) {
      const int batches = Lines(domain.subdomain_in_layer(d, layer), d).batches();
      if (at_the_start) {
        carry_.assign(batches, Carry{});
        return;
      }
      std::swap(carry_, outgoing_);
      carry_.resize(batches);
      MPI_Sendrecv(outgoing_.data(), doubles(outgoing_), MPI_DOUBLE, domain.neighbour[d][1 - from],
                   2 * d + from, carry_.data(), doubles(carry_), MPI_DOUBLE,
                   domain.neighbour[d][from], 2 * d + from, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

   private:
    static int doubles(const std::vector<Carry>& carry) {
      return static_cast<int>(carry.size() * (sizeof(Carry) / sizeof(double)));
    }

    std::vector<Carry> carry_, outgoing_;
  };

  // Whole lines in one subdomain: the rows of one batch stay in the cache.
  template <int d>
  void run_undivided(Solver& solver) {
    Subdomain& subdomain = domain_.subdomains[0];
    const Lines lines(subdomain, d);
    rows_.resize(lines.length());
    for (int i = 0; i < lines.batches(); ++i) {
      const Batch batch = lines.batch(i);
      typename Solver::Forward forward = {};
      typename Solver::Backward backward = {};
      solver.template forward<d>(subdomain, batch, lines.length(), forward, rows_.data());
      solver.template backward<d>(subdomain, batch, lines.length(), backward, rows_.data());
    }
  }

  // Calls act(subdomain, lines, number of the batch, its rows).
  template <int d, typename Act>
  void for_batches(int layer, Act&& act) {
    Subdomain& subdomain = domain_.subdomain_in_layer(d, layer);
    const Lines lines(subdomain, d);
    Row* rows = rows_.data() + rows_before<d>(layer);
    for (int i = 0; i < lines.batches(); ++i, rows += lines.length())
      act(subdomain, lines, i, rows);
  }

  // How many rows are kept of the layers before this one.
  template <int d>
  long rows_before(int layer) {
    long total = 0;
    for (int i = 0; i < layer; ++i) {
      const Lines lines(domain_.subdomain_in_layer(d, i), d);
      total += long{lines.batches()} * lines.length();
    }
    return total;
  }

  Domain& domain_;
  std::vector<Row> rows_;
  Front<typename Solver::Forward> forward_;
  Front<typename Solver::Backward> backward_;
};

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_LINE_SWEEP_H_
