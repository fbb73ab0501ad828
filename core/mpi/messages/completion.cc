// MPI_Wait*, MPI_Test*, MPI_Request_get_status*, MPI_Request_free, MPI_Start* and MPI_Cancel
// (MPI 4.1, sections 3.7 to 3.9).
#include <array>

#include "core/base/spelling.h"
#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/generalized.h"
#include "core/mpi/messages/in_flight.h"
#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/polling.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using Kind = RequestObject::Kind;

// The requests of an array of handles: null pointers for null handles and inactive requests.
class RequestList {
 public:
  int read(int count, const Request* handles) {
    if (count < 0) return fail(MPI_ERR_COUNT, "the number of requests is negative");
    count_ = static_cast<size_t>(count);
    if (count_ > few_.size()) many_.resize(count_);
    for (size_t i = 0; i < count_; ++i) {
      RequestObject* request = nullptr;
      if (handles[i] != MPI_REQUEST_NULL) {
        MPI_TRY(check_request(handles[i], &request));
        if (!request->active) request = nullptr;
      }
      at(i) = request;
      active_ += request != nullptr;
    }
    return MPI_SUCCESS;
  }
  size_t size() const { return count_; }
  size_t active() const { return active_; }
  RequestObject*& at(size_t i) { return count_ > few_.size() ? many_[i] : few_[i]; }
  std::span<RequestObject* const> span() { return {&at(0), count_}; }

 private:
  std::array<RequestObject*, 16> few_;
  std::vector<RequestObject*> many_;
  size_t count_ = 0;
  size_t active_ = 0;
};

void set_empty_status(Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = Status{0, 0, MPI_ANY_SOURCE, MPI_ANY_TAG, error};
}

// Ends a completed request: sets the status, and frees the request or makes it inactive. Returns
// the request's error.
int retire(RequestObject& request, Request* handle, Status* status, bool sets_error_field) {
  int error = request.error;
  if (request.kind == Kind::kGeneralized) error = query_generalized(request);
  if (error != MPI_SUCCESS && request.extra != nullptr && request.extra->file != nullptr) {
    this_rank().failed_file = request.extra->file;
  }
  if (request.kind == Kind::kSend && !request.status.cancelled()) {
    request.status.MPI_SOURCE = MPI_ANY_SOURCE;
    request.status.MPI_TAG = MPI_ANY_TAG;
  }
  if (status != MPI_STATUS_IGNORE) {
    const int field = sets_error_field ? error : status->MPI_ERROR;
    *status = request.status;
    status->MPI_ERROR = field;
  }
  if (request.persistent) {
    request.active = false;
    return error;
  }
  if (request.kind == Kind::kGeneralized) {
    const int freed = free_generalized(request);
    if (error == MPI_SUCCESS) error = freed;
  }
  if (*handle != kSentRequest) delete this_rank().requests.remove(*handle);
  *handle = MPI_REQUEST_NULL;
  return error;
}

int retire_all(RequestList& list, Request* handles, Status* statuses) {
  bool failed = false;
  int only_error = MPI_SUCCESS;
  for (size_t i = 0; i < list.size(); ++i) {
    Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    if (list.at(i) == nullptr) {
      set_empty_status(status);
      if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
      continue;
    }
    const int error = retire(*list.at(i), &handles[i], status, true);
    failed |= error != MPI_SUCCESS;
    if (error != MPI_SUCCESS) only_error = error;
  }
  if (!failed) return MPI_SUCCESS;
  return fail(statuses == MPI_STATUSES_IGNORE ? only_error : MPI_ERR_IN_STATUS,
              "an operation failed; the statuses say which");
}

// The indices of requests that have taken effect by now, in order of the array.
size_t find_effective(Strand& strand, RequestList& list, int* indices) {
  size_t found = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const RequestObject* request = list.at(i);
    if (request == nullptr || !request->complete || request->ready > strand.now) continue;
    indices[found++] = static_cast<int>(i);
  }
  return found;
}

int retire_some(Strand& strand, RequestList& list, Request* handles, int found, int* indices,
                Status* statuses, bool charge_first) {
  bool failed = false;
  int only_error = MPI_SUCCESS;
  for (int k = 0; k < found; ++k) {
    RequestObject& request = *list.at(static_cast<size_t>(indices[k]));
    if (charge_first || k > 0) strand.now += request.overhead();
    Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[k];
    const int error = retire(request, &handles[indices[k]], status, true);
    failed |= error != MPI_SUCCESS;
    if (error != MPI_SUCCESS) only_error = error;
  }
  if (!failed) return MPI_SUCCESS;
  return fail(statuses == MPI_STATUSES_IGNORE ? only_error : MPI_ERR_IN_STATUS,
              "an operation failed; the statuses say which");
}

}  // namespace

int Wait(Request* handle, Status* status) {
  if (*handle == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  RequestObject* request = nullptr;
  MPI_TRY(check_request(*handle, &request));
  if (!request->active) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  await(self(), *request);
  return retire(*request, handle, status, false);
}

int Waitall(int count, Request* handles, Status* statuses) {
  RequestList list;
  MPI_TRY(list.read(count, handles));
  if (list.size() == 0) return MPI_SUCCESS;
  await_all(self(), list.span());
  return retire_all(list, handles, statuses);
}

int Waitany(int count, Request* handles, int* index, Status* status) {
  RequestList list;
  MPI_TRY(list.read(count, handles));
  if (list.active() == 0) {
    *index = MPI_UNDEFINED;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  const size_t first = await_any(self(), list.span());
  *index = static_cast<int>(first);
  return retire(*list.at(first), &handles[first], status, false);
}

int Waitsome(int count, Request* handles, int* found, int* indices, Status* statuses) {
  RequestList list;
  MPI_TRY(list.read(count, handles));
  if (list.active() == 0) {
    *found = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  Strand& strand = self();
  const size_t first = await_any(strand, list.span());
  const SimTime overhead = list.at(first)->overhead();
  strand.now -= overhead;  // retire_some() charges it with that of the others
  *found = static_cast<int>(find_effective(strand, list, indices));
  return retire_some(strand, list, handles, *found, indices, statuses, true);
}

int Test(Request* handle, int* flag, Status* status) {
  *flag = 1;
  if (*handle == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  RequestObject* request = nullptr;
  MPI_TRY(check_request(*handle, &request));
  if (!request->active) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  *flag = has_taken_effect(self(), *request) ? 1 : 0;
  return *flag != 0 ? retire(*request, handle, status, false) : MPI_SUCCESS;
}

int Testall(int count, Request* handles, int* flag, Status* statuses) {
  RequestList list;
  MPI_TRY(list.read(count, handles));
  *flag = 1;
  if (list.size() == 0) return MPI_SUCCESS;
  Strand& strand = self();
  if (!have_taken_effect(strand, list.span())) {
    wait_after_idle_poll(strand, list.span());
    *flag = 0;
    return MPI_SUCCESS;
  }
  strand.idle_polls = 0;
  for (RequestObject* request : list.span()) {
    if (request != nullptr) strand.now += request->overhead();
  }
  return retire_all(list, handles, statuses);
}

int Testany(int count, Request* handles, int* index, int* flag, Status* status) {
  RequestList list;
  MPI_TRY(list.read(count, handles));
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (list.active() == 0) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  Strand& strand = self();
  std::vector<int> indices(list.size());
  yield_until_known(strand, list.span());
  if (find_effective(strand, list, indices.data()) == 0) {
    wait_after_idle_poll(strand, list.span());
    *flag = 0;
    return MPI_SUCCESS;
  }
  strand.idle_polls = 0;
  const size_t first = static_cast<size_t>(indices[0]);
  *index = indices[0];
  strand.now += list.at(first)->overhead();
  return retire(*list.at(first), &handles[first], status, false);
}

int Testsome(int count, Request* handles, int* found, int* indices, Status* statuses) {
  RequestList list;
  MPI_TRY(list.read(count, handles));
  if (list.active() == 0) {
    *found = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  Strand& strand = self();
  yield_until_known(strand, list.span());
  *found = static_cast<int>(find_effective(strand, list, indices));
  if (*found == 0) {
    wait_after_idle_poll(strand, list.span());
  } else {
    strand.idle_polls = 0;
  }
  return retire_some(strand, list, handles, *found, indices, statuses, true);
}

namespace {

// Tests a request without completing it.
int peek_status(Request handle, bool* done, Status* status) {
  *done = true;
  if (handle == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  RequestObject* request = nullptr;
  MPI_TRY(check_request(handle, &request));
  if (!request->active) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  Strand& strand = self();
  *done = has_taken_effect(strand, *request);
  if (!*done) return MPI_SUCCESS;
  strand.now -= request->overhead();  // charged when the request is completed
  if (request->kind == Kind::kGeneralized) MPI_TRY(query_generalized(*request));
  if (status != MPI_STATUS_IGNORE) {
    const int error = status->MPI_ERROR;
    *status = request->status;
    status->MPI_ERROR = error;
  }
  return MPI_SUCCESS;
}
}  // namespace

int Request_get_status(Request handle, int* flag, Status* status) {
  bool done = false;
  MPI_TRY(peek_status(handle, &done, status));
  *flag = done ? 1 : 0;
  return MPI_SUCCESS;
}

int Request_get_status_all(int count, const Request* handles, int* flag, Status* statuses) {
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    bool done = false;
    MPI_TRY(peek_status(handles[i], &done,
                        statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]));
    if (!done) *flag = 0;
  }
  return MPI_SUCCESS;
}

int Request_get_status_any(int count, const Request* handles, int* index, int* flag,
                           Status* status) {
  *index = MPI_UNDEFINED;
  *flag = 1;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    RequestObject* request = nullptr;
    if (handles[i] != MPI_REQUEST_NULL) MPI_TRY(check_request(handles[i], &request));
    if (request == nullptr || !request->active) continue;
    any = true;
    bool done = false;
    MPI_TRY(peek_status(handles[i], &done, status));
    if (!done) continue;
    *index = i;
    return MPI_SUCCESS;
  }
  if (any) {
    *flag = 0;
  } else {
    set_empty_status(status);
  }
  return MPI_SUCCESS;
}

int Request_get_status_some(int count, const Request* handles, int* found, int* indices,
                            Status* statuses) {
  *found = MPI_UNDEFINED;
  for (int i = 0; i < count; ++i) {
    RequestObject* request = nullptr;
    if (handles[i] != MPI_REQUEST_NULL) MPI_TRY(check_request(handles[i], &request));
    if (request == nullptr || !request->active) continue;
    if (*found == MPI_UNDEFINED) *found = 0;
    bool done = false;
    MPI_TRY(peek_status(handles[i], &done,
                        statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*found]));
    if (done) indices[(*found)++] = i;
  }
  return MPI_SUCCESS;
}

int Request_free(Request* handle) {
  RequestObject* request = nullptr;
  MPI_TRY(check_request(*handle, &request));
  if (*handle == kSentRequest) {
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  if (request->kind == Kind::kGeneralized && !request->complete) {
    request->freed = true;  // MPI_Grequest_complete still needs its handle, and frees it
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  this_rank().requests.remove(*handle);
  *handle = MPI_REQUEST_NULL;
  int error = MPI_SUCCESS;
  if (request->complete || !request->active) {
    if (request->kind == Kind::kGeneralized) error = free_generalized(*request);
    delete request;
  } else {
    request->freed = true;
    request->persistent = false;
  }
  return error;
}

int Start(Request* handle) {
  RequestObject* request = nullptr;
  MPI_TRY(check_request(*handle, &request));
  if (!request->persistent) return fail(MPI_ERR_REQUEST, "the request is not persistent");
  if (request->active) return fail(MPI_ERR_REQUEST, "the request is active already");
  request->active = true;
  request->complete = false;
  request->matched_early = false;
  request->error = MPI_SUCCESS;
  request->status = Status{};
  request->receive_overhead = SimTime::zero();
  request->clear_position();
  Strand& strand = self();
  switch (request->kind) {
    case Kind::kSend:
      if (request->mode == RequestObject::Mode::kBuffered) {
        MPI_TRY(reserve_buffer(*request, strand.rank->attached_buffer.get()));
      }
      post_send(strand, *request);
      break;
    case Kind::kReceive:
      post_cancellable_receive(strand, *request);
      break;
    case Kind::kCollective:
      request->extra->start_collective(*request);
      break;
    case Kind::kGeneralized:
    case Kind::kRemote:
      break;
  }
  return MPI_SUCCESS;
}

int Startall(int count, Request* handles) {
  for (int i = 0; i < count; ++i) MPI_TRY(Start(&handles[i]));
  return MPI_SUCCESS;
}

namespace {

// A receive from any source that matched before its message was known to be the first: whether a
// cancel comes too late is certain only if the receive has taken effect by now.
void check_early_match(Rank& rank, const RequestObject& request) {
  yield_until_now(self());
  if (request.complete && request.ready <= self().now) return;
  rank.world.remote->end_run(
      rank.name() + ": MPI_Cancel of a receive from any source, whose message was expected",
      std::string("leave out ") + spelled("--sources", "sources"));
}

}  // namespace

int Cancel(Request* handle) {
  RequestObject* request = nullptr;
  MPI_TRY(check_request(*handle, &request));
  if (request->kind == Kind::kGeneralized) return cancel_generalized(*request);
  if (!request->active) return fail(MPI_ERR_REQUEST, "the request is not active");
  if (request->kind == Kind::kCollective) {
    return fail(MPI_ERR_REQUEST, "a collective operation cannot be cancelled");
  }
  if (request->kind == Kind::kRemote) {
    return fail(MPI_ERR_REQUEST, "a one-sided operation cannot be cancelled");
  }
  Rank& rank = this_rank();
  InFlight::of(rank.world).deliver_all();  // one of them may match the request
  // A message that has arrived by now matches first.
  if (!request->complete && (request->wildcard_queued || request->is_cancellable))
    yield_until_now(self());
  rank.matching.allow_cancels();  // if it was not known that the program has this function
  if (request->matched_early) check_early_match(rank, *request);
  if (request->kind == Kind::kReceive) {
    if (request->peer == MPI_PROC_NULL || !rank.matching.withdraw(*request)) return MPI_SUCCESS;
  } else {
    if (request->peer == MPI_PROC_NULL) return MPI_SUCCESS;
    const int receiver = (*request->comm->remote)[request->peer];
    // Whether the receiver, whose clock may be later, has matched the message depends on how far it
    // is, which depends on the speed of the workers.
    if (rank.world.remote != nullptr) rank.world.remote->refuse("MPI_Cancel of a send");
    if (request->queued == nullptr) return MPI_SUCCESS;
    QueuedMessage* message = request->queued;
    Matching& target = rank.world.matching_of(receiver);
    if (!message->in_transit && !target.withdraw_message(message)) return MPI_SUCCESS;
    if (message->rendezvous) rank.interface.withdraw_announcement();
    if (message->in_transit) {
      message->withdrawn = 1;  // deleted when it would reach the queue
    } else {
      delete message;
    }
    request->queued = nullptr;
  }
  request->status.set_cancelled(true);
  complete(*request, self().now);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
