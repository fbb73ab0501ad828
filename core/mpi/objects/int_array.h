// A read-only view of an array of integers that a program passed to MPI: 32-bit in the classic
// functions, 64-bit in their large-count forms, so that one implementation serves both. The program
// owns the array. Non-blocking operations must copy() it before the call returns.
#pragma once

#include <cstddef>
#include <vector>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class IntArray {
 public:
  constexpr IntArray() = default;
  constexpr IntArray(const int* values) : narrow_(values) {}
  constexpr IntArray(const Count* values) : wide_(values) {}
  IntArray(const Aint* values) : wide_(reinterpret_cast<const Count*>(values)) {}

  constexpr Count operator[](size_t index) const {
    return wide_ != nullptr ? wide_[index] : narrow_[index];
  }
  constexpr bool is_null() const { return wide_ == nullptr && narrow_ == nullptr; }
  std::vector<Count> copy(size_t count) const {
    std::vector<Count> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = (*this)[i];
    return values;
  }

 private:
  const int* narrow_ = nullptr;
  const Count* wide_ = nullptr;
};

}  // namespace sesame::mpi
