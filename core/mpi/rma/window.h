// Windows of one-sided communication (MPI 4.1, chapter 12): what all ranks of a window share, and
// what each of them knows of it. Ranks are fibers of one process, so the memory of every rank can
// be reached from here; when an access takes effect is decided by events (operation.h). Ranks are
// those of the window's group unless a name says `world`.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/mpi/messages/request.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"
#include "core/mpi/objects/info.h"
#include "core/mpi/rma/lock_queue.h"

namespace sesame::mpi {

class DatatypeObject;
struct ErrhandlerObject;
struct Rank;
struct WindowObject;

// Memory that a rank has attached to a dynamic window.
struct Region {
  Aint base;
  Aint size;
};

// What one rank gives the others access to.
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

  int flavor = MPI_WIN_FLAVOR_CREATE;
  std::vector<Exposure> exposures;  // by rank
  std::vector<Memory> memory;       // what the window itself allocated
};

// What a rank has under way towards one target.
struct TargetState {
  int incomplete = 0;  // operations that are not complete at the target
  int unanswered = 0;  // operations whose data is not back yet
  SimTime complete;    // when the last of those known to be complete is
  SimTime complete_here;
  SimTime last_arrival;          // operations of one rank on one target do not overtake each other
  int lock = 0;                  // MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE while held
  bool lock_is_assumed = false;  // MPI_MODE_NOCHECK: there were no messages about it
};

enum class AccessEpoch : uint8_t { kNone, kFence, kStart, kLock, kLockAll };

// What a rank that is blocked in a call on a window waits for.
struct WindowWait {
  enum class For : uint8_t { kComplete, kCompleteHere, kLock, kPost, kCompleteCall };
  For what = For::kComplete;
  int target = MPI_PROC_NULL;  // MPI_ANY_SOURCE: all of them
  RequestObject* request = nullptr;
};

// One rank's view.
struct WindowObject : Counted {
  explicit WindowObject(Rank& owner);
  ~WindowObject();
  WindowObject(const WindowObject&) = delete;
  WindowObject& operator=(const WindowObject&) = delete;

  Rank& rank;
  Win handle = MPI_WIN_NULL;
  CommObject* comm = nullptr;  // a duplicate, for the window's own messages
  std::shared_ptr<SharedWindow> shared;

  // Predefined attributes are addresses of these.
  Aint size = 0;
  int displacement_unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  int model = MPI_WIN_UNIFIED;

  std::string name;
  ErrhandlerObject* errhandler = nullptr;  // null: MPI_ERRORS_ARE_FATAL
  std::unique_ptr<AttributeSet> attributes;
  InfoObject info;  // the hints of MPI_Win_get_info

  AccessEpoch access = AccessEpoch::kNone;
  int locks = 0;                  // targets locked one by one
  std::vector<int> started;       // ranks of the group of MPI_Win_start
  bool used_since_fence = false;  // operations were issued in the fence's epoch
  bool exposed = false;           // between MPI_Win_post and its MPI_Win_wait
  std::vector<std::unique_ptr<RequestObject>> complete_calls;  // that exposure is to see

  std::unordered_map<int, TargetState> targets;
  int incomplete = 0;  // sums over the targets
  int unanswered = 0;
  SimTime complete;
  SimTime complete_here;
  int grants_awaited = 0;
  SimTime granted;
  WindowWait wait;

  int size_of_group() const { return comm->size(); }
  int me() const { return comm->rank; }
  int world_rank(int target) const { return (*comm->local)[target]; }
  Exposure& exposure(int target) { return shared->exposures[static_cast<size_t>(target)]; }
};

// The windows of one rank.
struct WindowTable : HandleTable<WindowObject, 0xa0000000> {};

// Adds these hints (null for none) to the window's; those that no MPI knows are dropped.
void take_window_hints(WindowObject& window, const InfoObject* info);

// Null when the handle is not that of a window which the rank holds.
WindowObject* find_window(Rank& rank, Win handle);
int check_window(Win handle, WindowObject** window);
// `target` must be a rank of the window's group, or MPI_PROC_NULL.
int check_target(const WindowObject& window, int target);

// The running strand waits until `what` has come about for `target` and moves its clock there.
void await_window(WindowObject& window, WindowWait::For what, int target);
// Something has come about: goes on with the rank that waits for it, if it was the last.
void note_progress(WindowObject& window);

// What a rank that is blocked in a call on the window waits for, to explain a deadlock:
// " waits for the lock of rank 2, which rank 1 holds".
std::string describe_wait(const WindowObject& window, const RequestObject& request);
// The world rank that must act first, or -1.
int rank_waited_for(const WindowObject& window, const RequestObject& request);

}  // namespace sesame::mpi
