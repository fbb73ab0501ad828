// Two-phase I/O: who aggregates, and which part of the file is whose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/network/network.h"
#include "core/storage/access.h"

namespace sesame::mpi {

// Ranks of the communicator, rising: the first of each node, or `wanted` ranks taken from the nodes
// in turn. As ROMIO does by default (cb_config_list "*:1"), except that a number of aggregators
// beyond that of nodes is taken at its word.
std::vector<int> choose_aggregators(const CommObject& comm, const network::Network& network,
                                    int wanted);

// The range of the file that all ranks touch together, cut into one domain for each aggregator:
// equal ones, or with borders at the multiples of `align` nearest to those.
class FileDomains {
 public:
  FileDomains(storage::Extent range, int aggregators, uint64_t align);

  int count() const { return static_cast<int>(ends_.size()); }
  // The domain in which a byte of the range lies, and where that ends.
  int domain_of(uint64_t offset) const;
  uint64_t end(int domain) const { return ends_[static_cast<size_t>(domain)]; }

 private:
  std::vector<uint64_t> ends_;  // rising; some domains may be empty
};

// What one rank has in one domain.
struct DomainShare {
  int domain = 0;
  size_t first = 0;  // of its pieces in the list
  size_t pieces = 0;
  uint64_t bytes = 0;
};

// Cuts sorted extents where domains end. Only domains in which there is something get a share.
void cut_at_domains(std::span<const storage::Extent> extents, const FileDomains& domains,
                    std::vector<storage::Extent>& pieces, std::vector<DomainShare>& shares);

}  // namespace sesame::mpi
