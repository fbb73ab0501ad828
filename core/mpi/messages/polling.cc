#include "core/mpi/messages/polling.h"

#include <algorithm>

#include "core/mpi/messages/waiting.h"

namespace sesame::mpi {
namespace {

// Simulated cost of a poll that finds nothing. MPI_Test of MPICH 4.0 took 40 to 120 ns on the
// machines this was written on.
constexpr SimTime kPollCost = SimTime::from_ns(100);

// A program that polls again and again without work between the polls is waiting. A wait of one
// second would take 10^7 polls. The simulator therefore lets it sleep between polls, for 1/64 of
// the time since the first poll. The program notices what it waits for at most 1.6 % of the wait
// too late. The number of polls grows with the logarithm of the wait: each poll makes the wait
// 65/64 as long, so one second takes some 500 polls that sleep. The first 4,096 polls never
// sleep, since programs also poll between steps of little work: HPC Challenge's RandomAccess
// polls before each update, up to 3,918 times until its first send. Sleep there would multiply
// its time by (65/64)^3918.
constexpr int kPollsWithoutSleep = 4096;
constexpr int64_t kSleepDivisor = 64;

}  // namespace

void yield_until_known(Strand& strand, std::span<RequestObject* const> requests) {
  if (!all_complete(requests)) yield_until_now(strand);
}

bool have_taken_effect(Strand& strand, std::span<RequestObject* const> requests) {
  yield_until_known(strand, requests);
  return std::ranges::all_of(requests, [&strand](const RequestObject* request) {
    return request == nullptr || (request->complete && request->ready <= strand.now);
  });
}

bool has_taken_effect(Strand& strand, RequestObject& request) {
  RequestObject* const only = &request;
  if (have_taken_effect(strand, {&only, 1})) {
    strand.now += request.overhead();
    strand.idle_polls = 0;
    return true;
  }
  wait_after_idle_poll(strand, {&only, 1});
  return false;
}

SimTime charge_idle_poll(Strand& strand) {
  if (strand.idle_polls == 0) strand.idle_since = plain(strand.now);
  strand.now += kPollCost;
  if (strand.idle_polls < kPollsWithoutSleep) {
    ++strand.idle_polls;
    return strand.now;
  }
  return strand.now + elapsed(strand.idle_since, strand.now) / kSleepDivisor;
}

void wait_after_idle_poll(Strand& strand, std::span<RequestObject* const> requests) {
  const SimTime polled = plain(strand.now);
  const SimTime latest = charge_idle_poll(strand);
  if (latest <= strand.now) return;
  SimTime next = latest;
  for (const RequestObject* request : requests) {
    if (request == nullptr || !request->active || !request->complete) continue;
    // Also one that takes effect during the poll: whether it is complete already depends on the
    // order in which ranks run.
    if (request->ready > polled) next = std::min(next, later(request->ready, strand.now));
  }
  sleep_until_effect(strand, requests, next);
  strand.waited += strand.wait_until(strand.wake.time());
}

}  // namespace sesame::mpi
