#include <algorithm>

#include "core/mpi/objects/comm.h"

namespace sesame::mpi {

Members::Members(std::vector<int> world_ranks) : world_ranks_(std::move(world_ranks)) {
  world_ranks_.shrink_to_fit();
  ascends_ = std::is_sorted(world_ranks_.begin(), world_ranks_.end());
}

int Members::rank_of(int world_rank) const {
  if (world_ranks_.empty()) return MPI_UNDEFINED;
  if (ascends_) {
    // Most lists are a range of consecutive ranks.
    const int offset = world_rank - world_ranks_.front();
    if (offset >= 0 && offset < size() && (*this)[offset] == world_rank) return offset;
    auto found = std::lower_bound(world_ranks_.begin(), world_ranks_.end(), world_rank);
    if (found == world_ranks_.end() || *found != world_rank) return MPI_UNDEFINED;
    return static_cast<int>(found - world_ranks_.begin());
  }
  if (by_world_rank_.empty()) {
    by_world_rank_.reserve(world_ranks_.size());
    for (int rank = 0; rank < size(); ++rank) by_world_rank_.emplace_back((*this)[rank], rank);
    std::sort(by_world_rank_.begin(), by_world_rank_.end());
  }
  auto found = std::lower_bound(by_world_rank_.begin(), by_world_rank_.end(),
                                std::pair<int, int>(world_rank, 0));
  if (found == by_world_rank_.end() || found->first != world_rank) return MPI_UNDEFINED;
  return found->second;
}

}  // namespace sesame::mpi
