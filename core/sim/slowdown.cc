// How many times as long ranks compute as they would if they were alone on their nodes.
#include <algorithm>
#include <cstdint>

#include "core/base/processors.h"
#include "core/sim/simulation.h"

namespace sesame::sim {

// Sets the rank's slowdown. `taken` is the number of ranks on each node when this one starts.
void Simulation::share_node(mpi::Rank& rank, const std::vector<int>& taken) const {
  rank.slowdown = slowdown_on(world_->network.node_of(rank.id), taken);
}

// What the node's ranks cost each other beyond what they cost each other while the times were
// taken.
double Simulation::slowdown_on(int node, const std::vector<int>& taken) const {
  const int ranks = taken[static_cast<size_t>(node)];
  const double all = machine_.slowdown_of(ranks);
  return all == 1 ? 1 : all / machine_.slowdown_of(std::min(ranks, computed_together()));
}

int Simulation::computed_together() const {
  if (scenario_.compute != mpi::ComputeMode::kMeasured) return scenario_.together;
  const int hosts = std::max(scenario_.hosts.count(), 1);
  const int processors = usable_processors();
  if (process_ranks_ != nullptr) return processors;
  const int64_t workers = (scenario_.workers + hosts - 1) / hosts;  // each has a rank that computes
  return static_cast<int>(std::min<int64_t>(workers * scenario_.together, processors));
}

}  // namespace sesame::sim
