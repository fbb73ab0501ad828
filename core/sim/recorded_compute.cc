#include "core/sim/recorded_compute.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace sesame::sim {

namespace {

// A file of 64-bit numbers. No list of them is longer than what is left of the file, so that the
// counts in a damaged file do not make us reserve memory.
class Numbers {
 public:
  explicit Numbers(const std::string& path) : file_(path, std::ios::binary | std::ios::ate) {
    if (!file_) return;
    left_ = static_cast<uint64_t>(file_.tellg()) / sizeof(uint64_t);
    file_.seekg(0);
  }

  bool is_open() const { return file_.is_open(); }
  // False if the file has fewer numbers left, or cannot be read.
  template <typename T>
  bool read(uint64_t count, std::vector<T>* numbers) {
    static_assert(sizeof(T) == sizeof(uint64_t));
    if (count > left_) return false;
    left_ -= count;
    numbers->resize(count);
    file_.read(reinterpret_cast<char*>(numbers->data()),
               static_cast<std::streamsize>(count * sizeof(T)));
    return file_.good();
  }

 private:
  std::ifstream file_;
  uint64_t left_ = 0;
};

}  // namespace

Result<std::vector<std::vector<int64_t>>> read_recorded_compute(const std::string& path,
                                                                int ranks) {
  Numbers file(path);
  if (!file.is_open()) return error_at(path, 0, "cannot read the recorded compute times");
  std::vector<uint64_t> head;
  const uint64_t recorded_ranks = file.read(1, &head) ? head[0] : 0;
  if (recorded_ranks < static_cast<uint64_t>(ranks)) {
    return error_at(path, 0,
                    "the compute times were recorded on " + std::to_string(recorded_ranks) +
                        " ranks, this run has " + std::to_string(ranks),
                    "run with the same number of ranks, or measure again");
  }
  const auto damaged = [&path] {
    return error_at(path, 0, "the file is damaged or cut off", "measure again");
  };
  std::vector<uint64_t> counts;
  if (!file.read(recorded_ranks, &counts)) return damaged();
  std::vector<std::vector<int64_t>> durations(counts.size());
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    if (counts[rank] == 0 || !file.read(counts[rank], &durations[rank])) return damaged();
  }
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
