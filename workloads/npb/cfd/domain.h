// The grid of points shared out over the ranks of MPI_COMM_WORLD.
//
// Multi-partition (BT, SP): q^2 ranks, q^3 pieces, and piece (x, y, z) belongs to the rank
// ((x - z) mod q, (y - z) mod q). So in every layer of pieces, in every direction, each rank has
// one piece: while a line solver passes from layer to layer all ranks work. A rank's neighbour in a
// direction is the same for all of its pieces.
//
// Pencils (LU): one piece for each rank, cut in xi and eta, whole in zeta.
#ifndef WORKLOADS_NPB_CFD_DOMAIN_H_
#define WORKLOADS_NPB_CFD_DOMAIN_H_

#include <mpi.h>

#include <string>
#include <vector>

#include "npb/cfd/piece.h"

namespace sesame::workload::cfd {

struct Domain {
  int grid;                   // points a side
  Index parts;                // pieces a side
  int neighbour[3][2];        // rank towards lower and higher indices, MPI_PROC_NULL for none
  std::vector<Piece> pieces;  // of this rank

  // This rank's piece in layer `layer` of direction `d`, of a multi-partition.
  Piece& piece_in_layer(int d, int layer);
};

// Throw UsageError, which names `program`, when the number of ranks does not suit.
Domain multi_partition(const std::string& program, int grid);
Domain pencils(const std::string& program, int grid);

// Fills the ghosts of the state beside the faces of every piece. Collective.
class Exchange {
 public:
  explicit Exchange(Domain& domain);
  void run();

 private:
  // The faces on one side that have a neighbour: all go to the same rank, in one message. As many
  // points come from there, as layers of pieces meet whole.
  struct Faces {
    std::vector<Piece*> pieces;
    std::vector<double> outgoing, incoming;
  };

  void exchange_layers(int depth, int layers);
  void start(int d, int side, int depth, int layers, std::vector<MPI_Request>& requests);

  Domain& domain_;
  int rounds_;  // two where pieces are too thin to have two layers of points
  Faces faces_[3][2];
};

// Root mean square over the inner points of the cube, for each of the five equations.
State residual_norms(const Domain& domain);
// The same of the difference to the exact solution.
State error_norms(const Domain& domain);

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_DOMAIN_H_
