// Waiting for a connection, for data or for other events that another rank may cause. All ranks are
// on one thread, so a rank that waited in the kernel would wait for ever: it asks without waiting,
// and lets simulated time advance and the other ranks run between.
#include "core/loader/waiting.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kNever = INT64_MAX;
constexpr int64_t kLongestLimitS = 50 * 86400;  // simulated time ends after 106 days

// The first questions are 100 ns apart: a system call, as sched_yield. Then their distance grows
// with the time waited, which ends 1/64 late at most, so that a second takes 2,000 of them, not 10
// million.
constexpr int64_t kFirstNs = 100;
constexpr int64_t kLongestNs = 1'000'000;
constexpr int64_t kShareOfWait = 64;
// Simulated time passes no faster than the host's, so that a wait for a process outside takes what
// it really takes. So much ahead is not worth a sleep of the host.
constexpr int64_t kMostAheadNs = 1'000'000;

bool other_ranks_run() { return current() != nullptr && !is_forked(); }

int64_t host_ns() {
  timespec now{};
  REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// Asks until the answer is not 0, or until `left_ns` of simulated time have passed; subtracts what
// has. `ask` waits for the time given, of the host, at most. A call that may not wait takes 100 ns
// if it has nothing to give: a loop of such calls must pass time, too.
template <typename Ask>
int wait_while_zero(int64_t& left_ns, const Ask& ask) {
  const int64_t limit_ns = std::max(left_ns, kFirstNs);
  const int64_t begin_ns = host_ns();
  for (int64_t waited_ns = 0;;) {
    const int64_t ahead_ns = waited_ns - (host_ns() - begin_ns);
    const timespec pause{0, ahead_ns > kMostAheadNs ? ahead_ns : 0};
    const int answer = ask(pause);
    left_ns = std::max<int64_t>(limit_ns - waited_ns, 0);
    if (answer != 0 || left_ns == 0) return answer;
    const int64_t step_ns =
        std::min(std::clamp(waited_ns / kShareOfWait, kFirstNs, kLongestNs), left_ns);
    hooks().sleep(SimTime::from_ns(step_ns));
    waited_ns += step_ns;
  }
}

bool is_valid(const timespec& limit) {
  return limit.tv_sec >= 0 && limit.tv_nsec >= 0 && limit.tv_nsec < kNsPerSecond;
}

int64_t ns_of(int64_t seconds, int64_t ns) {
  return std::min(seconds, kLongestLimitS) * kNsPerSecond + ns;
}

int64_t ns_of(int limit_ms) { return limit_ms < 0 ? kNever : limit_ms * kNsPerMs; }

// Nothing but the limit ends the wait: no time of the host has to pass.
int sleep(int64_t& left_ns) {
  hooks().sleep(SimTime::from_ns(left_ns));
  left_ns = 0;
  return 0;
}

int poll(pollfd* descriptors, nfds_t count, int64_t left_ns, const sigset_t* mask) {
  if (count == 0 && left_ns != kNever) return sleep(left_ns);
  return wait_while_zero(left_ns, [&](const timespec& pause) {
    return REAL(ppoll)(descriptors, count, &pause, mask);
  });
}

// The three sets of select(2), which each call overwrites. Any may be null.
struct DescriptorSets {
  std::array<fd_set*, 3> sets;

  bool are_all_null() const { return std::ranges::count(sets, nullptr) == 3; }
};

int select(int count, const DescriptorSets& given, int64_t& left_ns, const sigset_t* mask) {
  const auto& [in, out, except] = given.sets;
  if ((count == 0 || given.are_all_null()) && left_ns != kNever) return sleep(left_ns);
  std::array<fd_set, 3> asked{};
  for (size_t i = 0; i < asked.size(); ++i)
    if (given.sets[i] != nullptr) asked[i] = *given.sets[i];
  return wait_while_zero(left_ns, [&](const timespec& pause) {
    for (size_t i = 0; i < asked.size(); ++i)
      if (given.sets[i] != nullptr) *given.sets[i] = asked[i];
    return REAL(pselect)(count, in, out, except, &pause, mask);
  });
}

// What ends by itself after a time waits in the kernel.
bool has_limit(int fd) {
  timeval limit{};
  socklen_t size = sizeof limit;
  return getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) == 0 &&
         (limit.tv_sec != 0 || limit.tv_usec != 0);
}

bool waits(int fd, int flags) {
  if ((flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)) != 0) return false;
  const int mode = fcntl(fd, F_GETFL);
  return mode >= 0 && (mode & O_NONBLOCK) == 0 && !has_limit(fd);
}

}  // namespace

void wait_for_input(int fd, int flags) {
  pollfd descriptor{fd, POLLIN, 0};
  if (other_ranks_run() && waits(fd, flags)) poll(&descriptor, 1, kNever, nullptr);
}

extern "C" {

int rank_poll(pollfd* descriptors, nfds_t count, int limit_ms) {
  if (!other_ranks_run()) return REAL(poll)(descriptors, count, limit_ms);
  return poll(descriptors, count, ns_of(limit_ms), nullptr);
}

int rank_ppoll(pollfd* descriptors, nfds_t count, const timespec* limit, const sigset_t* mask) {
  if (!other_ranks_run()) return REAL(ppoll)(descriptors, count, limit, mask);
  if (limit != nullptr && !is_valid(*limit)) return fail(EINVAL);
  const int64_t limit_ns = limit == nullptr ? kNever : ns_of(limit->tv_sec, limit->tv_nsec);
  return poll(descriptors, count, limit_ns, mask);
}

int rank_select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* limit) {
  if (!other_ranks_run() || count > FD_SETSIZE) return REAL(select)(count, in, out, except, limit);
  if (limit != nullptr && (limit->tv_sec < 0 || limit->tv_usec < 0)) return fail(EINVAL);
  int64_t left_ns = limit == nullptr ? kNever : ns_of(limit->tv_sec, limit->tv_usec * 1000);
  const int answer = select(count, {{in, out, except}}, left_ns, nullptr);
  // Linux returns the time that was left.
  if (limit != nullptr) *limit = {left_ns / kNsPerSecond, left_ns % kNsPerSecond / 1000};
  return answer;
}

int rank_pselect(int count, fd_set* in, fd_set* out, fd_set* except, const timespec* limit,
                 const sigset_t* mask) {
  if (!other_ranks_run() || count > FD_SETSIZE)
    return REAL(pselect)(count, in, out, except, limit, mask);
  if (limit != nullptr && !is_valid(*limit)) return fail(EINVAL);
  int64_t left_ns = limit == nullptr ? kNever : ns_of(limit->tv_sec, limit->tv_nsec);
  return select(count, {{in, out, except}}, left_ns, mask);
}

int rank_epoll_pwait(int set, epoll_event* events, int most, int limit_ms, const sigset_t* mask) {
  if (!other_ranks_run()) return REAL(epoll_pwait)(set, events, most, limit_ms, mask);
  int64_t left_ns = ns_of(limit_ms);
  return wait_while_zero(left_ns, [&](const timespec& pause) {
    const auto pause_ms = static_cast<int>((pause.tv_nsec + kNsPerMs - 1) / kNsPerMs);
    return REAL(epoll_pwait)(set, events, most, pause_ms, mask);
  });
}

int rank_epoll_wait(int set, epoll_event* events, int most, int limit_ms) {
  return rank_epoll_pwait(set, events, most, limit_ms, nullptr);
}

}  // extern "C"

void bind_waiting(BindingTable& table) {
  BIND(table, poll);
  BIND(table, ppoll);
  BIND(table, select);
  BIND_AS(table, "__select", select);
  BIND(table, pselect);
  BIND(table, epoll_wait);
  BIND(table, epoll_pwait);
}

}  // namespace sesame::loader
