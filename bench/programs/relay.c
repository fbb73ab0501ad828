/* Connects two network namespaces by a link with a delay: makes a TUN device in each, and holds
 * every packet that comes from one for this time before it gives it to the other, in order.
 *
 *   relay NAMESPACE NAMESPACE DEVICE DELAY_NS
 *
 * The namespaces are files in /var/run/netns (ip netns add). Prints a line when both devices exist;
 * they vanish with the process. Needs root and /dev/net/tun. Its own delay, that of two copies and
 * of a wake-up, comes on top: measure it with a delay of 0. A packet is dropped if the queue of its
 * direction is full, as a router would. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kLargest = 65536, kQueue = 1024 };

struct packet {
  int64_t due_ns;
  int bytes;
  char data[kLargest];
};

struct direction {
  int from, to;
  unsigned first, next; /* of the packets that wait, modulo kQueue */
  struct packet* queue;
};

static void fail(const char* what) {
  fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int open_device(const char* space, const char* device) {
  char path[256];
  snprintf(path, sizeof path, "/var/run/netns/%s", space);
  const int there = open(path, O_RDONLY);
  if (there < 0 || setns(there, CLONE_NEWNET) != 0) fail(path);
  close(there);
  const int descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (descriptor < 0) fail("/dev/net/tun");
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", device);
  if (ioctl(descriptor, TUNSETIFF, &request) != 0) fail("TUNSETIFF");
  return descriptor;
}

/* Takes one packet; whether there was one. */
static int take(struct direction* one, int64_t delay_ns) {
  static char dropped[kLargest];
  const int is_full = one->next - one->first == kQueue;
  struct packet* packet = &one->queue[one->next % kQueue];
  const ssize_t bytes = read(one->from, is_full ? dropped : packet->data, kLargest);
  if (bytes <= 0) return 0;
  if (is_full) return 1;
  packet->bytes = (int)bytes;
  packet->due_ns = now_ns() + delay_ns;
  ++one->next;
  return 1;
}

/* Gives the packets that are due to the other end; returns how long the next one still waits, -1 if
 * there is none. */
static int64_t give(struct direction* one) {
  while (one->first != one->next) {
    const struct packet* packet = &one->queue[one->first % kQueue];
    const int64_t wait = packet->due_ns - now_ns();
    if (wait > 0) return wait;
    if (write(one->to, packet->data, (size_t)packet->bytes) < 0 && errno == EAGAIN) return 1000;
    ++one->first;
  }
  return -1;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int64_t delay_ns = atoll(argv[4]);
  prctl(PR_SET_TIMERSLACK, 1UL); /* else a wait takes up to 50 us longer (prctl(2)) */
  prctl(PR_SET_PDEATHSIG, 15UL);
  const int ends[2] = {open_device(argv[1], argv[3]), open_device(argv[2], argv[3])};
  struct direction directions[2];
  for (int i = 0; i < 2; ++i) {
    directions[i] =
        (struct direction){ends[i], ends[1 - i], 0, 0, malloc(kQueue * sizeof(struct packet))};
    if (directions[i].queue == NULL) fail("memory");
  }
  printf("ready\n");
  fflush(stdout);
  for (;;) {
    int64_t wait = -1;
    int any = 0;
    for (int i = 0; i < 2; ++i) {
      any |= take(&directions[i], delay_ns);
      const int64_t left = give(&directions[i]);
      if (left >= 0 && (wait < 0 || left < wait)) wait = left;
    }
    if (any) continue;
    struct pollfd input[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
    const struct timespec time = {wait / 1000000000, wait % 1000000000};
    ppoll(input, 2, wait < 0 ? NULL : &time, NULL);
  }
}
