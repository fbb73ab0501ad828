// Windows with ranks on several workers of a parallel simulation (docs/models/parallel.md). Each
// worker has one SharedWindow for a window. There the exposures of its own ranks have memory and
// lock; those of others have what an access must know of them. An operation, a claim to a lock or
// its release goes to the worker of its target as a frame, takes effect there at its simulated
// time, and is answered by a frame.
//
// Use: set World::remote_windows before the ranks run; it is null in a run with one executive.
// share() and announce() make a window known; the code of operations and locks sends a request(),
// an answer() or a grant(), which reaches one of the Receivers. A window is known by its context
// and its first rank, since groups without a common rank may use the same context. One thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/mpi/messages/remote_ranks.h"
#include "core/mpi/rma/operation_kind.h"
#include "core/mpi/rma/window.h"
#include "core/network/traffic.h"

namespace sesame::mpi {

class RemoteOperation;
struct World;

// An operation on its way to its target. `ranges` ranges of the target's memory and the data
// follow. Ranks are those of the window's group.
struct OperationFrame {
  OperationKind kind{};
  bool is_shipped = false;  // shares cards: `passage` is where it is; otherwise it arrives at
  FrameTime arrival;        // this time
  network::Passage passage;
  int origin = 0;
  int target = 0;
  uint32_t order = 0;   // EventOrder::number
  Op op = MPI_OP_NULL;  // of predefined elements:
  Datatype element = MPI_DATATYPE_NULL;
  uint64_t address = 0;
  uint64_t ranges = 0;
  uint64_t data_bytes = 0;
  Count reply_bytes = 0;  // of the origin's buffer
  FrameTime sent;
  FrameTime acknowledgement;             // its latency
  RemoteOperation* operation = nullptr;  // of the origin's worker
};

// The answer. The data follows.
struct ReplyFrame {
  bool is_shipped = false;  // as above
  FrameTime back;
  network::Passage passage;
  bool has_data = false;  // false: only the acknowledgement, at `back`
  FrameTime effect;
  FrameTime sent;
  RemoteOperation* operation = nullptr;
};

class RemoteWindows {
 public:
  // What happens to a frame of another worker.
  struct Receivers {
    void (*operation)(World& world, std::shared_ptr<SharedWindow> window,
                      const OperationFrame& frame, std::span<const char> ranges_and_data);
    void (*lock)(World& world, std::shared_ptr<SharedWindow> window, const LockDelivery& delivery,
                 uint32_t order);
    void (*reply)(const ReplyFrame& frame, std::span<const char> data);
    void (*grant)(WindowObject& origin, SimTime arrival);
  };

  // See make_remote_windows() in remote_target.h.
  RemoteWindows(World& world, const Receivers& receivers);

  // The window that is being made, the same for all ranks of this worker.
  std::shared_ptr<SharedWindow> share(const MembersRef& members, uint32_t context, int flavor);
  // Tells the other workers what the rank exposes: address, size and unit. Each worker knows that
  // of all ranks after a barrier and catch_up().
  void announce(const SharedWindow& window, int rank);
  // The same for memory that the rank attaches or detaches.
  void announce(const SharedWindow& window, int rank, const Region& region, bool is_attached);

  void request(const SharedWindow& window, const OperationFrame& frame,
               std::string ranges_and_data);
  void request(const SharedWindow& window, const LockDelivery& delivery, uint32_t order);
  void answer(int origin_world_rank, const ReplyFrame& frame, std::span<const char> data);
  void grant(const LockQueue::Claim& claim, SimTime arrival);

 private:
  enum class Kind : uint8_t { kExposure, kAttached, kDetached, kOperation, kLock, kReply, kGrant };
  using Key = std::pair<uint32_t, int>;  // context, first rank
  struct Known {
    std::shared_ptr<SharedWindow> early;  // until a rank of this worker makes it
    std::weak_ptr<SharedWindow> window;
  };
  struct Head;

  std::shared_ptr<SharedWindow> find(const Key& key) const;
  std::shared_ptr<SharedWindow> find_or_make(const Key& key, size_t ranks);
  template <typename Frame>
  void post(int target, Kind kind, const SharedWindow* window, const Frame& frame,
            std::span<const char> data = {});
  void take(std::span<const char> frame);
  void take_exposure(const Key& key, std::span<const char> frame);

  World& world_;
  const Receivers receivers_;
  std::map<Key, Known> windows_;
};

}  // namespace sesame::mpi
