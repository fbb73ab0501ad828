#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"
#include "streams.h"

/* One write of a full buffer costs some 40 us, spread over about 6,000 records. */
#define BUFFER_BYTES (128u << 10)

/* A longer pause between two records begins a packet, so that 32 bits of time are enough. */
#define LONGEST_PAUSE_NS (1ull << 31)

struct SesameBuffer {
  struct SesameBuffer* next; /* in the list of all */
  SesameStream* stream;      /* whose it is now; null when its thread has ended */
  uint8_t* memory;
  size_t size;
  uint32_t thread;
  uint64_t packets;        /* written */
  uint64_t records_before; /* in the packets before this one */
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

static void begin_packet(SesameStream* stream, uint64_t ns) {
  struct SesameBuffer* buffer = stream->buffer;
  SesamePacketStart start = {.magic = SESAME_PACKET_MAGIC,
                             .stream_id = SESAME_TRACED_STREAM,
                             .pid = sesame_process_state()->pid,
                             .thread = buffer->thread,
                             .timestamp_begin = ns,
                             .packet_number = buffer->packets};
  memcpy(buffer->memory, &start, sizeof start);
  buffer->records_before = stream->state->records;
  stream->at = buffer->memory + sizeof start;
  stream->last = NULL;
}

/* All or nothing, so that a file holds whole packets. The file is open only now: programs close
 * descriptors that they do not know. Gives an errno, or 0. */
static int append_to_stream(const struct SesameBuffer* buffer, size_t size) {
  char path[PATH_MAX + 160];
  snprintf(path, sizeof path, "%s.%u.stream", sesame_process_name(), buffer->thread);
  int file =
      (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  long before = syscall(SYS_lseek, file, 0, SEEK_END);
  int error = 0;
  for (size_t done = 0; done < size && error == 0;) {
    long now = syscall(SYS_write, file, buffer->memory + done, size - done);
    if (now > 0) done += (size_t)now;
    if (now == 0) error = ENOSPC;
    if (now < 0 && errno != EINTR) error = errno;
  }
  if (error != 0) syscall(SYS_ftruncate, file, before);
  syscall(SYS_close, file);
  return error;
}

static void lose_packet(SesameStream* stream, uint64_t records, int error) {
  SesameProcessState* state = sesame_process_state();
  stream->state->discarded += records;
  if (state->error == 0) {
    state->error = error;
    sesame_say("records are lost, and counted: the trace cannot be written", NULL, error);
  }
}

static void write_packet(SesameStream* stream) {
  struct SesameBuffer* buffer = stream->buffer;
  uint64_t records = stream->state->records - buffer->records_before;
  if (records == 0) return;
  size_t size = (size_t)(stream->at - buffer->memory);
  SesamePacketStart* start = (SesamePacketStart*)buffer->memory;
  start->timestamp_end = stream->last_ns;
  start->content_bits = start->packet_bits = 8 * (uint64_t)size;
  start->events_discarded = stream->state->discarded;
  bool in_limit = atomic_fetch_add(&written_bytes, size) + size <= sesame_settings.most_bytes;
  int error = in_limit ? append_to_stream(buffer, size) : EFBIG;
  if (error != 0) {
    lose_packet(stream, records, error);
  } else {
    buffer->packets++;
  }
  buffer->records_before = stream->state->records;
}

/* A record larger than the whole buffer, a list of a huge communicator, gets a larger one. */
static int enlarge(struct SesameBuffer* buffer, size_t size) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  munmap(buffer->memory, buffer->size);
  buffer->memory = memory;
  buffer->size = size;
  buffer->stream->limit = buffer->memory + size;
  return 1;
}

int sesame_make_room(SesameStream* stream, uint64_t end_ticks, size_t size) {
  int saved = errno;
  struct SesameBuffer* buffer = stream->buffer;
  if (atomic_load_explicit(&stopped, memory_order_relaxed)) {
    stream->state->records++;
    stream->state->discarded++;
    return 0;
  }
  if (end_ticks >= stream->deadline) {
    stream->deadline = end_ticks + sesame_clock_renew(&stream->clock);
  }
  uint64_t ns = sesame_ns_at(&stream->clock, end_ticks);
  if (ns < stream->last_ns) ns = stream->last_ns;
  if ((size_t)(stream->limit - stream->at) < size || ns - stream->last_ns > LONGEST_PAUSE_NS) {
    write_packet(stream);
    if (buffer->size < size + sizeof(SesamePacketStart) && !enlarge(buffer, 2 * size)) {
      stream->state->records++;
      stream->state->discarded++;
      errno = saved;
      return 0;
    }
    begin_packet(stream, ns);
  }
  errno = saved;
  return 1;
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

/* A later thread takes the buffer, the number and the file over. */
static void end_thread(void* stream_of_thread) {
  SesameStream* stream = stream_of_thread;
  stream->watched = 0;
  pthread_mutex_lock(&lock);
  if (!atomic_load(&stopped)) write_packet(stream);
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

/* Buffers are mapped, not allocated: the program's allocator may be waiting for us. */
static struct SesameBuffer* new_buffer(void) {
  size_t size = sizeof(struct SesameBuffer) + BUFFER_BYTES;
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
  stream->deadline = sesame_ticks() + renewal;
  stream->limit = stream->buffer->memory + stream->buffer->size;
  stream->last_ns = stream->clock.base_ns;
  begin_packet(stream, stream->last_ns);
  pthread_once(&thread_end_once, make_thread_end);
  pthread_setspecific(thread_end, stream);
  stream->watched = sesame_settings.kinds;
  return 1;
}

int sesame_begin_thread(int kind) {
  SesameStream* stream = &sesame_stream;
  if (stream->watched & SESAME_WRITING) {
    if (stream->buffer != NULL) sesame_discard();
    return 0;
  }
  if (stream->buffer != NULL || !(sesame_settings.kinds & kind)) return 0;
  int saved = errno;
  int begun = begin_thread(stream);
  if (!begun) {
    sesame_settings.kinds = 0; /* it was said why; do not try again at every call */
    *stream = (SesameStream){0};
  } else if (stream->buffer->thread == 0 && stream->state->records == 0) {
    sesame_process_describe();
  }
  errno = saved;
  return begun;
}

/* --- All of them -------------------------------------------------------------------------- */

void sesame_streams_flush(void) {
  pthread_mutex_lock(&lock);
  for (struct SesameBuffer* buffer = buffers; buffer != NULL; buffer = buffer->next) {
    if (buffer->stream == NULL) continue;
    write_packet(buffer->stream);
    begin_packet(buffer->stream, buffer->stream->last_ns);
  }
  pthread_mutex_unlock(&lock);
}

void sesame_streams_stop(void) {
  atomic_store(&stopped, true);
  sesame_streams_flush();
  pthread_mutex_lock(&lock);
  for (struct SesameBuffer* buffer = buffers; buffer != NULL; buffer = buffer->next) {
    if (buffer->stream != NULL) buffer->stream->limit = buffer->stream->at;
  }
  pthread_mutex_unlock(&lock);
}

void sesame_streams_resume(void) {
  atomic_store(&stopped, false);
  pthread_mutex_lock(&lock);
  for (struct SesameBuffer* buffer = buffers; buffer != NULL; buffer = buffer->next) {
    if (buffer->stream != NULL) buffer->stream->limit = buffer->memory + buffer->size;
  }
  pthread_mutex_unlock(&lock);
}

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
