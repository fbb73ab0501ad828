// The environment variables by which Open MPI's mpirun tells processes where they are in the job.
// Scripts and programs read them before MPI_Init (OMPI_COMM_WORLD_LOCAL_RANK, to choose a device).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sesame::sim {

// The ranks that one command starts.
struct StartedProgram {
  std::vector<std::string> arguments;  // the first one is the command
  int ranks = 0;
};

// Those that all ranks of a program have, "NAME=value". `program` is one of `programs`, which make
// one MPI_COMM_WORLD; `universe_size` is how many ranks the machine can run.
std::vector<std::string> open_mpi_variables(std::span<const StartedProgram> programs,
                                            size_t program, int universe_size);

// Where a rank is.
struct RankPlace {
  int rank = 0;        // in MPI_COMM_WORLD
  int local_rank = 0;  // among the ranks of MPI_COMM_WORLD on its node
  int local_size = 0;
  int node_rank = 0;  // among all ranks on its node
};
// The variables that a rank has for itself, each with a zero byte at its end.
std::string open_mpi_variables(const RankPlace& place);

// The places of new ranks, the i-th on node nodes[i]; `taken` counts the ranks that each node has
// already.
std::vector<RankPlace> places_of(std::span<const int> nodes, std::span<const int> taken);

// Whether mpirun sets this entry, "NAME=value". Ranks must not have it from this process, which
// mpirun may have started.
bool is_open_mpi_variable(const std::string& entry);

}  // namespace sesame::sim
