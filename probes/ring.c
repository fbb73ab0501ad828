/* The ring that the programs of all subsystems write events into. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "probes/loaded.h"

static int ring_map = -1;
static struct ring_buffer* ring;

int share_ring(struct bpf_object* object) {
  if (ring_map < 0) {
    ring_map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "sesame_events", 0, 0, SESAME_RING, NULL);
    if (ring_map < 0) return -1;
  }
  return bpf_map__reuse_fd(bpf_object__find_map_by_name(object, "events"), ring_map);
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

static int open_ring(void) {
  if (ring != NULL) return 0;
  if (ring_map >= 0) ring = ring_buffer__new(ring_map, take, NULL, NULL);
  if (ring != NULL) return 0;
  fail("the ring of events cannot be read: %s", ring_map < 0 ? "no probes" : strerror(errno));
  return -1;
}

EXPORT int sesame_probes_events_descriptor(void) {
  return open_ring() == 0 ? ring_buffer__epoll_fd(ring) : -1;
}

EXPORT long sesame_probes_events(struct event* events, size_t capacity) {
  if (open_ring() != 0) return -1;
  batch = (struct batch){events, capacity, 0};
  ring_buffer__consume(ring);
  return (long)batch.count;
}
