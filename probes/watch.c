/* Closes intervals while whoever measures sleeps and there is nothing to decide. What a sample has
 * is not looked at here: it is kept until it is asked for. */
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

#define TEXT_ROOM (1 << 16) /* of /proc/stat, at first */
#define WORD sizeof(uint64_t)

struct watch {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int descriptor;
  bool is_resting, is_over;
  struct watch_order order;
  uint64_t *before, *found; /* sums of the last sample; what is new since then */
  uint64_t* samples;
  size_t words, room; /* of samples: used, and all */
  unsigned count;
  size_t text_room;
};

static uint64_t clock_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Room for so many more words; NULL when there is none. */
static uint64_t* room_for(struct watch* watch, size_t words) {
  if (watch->words + words > watch->room) {
    const size_t room = 2 * (watch->words + words);
    uint64_t* grown = realloc(watch->samples, room * WORD);
    if (grown == NULL) return NULL;
    watch->samples = grown;
    watch->room = room;
  }
  return watch->samples + watch->words;
}

/* ---- Whether there is something to decide ---- */

static bool has_changed(int directory, uint64_t changed_ns) {
  struct stat found;
  if (directory < 0) return false;
  if (fstat(directory, &found) != 0) return true;
  return (uint64_t)found.st_mtim.tv_sec * 1000000000u + (uint64_t)found.st_mtim.tv_nsec !=
         changed_ns;
}

static size_t sums_bytes(const struct watch_order* order) {
  return (size_t)order->cpus * order->begins[order->subsystems] * WORD;
}

/* Leaves in `found` what is new, in `before` what sums were. */
static bool is_calm(struct watch* watch, uint64_t own_ns) {
  const struct watch_order* order = &watch->order;
  const unsigned width = order->begins[order->subsystems];
  memcpy(watch->before, order->sums, sums_bytes(order));
  for (unsigned i = 0; i < order->subsystems; ++i) {
    if (order->loaded[i] == NULL) continue;
    sesame_probes_sums(order->loaded[i], order->sums + order->begins[i], width);
  }
  sesame_probes_compare(watch->before, order->sums, order->cpus, order->begins, order->subsystems,
                        watch->found);
  bool is_little = own_ns + watch->found[2 * order->subsystems] <= order->whole_ns;
  for (unsigned i = 0; i < order->subsystems; ++i) {
    is_little = is_little && watch->found[2 * i] <= order->part_ns;
  }
  return is_little && !has_changed(order->directory, order->changed_ns);
}

/* ---- Samples ---- */

static size_t cells_of(const struct subsystem* subsystem) {
  return (size_t)subsystem->point_count * subsystem->class_count * subsystem->group_count;
}

/* What processors did, as the kernel writes it; its bytes. */
static uint64_t text_into(struct watch* watch) {
  for (;; watch->text_room *= 2) {
    char* text = (void*)room_for(watch, watch->text_room / WORD);
    if (text == NULL) return 0;
    const ssize_t got = pread(watch->order.processors, text, watch->text_room, 0);
    if (got <= 0) return 0;
    if ((size_t)got == watch->text_room) continue;
    watch->words += ((size_t)got + WORD - 1) / WORD;
    return (uint64_t)got;
  }
}

/* What was pulled is in no cell any more, so first there is room for all of it. */
static bool take_sample(struct watch* watch, uint64_t time_ns, uint64_t own_ns) {
  const struct watch_order* order = &watch->order;
  const size_t begin = watch->words;
  const size_t head = sizeof(struct sample) + order->subsystems * sizeof(struct sampled);
  if (room_for(watch, head / WORD) == NULL) return false;
  watch->words += head / WORD;
  const struct sample sample = {time_ns, own_ns, text_into(watch)};
  size_t most = 0;
  for (unsigned i = 0; i < order->subsystems; ++i)
    if (order->loaded[i] != NULL) most += cells_of(order->loaded[i]->subsystem);
  if (room_for(watch, most * sizeof(struct pulled) / WORD) == NULL) {
    watch->words = begin;
    return false;
  }
  memcpy(watch->samples + begin, &sample, sizeof sample);
  struct sampled* sampled = (void*)(watch->samples + begin + sizeof sample / WORD);
  for (unsigned i = 0; i < order->subsystems; ++i) {
    sampled[i] = (struct sampled){watch->found[2 * i], watch->found[2 * i + 1], 0};
    if (order->loaded[i] == NULL) continue;
    struct pulled* pulled = (void*)(watch->samples + watch->words);
    sampled[i].cells = sesame_probes_pull(order->loaded[i], pulled);
    watch->words += sampled[i].cells * sizeof *pulled / WORD;
  }
  ++watch->count;
  return true;
}

static void renew(const struct watch_order* order) {
  if (order->renewal_ns == 0) return;
  for (unsigned i = 0; i < order->subsystems; ++i)
    if (order->loaded[i] != NULL) sesame_probes_allow(order->loaded[i], order->renewal_ns);
}

/* ---- The thread ---- */

/* Whether it may go on to the next interval. */
static bool close_interval(struct watch* watch) {
  const uint64_t time_ns = clock_ns(CLOCK_MONOTONIC);
  const uint64_t own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (!is_calm(watch, own_ns - watch->order.own_ns) || !take_sample(watch, time_ns, own_ns)) {
    memcpy(watch->order.sums, watch->before, sums_bytes(&watch->order));
    return false;
  }
  watch->order.own_ns = own_ns;
  renew(&watch->order);
  return true;
}

/* Whether it was let sleep until an interval is over. */
static bool sleep_until_due(struct watch* watch) {
  int error = 0;
  while (watch->is_resting && error == 0) {
    const uint64_t due_ns = watch->order.due_ns; /* there may be another order by now */
    const struct timespec due = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};
    error = pthread_cond_timedwait(&watch->changed, &watch->lock, &due);
  }
  return watch->is_resting;
}

/* Once for each rest, whether the thread has noticed by then that there is one or not. */
static void end_rest(struct watch* watch) {
  if (!watch->is_resting) return;
  watch->is_resting = false;
  eventfd_write(watch->descriptor, 1);
}

/* The last of the intervals is closed by whoever measures. */
static void rest(struct watch* watch) {
  while (sleep_until_due(watch) && watch->count < watch->order.most_samples &&
         close_interval(watch))
    watch->order.due_ns += watch->order.interval_ns;
  end_rest(watch);
}

static void* run(void* argument) {
  struct watch* watch = argument;
  pthread_mutex_lock(&watch->lock);
  while (!watch->is_over) {
    if (watch->is_resting)
      rest(watch);
    else
      pthread_cond_wait(&watch->changed, &watch->lock);
  }
  pthread_mutex_unlock(&watch->lock);
  return NULL;
}

/* ---- What others call ---- */

static bool begin_thread(struct watch* watch) {
  pthread_mutex_init(&watch->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&watch->changed, &monotonic);
  sigset_t all, before; /* signals are for others */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&watch->thread, NULL, run, watch);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error == 0;
}

static void free_watch(struct watch* watch) {
  if (watch->descriptor >= 0) close(watch->descriptor);
  free(watch->before);
  free(watch->found);
  free(watch->samples);
  free(watch);
}

EXPORT struct watch* sesame_probes_watch(unsigned cpus, unsigned columns, unsigned subsystems) {
  struct watch* watch = calloc(1, sizeof *watch);
  if (watch == NULL) return NULL;
  watch->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  watch->before = calloc((size_t)cpus * columns, WORD);
  watch->found = calloc(2 * subsystems + 1, WORD);
  watch->text_room = TEXT_ROOM;
  if (watch->descriptor >= 0 && watch->before != NULL && watch->found != NULL &&
      begin_thread(watch))
    return watch;
  free_watch(watch);
  return NULL;
}

EXPORT int sesame_probes_watch_descriptor(const struct watch* watch) { return watch->descriptor; }

EXPORT void sesame_probes_rest(struct watch* watch, const struct watch_order* order) {
  pthread_mutex_lock(&watch->lock);
  watch->order = *order;
  watch->words = watch->count = 0;
  watch->is_resting = true;
  pthread_cond_broadcast(&watch->changed);
  pthread_mutex_unlock(&watch->lock);
}

EXPORT unsigned sesame_probes_wake(struct watch* watch, const void** samples, size_t* bytes) {
  pthread_mutex_lock(&watch->lock);
  end_rest(watch);
  pthread_cond_broadcast(&watch->changed);
  const unsigned count = watch->count;
  watch->count = 0;
  *samples = watch->samples;
  *bytes = watch->words * WORD;
  pthread_mutex_unlock(&watch->lock);
  return count;
}

EXPORT void sesame_probes_unwatch(struct watch* watch) {
  pthread_mutex_lock(&watch->lock);
  watch->is_over = true;
  watch->is_resting = false;
  pthread_cond_broadcast(&watch->changed);
  pthread_mutex_unlock(&watch->lock);
  pthread_join(watch->thread, NULL);
  free_watch(watch);
}
