#include "io/sort/numbers.h"

#include <mpi.h>

#include <bit>
#include <cmath>

namespace sesame::workload::sort {
namespace {

// The finaliser of SplitMix64: Steele, Lea and Flood, Fast splittable pseudorandom number
// generators, OOPSLA 2014.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // of the same generator
constexpr std::uint64_t kMask = (std::uint64_t{1} << 53) - 1;
constexpr long kNumberBytes = sizeof(double);

}  // namespace

bool less(double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

double random_number(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = mix(mix(seed) + (index + 1) * kStep);
  return static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-53;
}

std::uint64_t hash(const std::vector<double>& numbers) {
  std::uint64_t sum = 0;
  for (const double number : numbers) sum += mix(std::bit_cast<std::uint64_t>(number) + kStep);
  return sum & kMask;
}

std::uint64_t total(std::uint64_t own) {
  std::uint64_t sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum & kMask;
}

std::vector<double> read_numbers(const File& file, const Block& block) {
  std::vector<double> numbers(block.size());
  file.read(numbers.data(), numbers.size() * sizeof(double), block.begin * kNumberBytes);
  return numbers;
}

void write_numbers(const File& file, const std::vector<double>& numbers, long begin) {
  file.write(numbers.data(), numbers.size() * sizeof(double), begin * kNumberBytes);
}

}  // namespace sesame::workload::sort
