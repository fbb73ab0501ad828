// The variables that Open MPI's predefined handles are addresses of, and where each rank has them.
#include <cstdint>
#include <map>
#include <memory>

#include "core/abi/narrow.h"
#include "core/abi/openmpi_types.h"
#include "core/mpi/io/file_handle.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/world.h"

namespace sesame::abi {
namespace {

// Programs and libraries may hold copies of these variables, of Open MPI's sizes: ours are not
// smaller (512 bytes and more in Open MPI 4.1 for all but groups, infos, messages and requests).
constexpr size_t kVariableBytes = 2048;
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
OpenMpiHandles positions_of(const mpi::Rank& rank, uintptr_t program) {
  OpenMpiHandles handles;
  for (size_t i = 0; i <= kFileNull; ++i) {
    const char* name = i == kFileNull ? "ompi_mpi_file_null" : kPredefined[i].symbol;
    const void* own = rank.world.hooks.program_variable == nullptr
                          ? nullptr
                          : rank.world.hooks.program_variable(rank, name);
    if (own != nullptr) {
      handles.positions[i] = {reinterpret_cast<uintptr_t>(own) - program, ~uintptr_t{0}};
    } else {
      handles.positions[i] = {reinterpret_cast<uintptr_t>(kVariables[i]), 0};
    }
  }
  return handles;
}

// By the loaded program: all of its ranks have the same.
const OpenMpiHandles* handles_of(const mpi::Rank& rank) {
  static std::map<const void*, std::unique_ptr<OpenMpiHandles>> by_program;
  auto& handles = by_program[rank.loaded_program];
  if (!handles) {
    handles = std::make_unique<OpenMpiHandles>(positions_of(rank, rank.program_address));
  }
  return handles.get();
}

}  // namespace

uintptr_t predefined_address(size_t index) {
  mpi::Rank& rank = mpi::this_rank();
  if (rank.interface_handles == nullptr) [[unlikely]]
    rank.interface_handles = handles_of(rank);
  const auto& position =
      static_cast<const OpenMpiHandles*>(rank.interface_handles)->positions[index];
  return position.offset + (rank.program_address & position.in_copy);
}

File AbiFile::in(AbiFile file) {
  return file.value >> 32 == kCreatedHandle >> 32
             ? file_handle(static_cast<int>(static_cast<uint32_t>(file.value)))
             : nullptr;
}

AbiFile AbiFile::out(File file) {
  if (file == nullptr) return {predefined_address(kFileNull)};
  return {kCreatedHandle | static_cast<uint32_t>(file_number(file))};
}

}  // namespace sesame::abi
