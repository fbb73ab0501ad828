// The variables that Open MPI's predefined handles are addresses of, and where each rank has them.
#include <cstdint>
#include <map>
#include <memory>

#include "core/abi/handles.h"
#include "core/abi/narrow.h"
#include "core/abi/openmpi_types.h"
#include "core/mpi/io/file_handle.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/world.h"

namespace sesame::abi {
namespace {

// Programs and libraries may hold copies of these variables, of Open MPI's sizes: ours are not
// smaller (512 bytes and more in Open MPI 4.1 for all but groups, infos, messages and requests).
// Where ranks are processes the C library's loader makes the copies, and warns of larger variables.
#ifdef SESAME_RANK_IS_PROCESS
constexpr size_t kVariableBytes = sizeof(PredefinedHandle) + 8;
#else
constexpr size_t kVariableBytes = 2048;
#endif
struct Variable {
  PredefinedHandle handle;
  char unused[kVariableBytes - sizeof(PredefinedHandle)];
};

}  // namespace

extern "C" {
#define SESAME_OPENMPI_HANDLE(kind, name, symbol, fortran)       \
  extern __attribute__((visibility("default"))) Variable symbol; \
  __attribute__((visibility("default")))                         \
  Variable symbol = {{PredefinedHandle::kMark, mpi::name, fortran}, {}};
#include "core/abi/openmpi_handles.def"
#undef SESAME_OPENMPI_HANDLE
extern __attribute__((visibility("default"))) Variable ompi_mpi_file_null;
Variable ompi_mpi_file_null = {{PredefinedHandle::kMark, 0, 0}, {}};
}

namespace {

const Variable* const kVariables[] = {
#define SESAME_OPENMPI_HANDLE(kind, name, symbol, fortran) &symbol,
#include "core/abi/openmpi_handles.def"
#undef SESAME_OPENMPI_HANDLE
    &ompi_mpi_file_null,
};
constexpr size_t kFileNull = kPredefinedCount;
static_assert(std::size(kVariables) == kFileNull + 1);

// Where the ranks of one program have the variables: in their copies of it, or here.
void find_positions(const mpi::Rank& rank, OpenMpiHandles& handles) {
  for (size_t i = 0; i <= kFileNull; ++i) {
    const char* name = i == kFileNull ? "ompi_mpi_file_null" : kPredefined[i].symbol;
    const void* own = rank.world.hooks.program_variable == nullptr
                          ? nullptr
                          : rank.world.hooks.program_variable(rank, name);
    if (own != nullptr) {
      handles.positions[i] = {reinterpret_cast<uintptr_t>(own) - rank.tables.address,
                              ~uintptr_t{0}};
    } else {
      handles.positions[i] = {reinterpret_cast<uintptr_t>(kVariables[i]), 0};
    }
  }
}

// Those in the copy, for the other direction.
void index_positions(OpenMpiHandles& handles) {
  for (size_t i = 0; i < kPredefinedCount; ++i) {
    const OpenMpiHandles::Position& position = handles.positions[i];
    if (position.in_copy == 0) continue;
    handles.known[OpenMpiHandles::slot_of(position.offset)] = {position.offset,
                                                               kPredefined[i].inside};
  }
}

}  // namespace

const void* handles_of_program(const mpi::Rank& rank) {
  // By the loaded program: all of its ranks have the same.
  static std::map<const void*, std::unique_ptr<OpenMpiHandles>> by_program;
  auto& handles = by_program[rank.loaded_program];
  if (!handles) {
    handles = std::make_unique<OpenMpiHandles>();
    find_positions(rank, *handles);
    index_positions(*handles);
  }
  return handles.get();
}

int read_handle(uintptr_t value) {
  if (is_created(value)) return created_handle(value);
  if (value < 4096) return 0;
  const auto* handle = reinterpret_cast<const PredefinedHandle*>(value);
  return handle->mark == PredefinedHandle::kMark ? handle->inside : 0;
}

File AbiFile::in(AbiFile file) {
  return is_created(file.value) ? file_handle(created_handle(file.value)) : nullptr;
}

AbiFile AbiFile::out(File file) {
  if (file == nullptr) return {predefined_address(kFileNull)};
  return {kCreatedHandle | static_cast<uint32_t>(file_number(file))};
}

}  // namespace sesame::abi
