// Memory of the program. Where ranks are processes of their own (core/remote), a buffer of the
// program is in another process: its address here has the number of the rank in bits that no
// address of x86-64 has (remote_address()). Whatever copies or reduces data of the program does so
// by these functions, or checks is_remote() itself.
//
// Windows that MPI allocates are in memory that all processes can share. It has an address here,
// and another one in each process that maps it.
//
// Use: set_remote_memory() once, before the first call of a rank; nothing else is needed where
// ranks are fibers. Addresses can be added to as usual, also that of MPI_BOTTOM (null). Sizes are
// bytes. The functions do not fail: what cannot be read or written ends the job with a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sesame::mpi {

inline constexpr uintptr_t kRemoteMark = uintptr_t{1} << 62;
inline constexpr int kAddressBits = 47;
inline constexpr int kMostRemoteRanks = 1 << (62 - kAddressBits);

struct RemoteRange {
  void* address;  // remote
  size_t bytes;
};

// How the memory of other processes is reached. The ranges belong to one rank; `packed` is here and
// has their bytes one after the other.
struct RemoteMemory {
  void (*read)(const RemoteRange* ranges, size_t count, void* packed) = nullptr;
  void (*write)(const RemoteRange* ranges, size_t count, const void* packed) = nullptr;

  // Memory to share, full of zeros; null: there is none.
  char* (*allocate)(size_t bytes) = nullptr;
  void (*free)(char* memory) = nullptr;
  // Its address in the process of the running rank, which maps it at the first call. It must not be
  // freed before unmap(), which does nothing where it is not mapped.
  char* (*map)(char* memory) = nullptr;
  void (*unmap)(char* memory) = nullptr;
};
void set_remote_memory(const RemoteMemory& memory);
const RemoteMemory& remote_memory();

inline void* remote_address(int rank, uintptr_t address) {
  return reinterpret_cast<void*>(kRemoteMark | static_cast<uintptr_t>(rank) << kAddressBits |
                                 address);
}
inline bool ranks_are_processes() { return remote_memory().read != nullptr; }
// What the rank's program calls `address`, whether it is another process or not.
inline void* address_of_program(int rank, void* address) {
  return ranks_are_processes() ? remote_address(rank, reinterpret_cast<uintptr_t>(address))
                               : address;
}
inline int rank_of_address(const void* address) {
  return static_cast<int>((reinterpret_cast<uintptr_t>(address) & ~kRemoteMark) >> kAddressBits);
}
// The address in the other process.
inline uintptr_t address_there(const void* address) {
  return reinterpret_cast<uintptr_t>(address) & ((uintptr_t{1} << kAddressBits) - 1);
}

// Whether one of the addresses is another process's. MPI_IN_PLACE is none.
inline bool is_remote(const void* address) {
  return reinterpret_cast<uintptr_t>(address) >> 62 == 1;
}
inline bool is_remote(const void* one, const void* other) {
  return (reinterpret_cast<uintptr_t>(one) | reinterpret_cast<uintptr_t>(other)) >> 62 == 1;
}

[[gnu::cold]] void copy_remote(void* to, const void* from, size_t bytes);

// Copies bytes, which may overlap if they are here.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  if (is_remote(to, from)) [[unlikely]]
    return copy_remote(to, from, bytes);
  std::memmove(to, from, bytes);
}

}  // namespace sesame::mpi
