// The process of a rank, as the simulator sees it: its threads that call MPI, its memory, and how
// it ended.
//
// Use: Launch (launch.h) starts the processes and owns these; serve_rank() (server.h) runs a rank's
// fiber with one. All belong to the simulator's thread but `has_ended` and `status`, which the
// thread of Launch that waits for processes sets; it reads `started`, too. Sizes are bytes.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/mpi/calls/call.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/memory.h"
#include "core/remote/wire.h"
#include "core/storage/file_call_record.h"
#include "core/storage/open_file.h"

namespace sesame::remote {

// Reads and writes the memory of a rank's process, for calls of this and of other ranks. Where the
// process computes meanwhile, MPI does not let it touch what is read or written. Small writes are
// kept for the next reply, whose receiver makes them itself: that takes no system call. Not so once
// the process shares memory with others, or has several threads: these would not see them.
class ProcessMemory {
 public:
  ProcessMemory(int rank, Slot& slot) : rank_(rank), slot_(slot) {}

  void read(const mpi::RemoteRange* ranges, size_t count, char* packed);
  void write(const mpi::RemoteRange* ranges, size_t count, const char* packed);

  // Bytes of the process's memory that came with a request, until leave_windows() with the number
  // of windows before.
  void add_window(uint64_t address, size_t bytes, const char* data) {
    if (!is_shared_) windows_.push_back({address, bytes, data});
  }
  size_t windows() const { return windows_.size(); }
  void leave_windows(size_t count) {
    if (count < windows_.size()) windows_.resize(count);
  }

  // From now on all writes are made at once, and the process defers no calls.
  void share() {
    make_writes();
    slot_.may_defer = 0;
    is_shared_ = true;
  }
  // Of the rank; before it is read or written.
  void set_world(mpi::World& world) { world_ = &world; }
  // The process whose memory it is from now on. What is kept for the one before is discarded.
  void set_process(pid_t process);

  // The process has ended: from now on what is written to it is discarded.
  void discard_writes() { has_ended_ = true; }

  // Puts the kept writes into the slot; returns their size there.
  uint32_t hand_over_writes();
  // Puts what has been written at once into the slot, the last part first, if computation is
  // measured: how many parts.
  uint8_t hand_over_received(Slot& slot);

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
  void note_received(const mpi::RemoteRange* ranges, size_t count);

  const int rank_;
  Slot& slot_;
  pid_t process_ = 0;
  mpi::World* world_ = nullptr;
  bool is_shared_ = false;
  bool has_ended_ = false;
  std::vector<Window> windows_;
  std::vector<Write> writes_;
  std::vector<char> kept_;          // as in a slot: address, size, data, …
  std::vector<Received> received_;  // in the order of the writes; old ones are dropped
};

struct Process;

// What a rank keeps of the call that its strand is in (Rank::call_bytes and those that follow).
struct CallState {
  SimTime compute_before_call;
  uint64_t bytes = 0;
  int peer = -1;
  int tag = 0;
  uint32_t context = 0;
  std::unique_ptr<storage::FileCallRecord> file_record;
  mpi::File failed_file = nullptr;
};

// What is known of a thread that computes (progress.h).
struct Progress {
  std::optional<int64_t> begin_ns;  // the processor clock of its process when it was first read
  SimTime computed;                 // since it was given the turn, at least; host time
};

// A thread of the process, and the slot through which its calls pass.
struct Channel {
  Channel(Process& process_in, Slot& slot_in) : process(process_in), slot(slot_in) {}

  Process& process;
  Slot& slot;
  mpi::Strand* strand = nullptr;        // that runs its calls; null: no thread has the slot
  std::optional<mpi::CallScope> scope;  // of a call that makes several requests
  SimTime uncharged;                    // computation that no call has charged yet; host time
  uint64_t scratch = 0;                 // memory in the process for operands
  size_t scratch_bytes = 0;
  int callbacks = 0;  // functions that MPI has called and that have not returned, each in the last
  pdes::Fiber* computing = nullptr;    // waits while the thread computes (computing.h)
  std::vector<pdes::Fiber*> awaiting;  // others of the rank, until the thread waits
  Progress progress;                   // while it computes
  bool is_idle = false;                // waits for another thread of the process, as far as known
  bool has_left = false;  // the thread ended with its process, which another one replaced
  CallState call;         // while the strand of another channel of the rank runs
  // Of Slot::reserved, which the process may damage. At first there are none.
  std::array<int32_t, kReservedRequests> reserved{};
  uint32_t reserved_taken = kReservedRequests;  // by deferred calls that have been served
  // The call on a file that the thread is in. Until its end no other thread or rank may run except
  // while simulated time passes.
  std::optional<storage::FileCallRecord> file_call;
  std::vector<std::string> names;  // of a directory, that the thread has yet to ask for
};

// An asynchronous transfer (files.cc).
struct AsyncTransfer;

struct Process {
  Process(int rank_in, Slot& slot, int slot_number_in)
      : rank(rank_in), slot_number(slot_number_in), main(*this, slot), memory(rank_in, slot) {}

  bool has_threads() const { return !threads.empty(); }

  int rank;
  int slot_number;  // in the file of slots
  Channel main;
  // Of threads other than the first, also of those that have ended: their slots are used again.
  std::vector<std::unique_ptr<Channel>> threads;
  Channel* running = &main;  // whose call the rank's fields are about
  ProcessMemory memory;
  uint32_t seen_threads = 0;  // of Slot::threads_created: those that have been seen to wait
  pid_t started = 0;          // the program that the rank was started as
  // The process that calls, as the latest kHello found it in the slot, which may be damaged later.
  // 0: none has called yet.
  pid_t caller = 0;
  // Where it has mapped shared memory, by the memory's address here.
  std::unordered_map<const char*, char*> mapped;
  bool ends_by_exit = false;
  std::string directory;  // that it works in, if it is on a simulated file system
  // Files that it has open, or mapped.
  std::multimap<std::pair<storage::FileSystem*, storage::FileId>,
                std::unique_ptr<storage::OpenFile>>
      open_files;
  // Asynchronous transfers by the tickets of the process, until one has waited for their end; and
  // the number of those started. Each strand that uses one shares it.
  std::unordered_map<uint64_t, std::shared_ptr<AsyncTransfer>> transfers;
  uint64_t transfers_started = 0;
  std::atomic<bool> has_ended = false;
  int status = 0;  // of waitpid(), once it has ended
};

// Those of all ranks or, in a worker of a parallel simulation, of its ranks.
class Processes {
 public:
  Process& add(std::unique_ptr<Process> process) {
    const auto rank = static_cast<size_t>(process->rank);
    if (rank >= by_rank_.size()) by_rank_.resize(rank + 1);
    by_rank_[rank] = process.get();
    return *all_.emplace_back(std::move(process));
  }
  void remove_last() {
    by_rank_[static_cast<size_t>(all_.back()->rank)] = nullptr;
    all_.pop_back();
  }

  // Null: there is none here.
  Process* find(int rank) const {
    const auto number = static_cast<size_t>(rank);
    return number < by_rank_.size() ? by_rank_[number] : nullptr;
  }
  size_t size() const { return all_.size(); }
  const Process& last() const { return *all_.back(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::unique_ptr<Process>> all_;
  std::vector<Process*> by_rank_;
};

}  // namespace sesame::remote
