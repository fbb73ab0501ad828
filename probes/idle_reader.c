/* The idle reader (probes.h): closes intervals while the process that measures is idle. Samples are
 * stored as they are until sesame_probes_idle_stop. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "probes/loaded.h"

#define FIRST_TEXT_BYTES (1 << 16) /* of /proc/stat, at first */
#define WORD sizeof(uint64_t)

struct idle_reader {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int descriptor;
  bool is_idle, is_over;
  struct idle_order order;
  uint64_t *before, *found; /* sums of the last sample; what is new since then */
  uint64_t* samples;
  size_t words, capacity; /* of samples: used, and all */
  unsigned count;
  size_t text_capacity;
};

static uint64_t clock_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Memory for so many more words; NULL if there is none. */
static uint64_t* reserve(struct idle_reader* reader, size_t words) {
  if (reader->words + words > reader->capacity) {
    const size_t capacity = 2 * (reader->words + words);
    uint64_t* grown = realloc(reader->samples, capacity * WORD);
    if (grown == NULL) return NULL;
    reader->samples = grown;
    reader->capacity = capacity;
  }
  return reader->samples + reader->words;
}

/* ---- Limits ---- */

static bool has_changed(int directory, uint64_t changed_ns) {
  struct stat found;
  if (directory < 0) return false;
  if (fstat(directory, &found) != 0) return true;
  return (uint64_t)found.st_mtim.tv_sec * 1000000000u + (uint64_t)found.st_mtim.tv_nsec !=
         changed_ns;
}

static size_t sums_bytes(const struct idle_order* order) {
  return (size_t)order->cpus * order->begins[order->subsystems] * WORD;
}

/* Leaves the differences in `found` and the sums before in `before`. */
static bool is_within_budget(struct idle_reader* reader, uint64_t own_ns) {
  const struct idle_order* order = &reader->order;
  const unsigned width = order->begins[order->subsystems];
  memcpy(reader->before, order->sums, sums_bytes(order));
  for (unsigned i = 0; i < order->subsystems; ++i) {
    if (order->loaded[i] == NULL) continue;
    sesame_probes_sums(order->loaded[i], order->sums + order->begins[i], width);
  }
  sesame_probes_compare(reader->before, order->sums, order->cpus, order->begins, order->subsystems,
                        reader->found);
  bool is_little = own_ns + reader->found[2 * order->subsystems] <= order->whole_ns;
  for (unsigned i = 0; i < order->subsystems; ++i) {
    is_little = is_little && reader->found[2 * i] <= order->share_ns;
  }
  return is_little && !has_changed(order->directory, order->changed_ns);
}

/* ---- Samples ---- */

static size_t cells_of(const struct subsystem* subsystem) {
  return (size_t)subsystem->point_count * subsystem->class_count * subsystem->group_count;
}

/* Stores the text of /proc/stat; returns its bytes. */
static uint64_t text_into(struct idle_reader* reader) {
  for (;; reader->text_capacity *= 2) {
    char* text = (void*)reserve(reader, reader->text_capacity / WORD);
    if (text == NULL) return 0;
    const ssize_t got = pread(reader->order.processors, text, reader->text_capacity, 0);
    if (got <= 0) return 0;
    if ((size_t)got == reader->text_capacity) continue;
    reader->words += ((size_t)got + WORD - 1) / WORD;
    return (uint64_t)got;
  }
}

/* Reading cells resets their differences, so memory for all of them is allocated first. */
static bool take_sample(struct idle_reader* reader, uint64_t time_ns, uint64_t own_ns) {
  const struct idle_order* order = &reader->order;
  const size_t begin = reader->words;
  const size_t head =
      sizeof(struct interval_sample) + order->subsystems * sizeof(struct subsystem_sample);
  if (reserve(reader, head / WORD) == NULL) return false;
  reader->words += head / WORD;
  const struct interval_sample sample = {time_ns, own_ns, text_into(reader)};
  size_t most = 0;
  for (unsigned i = 0; i < order->subsystems; ++i)
    if (order->loaded[i] != NULL) most += cells_of(order->loaded[i]->subsystem);
  if (reserve(reader, most * sizeof(struct cell_reading) / WORD) == NULL) {
    reader->words = begin;
    return false;
  }
  memcpy(reader->samples + begin, &sample, sizeof sample);
  struct subsystem_sample* sampled = (void*)(reader->samples + begin + sizeof sample / WORD);
  for (unsigned i = 0; i < order->subsystems; ++i) {
    sampled[i] = (struct subsystem_sample){reader->found[2 * i], reader->found[2 * i + 1], 0};
    if (order->loaded[i] == NULL) continue;
    struct cell_reading* cells = (void*)(reader->samples + reader->words);
    sampled[i].cells = sesame_probes_read(order->loaded[i], cells);
    reader->words += sampled[i].cells * sizeof *cells / WORD;
  }
  ++reader->count;
  return true;
}

static void renew(const struct idle_order* order) {
  if (order->renewal_ns == 0) return;
  for (unsigned i = 0; i < order->subsystems; ++i)
    if (order->loaded[i] != NULL) sesame_probes_set_quota(order->loaded[i], order->renewal_ns);
}

/* ---- The thread ---- */

/* Closes an interval; false if the idle period must end. */
static bool close_interval(struct idle_reader* reader) {
  const uint64_t time_ns = clock_ns(CLOCK_MONOTONIC);
  const uint64_t own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (!is_within_budget(reader, own_ns - reader->order.own_ns) ||
      !take_sample(reader, time_ns, own_ns)) {
    memcpy(reader->order.sums, reader->before, sums_bytes(&reader->order));
    return false;
  }
  reader->order.own_ns = own_ns;
  renew(&reader->order);
  return true;
}

/* Sleeps until the interval is due; false if the idle period was ended. */
static bool sleep_until_due(struct idle_reader* reader) {
  int error = 0;
  while (reader->is_idle && error == 0) {
    const uint64_t due_ns = reader->order.due_ns; /* the order may have changed */
    const struct timespec due = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};
    error = pthread_cond_timedwait(&reader->changed, &reader->lock, &due);
  }
  return reader->is_idle;
}

/* Notifies once for each idle period, even one that the thread has not noticed yet. */
static void end_idle(struct idle_reader* reader) {
  if (!reader->is_idle) return;
  reader->is_idle = false;
  eventfd_write(reader->descriptor, 1);
}

/* The last interval is left open for the process that measures. */
static void idle_loop(struct idle_reader* reader) {
  while (sleep_until_due(reader) && reader->count < reader->order.most_samples &&
         close_interval(reader))
    reader->order.due_ns += reader->order.interval_ns;
  end_idle(reader);
}

static void* run(void* argument) {
  struct idle_reader* reader = argument;
  pthread_mutex_lock(&reader->lock);
  while (!reader->is_over) {
    if (reader->is_idle)
      idle_loop(reader);
    else
      pthread_cond_wait(&reader->changed, &reader->lock);
  }
  pthread_mutex_unlock(&reader->lock);
  return NULL;
}

/* ---- Interface ---- */

static bool begin_thread(struct idle_reader* reader) {
  pthread_mutex_init(&reader->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&reader->changed, &monotonic);
  sigset_t all, before; /* the thread handles no signals */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&reader->thread, NULL, run, reader);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error == 0;
}

static void free_reader(struct idle_reader* reader) {
  if (reader->descriptor >= 0) close(reader->descriptor);
  free(reader->before);
  free(reader->found);
  free(reader->samples);
  free(reader);
}

EXPORT struct idle_reader* sesame_probes_idle_open(unsigned cpus, unsigned columns,
                                                   unsigned subsystems) {
  struct idle_reader* reader = calloc(1, sizeof *reader);
  if (reader == NULL) return NULL;
  reader->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  reader->before = calloc((size_t)cpus * columns, WORD);
  reader->found = calloc(2 * subsystems + 1, WORD);
  reader->text_capacity = FIRST_TEXT_BYTES;
  if (reader->descriptor >= 0 && reader->before != NULL && reader->found != NULL &&
      begin_thread(reader))
    return reader;
  free_reader(reader);
  return NULL;
}

EXPORT int sesame_probes_idle_descriptor(const struct idle_reader* reader) {
  return reader->descriptor;
}

EXPORT void sesame_probes_idle_start(struct idle_reader* reader, const struct idle_order* order) {
  pthread_mutex_lock(&reader->lock);
  reader->order = *order;
  reader->words = reader->count = 0;
  reader->is_idle = true;
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
}

EXPORT unsigned sesame_probes_idle_stop(struct idle_reader* reader, const void** samples,
                                        size_t* bytes) {
  pthread_mutex_lock(&reader->lock);
  end_idle(reader);
  pthread_cond_broadcast(&reader->changed);
  const unsigned count = reader->count;
  reader->count = 0;
  *samples = reader->samples;
  *bytes = reader->words * WORD;
  pthread_mutex_unlock(&reader->lock);
  return count;
}

EXPORT void sesame_probes_idle_close(struct idle_reader* reader) {
  pthread_mutex_lock(&reader->lock);
  reader->is_over = true;
  reader->is_idle = false;
  pthread_cond_broadcast(&reader->changed);
  pthread_mutex_unlock(&reader->lock);
  pthread_join(reader->thread, NULL);
  free_reader(reader);
}
