// Windows of one-sided communication (MPI 4.1, chapter 12): the data that all ranks of a window
// share, and the state of each rank. All their memory is accessible here; where ranks are
// processes, by the functions of memory.h. Events (operation.h) decide when an access takes effect.
// Rank numbers are those of the window's group, unless a name says `world`.
//
// The collective calls of window_create.cc make a WindowObject on each rank and one SharedWindow,
// which lives until the last of these is freed. A call on a window: check_window(), check the
// epoch (epoch.h), then access the target (access.h) or await_window(). Code that changes a
// WindowObject's state from outside its rank calls update_wait() afterwards.
//
// Functions that return int return an MPI error class. Simulation thread only, on a strand of the
// window's rank; update_wait() also in events.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/mpi/messages/request.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/rma/lock_queue.h"

namespace sesame::mpi {

class DatatypeObject;
class OrderedTransit;
struct ErrhandlerObject;
struct Rank;
struct WindowObject;

// Memory that a rank has attached to a dynamic window.
struct Region {
  Aint base;
  Aint size;
};

// The memory that one rank exposes.
struct Exposure {
  char* base = nullptr;
  Aint size = 0;
  Aint displacement_unit = 1;
  std::vector<Region> attached;  // dynamic windows only
  LockQueue lock;
};

struct SharedWindow : std::enable_shared_from_this<SharedWindow> {
  struct FreeMemory {
    void operator()(char* memory) const;
  };
  using Memory = std::unique_ptr<char, FreeMemory>;

  // Of operations of one rank on another's memory that come from another worker and share cards.
  struct Arrivals {
    OrderedTransit* last_in_transit = nullptr;  // the last one whose arrival is not known
    SimTime last;
  };

  int flavor = MPI_WIN_FLAVOR_CREATE;
  MembersRef members;               // the window's group
  std::vector<Exposure> exposures;  // by rank
  // By rank: memory that the window allocated; owned. That of all ranks is the first if they share.
  std::vector<Memory> memory;

  // In a parallel simulation (remote_windows.h):
  uint32_t context = 0;
  int first = 0;                                     // rank of the run
  std::vector<int> of_other_workers;                 // a rank of each that has one of the group
  std::map<std::pair<int, int>, Arrivals> arrivals;  // by origin and target
};

// Outstanding operations of one rank on one target.
struct TargetState {
  int incomplete = 0;        // operations that are not complete at the target
  int awaiting_reply = 0;    // operations whose reply has not arrived yet
  SimTime complete;          // completion time of the last operation known to be complete
  SimTime complete_locally;  // from then on the origin may reuse its buffers
  SimTime last_arrival;      // operations on one target stay in order
  OrderedTransit* last_in_transit = nullptr;  // the last one whose arrival is not known
  int lock = 0;                               // MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE while held
  bool lock_is_assumed = false;               // MPI_MODE_NOCHECK: no messages were sent
};

enum class AccessEpoch : uint8_t { kNone, kFence, kStart, kLock, kLockAll };

// The condition for which a rank that is blocked in a call on a window waits.
struct WindowWait {
  enum class Condition : uint8_t { kComplete, kCompleteLocally, kLock, kPost, kCompleteCall };
  Condition condition = Condition::kComplete;
  int target = MPI_PROC_NULL;  // MPI_ANY_SOURCE: all targets
  RequestObject* request = nullptr;
};

// One rank's state of a window. Counted: the handle and outstanding operations hold references.
struct WindowObject : Counted {
  explicit WindowObject(Rank& owner);
  ~WindowObject();
  WindowObject(const WindowObject&) = delete;
  WindowObject& operator=(const WindowObject&) = delete;

  Rank& rank;
  Win handle = MPI_WIN_NULL;
  CommObject* comm = nullptr;  // a duplicate, for the window's own messages; owned
  std::shared_ptr<SharedWindow> shared;

  // Predefined attributes are pointers to these.
  Aint size = 0;
  int displacement_unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  int model = MPI_WIN_UNIFIED;

  std::string name;
  ErrhandlerObject* errhandler = nullptr;  // null: MPI_ERRORS_ARE_FATAL
  std::unique_ptr<AttributeSet> attributes;
  InfoObject info;  // the hints of MPI_Win_get_info

  AccessEpoch access = AccessEpoch::kNone;
  int locks = 0;                  // targets locked by MPI_Win_lock
  std::vector<int> started;       // ranks of the group of MPI_Win_start
  bool used_since_fence = false;  // operations were issued since MPI_Win_fence
  bool exposed = false;           // between MPI_Win_post and its MPI_Win_wait
  std::vector<std::unique_ptr<RequestObject>>
      complete_calls;  // receives of the origins' MPI_Win_complete

  std::unordered_map<int, TargetState> targets;
  int incomplete = 0;  // these two: sums over the targets
  int awaiting_reply = 0;
  SimTime complete;  // these two: the latest of the targets
  SimTime complete_locally;
  int grants_awaited = 0;  // locks that were claimed and not granted yet
  SimTime granted;         // when the last grant arrived
  WindowWait wait;

  int size_of_group() const { return comm->size(); }
  int me() const { return comm->rank; }
  int world_rank(int target) const { return (*comm->local)[target]; }
  Exposure& exposure(int target) { return shared->exposures[static_cast<size_t>(target)]; }
};

// The windows of one rank.
struct WindowTable : HandleTable<WindowObject, 0xa0000000> {};

// Adds these hints (may be null) to the window's. Ignores hints that MPI does not define.
void apply_window_hints(WindowObject& window, const InfoObject* info);

// Returns null if the handle is not that of a window of the rank.
WindowObject* find_window(Rank& rank, Win handle);
int check_window(Win handle, WindowObject** window);
// MPI_ERR_RANK unless `target` is a rank of the window's group or MPI_PROC_NULL.
int check_target(const WindowObject& window, int target);

// The address of the target's memory in the program of the window's rank; null if the program
// cannot reach it.
void* address_in_program(const WindowObject& window, int target);

// Blocks the running strand until the condition holds for `target`, and advances its clock to that
// time.
void await_window(WindowObject& window, WindowWait::Condition condition, int target);
// The window's state has changed: resumes the waiting rank if its condition holds now.
void update_wait(WindowObject& window);

// For deadlock reports: what a rank that is blocked in a call on the window waits for, such as
// " waits for the lock of rank 2, which rank 1 holds".
std::string describe_wait(const WindowObject& window, const RequestObject& request);
// The world rank for which it waits, or -1 if unknown.
int rank_waited_for(const WindowObject& window, const RequestObject& request);
// The world rank whose lock it waits for, or -1.
int lock_waited_for(const WindowObject& window, const RequestObject& request);

// A claim that waits for a lock of a rank, which alone knows the holders in a parallel simulation.
// Ranks of the run.
struct WaitingClaim {
  int origin;
  int target;
  int holder;           // of an exclusive lock, or -1
  std::string holders;  // as describe_wait() has it: ", which rank 1 holds"
};
// Those for the locks of the rank.
std::vector<WaitingClaim> waiting_claims(const Rank& rank);

}  // namespace sesame::mpi
