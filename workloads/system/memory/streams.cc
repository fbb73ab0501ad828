#include "system/memory/streams.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>

namespace sesame::workload {
namespace {

constexpr double kSampleBytes = 16e6;  // that a sample moves at least
constexpr long kWord = sizeof(std::uint64_t);

// Four sums, so that the additions do not wait for each other.
std::uint64_t read_sum(const std::uint64_t* data, long words) {
  std::uint64_t sums[4] = {};
  for (long i = 0; i < words; i += 4) {
    for (int j = 0; j < 4; ++j) sums[j] += data[i + j];
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

void write_all(std::uint64_t* data, long words, std::uint64_t value) {
  for (long i = 0; i < words; ++i) data[i] = value;
}

// The compiler must take memory for read and written here.
void keep(const void* data) { asm volatile("" : : "r"(data) : "memory"); }

template <typename Pass>
double best_bandwidth(long bytes, int repeat, const Pass& pass) {
  const long passes = std::max(1L, static_cast<long>(kSampleBytes / double(bytes)));
  double best = 0;
  pass();
  for (int i = 0; i < repeat; ++i) {
    const double began = MPI_Wtime();
    for (long j = 0; j < passes; ++j) pass();
    const double spent = MPI_Wtime() - began;
    best = std::max(best, double(bytes) * double(passes) / std::max(spent, 1e-12));
  }
  return best;
}

}  // namespace

Streams::Streams(long most) : data_(most / kWord, 1) {}

Bandwidths Streams::measure(long bytes, int repeat) {
  const long words = bytes / kWord;
  std::uint64_t* data = data_.data();
  Bandwidths result{};
  write_all(data, words, 3);
  std::uint64_t sum = 0;
  result.read = best_bandwidth(bytes, repeat, [&] {
    sum = read_sum(data, words);
    keep(&sum);
  });
  result.wrong += sum != 3 * static_cast<std::uint64_t>(words);
  result.write = best_bandwidth(bytes, repeat, [&] {
    write_all(data, words, 5);
    keep(data);
  });
  write_all(data, words / 2, 7);
  result.copy = best_bandwidth(bytes, repeat, [&] {
    std::memcpy(data + words / 2, data, bytes / 2);
    keep(data);
  });
  result.wrong += read_sum(data, words) != 7 * static_cast<std::uint64_t>(words);
  return result;
}

}  // namespace sesame::workload
