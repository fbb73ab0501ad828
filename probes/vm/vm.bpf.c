#include "probes/vm/vm.h"

#include "probes/probe.bpf.h"
#include "probes/vm/area.bpf.h"
#include "probes/vm/page.bpf.h"

/* Error codes of the x86 page fault (Intel SDM, volume 3, 4.7): bits 0 and 1. */
#define WAS_PRESENT 1
#define WAS_WRITE 2

/* include/linux/mm.h */
#define VM_EXEC 0x4
#define VM_SHARED 0x8

static struct slot slots[SLOTS];
/* A member of the running task; before Linux 5.11 it is read by copies. */
#define THIS_TASKS(member)                                                     \
  (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf) \
       ? ((const struct task_struct*)bpf_get_current_task_btf())->member       \
       : BPF_CORE_READ((const struct task_struct*)bpf_get_current_task(), member))

struct memory {
  __u32 class_;
  bool is_private_file;
};

/* The area of a thread's last fault: as long as areas have not changed, the next fault in it needs
 * no search. */
static struct found {
  __u64 mm, begin, bytes;
  __u32 thread, changes;
  struct memory memory;
} found[SLOTS];

static __always_inline struct memory kind_of(const struct vm_area_struct* area) {
  struct memory memory = {VM_INTERNAL, false};
  if (!BPF_CORE_READ(area, vm_file)) return memory;
  const unsigned long flags = BPF_CORE_READ(area, vm_flags);
  memory.class_ = flags & VM_EXEC ? VM_EXECUTABLE : VM_FILE;
  memory.is_private_file = !(flags & VM_SHARED);
  return memory;
}

static __always_inline struct memory memory_at(__u64 address) {
  const struct memory unknown = {VM_UNKNOWN, false};
  if (settings.classless) return unknown;
  const struct mm_struct* mm = THIS_TASKS(mm);
  const __u32 thread = this_thread(), changes = changes_of(mm);
  struct found* last = &found[thread % SLOTS];
  const bool is_same = last->thread == thread && last->mm == (__u64)mm && last->changes == changes;
  if (changes && is_same && address - last->begin < last->bytes) return last->memory;
  const struct vm_area_struct* area = area_of(mm, address);
  if (!area) return unknown;
  last->thread = thread;
  last->mm = (__u64)mm;
  last->changes = changes;
  last->begin = BPF_CORE_READ(area, vm_start);
  last->bytes = BPF_CORE_READ(area, vm_end) - last->begin;
  last->memory = kind_of(area);
  return last->memory;
}

static __always_inline int begin(__u64 address, __u64 error) {
  const __u32 thread = this_thread();
  struct slot* slot = &slots[thread % SLOTS];
  slot->pid = thread;
  slot->where = address;
  slot->what = (__u32)error | 1U << 31;
  slot->begin_ns = is_timed(settings.finest) ? bpf_ktime_get_ns() : 0;
  return 0;
}

SEC("tp_btf/page_fault_user")
int user_fault(__u64* ctx) { return begin(ctx[0], ctx[2]); }

SEC("tp_btf/page_fault_kernel")
int kernel_fault(__u64* ctx) { return begin(ctx[0], ctx[2]); }

/* `error` is 0 for a fault whose begin was not seen. */
static __always_inline __u32 point_of(__u32 error, bool is_major, struct memory memory) {
  if (is_major) return VM_PAGE_IN;
  if (!error) return VM_FIRST_TOUCH;
  if (error & WAS_PRESENT) return error & WAS_WRITE ? VM_COPY_ON_WRITE : VM_PROTECTION;
  /* A private file's page is copied at the first write, whether it was mapped before or not. */
  if (error & WAS_WRITE && memory.is_private_file) return VM_COPY_ON_WRITE;
  if (memory.class_ == VM_UNKNOWN) return VM_FIRST_TOUCH;
  return memory.class_ == VM_INTERNAL ? VM_ZERO_FILL : VM_REACTIVATION;
}

/* False for the kernel's own memory, and where the kernel must not sleep: such a fault ends without
 * a page, which the kernel then gets in another way. */
static __always_inline bool is_fault(__u64 address) {
  return (__s64)address >= 0 && THIS_TASKS(pagefault_disabled) == 0;
}

/* struct bpf_perf_event_data of include/uapi/linux/bpf_perf_event.h, whose registers have the name
 * of the kernel's own. */
struct fault_end {
  __u64 registers[USER_REGISTERS];
  __u64 sample_period;
  __u64 addr;
};

/* Takes this thread's fault out of its slot, at the fault's end. If the fault started before the
 * programs were loaded, or another thread uses the slot, only the address is known. */
static __always_inline struct slot take_fault(const struct fault_end* ctx) {
  const __u32 thread = this_thread();
  struct slot* slot = &slots[thread % SLOTS];
  struct slot fault = {.where = ctx->addr};
  if (slot->pid != thread || !slot->what) return fault;
  fault = *slot;
  slot->what = 0;
  return fault;
}

/* At the end of a fault, when the kernel counts it as major (read from a device) or minor. Counts
 * also faults whose begin was not seen, so that the sums agree with the kernel's. */
static __always_inline int end(const struct fault_end* ctx, bool is_major) {
  struct cells* mine = begin_run();
  if (!mine) return 0;
  const struct slot fault = take_fault(ctx);
  struct memory memory = {VM_UNKNOWN, false};
  if (settings.finest > DETAIL_COUNT) memory = memory_at(fault.where);
  __u64 now_ns = 0, duration_ns = 0;
  if (fault.begin_ns) {
    now_ns = bpf_ktime_get_ns();
    duration_ns = time_since(fault.begin_ns, now_ns);
  }
  const __u32 point = point_of(fault.what, is_major, memory);
  note_in(mine, point, memory.class_, 0, duration_ns);
  note_in(mine, VM_TOTAL, memory.class_, 0, duration_ns);
  trace(VM_TOTAL, memory.class_, now_ns, duration_ns, fault.where, 0, point);
  return 0;
}

SEC("perf_event")
int minor_end(struct fault_end* ctx) { return end(ctx, false); }

SEC("perf_event")
int major_end(struct fault_end* ctx) { return end(ctx, true); }

/* ---- While points only count: once for each fault, at its begin, by its error code alone ---- */

/* First touches that turned out to be page-ins at their end. Counters only grow, so as many of the
 * CPU's next first touches are counted as page-ins. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} owed SEC(".maps");

static __always_inline __u64* owed_here(void) {
  const __u32 zero = 0;
  return bpf_map_lookup_elem(&owed, &zero);
}

static __always_inline __u32 first_touch(void) {
  __u64* page_ins = owed_here();
  if (!page_ins || !*page_ins) return VM_FIRST_TOUCH;
  --*page_ins;
  return VM_PAGE_IN;
}

static __always_inline int count(__u64 address, __u64 error) {
  struct cells* mine = begin_run();
  if (!mine) return 0;
  const __u32 mapped = error & WAS_WRITE ? VM_COPY_ON_WRITE : VM_PROTECTION;
  const __u32 point = error & WAS_PRESENT ? mapped : first_touch();
  note_in(mine, point, VM_UNKNOWN, 0, 0);
  note_in(mine, VM_TOTAL, VM_UNKNOWN, 0, 0);
  trace(VM_TOTAL, VM_UNKNOWN, 0, 0, address, 0, point);
  return 0;
}

SEC("tp_btf/page_fault_user")
int count_user(__u64* ctx) { return count(ctx[0], ctx[2]); }

SEC("tp_btf/page_fault_kernel")
int count_kernel(__u64* ctx) { return is_fault(ctx[0]) ? count(ctx[0], ctx[2]) : 0; }

SEC("perf_event")
int count_major(void* ctx __attribute__((unused))) {
  __u64* page_ins = owed_here();
  if (page_ins) ++*page_ins;
  return 0;
}

/* ---- Others ---- */

/* For check_classes: the class of an address of the process that asks. */
SEC("raw_tp")
int class_at(struct bpf_raw_tracepoint_args* ctx) { return (int)memory_at(ctx->args[0]).class_; }

static __always_inline int page_out(const void* page) {
  const __u32 class_ = is_of_file(page) ? VM_FILE : VM_INTERNAL;
  const __u64 bytes = PAGE_BYTES * pages_in(page);
  note(VM_PAGE_OUT, class_, bytes, 0);
  trace(VM_PAGE_OUT, class_, 0, 0, 0, bytes, VM_PAGE_OUT);
  return 0;
}

SEC("tp_btf/mm_vmscan_write_folio")
int write_folio(__u64* ctx) { return page_out((const void*)ctx[0]); }

/* Its name before Linux 5.18. */
SEC("tp_btf/mm_vmscan_writepage")
int write_page(__u64* ctx) { return page_out((const void*)ctx[0]); }
