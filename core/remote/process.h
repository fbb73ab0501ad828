// The process of a rank, as the simulator sees it: its slot, its memory, and how it ended.
//
// Use: Launch (launch.h) starts the processes and owns these; serve_rank() (server.h) runs a rank's
// fiber with one. All but `has_ended` and `status` belong to the simulator's thread. Sizes are
// bytes.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/mpi/calls/call.h"
#include "core/mpi/objects/memory.h"
#include "core/remote/wire.h"

namespace sesame::remote {

// Reads and writes the memory of a rank's process, for calls of this and of other ranks. Where the
// process computes meanwhile, MPI does not let it touch what is read or written. Small writes are
// kept for the next reply, whose receiver makes them itself: that takes no system call. Not so once
// the process shares memory with others, which would not see them.
class ProcessMemory {
 public:
  explicit ProcessMemory(Slot& slot) : slot_(slot) {}

  void read(const mpi::RemoteRange* ranges, size_t count, char* packed);
  void write(const mpi::RemoteRange* ranges, size_t count, const char* packed);

  // Bytes of the process's memory that came with a request, until leave_windows() with the number
  // of windows before.
  void add_window(uint64_t address, size_t bytes, const char* data) {
    windows_.push_back({address, bytes, data});
  }
  size_t windows() const { return windows_.size(); }
  void leave_windows(size_t count) { windows_.resize(count); }

  void share() { is_shared_ = true; }
  // Of the rank; before it is read or written.
  void set_world(mpi::World& world) { world_ = &world; }

  // Puts the kept writes into the slot; returns their size there.
  uint32_t hand_over_writes();

 private:
  struct Window {
    uint64_t address;
    size_t bytes;
    const char* data;
  };
  struct Write {
    uint64_t address;
    size_t bytes;
    size_t at;  // of the data in kept_
  };

  using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                               unsigned long);

  void transfer(Transfer call, const mpi::RemoteRange* ranges, size_t count, char* packed,
                const char* what);
  [[noreturn]] void fail_at(const void* address, const char* what);
  bool read_known(uint64_t address, size_t bytes, char* to);
  void make_writes();

  Slot& slot_;
  mpi::World* world_ = nullptr;
  bool is_shared_ = false;
  std::vector<Window> windows_;
  std::vector<Write> writes_;
  std::vector<char> kept_;  // as in a slot: address, size, data, …
};

struct Process {
  Process(int rank_in, Slot& slot_in) : rank(rank_in), slot(slot_in), memory(slot_in) {}

  int rank;
  Slot& slot;
  ProcessMemory memory;
  pid_t started = 0;                    // the program that the rank was started as
  std::optional<mpi::CallScope> scope;  // of a call that makes several requests
  SimTime uncharged;                    // computation that no call has charged yet; host time
  uint64_t scratch = 0;                 // memory in the process for operands
  size_t scratch_bytes = 0;
  pdes::Fiber* computing = nullptr;    // waits while the process computes (computing.h)
  std::vector<pdes::Fiber*> awaiting;  // others of the rank, until the process waits
  // Where it has mapped shared memory, by the memory's address here.
  std::unordered_map<const char*, char*> mapped;
  std::atomic<bool> has_ended = false;
  int status = 0;  // of waitpid(), once it has ended
};

}  // namespace sesame::remote
