// Waiting for data or a connection that another rank sends. All ranks are on one thread, so a rank
// that waited in the kernel would wait for ever: it asks without waiting, and lets simulated time
// advance and the other ranks run between.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"
#include "core/loader/waiting.h"

namespace sesame::loader {
namespace {

// The first polls are 100 ns apart: a system call, as sched_yield. Then their distance grows with
// the time waited, which ends 1/64 late at most, so that a second takes 2,000 polls, not 10
// million.
constexpr int64_t kFirstNs = 100;
constexpr int64_t kLongestNs = 1'000'000;
constexpr int64_t kShareOfWait = 64;
// Simulated time passes no faster than the host's, so that a wait for a process outside takes what
// it really takes. So much ahead is not worth a sleep of the host.
constexpr int64_t kMostAheadNs = 1'000'000;

// What ends by itself after a time waits in the kernel.
bool has_limit(int fd) {
  timeval limit{};
  socklen_t size = sizeof limit;
  return getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) == 0 &&
         (limit.tv_sec != 0 || limit.tv_usec != 0);
}

bool waits(int fd, int flags) {
  if (current() == nullptr || is_forked()) return false;
  if ((flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)) != 0) return false;
  const int mode = fcntl(fd, F_GETFL);
  return mode >= 0 && (mode & O_NONBLOCK) == 0 && !has_limit(fd);
}

int64_t host_ns() {
  timespec now{};
  REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void wait_for_input_of(int fd, int flags) {
  pollfd descriptor{fd, POLLIN, 0};
  if (waits(fd, flags)) wait_for_descriptors(&descriptor, 1);
}

}  // namespace

int wait_for_descriptors(pollfd* descriptors, nfds_t count) {
  if (is_forked()) return REAL(poll)(descriptors, count, -1);
  const int64_t begin_ns = host_ns();
  for (int64_t waited_ns = 0;;) {
    const int64_t ahead_ns = waited_ns - (host_ns() - begin_ns);
    const timespec pause{0, ahead_ns > kMostAheadNs ? ahead_ns : 0};
    const int ready = REAL(ppoll)(descriptors, count, &pause, nullptr);
    if (ready != 0) return ready;
    const int64_t pause_ns = std::clamp(waited_ns / kShareOfWait, kFirstNs, kLongestNs);
    hooks().sleep(SimTime::from_ns(pause_ns));
    waited_ns += pause_ns;
  }
}

void wait_for_input(int fd) { wait_for_input_of(fd, 0); }

extern "C" {

int rank_accept(int fd, sockaddr* address, socklen_t* length) {
  wait_for_input(fd);
  return REAL(accept)(fd, address, length);
}

int rank_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  wait_for_input(fd);
  return REAL(accept4)(fd, address, length, flags);
}

ssize_t rank_recv(int fd, void* data, size_t size, int flags) {
  wait_for_input_of(fd, flags);
  return REAL(recv)(fd, data, size, flags);
}

ssize_t rank_recvfrom(int fd, void* data, size_t size, int flags, sockaddr* address,
                      socklen_t* length) {
  wait_for_input_of(fd, flags);
  return REAL(recvfrom)(fd, data, size, flags, address, length);
}

ssize_t rank_recvmsg(int fd, msghdr* message, int flags) {
  wait_for_input_of(fd, flags);
  return REAL(recvmsg)(fd, message, flags);
}

}  // extern "C"

void bind_sockets(BindingTable& table) {
  BIND(table, accept);
  BIND(table, accept4);
  BIND(table, recv);
  BIND(table, recvfrom);
  BIND(table, recvmsg);
}

}  // namespace sesame::loader
