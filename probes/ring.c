/* The rings that the programs of all subsystems write into: events, and messages to the user side.
 *
 * A mapped ring counts twice as resident memory, since it is mapped twice in a row. So the large
 * ring of events is mapped once a point writes events. */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "probes/loaded.h"

static int event_map = -1, message_map = -1;
static struct ring_buffer* rings;
static int is_event_ring_read;
/* One thread reads the rings, another one may add the ring of events. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static int share(struct bpf_object* object, const char* name, int* map, unsigned bytes) {
  if (*map < 0) *map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, name, 0, 0, bytes, NULL);
  if (*map < 0) return -1;
  return bpf_map__reuse_fd(bpf_object__find_map_by_name(object, name), *map);
}

int share_rings(struct bpf_object* object) {
  if (share(object, "events", &event_map, SESAME_RING) != 0) return -1;
  return share(object, "messages", &message_map, SESAME_MESSAGES);
}

struct batch {
  struct event* events;
  size_t capacity;
  size_t count;
};
static struct batch batch;

static int take(void* context, void* data, size_t bytes) {
  (void)context;
  memcpy(&batch.events[batch.count++], data,
         bytes < sizeof(struct event) ? bytes : sizeof(struct event));
  return batch.count == batch.capacity ? -ENOSPC : 0; /* an error ends ring_buffer__consume */
}

static int open_rings(void) {
  if (rings != NULL) return 0;
  if (message_map >= 0) rings = ring_buffer__new(message_map, take, NULL, NULL);
  if (rings != NULL) return 0;
  fail("the ring of messages cannot be read: %s", message_map < 0 ? "no probes" : strerror(errno));
  return -1;
}

static int add_event_ring(void) {
  if (is_event_ring_read) return 0;
  if (open_rings() != 0) return -1;
  if (ring_buffer__add(rings, event_map, take, NULL) != 0) {
    fail("the ring of events cannot be read: %s", strerror(errno));
    return -1;
  }
  is_event_ring_read = 1;
  return 0;
}

int read_event_ring(void) {
  pthread_mutex_lock(&changing);
  const int failed = add_event_ring();
  pthread_mutex_unlock(&changing);
  return failed;
}

EXPORT int sesame_probes_events_descriptor(void) {
  pthread_mutex_lock(&changing);
  const int descriptor = open_rings() == 0 ? ring_buffer__epoll_fd(rings) : -1;
  pthread_mutex_unlock(&changing);
  return descriptor;
}

EXPORT long sesame_probes_events(struct event* events, size_t capacity) {
  pthread_mutex_lock(&changing);
  long count = -1;
  if (open_rings() == 0) {
    batch = (struct batch){events, capacity, 0};
    ring_buffer__consume(rings);
    count = (long)batch.count;
  }
  pthread_mutex_unlock(&changing);
  return count;
}
