// The random numbers of a sort's input, and a fingerprint of a set of numbers that does not depend
// on their order.
#ifndef WORKLOADS_IO_SORT_NUMBERS_H_
#define WORKLOADS_IO_SORT_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "kit/files.h"
#include "kit/ranks.h"

namespace sesame::workload::sort {

// The total order of doubles that are numbers: -0 comes before 0.
bool less(double a, double b);

// Number `index` of the input that belongs to `seed`, in [0, 1): any rank can make any part.
double random_number(std::uint64_t seed, std::uint64_t index);

// A sum of hashes modulo 2^53, so that a report can hold it: the same for every order of the same
// numbers, and for hardly any other numbers.
std::uint64_t hash(const std::vector<double>& numbers);

// Collective: the sum over all ranks modulo 2^53.
std::uint64_t total(std::uint64_t own);

// Numbers [begin, end) of a file.
std::vector<double> read_numbers(const File& file, const Block& block);
void write_numbers(const File& file, const std::vector<double>& numbers, long begin);

}  // namespace sesame::workload::sort

#endif  // WORKLOADS_IO_SORT_NUMBERS_H_
