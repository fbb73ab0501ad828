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

static __always_inline void seen(__u32 point, const struct request* request, __u64 bytes,
                                 __u64 now_ns, __u64 duration_ns) {
  const __u32 class_ = class_of(request);
  note_anywhere(point, class_, bytes, duration_ns);
  if (!settings.tracing[point]) return;
  trace_anywhere(point, class_, now_ns, duration_ns, request->__sector, bytes, device_of(request));
}

SEC("tp_btf/block_rq_insert")
int insert(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  seen(BLOCK_INSERT, request, request->__data_len, 0, 0);
  return 0;
}

/* When a device was given a request: the kernel itself notes it only while something that limits
 * devices (wbt, latency targets) wants to know. */
static struct slot slots[SLOTS];

/* Its address as a number: the kernel does not let a program compute with a pointer. */
static __always_inline __u64 number_of(const __u64* ctx) {
  __u64 number = 0;
  bpf_probe_read_kernel(&number, sizeof number, ctx);
  return number;
}

static __always_inline struct slot* slot_of(__u64 number) {
  return &slots[(number >> 6) * 0x9e3779b97f4a7c15ULL >> 32 & (SLOTS - 1)];
}

SEC("tp_btf/block_rq_issue")
int issue(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  const __u64 number = number_of(ctx);
  struct slot* slot = slot_of(number);
  slot->where = number;
  slot->begin_ns = is_timed(settings.detail[BLOCK_COMPLETE]) ? bpf_ktime_get_ns() : 0;
  seen(BLOCK_ISSUE, request, request->__data_len, slot->begin_ns, 0);
  return 0;
}

/* From the moment when the device was given the request. An empty write only carries a flush, which
 * the device is given as a request of its own. */
SEC("tp_btf/block_rq_complete")
int complete(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  const __u32 bytes = (__u32)ctx[2];
  if (!bytes && class_of(request) == BLOCK_WRITE) return 0;
  const __u64 number = number_of(ctx);
  const struct slot* slot = slot_of(number);
  const __u64 begin_ns = slot->where == number ? slot->begin_ns : 0;
  const __u64 now_ns = begin_ns ? bpf_ktime_get_ns() : 0;
  seen(BLOCK_COMPLETE, request, bytes, now_ns, time_since(begin_ns, now_ns));
  return 0;
}
