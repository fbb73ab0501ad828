// Two-phase I/O: which ranks are aggregators, and which range of the file each of them accesses
// (its domain). Offsets and sizes are bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/network/network.h"
#include "core/storage/access.h"

namespace sesame::mpi {

// Returns ranks of the communicator, ascending: the first rank of each node, or `wanted` (if not 0)
// ranks, chosen round robin from the nodes. This is ROMIO's default (cb_config_list "*:1"), except
// that there can be more aggregators than nodes.
std::vector<int> choose_aggregators(const CommObject& comm, const network::Network& network,
                                    int wanted);

// The range of the file that all ranks access together, divided into one domain for each
// aggregator: of equal size, or, if `align` is not 0, with borders at the nearest multiples of
// `align`.
class FileDomains {
 public:
  FileDomains(storage::Extent range, int aggregators, uint64_t align);

  int count() const { return static_cast<int>(ends_.size()); }
  // The domain of a byte of the range; the end of a domain.
  int domain_of(uint64_t offset) const;
  uint64_t end(int domain) const { return ends_[static_cast<size_t>(domain)]; }

 private:
  std::vector<uint64_t> ends_;  // ascending; some domains may be empty
};

// One rank's extents in one domain.
struct DomainShare {
  int domain = 0;
  size_t first = 0;  // of its extents in the list
  size_t count = 0;
  uint64_t bytes = 0;
};

// Divides the sorted extents of a request at the ends of domains. Appends the divided extents to
// `extents`, and to `shares` an entry for each domain that has any.
void cut_at_domains(std::span<const storage::Extent> request, const FileDomains& domains,
                    std::vector<storage::Extent>& extents, std::vector<DomainShare>& shares);

}  // namespace sesame::mpi
