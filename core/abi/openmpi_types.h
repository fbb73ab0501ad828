// Handles and statuses of Open MPI's binary interface (Open MPI 4 and 5, libmpi.so.40).
//
// Use: translate.h includes this file when it is compiled for this interface, that is with the
// macros SESAME_ABI_TYPES and SESAME_ABI_CONSTANTS of CMakeLists.txt, and the generated entry
// points translate with it: AbiComm::in() gives the simulator's handle for a program's, and
// AbiComm::out() the program's for the simulator's. `inside` is the simulator's side, `Abi…` and
// `kAbi…` the program's. Call both on the strand of a rank.
//
// A handle is a pointer. Predefined ones are addresses of variables of the MPI library
// (ompi_mpi_comm_world); a program that names one holds the variable itself, by a COPY relocation,
// so every rank has addresses of its own. OpenMpiHandles knows how far they are from the rank's
// copy of the program, which is the same for all ranks, and translates in both directions without
// reading a rank's copy: with thousands of ranks that would be a cache miss for each call. Each
// variable of ours also begins with a mark and our handle (PredefinedHandle), and a copy has the
// same bytes: an address that OpenMpiHandles does not have (of a plug-in, or of ours) is translated
// by reading what it points to. Handles that a program creates are our own numbers above
// kCreatedHandle, which no address of a process can be equal to; nothing is stored for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "core/abi/constants.h"
#include "core/mpi/messages/program_tables.h"

namespace sesame::abi {

using namespace sesame::mpi;

inline constexpr uintptr_t kAbiInPlace = 1;
inline constexpr uintptr_t kAbiBufferAutomatic = 0;  // no such constant: null is no special buffer
inline constexpr uintptr_t kAbiUnweighted = 2;
inline constexpr uintptr_t kAbiWeightsEmpty = 3;
inline constexpr uintptr_t kAbiDuplicateFunction = 0;  // MPI_COMM_DUP_FN is a function of its own
inline constexpr int kAbiLastCode = 92;                // MPI_ERR_LASTCODE

inline constexpr int kNoFortran = -1;

struct PredefinedConstant {
  ConstantKind kind;
  int inside;
  const char* symbol;
  int fortran;  // the handle's number in Fortran; kNoFortran: it has none
};
inline constexpr PredefinedConstant kPredefined[] = {
#define SESAME_OPENMPI_HANDLE(kind, name, symbol, fortran) \
  {ConstantKind::kind, mpi::name, #symbol, fortran},
#include "core/abi/openmpi_handles.def"
#undef SESAME_OPENMPI_HANDLE
};
inline constexpr size_t kPredefinedCount = std::size(kPredefined);

// How the variables of predefined handles begin. A program's copy has at least this much.
struct PredefinedHandle {
  static constexpr uint64_t kMark = 0x53455341'4d45484cU;
  uint64_t mark;
  int inside;
  int fortran;
};

// The addresses that a rank knows predefined handles by: some in its copy of the program, the
// others here. One table serves all ranks of a program (ProgramTables::handles); a rank has the
// address of its copy (ProgramTables::address).
struct OpenMpiHandles {
  struct Position {
    uintptr_t offset;   // added to the program's address, or the address itself
    uintptr_t in_copy;  // all ones: in the rank's copy; 0: an address
  };
  // A handle by its distance from the program's address.
  struct Known {
    uintptr_t offset = UINTPTR_MAX;  // no variable's: the slot is empty
    int inside = 0;
  };
  // More than the variables of a program, which are 256 bytes or more each, so that few share a
  // slot. Of two that do, one is found by reading it.
  static constexpr size_t kSlots = 1024;
  static size_t slot_of(uintptr_t offset) { return offset / 64 % kSlots; }

  std::array<Position, kPredefinedCount + 1> positions;  // the last one of MPI_FILE_NULL
  std::array<Known, kSlots> known;
};

// The table of the running rank's program (handles_of_program() in handles.h).
inline const OpenMpiHandles& handles_of(const ProgramTables& tables) {
  return *static_cast<const OpenMpiHandles*>(tables.handles);
}

// The address of a predefined handle for the running rank.
inline uintptr_t predefined_address(size_t index) {
  const ProgramTables& tables = program_tables();
  const OpenMpiHandles::Position& position = handles_of(tables).positions[index];
  return position.offset + (tables.address & position.in_copy);
}

// Handles of ours that are predefined or null have 0 or 1 in their two highest bits, and those of
// types like MPI_DOUBLE_INT the indices below 5 of their kind.
constexpr bool is_predefined(int handle) {
  const auto bits = static_cast<uint32_t>(handle);
  return bits >> 31 == 0 || (bits & ~7U) == 0x8c000000U;
}

// The position of a kind's first handle in the table, and that after its last one: a search for a
// handle looks at those of its kind only. Most requests that are returned are found in none.
template <ConstantKind kind>
inline constexpr auto kPredefinedOf = [] {
  std::array<size_t, 2> range{kPredefinedCount, 0};
  for (size_t i = 0; i < kPredefinedCount; ++i) {
    if (kPredefined[i].kind == kind) range = {std::min(range[0], i), i + 1};
  }
  return range;
}();

// openmpi_handles.def has the handles of a kind together.
static_assert([] {
  size_t changes = 0;
  for (size_t i = 1; i < kPredefinedCount; ++i)
    changes += kPredefined[i].kind != kPredefined[i - 1].kind;
  return changes;
}() == 9);

template <ConstantKind kind>
constexpr size_t predefined_index(int inside) {
  constexpr auto kRange = kPredefinedOf<kind>;
  for (size_t i = kRange[0]; i < kRange[1]; ++i) {
    if (kPredefined[i].inside == inside) return i;
  }
  return kPredefinedCount;
}

// Datatypes by their low byte: searches for them would be long.
inline constexpr auto kDatatypeIndices = [] {
  std::array<uint8_t, 0x100> indices{};
  for (size_t i = 0; i < kPredefinedCount; ++i) {
    const auto bits = static_cast<uint32_t>(kPredefined[i].inside);
    if (kPredefined[i].kind == ConstantKind::datatype && bits >> 30 == 1)
      indices[bits & 0xff] = static_cast<uint8_t>(i);
  }
  return indices;
}();
static_assert(kPredefinedCount < 0x100);

template <>
constexpr size_t predefined_index<ConstantKind::datatype>(int inside) {
  const auto bits = static_cast<uint32_t>(inside);
  const size_t near = kDatatypeIndices[bits & 0xff];
  if (kPredefined[near].kind == ConstantKind::datatype && kPredefined[near].inside == inside)
    return near;
  constexpr auto kRange = kPredefinedOf<ConstantKind::datatype>;
  for (size_t i = kRange[0]; i < kRange[1]; ++i) {
    if (kPredefined[i].inside == inside) return i;
  }
  return kPredefinedCount;
}

// x86-64 has no addresses with these high bits.
inline constexpr uintptr_t kCreatedHandle = 0x5e5a'0000'0000'0000;

inline bool is_created(uintptr_t value) { return value >> 32 == kCreatedHandle >> 32; }
inline int created_handle(uintptr_t value) {
  return static_cast<int>(static_cast<uint32_t>(value));
}

// The handle of any value; 0, which is no handle of ours, for what is no handle of the program's.
// Like Open MPI, reads what the value points to: a value that is no address of the program's memory
// ends it with SIGSEGV.
[[gnu::pure, gnu::cold]] int read_handle(uintptr_t value);

// The same for the program's predefined handles without reading a rank's memory.
[[gnu::always_inline]] inline int handle_in(uintptr_t value) {
  const ProgramTables& tables = program_tables();
  const uintptr_t offset = value - tables.address;
  const OpenMpiHandles::Known& known = handles_of(tables).known[OpenMpiHandles::slot_of(offset)];
  if (known.offset == offset) return known.inside;
  return is_created(value) ? created_handle(value) : read_handle(value);
}

template <ConstantKind kind>
struct AbiHandle {
  using Inside = int;
  static constexpr ConstantKind kKind = kind;

  // Most types and operations are predefined, most requests and communicators are not.
  static constexpr bool kMostlyCreated = kind != ConstantKind::datatype && kind != ConstantKind::op;

  [[gnu::always_inline]] static int in(AbiHandle handle) {
    if (kMostlyCreated && is_created(handle.value)) return created_handle(handle.value);
    return handle_in(handle.value);
  }
  [[gnu::always_inline]] static AbiHandle out(int handle) {
    if (is_predefined(handle)) {
      const size_t index = predefined_index<kind>(handle);
      if (index < kPredefinedCount) return {predefined_address(index)};
    }
    return {kCreatedHandle | static_cast<uint32_t>(handle)};
  }

  uintptr_t value;
};

// A file's handle is the address of ompi_mpi_file_null or its number above kCreatedHandle.
struct AbiFile {
  using Inside = File;

  static File in(AbiFile file);
  static AbiFile out(File file);

  uintptr_t value;
};

struct AbiStatus {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int is_cancelled;
  size_t byte_count;
};
static_assert(sizeof(AbiStatus) == 24);

inline void count_in(const AbiStatus& status, Status* inside) {
  inside->set_byte_count(static_cast<Count>(status.byte_count));
  inside->set_cancelled(status.is_cancelled != 0);
}
inline void count_out(const Status& status, AbiStatus* abi) {
  abi->byte_count = static_cast<size_t>(status.byte_count());
  abi->is_cancelled = status.cancelled();
}

}  // namespace sesame::abi
