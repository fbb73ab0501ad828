#include "probes/vm/vm.h"

#include "probes/probe.bpf.h"

/* Error codes of the x86 page fault (Intel SDM, volume 3, 4.7): bits 0 and 1. */
#define WAS_PRESENT 1
#define WAS_WRITE 2

/* include/linux/mm.h */
#define VM_EXEC 0x4
#define VM_SHARED 0x8

/* lib/maple_tree.c: how a pointer to a node says what node it is, and the nodes of 256 bytes. */
#define NODE_MASK 0xffUL
#define NODE_TYPE(node) ((__u64)(node) >> 3 & 0xf)
#define TYPE_LEAF 1
#define TYPE_RANGE 2
#define TYPE_ARANGE 3
#define RANGE_SLOTS 16
#define ARANGE_SLOTS 10
#define NODE_WORDS 32
#define MOST_LEVELS 6

static struct slot slots[SLOTS];
/* A node of the tree, one for each CPU: it is too large for the stack twice. */
struct node {
  __u64 word[NODE_WORDS];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct node);
} nodes SEC(".maps");

/* Which slot of the node covers the address: pivots follow the pointer to the parent, each the last
 * address of its slot; a pivot of 0 after the first ends them. */
static __always_inline __u64 slot_for(const struct node* node, __u64 address, bool is_arange) {
  const __u32 slots_of_node = is_arange ? ARANGE_SLOTS : RANGE_SLOTS;
  __u32 i = 0;
  for (; i < RANGE_SLOTS - 1; ++i) {
    if (i + 1 >= slots_of_node) break;
    const __u64 pivot = node->word[1 + i];
    if (address <= pivot || (pivot == 0 && i > 0)) break;
  }
  const __u32 first = is_arange ? ARANGE_SLOTS : RANGE_SLOTS; /* after parent and pivots */
  return node->word[(first + i) & (NODE_WORDS - 1)];
}

/* The area that an address lies in, without a lock: what is read may change meanwhile, so each read
 * may fail or give the area of a moment before. */
static __always_inline struct vm_area_struct* area_of(const struct mm_struct* mm, __u64 address) {
  if (!bpf_core_field_exists(mm->mm_mt)) return 0; /* before Linux 6.1 */
  __u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
  const __u32 zero = 0;
  struct node* node = bpf_map_lookup_elem(&nodes, &zero);
  if (!node) return 0;
  if ((entry & 3) != 2) return 0; /* only the root says so that it is a node */
  for (int level = 0; level < MOST_LEVELS; ++level) {
    const __u64 type = NODE_TYPE(entry);
    if (type < TYPE_LEAF || type > TYPE_ARANGE) return 0;
    if (bpf_probe_read_kernel(node, sizeof *node, (void*)(entry & ~NODE_MASK))) return 0;
    entry = slot_for(node, address, type == TYPE_ARANGE);
    if (type == TYPE_LEAF) return (struct vm_area_struct*)entry;
  }
  return 0;
}

struct memory {
  __u32 class_;
  bool is_private_file;
};

static __always_inline struct memory memory_at(__u64 address) {
  struct memory memory = {VM_INTERNAL, false};
  const struct task_struct* task = (void*)bpf_get_current_task_btf();
  const struct vm_area_struct* area = area_of(task->mm, address);
  if (!area || !BPF_CORE_READ(area, vm_file)) return memory;
  const unsigned long flags = BPF_CORE_READ(area, vm_flags);
  memory.class_ = flags & VM_EXEC ? VM_EXECUTABLE : VM_FILE;
  memory.is_private_file = !(flags & VM_SHARED);
  return memory;
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

static __always_inline __u32 point_of(__u32 error, bool is_major, struct memory memory) {
  if (is_major) return VM_PAGE_IN;
  if (error & WAS_PRESENT) return error & WAS_WRITE ? VM_COPY_ON_WRITE : VM_PROTECTION;
  /* A private file's page is copied at the first write, whether it was mapped before or not. */
  if (error & WAS_WRITE && memory.is_private_file) return VM_COPY_ON_WRITE;
  if (memory.class_ == VM_UNKNOWN) return VM_FIRST_TOUCH;
  return memory.class_ == VM_INTERNAL ? VM_ZERO_FILL : VM_REACTIVATION;
}

/* At the end of a fault, when the kernel counts it as read from a device or not. */
static __always_inline int end(bool is_major) {
  const __u32 thread = this_thread();
  struct slot* slot = &slots[thread % SLOTS];
  /* Looked at once, so that points that are switched together count the same faults. */
  if (settings.paused || slot->pid != thread || !slot->what) return 0;
  const __u32 error = slot->what;
  slot->what = 0;
  struct memory memory = {VM_UNKNOWN, false};
  if (settings.finest > DETAIL_COUNT) memory = memory_at(slot->where);
  __u64 now_ns = 0, duration_ns = 0;
  if (slot->begin_ns) {
    now_ns = bpf_ktime_get_ns();
    duration_ns = now_ns - slot->begin_ns;
  }
  const __u32 point = point_of(error, is_major, memory);
  note(point, memory.class_, 0, duration_ns);
  note(VM_TOTAL, memory.class_, 0, duration_ns);
  trace(VM_TOTAL, memory.class_, now_ns, duration_ns, slot->where, 0, point);
  return 0;
}

SEC("perf_event")
int minor_end(void* ctx __attribute__((unused))) { return end(false); }

SEC("perf_event")
int major_end(void* ctx __attribute__((unused))) { return end(true); }

/* include/trace/events/vmscan.h: the flag of pages that belong to files. */
#define RECLAIM_FILE 0x2
SEC("tp/vmscan/mm_vmscan_write_folio")
int page_out(void* ctx) {
  struct {
    __u64 common;
    unsigned long pfn;
    int flags;
  } record;
  if (bpf_probe_read_kernel(&record, sizeof record, ctx)) return 0;
  note(VM_PAGE_OUT, record.flags & RECLAIM_FILE ? VM_FILE : VM_INTERNAL, 4096, 0);
  return 0;
}
