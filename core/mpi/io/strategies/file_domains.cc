#include "core/mpi/io/strategies/file_domains.h"

#include <algorithm>

namespace sesame::mpi {

using storage::Extent;

std::vector<int> choose_aggregators(const CommObject& comm, const network::Network& network,
                                    int wanted) {
  struct Candidate {
    int turn;  // how many ranks of its node come before it
    int rank;
  };
  std::vector<Candidate> candidates;
  std::vector<int> of_node(static_cast<size_t>(network.nodes()));
  int nodes = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const int turn = of_node[static_cast<size_t>(network.node_of((*comm.local)[rank]))]++;
    nodes += turn == 0;
    candidates.push_back({turn, rank});
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::turn);
  const int count = wanted == 0 ? nodes : std::clamp(wanted, 1, comm.size());
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i) chosen.push_back(candidates[static_cast<size_t>(i)].rank);
  std::ranges::sort(chosen);
  return chosen;
}

FileDomains::FileDomains(Extent range, int aggregators, uint64_t align) {
  const auto count = static_cast<uint64_t>(aggregators);
  const uint64_t size = (range.bytes + count - 1) / count;
  const uint64_t range_end = range.offset + range.bytes;
  for (uint64_t i = 1; i <= count; ++i) {
    uint64_t end = range.offset + i * size;
    if (align > 0) end = (end + align / 2) / align * align;
    ends_.push_back(i == count ? range_end : std::clamp(end, range.offset, range_end));
  }
}

int FileDomains::domain_of(uint64_t offset) const {
  return static_cast<int>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
}

void cut_at_domains(std::span<const Extent> request, const FileDomains& domains,
                    std::vector<Extent>& extents, std::vector<DomainShare>& shares) {
  int domain = -1;
  for (Extent rest : request) {
    while (rest.bytes > 0) {
      if (domain < 0 || rest.offset >= domains.end(domain)) {
        domain = domains.domain_of(rest.offset);
        shares.push_back({domain, extents.size(), 0, 0});
      }
      const uint64_t bytes = std::min(rest.bytes, domains.end(domain) - rest.offset);
      extents.push_back({rest.offset, bytes});
      ++shares.back().count;
      shares.back().bytes += bytes;
      rest = {rest.offset + bytes, rest.bytes - bytes};
    }
  }
}

}  // namespace sesame::mpi
