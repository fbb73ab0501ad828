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
  trace(point, class_, now_ns, duration_ns, request->__sector, bytes, device_of(request));
}

SEC("tp_btf/block_rq_insert")
int insert(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  seen(BLOCK_INSERT, request, request->__data_len, 0, 0);
  return 0;
}

SEC("tp_btf/block_rq_issue")
int issue(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  seen(BLOCK_ISSUE, request, request->__data_len, 0, 0);
  return 0;
}

/* From the moment when the device was given the request. */
SEC("tp_btf/block_rq_complete")
int complete(__u64* ctx) {
  const struct request* request = (const void*)ctx[0];
  const __u32 bytes = (__u32)ctx[2];
  __u64 duration_ns = 0, now_ns = 0;
  if (settings.detail[BLOCK_COMPLETE] == DETAIL_DURATION && request->io_start_time_ns) {
    now_ns = bpf_ktime_get_ns();
    duration_ns = now_ns - request->io_start_time_ns;
  }
  seen(BLOCK_COMPLETE, request, bytes, now_ns, duration_ns);
  return 0;
}
