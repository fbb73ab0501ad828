/* Loads that do one thing many times, to measure what a probe adds to it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes/probes.h"

#define EXPORT __attribute__((visibility("default")))
#define PAGE 4096L
#define MOST_AT_ONCE 128
#define APART 7 /* blocks next to each other would become one request */

static void ask(long count) {
  for (long i = 0; i < count; ++i) syscall(SYS_getppid);
}

static void read_blocks(long count) {
  static char block[PAGE];
  const int file = memfd_create("sesame", MFD_CLOEXEC);
  if (pwrite(file, block, PAGE, 0) == PAGE) {
    for (long i = 0; i < count && pread(file, block, PAGE, 0) == PAGE; ++i) {
    }
  }
  close(file);
}

static void touch_pages(long count) {
  const long at_once = 2048;
  for (long done = 0; done < count; done += at_once) {
    const size_t bytes = (size_t)(at_once * PAGE);
    char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (long i = 0; i < at_once; ++i) *(volatile char*)(memory + i * PAGE) = 1;
    munmap(memory, bytes);
  }
}

static void make_processes(long count) {
  for (long i = 0; i < count; ++i) {
    const pid_t child = vfork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
  }
}

static void send_packets(long count) {
  char data[64] = {0};
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof here;
  const int socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct sockaddr* address = (struct sockaddr*)&here;
  if (bind(socket_, address, length) == 0 && getsockname(socket_, address, &length) == 0) {
    for (long i = 0; i < count; ++i) {
      if (sendto(socket_, data, sizeof data, 0, address, length) < 0) break;
      if (recv(socket_, data, sizeof data, MSG_DONTWAIT) < 0) break;
    }
  }
  close(socket_);
}

static int64_t partners_ns;
struct partner {
  int in, out;
  long count;
  int64_t took_ns;
};

static int64_t thread_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void* answer(void* argument) {
  struct partner* partner = argument;
  char byte;
  for (long i = 0; i < partner->count; ++i) {
    if (read(partner->in, &byte, 1) != 1 || write(partner->out, &byte, 1) != 1) break;
  }
  partner->took_ns = thread_ns();
  return NULL;
}

/* Two threads on one processor wake each other: two switches each time. */
static void take_turns(long count) {
  int there[2], back[2];
  cpu_set_t before, one;
  if (pipe2(there, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0) return;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  struct partner partner = {there[0], back[1], count / 2, 0};
  pthread_t thread;
  if (pthread_create(&thread, NULL, answer, &partner) == 0) {
    char byte = 0;
    for (long i = 0; i < count / 2; ++i) {
      if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) break;
    }
    pthread_join(thread, NULL);
    partners_ns += partner.took_ns;
  }
  sched_setaffinity(0, sizeof before, &before);
  for (int i = 0; i < 2; ++i) close(there[i]), close(back[i]);
}

static const struct {
  const char* name;
  void (*run)(long count);
} loads[] = {
    {"ask", ask},
    {"read", read_blocks},
    {"touch", touch_pages},
    {"packet", send_packets},
    {"process", make_processes},
    {"turn", take_turns},
};

static int64_t microseconds(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

/* Processor time of this thread, and of threads and processes that it has waited for. */
static int64_t processor_ns(void) {
  struct rusage children;
  getrusage(RUSAGE_CHILDREN, &children);
  const int64_t waited_us = microseconds(children.ru_utime) + microseconds(children.ru_stime);
  return thread_ns() + partners_ns + 1000 * waited_us;
}

EXPORT int64_t sesame_probes_run_load(const char* name, long count) {
  for (unsigned i = 0; i < sizeof loads / sizeof *loads; ++i) {
    if (strcmp(loads[i].name, name) != 0) continue;
    const int64_t begin = processor_ns();
    loads[i].run(count);
    return processor_ns() - begin;
  }
  return -1;
}

EXPORT int sesame_probes_read_device(int file, unsigned blocks, unsigned at_once, long count) {
  static char buffer[PAGE] __attribute__((aligned(PAGE)));
  struct iocb reads[MOST_AT_ONCE], *list[MOST_AT_ONCE];
  struct io_event done[MOST_AT_ONCE];
  aio_context_t context = 0;
  const long each = at_once < MOST_AT_ONCE ? at_once : MOST_AT_ONCE;
  if (syscall(SYS_io_setup, each, &context) != 0) return -1;
  long started = 0, ended = 0;
  for (; started < count && ended == started; started += each) {
    for (long i = 0; i < each; ++i) {
      const __u64 block = (__u64)(started + i) * APART % blocks;
      list[i] = &reads[i];
      reads[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD,
                               .aio_fildes = (__u32)file,
                               .aio_buf = (uintptr_t)buffer,
                               .aio_nbytes = PAGE,
                               .aio_offset = (__s64)block * PAGE};
    }
    if (syscall(SYS_io_submit, context, each, list) != each) break;
    const long got = syscall(SYS_io_getevents, context, each, each, done, NULL);
    for (long i = 0; i < got; ++i) ended += done[i].res == PAGE;
  }
  syscall(SYS_io_destroy, context);
  return ended == started ? 0 : -1;
}

EXPORT int sesame_probes_load_nothing(void) {
  const struct bpf_insn nothing[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
      {.code = BPF_JMP | BPF_EXIT},
  };
  return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nothing", "GPL", nothing,
                       sizeof nothing / sizeof *nothing, NULL);
}

EXPORT int sesame_probes_attach(int program, const char* tracepoint) {
  return bpf_raw_tracepoint_open(tracepoint, program);
}
