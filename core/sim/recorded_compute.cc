#include "core/sim/recorded_compute.h"

#include <cstdint>
#include <fstream>

namespace sesame::sim {

Result<std::vector<std::vector<int64_t>>> read_recorded_compute(const std::string& path,
                                                                int ranks) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error_at(path, 0, "cannot read the recorded compute times");
  uint64_t recorded_ranks = 0;
  file.read(reinterpret_cast<char*>(&recorded_ranks), sizeof recorded_ranks);
  if (!file || recorded_ranks < static_cast<uint64_t>(ranks)) {
    return error_at(path, 0,
                    "the compute times were recorded on " + std::to_string(recorded_ranks) +
                        " ranks, this run has " + std::to_string(ranks),
                    "run with the same number of ranks, or measure again");
  }
  std::vector<uint64_t> counts(recorded_ranks);
  file.read(reinterpret_cast<char*>(counts.data()),
            static_cast<std::streamsize>(counts.size() * sizeof(uint64_t)));
  std::vector<std::vector<int64_t>> durations;
  for (uint64_t count : counts) {
    if (!file || count == 0 || count > (uint64_t{1} << 40)) {
      return error_at(path, 0, "the file is damaged");
    }
    std::vector<int64_t>& rank = durations.emplace_back(count);
    file.read(reinterpret_cast<char*>(rank.data()),
              static_cast<std::streamsize>(count * sizeof(int64_t)));
  }
  if (!file) return error_at(path, 0, "the file ends early");
  return durations;
}

}  // namespace sesame::sim
