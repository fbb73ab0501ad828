#include "core/mpi/rma/window.h"

#include <cstdlib>

#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/memory.h"

namespace sesame::mpi {
namespace {

struct Outcome {
  bool known;
  SimTime time;
};

Outcome outcome_of(const WindowObject& window) {
  const WindowWait& wait = window.wait;
  if (wait.condition == WindowWait::Condition::kLock)
    return {window.grants_awaited == 0, window.granted};
  const bool is_local = wait.condition == WindowWait::Condition::kCompleteLocally;
  if (wait.target == MPI_ANY_SOURCE) {
    if (is_local) return {window.awaiting_reply == 0, window.complete_locally};
    return {window.incomplete == 0, window.complete};
  }
  const auto found = window.targets.find(wait.target);
  if (found == window.targets.end()) return {true, SimTime::zero()};
  const TargetState& target = found->second;
  if (is_local) return {target.awaiting_reply == 0, target.complete_locally};
  return {target.incomplete == 0, target.complete};
}

std::string world_rank_text(const WindowObject& window, int target) {
  return "rank " + std::to_string(window.world_rank(target));
}

std::string holder_text(const LockQueue& lock) {
  if (lock.holder() >= 0) return ", which rank " + std::to_string(lock.holder()) + " holds";
  if (lock.holders() == 0) return "";
  return ", which is shared by " + std::to_string(lock.holders()) +
         (lock.holders() == 1 ? " rank" : " ranks");
}

}  // namespace

void SharedWindow::FreeMemory::operator()(char* memory) const {
  if (ranks_are_processes()) return remote_memory().free(memory);
  std::free(memory);
}

WindowObject::WindowObject(Rank& owner) : rank(owner) {}

WindowObject::~WindowObject() {
  if (comm != nullptr) comm->window = nullptr;
  release(comm);
  release(errhandler);
}

WindowObject* find_window(Rank& rank, Win handle) {
  const WindowTable* windows = rank.objects.windows.get();
  return windows != nullptr ? windows->find(handle) : nullptr;
}

int check_window(Win handle, WindowObject** window) {
  *window = find_window(this_rank(), handle);
  if (*window != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_WIN, handle == MPI_WIN_NULL ? "the window is MPI_WIN_NULL"
                                                  : "no such window, or it was freed");
}

int check_target(const WindowObject& window, int target) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  return check_peer(*window.comm, target, 0, Direction::kSend);
}

void* address_in_program(const WindowObject& window, int target) {
  const SharedWindow& shared = *window.shared;
  char* const base = shared.exposures[static_cast<size_t>(target)].base;
  if (base == nullptr || !ranks_are_processes()) return base;
  if (is_remote(base))
    return target == window.me() ? reinterpret_cast<void*>(address_there(base)) : nullptr;
  char* const own = shared.memory[static_cast<size_t>(target)].get();
  char* const memory = own != nullptr ? own : shared.memory[0].get();
  return remote_memory().map(memory) + (base - memory);
}

void await_window(WindowObject& window, WindowWait::Condition condition, int target) {
  RequestObject request;
  request.kind = RequestObject::Kind::kRemote;
  request.comm = window.comm;
  request.peer = target;
  request.context = window.comm->context;
  window.wait = {condition, target, &request};
  update_wait(window);
  await(self(), request);
  window.wait.request = nullptr;
}

void update_wait(WindowObject& window) {
  RequestObject* request = window.wait.request;
  if (request == nullptr || request->complete) return;
  const Outcome outcome = outcome_of(window);
  if (outcome.known) complete(*request, outcome.time);
}

std::string describe_wait(const WindowObject& window, const RequestObject& request) {
  if (request.kind == RequestObject::Kind::kReceive) {
    const std::string peer = world_rank_text(window, request.peer);
    if (window.wait.condition == WindowWait::Condition::kPost) {
      return " waits for " + peer + " to call MPI_Win_post";
    }
    if (window.wait.condition == WindowWait::Condition::kCompleteCall) {
      return " waits for " + peer + " to call MPI_Win_complete";
    }
    return " waits for " + peer + " in the window's barrier";
  }
  if (window.wait.condition != WindowWait::Condition::kLock)
    return " waits for one-sided operations";
  if (request.peer < 0) return " waits for the locks of all ranks of a window";
  return " waits for the lock of " + world_rank_text(window, request.peer) +
         holder_text(window.shared->exposures[static_cast<size_t>(request.peer)].lock);
}

int rank_waited_for(const WindowObject& window, const RequestObject& request) {
  if (request.peer < 0) return -1;
  if (request.kind == RequestObject::Kind::kReceive) return window.world_rank(request.peer);
  if (window.wait.condition != WindowWait::Condition::kLock) return -1;
  return window.shared->exposures[static_cast<size_t>(request.peer)].lock.holder();
}

int lock_waited_for(const WindowObject& window, const RequestObject& request) {
  const bool is_lock = request.kind != RequestObject::Kind::kReceive && request.peer >= 0 &&
                       window.wait.condition == WindowWait::Condition::kLock;
  return is_lock ? window.world_rank(request.peer) : -1;
}

std::vector<WaitingClaim> waiting_claims(const Rank& rank) {
  std::vector<WaitingClaim> claims;
  if (rank.objects.windows == nullptr) return claims;
  rank.objects.windows->visit([&](WindowObject& window) {
    const LockQueue& lock = window.exposure(window.me()).lock;
    lock.visit_waiting([&](const LockQueue::Claim& claim) {
      claims.push_back({claim.rank, rank.id, lock.holder(), holder_text(lock)});
    });
  });
  return claims;
}

}  // namespace sesame::mpi
