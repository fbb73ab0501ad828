#include "core/trace/compute_times.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

namespace sesame::trace {
namespace {

constexpr std::string_view kMagic = "SESCOMP1";

struct Closer {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Closer>;

std::unexpected<Error> system_error(const std::string& path, const char* what) {
  return error_at(path, 0, std::string(what) + ": " + std::strerror(errno));
}

template <typename T>
bool write_values(FILE* file, const T* values, size_t count) {
  return std::fwrite(values, sizeof(T), count, file) == count;
}

template <typename T>
bool read_values(FILE* file, T* values, size_t count) {
  return std::fread(values, sizeof(T), count, file) == count;
}

// The counts say how long the file must be; only then is memory reserved for the times.
bool counts_fit(const std::vector<uint64_t>& counts, uint64_t times_in_file) {
  for (uint64_t count : counts) {
    if (count > times_in_file) return false;
    times_in_file -= count;
  }
  return times_in_file == 0;
}

}  // namespace

Result<> write_compute_times(const std::string& path, const ComputeTimes& times) {
  File file(std::fopen(path.c_str(), "wbe"));
  if (!file) return system_error(path, "cannot write");
  std::vector<uint64_t> head{times.size()};
  for (const auto& rank : times) head.push_back(rank.size());
  bool good = write_values(file.get(), kMagic.data(), kMagic.size()) &&
              write_values(file.get(), head.data(), head.size());
  for (const auto& rank : times) good = good && write_values(file.get(), rank.data(), rank.size());
  if (!good || std::fflush(file.get()) != 0) return system_error(path, "cannot write");
  return {};
}

Result<ComputeTimes> read_compute_times(const std::string& path) {
  File file(std::fopen(path.c_str(), "rbe"));
  if (!file) return system_error(path, "cannot read");
  std::error_code failed;
  uint64_t words = std::filesystem::file_size(path, failed) / 8;
  auto damaged = [&path] { return error_at(path, 0, "this is not a whole file of computation times"); };
  char magic[8] = {};
  uint64_t ranks = 0;
  if (failed || !read_values(file.get(), magic, sizeof magic) ||
      std::string_view(magic, sizeof magic) != kMagic || !read_values(file.get(), &ranks, 1) ||
      ranks > words - 2) {
    return damaged();
  }
  std::vector<uint64_t> counts(ranks);
  if (!read_values(file.get(), counts.data(), ranks) || !counts_fit(counts, words - 2 - ranks)) {
    return damaged();
  }
  ComputeTimes times(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    times[rank].resize(counts[rank]);
    if (!read_values(file.get(), times[rank].data(), counts[rank])) return damaged();
    if (std::ranges::any_of(times[rank], [](int64_t time) { return time < 0; })) {
      return error_at(path, 0, "a negative computation time of rank " + std::to_string(rank));
    }
  }
  return times;
}

}  // namespace sesame::trace
