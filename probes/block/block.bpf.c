#include "probes/block/block.h"

#include "probes/probe.bpf.h"

/* include/linux/blk_types.h: REQ_OP_BITS, enum req_op */
#define OPERATION 0xff

static __always_inline __u32 class_of(const struct request* request) {
  const __u32 operation = request->cmd_flags & OPERATION;
  return operation < BLOCK_OTHER ? operation : BLOCK_OTHER;
}

static __always_inline __u32 device_of(const struct request* request) {
  const struct gendisk* disk = request->q->disk;
  return disk ? (__u32)disk->major << 20 | (__u32)disk->first_minor : 0;
}

static __always_inline void seen(__u32 point, const struct request* request, __u32 class_,
                                 __u64 bytes, __u64 now_ns, __u64 duration_ns) {
  note_anywhere(point, class_, bytes, duration_ns);
  if (!settings.tracing[point]) return;
  trace_anywhere(point, class_, now_ns, duration_ns, request->__sector, bytes, device_of(request));
}

SEC("tp_btf/block_rq_insert")
int insert(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  seen(BLOCK_INSERT, request, class_of(request), request->__data_len, 0, 0);
  return 0;
}

/* When a device was given a request. The kernel itself stores this only while something that limits
 * devices (wbt, latency targets) needs it. The two newest requests whose addresses have one hash
 * are known, since a device below (of a loop, a volume) works on requests of its own meanwhile. */
#define REQUEST_SLOTS 16384
static struct times_of_requests {
  const struct request* request[2]; /* the newest first */
  __u64 begin_ns[2];
} slots[REQUEST_SLOTS];

/* Selected by the low half of the request's address: the verifier lets a program compute with no
 * other part of a pointer. CAP_PERFMON lets it copy that half, and store and compare the pointer.
 */
static __always_inline struct times_of_requests* slot_of(const struct request* request) {
  __u32 low;
  asm volatile("%0 = %1" : "=w"(low) : "w"((__u32)(unsigned long)request));
  return &slots[(low >> 6) * 0x9e3779b97f4a7c15ULL >> 32 & (REQUEST_SLOTS - 1)];
}

/* The slot is written last: another CPU may have its cache line, and adding to cells would wait for
 * that. */
SEC("tp_btf/block_rq_issue")
int issue(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  const __u32 detail = settings.detail[BLOCK_COMPLETE];
  const __u64 now_ns = is_timed(detail) ? bpf_ktime_get_ns() : 0;
  seen(BLOCK_ISSUE, request, class_of(request), request->__data_len, now_ns, 0);
  if (detail <= DETAIL_COUNT) return 0;
  struct times_of_requests* slot = slot_of(request);
  if (slot->request[0] != request) {
    slot->request[1] = slot->request[0];
    slot->begin_ns[1] = slot->begin_ns[0];
    slot->request[0] = request;
  }
  slot->begin_ns[0] = now_ns;
  return 0;
}

/* When the device was given the request; 0 when that is not known. */
static __always_inline __u64 begin_of(const struct request* request) {
  if (settings.detail[BLOCK_COMPLETE] <= DETAIL_COUNT) return 0;
  const struct times_of_requests* slot = slot_of(request);
  if (slot->request[0] == request) return slot->begin_ns[0];
  return slot->request[1] == request ? slot->begin_ns[1] : 0;
}

/* An empty write is not counted: it only carries a flush, which is a request of its own. */
SEC("tp_btf/block_rq_complete")
int complete(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  const __u64 begin_ns = begin_of(request);
  const __u32 bytes = (__u32)ctx[2], class_ = class_of(request);
  if (!bytes && class_ == BLOCK_WRITE) return 0;
  const __u64 now_ns = begin_ns ? bpf_ktime_get_ns() : 0;
  seen(BLOCK_COMPLETE, request, class_, bytes, now_ns, time_since(begin_ns, now_ns));
  return 0;
}
