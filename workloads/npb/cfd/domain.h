// The grid of points shared out over the ranks of MPI_COMM_WORLD.
//
// Multi-partition (BT, SP): q^2 ranks, q^3 subdomains, and subdomain (x, y, z) belongs to the rank
// ((x - z) mod q, (y - z) mod q). So in every layer of subdomains, in every direction, each rank
// has one subdomain: while a line solver passes from layer to layer all ranks work. A rank's
// neighbour in a direction is the same for all of its subdomains.
//
// Pencils (LU): one subdomain for each rank, cut in xi and eta, whole in zeta.
#ifndef WORKLOADS_NPB_CFD_DOMAIN_H_
#define WORKLOADS_NPB_CFD_DOMAIN_H_

#include <mpi.h>

#include <string>
#include <vector>

#include "npb/cfd/subdomain.h"

namespace sesame::workload::cfd {

struct Domain {
  int grid;             // points a side
  Index layers;         // subdomains in each direction
  int neighbour[3][2];  // rank towards lower and higher indices, MPI_PROC_NULL for none
  std::vector<Subdomain> subdomains;  // of this rank

  // This rank's subdomain in layer `layer` of direction `d`, of a multi-partition.
  Subdomain& subdomain_in_layer(int d, int layer);
};

// Throw UsageError, which names `program`, when the number of ranks does not suit.
Domain multi_partition(const std::string& program, int grid);
Domain pencils(const std::string& program, int grid);

// Fills the ghosts of the state beside the faces of every subdomain. Collective.
class Exchange {
 public:
  explicit Exchange(Domain& domain);
  void run();

 private:
  // The faces on one side that have a neighbour: all go to the same rank, in one message. As many
  // points come from there, because neighbouring subdomains share whole faces.
  struct Faces {
    std::vector<Subdomain*> subdomains;
    std::vector<double> outgoing, incoming;
  };

  void exchange_layers(int depth, int layers);
  void start(int d, int side, int depth, int layers, std::vector<MPI_Request>& requests);

  Domain& domain_;
  int rounds_;  // two where subdomains are too thin to have two layers of points
  Faces faces_[3][2];
};

// Root mean square over the inner points of the cube, for each of the five equations.
State residual_norms(const Domain& domain);
// The same of the difference to the exact solution.
State error_norms(const Domain& domain);

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_DOMAIN_H_
