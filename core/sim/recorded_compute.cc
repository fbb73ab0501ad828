#include "core/sim/recorded_compute.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
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

Result<> write_recorded_compute(const mpi::World& world, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const auto write = [&file](const void* data, size_t bytes) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  const uint64_t ranks = world.ranks.size();
  write(&ranks, sizeof ranks);
  for (const auto& rank : world.ranks) {
    const uint64_t count = rank->measured->times_ps().size() + 1;
    write(&count, sizeof count);
  }
  for (const auto& rank : world.ranks) {
    const std::vector<int64_t>& times = rank->measured->times_ps();
    write(times.data(), times.size() * sizeof(int64_t));
    const int64_t after_calls = rank->compute_before_call.ps();
    write(&after_calls, sizeof after_calls);
  }
  file.close();
  if (file) return {};
  return error_at(path, 0, std::string("cannot write the compute times: ") + std::strerror(errno));
}

}  // namespace sesame::sim
