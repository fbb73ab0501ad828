// Handles and statuses of the MPI 5 standard interface. A handle is a pointer to an incomplete
// type: predefined ones are numbers below 4096; the others are our own handles, which as unsigned
// numbers are never below that, widened with zeros. So a handle's integer (MPI_Comm_toint and the
// like) is its low half.
#pragma once

#include <cstdint>

#include "core/abi/constants.h"

namespace sesame::abi {

using namespace sesame::mpi;

// Addresses with a meaning of their own, and the last error class of the standard.
inline constexpr uintptr_t kAbiInPlace = 1;
inline constexpr uintptr_t kAbiBufferAutomatic = 2;
inline constexpr uintptr_t kAbiUnweighted = 10;
inline constexpr uintptr_t kAbiWeightsEmpty = 11;
inline constexpr uintptr_t kAbiDuplicateFunction = 1;  // MPI_COMM_DUP_FN and its relatives
inline constexpr int kAbiLastCode = 0x3fff;

// Handles by table where a search would be long and the call is a common one. The standard gives
// datatypes the numbers 0x200 to 0x2ff.
inline constexpr int kFirstDatatype = 0x200;
inline constexpr auto kDatatypesIn = [] {
  std::array<int, 0x100> handles{};
  for (const Constant& constant : kConstantsOf<ConstantKind::datatype>) {
    handles[static_cast<size_t>(constant.abi - kFirstDatatype)] = constant.inside;
  }
  return handles;
}();

template <>
constexpr int constant_in<ConstantKind::datatype>(int abi, int otherwise) {
  const unsigned index = static_cast<unsigned>(abi - kFirstDatatype);
  return index < kDatatypesIn.size() && kDatatypesIn[index] != 0 ? kDatatypesIn[index] : otherwise;
}

// A handle is passed and returned like the pointer that the program declares.
template <ConstantKind kind>
struct AbiHandle {
  using Inside = int;

  // 0, which is no handle of ours, for numbers that name nothing.
  static int in(AbiHandle handle) {
    const int number = static_cast<int>(static_cast<uint32_t>(handle.value));
    return handle.value < kEndOfPredefined ? constant_in<kind>(number, 0) : number;
  }
  static AbiHandle out(int handle) {
    const auto number = static_cast<uint32_t>(handle);
    return {static_cast<uint32_t>(constant_out<kind>(handle, static_cast<int>(number)))};
  }

  static constexpr uintptr_t kEndOfPredefined = 4096;
  uintptr_t value;
};

// Files are pointers inside as well; only the null handle differs.
struct AbiFile {
  using Inside = File;
  static constexpr uintptr_t kNull = 0x118;

  static File in(AbiFile file) {
    return file.value == kNull ? nullptr : reinterpret_cast<File>(file.value);
  }
  static AbiFile out(File file) {
    return {file == nullptr ? kNull : reinterpret_cast<uintptr_t>(file)};
  }

  uintptr_t value;
};

struct AbiStatus {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int count_lo;  // the rest is private to an implementation; these two as in Status
  int count_hi_and_cancelled;
  int unused[3];
};
static_assert(sizeof(AbiStatus) == 32);

// The byte count and whether the operation was cancelled.
inline void count_in(const AbiStatus& status, Status* inside) {
  inside->count_lo = status.count_lo;
  inside->count_hi_and_cancelled = status.count_hi_and_cancelled;
}
inline void count_out(const Status& status, AbiStatus* abi) {
  abi->count_lo = status.count_lo;
  abi->count_hi_and_cancelled = status.count_hi_and_cancelled;
}

}  // namespace sesame::abi
