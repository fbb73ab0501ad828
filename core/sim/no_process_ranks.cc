#include "core/sim/process_ranks.h"

namespace sesame::sim {

std::unique_ptr<ProcessRanks> make_process_ranks() { return nullptr; }
void end_process_ranks() {}

}  // namespace sesame::sim
