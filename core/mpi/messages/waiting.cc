#include "core/mpi/messages/waiting.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/check.h"
#include "core/mpi/messages/settling.h"

namespace sesame::mpi {

void complete(RequestObject& request, SimTime ready) {
  request.complete = true;
  request.ready = ready;
  Strand* waiter = request.waiter;
  if (waiter == nullptr) {
    if (request.freed) delete &request;
    return;
  }
  if (waiter->awaits_any) {
    // Its wake has fired. It looks at all its requests when it resumes; messages of other workers
    // may be taken before.
    if (waiter->is_ready()) return;
    const SimTime wake = later(ready, waiter->now);
    if (!waiter->wake.is_scheduled() || wake < waiter->wake.time()) schedule_wake(*waiter, wake);
  } else if (--waiter->outstanding == 0) {
    waiter->awaits_helper = false;
    const SimTime resumes = plain(ready < waiter->now ? waiter->now : ready);
    waiter->executive->make_ready_at(*waiter, resumes + plain(request.overhead()));
  }
}

// Without the deterministic shortcut: waits until no message can arrive before `time` any more.
[[gnu::noinline, gnu::cold]] static void confirm(Strand& strand, const SimTime& time) {
  schedule_wake(strand, plain(later(time, strand.now)));
  strand.executive->block();
}

static void confirm_receives(Strand& strand, std::span<RequestObject* const> requests) {
  if (!strand.executive->confirms_receives()) [[likely]]
    return;
  for (const RequestObject* request : requests) {
    if (request == nullptr || !request->active) continue;
    if (request->kind == RequestObject::Kind::kReceive) confirm(strand, request->ready);
  }
}

// Prefetches what each return to the program and its next call will use.
static void prefetch_for_return(Strand& strand, const RequestObject& request) {
  strand.prefetch_on_resume(request.comm);
  strand.prefetch_on_resume(&request.comm->remote);
  strand.prefetch_on_resume(strand.caller);
}

void await(Strand& strand, RequestObject& request) {
  if (request.is_cancellable && !request.complete) [[unlikely]]
    settle_receives(strand, std::array{&request});
  if (!request.complete) {
    request.waiter = &strand;
    strand.outstanding = 1;
    strand.waiting_request = &request;
    strand.awaits_helper = request.kind == RequestObject::Kind::kCollective;
    prefetch_for_return(strand, request);
    strand.executive->block();
    strand.waiting_request = nullptr;
    request.waiter = nullptr;
  }
  confirm_receives(strand, std::array{&request});
  strand.waited += strand.wait_until(request.ready);
  strand.now += request.overhead();
}

void await_all(Strand& strand, std::span<RequestObject* const> requests) {
  for (const RequestObject* request : requests) {
    if (request != nullptr && request->is_cancellable) [[unlikely]] {
      settle_receives(strand, requests);
      break;
    }
  }
  int outstanding = 0;
  for (RequestObject* request : requests) {
    if (request == nullptr || request->complete || !request->active) continue;
    request->waiter = &strand;
    strand.waiting_request = request;
    strand.prefetch_on_resume(request);
    strand.prefetch_on_resume(&request->status);
    strand.awaits_helper |= request->kind == RequestObject::Kind::kCollective;
    ++outstanding;
  }
  if (outstanding > 0) {
    strand.outstanding = outstanding;
    prefetch_for_return(strand, *strand.waiting_request);
    strand.executive->block();
    strand.waiting_request = nullptr;
  }
  confirm_receives(strand, requests);
  // Charges the overhead of each request in the order in which they take effect.
  std::array<const RequestObject*, 16> few;
  std::vector<const RequestObject*> many;
  std::span<const RequestObject*> order(few);
  if (requests.size() > few.size()) {
    many.resize(requests.size());
    order = many;
  }
  size_t count = 0;
  for (RequestObject* request : requests) {
    if (request == nullptr || !request->active) continue;
    request->waiter = nullptr;
    if (request->ready <= strand.now) {
      strand.now += request->overhead();
    } else {
      order[count++] = request;
    }
  }
  std::sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count),
            [](const RequestObject* a, const RequestObject* b) { return a->ready < b->ready; });
  for (const RequestObject* request : order.first(count)) {
    strand.waited += strand.wait_until(request->ready);
    strand.now += request->overhead();
  }
}

bool all_complete(std::span<RequestObject* const> requests) {
  return std::ranges::all_of(requests, [](const RequestObject* request) {
    return request == nullptr || !request->active || request->complete;
  });
}

void sleep_until_effect(Strand& strand, std::span<RequestObject* const> requests, SimTime latest) {
  strand.awaits_any = true;
  for (RequestObject* request : requests) {
    if (request == nullptr || !request->active || request->complete) continue;
    request->waiter = &strand;
    strand.waiting_request = request;
  }
  if (latest != SimTime::never()) schedule_wake(strand, latest);
  strand.executive->block();
  strand.awaits_any = false;
  strand.waiting_request = nullptr;
  for (RequestObject* request : requests) {
    if (request != nullptr) request->waiter = nullptr;
  }
}

size_t await_any(Strand& strand, std::span<RequestObject* const> requests) {
  const auto first_effect = [&requests]() -> size_t {
    size_t best = requests.size();
    for (size_t i = 0; i < requests.size(); ++i) {
      const RequestObject* request = requests[i];
      if (request == nullptr || !request->active || !request->complete) continue;
      if (best == requests.size() || request->ready < requests[best]->ready) best = i;
    }
    return best;
  };
  size_t best = first_effect();
  // A request that is not complete yet may turn out to take effect before those that are.
  if (!all_complete(requests)) {
    sleep_until_effect(
        strand, requests,
        best < requests.size() ? later(requests[best]->ready, strand.now) : SimTime::never());
    best = first_effect();
  }
  CHECK(best < requests.size());
  confirm_receives(strand, requests.subspan(best, 1));
  strand.waited += strand.wait_until(requests[best]->ready);
  strand.now += requests[best]->overhead();
  return best;
}

void schedule_wake(Strand& strand, SimTime time) {
  strand.wake.strand = &strand;
  strand.executive->events().schedule(strand.wake, time, strand.wake_order());
}

void yield_until_now(Strand& strand) {
  schedule_wake(strand, plain(strand.now));
  strand.executive->block();
}

}  // namespace sesame::mpi
