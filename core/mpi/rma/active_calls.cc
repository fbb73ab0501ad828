// Active target synchronisation: MPI_Win_fence, and MPI_Win_post, _start, _complete and _wait
// (MPI 4.1, sections 12.5.1 and 12.5.2).
#include <algorithm>

#include "core/mpi/api.h"
#include "core/mpi/collectives/barrier.h"
#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/polling.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"
#include "core/mpi/rma/epoch.h"

namespace sesame::mpi {
namespace {

using Condition = WindowWait::Condition;

constexpr int kFenceAssertions =
    MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;

// Tags of the window's own messages.
constexpr int kPosted = 0;
constexpr int kCompleted = 1;

// Sets *ranks to the members' ranks in the window's group, ascending.
int check_members(const WindowObject& window, Group handle, std::vector<int>* ranks) {
  GroupObject* group;
  MPI_TRY(check_group(handle, &group));
  for (const int world_rank : group->members->world_ranks()) {
    const int rank = window.comm->local->rank_of(world_rank);
    if (rank == MPI_UNDEFINED) {
      const World& world = this_rank().world;
      return fail(MPI_ERR_GROUP, "the group has a rank that the window has not: " +
                                     world.ranks[static_cast<size_t>(world_rank)]->name());
    }
    ranks->push_back(rank);
  }
  std::sort(ranks->begin(), ranks->end());
  return MPI_SUCCESS;
}

void describe_signal(RequestObject& request, RequestObject::Kind kind, WindowObject& window,
                     int peer, int tag) {
  describe_operation(request, kind, nullptr, 0, *predefined_object(MPI_BYTE), peer, tag,
                     *window.comm);
}

void send_signal(WindowObject& window, int target, int tag) {
  RequestObject request;
  describe_signal(request, RequestObject::Kind::kSend, window, target, tag);
  post_send(self(), request);
  await(self(), request);
}

void await_posts(WindowObject& window) {
  std::vector<RequestObject> posts(window.started.size());
  std::vector<RequestObject*> pointers;
  for (size_t i = 0; i < posts.size(); ++i) {
    describe_signal(posts[i], RequestObject::Kind::kReceive, window, window.started[i], kPosted);
    post_receive(self(), posts[i]);
    pointers.push_back(&posts[i]);
  }
  window.wait.condition = Condition::kPost;
  await_all(self(), pointers);
}

std::vector<RequestObject*> pointers_to(const WindowObject& window) {
  std::vector<RequestObject*> pointers;
  for (const auto& request : window.complete_calls) pointers.push_back(request.get());
  return pointers;
}

void end_exposure(WindowObject& window) {
  await_all(self(), pointers_to(window));
  window.complete_calls.clear();
  window.exposed = false;
}

int check_exposed(Win win, WindowObject** window) {
  MPI_TRY(check_window(win, window));
  if ((*window)->exposed) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_SYNC, "no exposure epoch is open: MPI_Win_post first");
}

}  // namespace

int Win_fence(int assertion, Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_assertion(assertion, kFenceAssertions));
  if (window->access != AccessEpoch::kFence) MPI_TRY(begin_access(*window, AccessEpoch::kFence));
  if (window->exposed) {
    return fail(MPI_ERR_RMA_SYNC, "the exposure epoch that MPI_Win_post opened has not ended");
  }
  await_window(*window, Condition::kComplete, MPI_ANY_SOURCE);
  window->used_since_fence = false;
  window->access = (assertion & MPI_MODE_NOSUCCEED) != 0 ? AccessEpoch::kNone : AccessEpoch::kFence;
  return run_collective(*window->comm, [](Transfer& transfer) {
    collectives::barrier_dissemination(transfer);
    return MPI_SUCCESS;
  });
}

int Win_post(Group group, int assertion, Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT));
  if (window->exposed) {
    return fail(MPI_ERR_RMA_SYNC, "the exposure epoch that MPI_Win_post opened has not ended");
  }
  std::vector<int> origins;
  MPI_TRY(check_members(*window, group, &origins));
  window->exposed = true;
  for (const int origin : origins) {
    window->complete_calls.push_back(std::make_unique<RequestObject>());
    RequestObject& request = *window->complete_calls.back();
    describe_signal(request, RequestObject::Kind::kReceive, *window, origin, kCompleted);
    post_receive(self(), request);
  }
  if ((assertion & MPI_MODE_NOCHECK) != 0) return MPI_SUCCESS;
  for (const int origin : origins) send_signal(*window, origin, kPosted);
  return MPI_SUCCESS;
}

int Win_start(Group group, int assertion, Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK));
  MPI_TRY(begin_access(*window, AccessEpoch::kStart));
  std::vector<int> targets;
  MPI_TRY(check_members(*window, group, &targets));
  window->access = AccessEpoch::kStart;
  window->started = std::move(targets);
  if ((assertion & MPI_MODE_NOCHECK) == 0) await_posts(*window);
  return MPI_SUCCESS;
}

int Win_complete(Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  if (window->access != AccessEpoch::kStart) {
    return fail(MPI_ERR_RMA_SYNC, "MPI_Win_complete without MPI_Win_start");
  }
  await_window(*window, Condition::kComplete, MPI_ANY_SOURCE);
  for (const int target : window->started) send_signal(*window, target, kCompleted);
  window->started.clear();
  window->access = AccessEpoch::kNone;
  return MPI_SUCCESS;
}

int Win_wait(Win win) {
  WindowObject* window;
  MPI_TRY(check_exposed(win, &window));
  window->wait.condition = Condition::kCompleteCall;
  end_exposure(*window);
  return MPI_SUCCESS;
}

int Win_test(Win win, int* flag) {
  WindowObject* window;
  MPI_TRY(check_exposed(win, &window));
  MPI_TRY(check_out(flag, "flag"));
  Strand& strand = self();
  std::vector<RequestObject*> calls;
  for (const auto& request : window->complete_calls) calls.push_back(request.get());
  *flag = have_taken_effect(strand, calls) ? 1 : 0;
  if (*flag != 0) {
    strand.idle_polls = 0;
    end_exposure(*window);
  } else {
    wait_after_idle_poll(strand, calls);
  }
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
