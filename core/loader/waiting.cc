// Waiting for a connection, for data or for other events that another rank may cause. All ranks are
// on one thread, so a rank that waited in the kernel would wait for ever: it asks without waiting,
// and lets simulated time advance and the other ranks run between.
#include "core/loader/waiting.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <vector>

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
    hooks().sleep_ns(step_ns);
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
  hooks().sleep_ns(std::max(left_ns, kFirstNs));
  left_ns = 0;
  return 0;
}

int poll(pollfd* descriptors, nfds_t count, int64_t left_ns, const sigset_t* mask) {
  if (count == 0 && left_ns != kNever) return sleep(left_ns);
  return wait_while_zero(left_ns, [&](const timespec& pause) {
    return REAL(ppoll)(descriptors, count, &pause, mask);
  });
}

// The three sets of select(2), any of which may be null. Each question overwrites a copy, and only
// the words that the answer has changed are written back: sets may be shorter than the count says.
class DescriptorSets {
 public:
  // Linux asks for no more descriptors than its table of them has.
  DescriptorSets(int count, fd_set* in, fd_set* out, fd_set* except)
      : count_(std::min<int64_t>(count, sysconf(_SC_OPEN_MAX))), theirs_{in, out, except} {
    for (size_t i = 0; i < theirs_.size(); ++i)
      if (theirs_[i] != nullptr) copy(i);
  }

  bool are_empty() const { return count_ == 0 || std::ranges::count(theirs_, nullptr) == 3; }
  // 0, or the errno value of a set that cannot be read.
  int error() const { return error_; }

  int ask(const timespec& limit, const sigset_t* mask) {
    answered_ = asked_;
    return REAL(pselect)(static_cast<int>(count_), set(0), set(1), set(2), &limit, mask);
  }

  void write_answer() const {
    for (size_t i = 0; i < theirs_.size(); ++i)
      for (size_t word = 0; word < asked_[i].size(); ++word)
        if (answered_[i][word] != asked_[i][word])
          reinterpret_cast<uint64_t*>(theirs_[i])[word] = answered_[i][word];
  }

 private:
  static constexpr int64_t kWordBits = 64;

  void copy(size_t i) {
    asked_[i].resize(static_cast<size_t>((count_ + kWordBits - 1) / kWordBits));
    const iovec to{asked_[i].data(), asked_[i].size() * sizeof(uint64_t)};
    const iovec from{theirs_[i], to.iov_len};
    // Unlike a copy it stops at the end of the memory that is there.
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) >= 0) return;
    if (errno == EFAULT) error_ = EFAULT;
    // It may be forbidden in a container.
    if (error_ == 0) std::memcpy(to.iov_base, theirs_[i], std::min(to.iov_len, sizeof(fd_set)));
  }

  fd_set* set(size_t i) {
    return theirs_[i] == nullptr ? nullptr : reinterpret_cast<fd_set*>(answered_[i].data());
  }

  int64_t count_;
  std::array<fd_set*, 3> theirs_;
  std::array<std::vector<uint64_t>, 3> asked_, answered_;
  int error_ = 0;
};

int select(DescriptorSets sets, int64_t& left_ns, const sigset_t* mask) {
  if (sets.error() != 0) return fail(sets.error());
  if (sets.are_empty() && left_ns != kNever) return sleep(left_ns);
  const int answer =
      wait_while_zero(left_ns, [&](const timespec& pause) { return sets.ask(pause, mask); });
  if (answer >= 0) sets.write_answer();
  return answer;
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

bool other_ranks_run() { return current() != nullptr && !is_forked(); }

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

// What programs call that were compiled with _FORTIFY_SOURCE. `bytes`: of the array.
[[noreturn]] void __chk_fail();

int rank___poll_chk(pollfd* descriptors, nfds_t count, int limit_ms, size_t bytes) {
  if (bytes / sizeof(pollfd) < count) __chk_fail();
  return rank_poll(descriptors, count, limit_ms);
}

int rank___ppoll_chk(pollfd* descriptors, nfds_t count, const timespec* limit, const sigset_t* mask,
                     size_t bytes) {
  if (bytes / sizeof(pollfd) < count) __chk_fail();
  return rank_ppoll(descriptors, count, limit, mask);
}

int rank_select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* limit) {
  if (!other_ranks_run()) return REAL(select)(count, in, out, except, limit);
  const bool is_valid_limit = limit == nullptr || (limit->tv_sec >= 0 && limit->tv_usec >= 0);
  if (count < 0 || !is_valid_limit) return fail(EINVAL);
  int64_t left_ns = limit == nullptr ? kNever : ns_of(limit->tv_sec, limit->tv_usec * 1000);
  const int answer = select({count, in, out, except}, left_ns, nullptr);
  // Linux returns the time that was left.
  if (limit != nullptr) *limit = {left_ns / kNsPerSecond, left_ns % kNsPerSecond / 1000};
  return answer;
}

int rank_pselect(int count, fd_set* in, fd_set* out, fd_set* except, const timespec* limit,
                 const sigset_t* mask) {
  if (!other_ranks_run()) return REAL(pselect)(count, in, out, except, limit, mask);
  if (count < 0 || (limit != nullptr && !is_valid(*limit))) return fail(EINVAL);
  int64_t left_ns = limit == nullptr ? kNever : ns_of(limit->tv_sec, limit->tv_nsec);
  return select({count, in, out, except}, left_ns, mask);
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
  BIND(table, __poll_chk);
  BIND(table, __ppoll_chk);
  BIND(table, select);
  BIND_AS(table, "__select", select);
  BIND(table, pselect);
  BIND(table, epoll_wait);
  BIND(table, epoll_pwait);
}

}  // namespace sesame::loader
