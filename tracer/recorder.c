#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "counters.h"
#include "streams.h"
#include "system_call.h"

/* One write of a full buffer costs some 40 us, spread over about 6,000 records. */
#define BUFFER_BYTES (128u << 10)

/* If the size of the trace is limited, more than one packet must fit. */
#define LEAST_BUFFER_BYTES (4u << 10)

/* A longer pause between two records begins a packet, so that 32 bits of time are enough. */
#define LONGEST_PAUSE_NS (1ull << 31)

/* A program that is killed loses the records that are in no packet yet. So packets end before they
 * are full. The first ends after one second, because runs may be short; the interval grows to ten
 * seconds, because thousands of threads may write to one file system. */
#define SECOND_NS 1000000000ull
#define MOST_SECONDS 10

/* To ask for a thread's processor time takes some 0.5 us. */
#define LONG_NS 50000ull

/* For how long a flush waits for a thread in the middle of a record. */
enum { MOST_YIELDS = 1000 };

struct SesameBuffer {
  struct SesameBuffer* next; /* in the list of all */
  SesameStream* stream;      /* of its thread; null when the thread has ended */
  atomic_flag busy;          /* a thread writes the packet: its own, or one that flushes all */
  uint8_t* memory;
  size_t size;
  const uint8_t* from; /* in memory: the first record that no packet has yet */
  SesamePacketStart start;
  uint32_t thread;
  uint64_t packets;     /* written */
  uint64_t kept_before; /* records in the packets before this one */
};

__thread SesameStream sesame_stream __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list of buffers */
static struct SesameBuffer* buffers;
static uint32_t threads;
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static atomic_uint_fast64_t written_bytes;
static atomic_bool stopped;

/* --- Packets ------------------------------------------------------------------------------ */

/* Held while a packet of a thread is written, since other threads write it, too. */
static void take(struct SesameBuffer* buffer) {
  while (atomic_flag_test_and_set_explicit(&buffer->busy, memory_order_acquire)) sched_yield();
}

static void give(struct SesameBuffer* buffer) {
  atomic_flag_clear_explicit(&buffer->busy, memory_order_release);
}

static uint64_t kept(const SesameThreadState* state) { return state->records - state->discarded; }

/* Begins a packet with the records from `from` on, none of which is earlier than `ns`. */
static void begin_packet_from(struct SesameBuffer* buffer, const uint8_t* from, uint64_t ns) {
  buffer->start = (SesamePacketStart){.magic = SESAME_PACKET_MAGIC,
                                      .stream_id = SESAME_TRACED_STREAM,
                                      .pid = sesame_process_state()->pid,
                                      .thread = buffer->thread,
                                      .timestamp_begin = ns,
                                      .packet_number = buffer->packets};
  buffer->from = from;
  buffer->kept_before = kept(buffer->stream->state);
}

/* Called by the thread itself: the whole buffer is free again. */
static void begin_packet(SesameStream* stream, uint64_t ns) {
  stream->at = stream->buffer->memory;
  stream->last = NULL;
  begin_packet_from(stream->buffer, stream->at, ns);
}

/* Appends the packet or nothing, so that a file has whole packets. The file is open only meanwhile,
 * because some programs close all descriptors that they do not know. Returns an errno value or 0.
 */
static int append_to_stream(struct SesameBuffer* buffer, size_t size) {
  struct iovec parts[2] = {{&buffer->start, sizeof buffer->start},
                           {(void*)buffer->from, size - sizeof buffer->start}};
  struct iovec* part = parts;
  char path[PATH_MAX + 160];
  snprintf(path, sizeof path, "%s.%u.stream", sesame_process_name(), buffer->thread);
  int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, path,
                                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  long before = sesame_system_call(SYS_lseek, file, 0, SEEK_END);
  int error = sesame_file_may_have((uint64_t)before + size) ? 0 : EFBIG;
  while (part < parts + 2 && error == 0) {
    long now =
        sesame_unrecorded(true, sesame_system_call(SYS_writev, file, part, parts + 2 - part));
    if (now == 0) error = ENOSPC;
    if (now < 0 && errno != EINTR) error = errno;
    for (; now > 0 && part < parts + 2; ++part) {
      size_t done = (size_t)now < part->iov_len ? (size_t)now : part->iov_len;
      part->iov_base = (uint8_t*)part->iov_base + done;
      part->iov_len -= done;
      now -= (long)done;
      if (part->iov_len > 0) break;
    }
  }
  if (error != 0) sesame_system_call(SYS_ftruncate, file, before);
  sesame_system_call(SYS_close, file);
  return error;
}

static void lose_packet(SesameStream* stream, uint64_t records, bool in_limit, int error) {
  SesameProcessState* state = sesame_process_state();
  stream->state->discarded += records;
  if (state->error != 0) return;
  state->error = error;
  if (in_limit) {
    sesame_say("records are lost, and counted: the trace cannot be written", NULL, error);
  } else {
    sesame_say("the largest size is reached: further records are lost, and counted", NULL, 0);
  }
}

/* Writes the records up to `at`, none of which is later than `ns`. */
static void write_packet(struct SesameBuffer* buffer, const uint8_t* at, uint64_t ns) {
  SesameThreadState* state = buffer->stream->state;
  if (at == buffer->from) return;
  size_t size = sizeof buffer->start + (size_t)(at - buffer->from);
  buffer->start.timestamp_end = ns;
  buffer->start.content_bits = buffer->start.packet_bits = 8 * (uint64_t)size;
  buffer->start.events_discarded = state->discarded;
  bool in_limit = atomic_fetch_add(&written_bytes, size) + size <= sesame_settings.most_bytes;
  int error = in_limit ? append_to_stream(buffer, size) : EFBIG;
  if (error != 0) {
    lose_packet(buffer->stream, kept(state) - buffer->kept_before, in_limit, error);
  } else {
    buffer->packets++;
  }
}

/* Waits until a thread that is making a record, or adding to the last one, has finished. After the
 * barrier a thread either sees the new deadline or is seen here as writing. A thread that waits for
 * the buffer or the lock will see the deadline, so the wait has a limit. */
static void await_record(const SesameStream* stream) {
  if (stream == &sesame_stream) return;
  for (int i = 0; i < MOST_YIELDS; ++i) {
    if (!(__atomic_load_n(&stream->watched, __ATOMIC_ACQUIRE) & SESAME_WRITING)) return;
    sched_yield();
  }
}

/* A barrier in all threads, which costs those nothing that make records. */
static void fence_all_threads(void) {
  sesame_system_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  sesame_system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* Makes all threads stop adding to their last record. The deadline 0 makes their next record call
 * sesame_reserve_record. */
static void end_merging(void) {
  bool is_alone = true;
  for (struct SesameBuffer* buffer = buffers; buffer != NULL; buffer = buffer->next) {
    if (buffer->stream == NULL) continue;
    __atomic_store_n(&buffer->stream->deadline, 0, __ATOMIC_RELEASE);
    if (buffer->stream != &sesame_stream) is_alone = false;
  }
  if (is_alone) return;
  int saved = errno;
  fence_all_threads();
  for (struct SesameBuffer* buffer = buffers; buffer != NULL; buffer = buffer->next) {
    if (buffer->stream != NULL) await_record(buffer->stream);
  }
  errno = saved;
}

/* Writes what another thread has recorded so far, while it runs. A record is complete before `at`
 * advances, and times only grow. So a time that is read before `at` is not later than the records
 * after `at`; one that is read after it is not earlier than the records before `at`. */
static void write_so_far(struct SesameBuffer* buffer) {
  SesameStream* stream = buffer->stream;
  uint64_t begin_ns = __atomic_load_n(&stream->last_ns, __ATOMIC_ACQUIRE);
  const uint8_t* at = __atomic_load_n(&stream->at, __ATOMIC_ACQUIRE);
  write_packet(buffer, at, __atomic_load_n(&stream->last_ns, __ATOMIC_ACQUIRE));
  begin_packet_from(buffer, at, begin_ns);
}

/* Makes the buffer larger for a record that does not fit, such as a list of a huge communicator. */
static int enlarge(struct SesameBuffer* buffer, size_t size) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  munmap(buffer->memory, buffer->size);
  buffer->memory = memory;
  buffer->size = size;
  buffer->stream->limit = buffer->memory + size;
  return 1;
}

/* Called about once a second, when the clock is renewed: a second that has nearly passed counts. */
static bool is_old(const struct SesameBuffer* buffer, uint64_t ns) {
  uint64_t seconds = buffer->packets < MOST_SECONDS ? buffer->packets + 1 : MOST_SECONDS;
  return ns - buffer->start.timestamp_begin > seconds * SECOND_NS - SECOND_NS / 2;
}

static int reserve_record(SesameStream* stream, uint64_t end_ticks, size_t size) {
  struct SesameBuffer* buffer = stream->buffer;
  if (end_ticks >= sesame_deadline(stream)) {
    const uint64_t deadline = end_ticks + sesame_clock_renew(&stream->clock);
    __atomic_store_n(&stream->deadline, deadline, __ATOMIC_RELAXED);
    stream->last = NULL; /* its packet may have been written */
  }
  uint64_t ns = sesame_ns_at(&stream->clock, end_ticks);
  if (ns < stream->last_ns) ns = stream->last_ns;
  bool is_over = atomic_load(&stopped); /* a record that was being made then is still written */
  if (is_over) __atomic_store_n(&stream->deadline, 0, __ATOMIC_RELAXED);
  if (is_over || (size_t)(stream->limit - stream->at) < size ||
      ns - stream->last_ns > LONGEST_PAUSE_NS || is_old(buffer, ns)) {
    write_packet(buffer, stream->at, stream->last_ns);
    if (buffer->size < size && !enlarge(buffer, 2 * size)) is_over = true;
    begin_packet(stream, ns);
  }
  return !is_over;
}

int sesame_reserve_record(SesameStream* stream, uint64_t end_ticks, size_t size) {
  int saved = errno;
  take(stream->buffer);
  int made = reserve_record(stream, end_ticks, size);
  give(stream->buffer);
  /* Threads of an MPI library may outlive the recording: that is no loss. */
  if (!made && !atomic_load(&stopped)) sesame_discard();
  errno = saved;
  return made;
}

void sesame_discard(void) {
  SesameProcessState* state = sesame_process_state();
  if (state == NULL) return;
  SesameThreadState* thread =
      sesame_stream.state != NULL ? sesame_stream.state : &state->thread[SESAME_STATE_THREADS - 1];
  thread->records++;
  thread->discarded++;
}

/* --- Threads ------------------------------------------------------------------------------ */

/* A later thread uses the buffer, its number and its file again. */
static void end_thread(void* stream_of_thread) {
  SesameStream* stream = stream_of_thread;
  stream->watched = SESAME_WRITING;
  if (sesame_settings.kinds & SESAME_IO) sesame_counters_end_thread();
  pthread_mutex_lock(&lock);
  take(stream->buffer);
  write_packet(stream->buffer, stream->at, stream->last_ns);
  give(stream->buffer);
  stream->buffer->stream = NULL;
  pthread_mutex_unlock(&lock);
  *stream = (SesameStream){0};
}

static void make_thread_end(void) { pthread_key_create(&thread_end, end_thread); }

static struct SesameBuffer* free_buffer(void) {
  struct SesameBuffer* buffer = buffers;
  while (buffer != NULL && buffer->stream != NULL) buffer = buffer->next;
  return buffer;
}

static size_t buffer_bytes(void) {
  uint64_t share = sesame_settings.most_bytes / 4;
  if (share >= BUFFER_BYTES) return BUFFER_BYTES;
  return share > LEAST_BUFFER_BYTES ? share : LEAST_BUFFER_BYTES;
}

/* Buffers are mapped, not allocated: the program's allocator may hold a lock. */
static struct SesameBuffer* new_buffer(void) {
  size_t size = buffer_bytes();
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  struct SesameBuffer* buffer =
      mmap(NULL, sizeof *buffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return NULL;
  *buffer =
      (struct SesameBuffer){.next = buffers, .memory = memory, .size = size, .thread = threads++};
  buffers = buffer;
  return buffer;
}

static SesameThreadState* state_of_thread(uint32_t thread) {
  SesameProcessState* state = sesame_process_state();
  if (thread >= state->threads) state->threads = thread + 1;
  return &state->thread[thread < SESAME_STATE_THREADS ? thread : SESAME_STATE_THREADS - 1];
}

static int take_buffer(SesameStream* stream) {
  pthread_mutex_lock(&lock);
  struct SesameBuffer* buffer = free_buffer();
  if (buffer == NULL) buffer = new_buffer();
  if (buffer != NULL) {
    buffer->stream = stream;
    stream->buffer = buffer;
    stream->state = state_of_thread(buffer->thread);
  }
  pthread_mutex_unlock(&lock);
  return buffer != NULL;
}

static int begin_thread(SesameStream* stream) {
  stream->watched = SESAME_WRITING; /* what is called from here is not the program's */
  if (!sesame_process_begin() || !take_buffer(stream)) return 0;
  uint64_t renewal = sesame_clock_renew(&stream->clock);
  stream->left = sesame_ticks();
  stream->deadline = stream->left + renewal;
  stream->long_ticks = (LONG_NS << 32) / stream->clock.ns_per_tick;
  sesame_ask_processor(stream, stream->left);
  stream->limit = stream->buffer->memory + stream->buffer->size;
  stream->last_ns = stream->clock.base_ns;
  begin_packet(stream, stream->last_ns);
  pthread_once(&thread_end_once, make_thread_end);
  pthread_setspecific(thread_end, stream);
  stream->watched = sesame_settings.kinds;
  return 1;
}

/* Makes the first record of the process's first stream, which began to be made at `since_ns`. Not
 * inlined: it takes kilobytes of stack. */
__attribute__((noinline)) static void put_process(uint64_t since_ns) {
  SesameProcessFacts facts;
  sesame_process_look_up(&facts);
  const uint64_t started_ns = sesame_process_ready(since_ns);
  sesame_put_process(sesame_ticks(),
                     &(struct sesame_process){.pid = getpid(),
                                              .parent = getppid(),
                                              .realtime_offset = facts.realtime_offset,
                                              .loaded = (int64_t)started_ns,
                                              .pid_namespace = facts.pid_namespace,
                                              .host = facts.host,
                                              .kernel = facts.kernel,
                                              .directory = facts.directory,
                                              .command = facts.command});
}

int sesame_begin_thread(int kind) {
  SesameStream* stream = &sesame_stream;
  if (stream->watched & SESAME_WRITING) {
    if (stream->buffer != NULL) sesame_discard();
    return 0;
  }
  if (stream->buffer != NULL || !(sesame_settings.kinds & kind)) return 0;
  int saved = errno;
  const uint64_t since_ns = sesame_system_ns();
  int started = begin_thread(stream);
  if (!started) {
    sesame_settings.kinds = 0; /* the reason was reported; do not try again at every call */
    *stream = (SesameStream){0};
  } else if (stream->buffer->thread == 0 && stream->state->records == 0) {
    put_process(since_ns);
  }
  errno = saved;
  return started;
}

/* --- All of them -------------------------------------------------------------------------- */

void sesame_streams_flush(void) {
  uint8_t watched = sesame_stream.watched;
  sesame_stream.watched = SESAME_WRITING; /* a signal handler that exits must not come back here */
  pthread_mutex_lock(&lock);
  end_merging();
  for (struct SesameBuffer* buffer = buffers; buffer != NULL; buffer = buffer->next) {
    if (buffer->stream == NULL) continue;
    take(buffer);
    write_so_far(buffer);
    give(buffer);
  }
  pthread_mutex_unlock(&lock);
  sesame_stream.watched = watched;
}

void sesame_streams_stop(void) {
  atomic_store(&stopped, true);
  sesame_streams_flush();
}

void sesame_streams_resume(void) { atomic_store(&stopped, false); }

void sesame_streams_forget(void) {
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  for (struct SesameBuffer* buffer = buffers; buffer != NULL;) {
    struct SesameBuffer* next = buffer->next;
    munmap(buffer->memory, buffer->size);
    munmap(buffer, sizeof *buffer);
    buffer = next;
  }
  buffers = NULL;
  threads = 0;
  written_bytes = 0;
  atomic_store(&stopped, false); /* its parent may have been about to end */
  sesame_stream = (SesameStream){0};
}
