// Gathers columns of tables: the values of every rank, in the order of ranks, on rank 0.
#ifndef WORKLOADS_KIT_GATHER_H_
#define WORKLOADS_KIT_GATHER_H_

#include <mpi.h>

#include <vector>

namespace sesame::workload {

// Collective. Ranks may have different numbers of values; empty on ranks other than 0.
inline std::vector<double> gather(const std::vector<double>& own, MPI_Comm comm = MPI_COMM_WORLD) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int count = static_cast<int>(own.size());
  std::vector<int> counts(ranks), begins(ranks + 1);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm);
  for (int i = 0; i < ranks; ++i) begins[i + 1] = begins[i] + counts[i];
  std::vector<double> all(rank == 0 ? begins[ranks] : 0);
  MPI_Gatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), begins.data(), MPI_DOUBLE,
              0, comm);
  return all;
}

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_GATHER_H_
