#include "probes/fs/fs.h"

#include <asm/unistd.h>

#include "probes/call.bpf.h"

/* Which point a call belongs to, plus one; by its number. */
#define CALLS 512
static const __u8 points[CALLS] = {
    [__NR_read] = FS_READ + 1,      [__NR_pread64] = FS_READ + 1, [__NR_readv] = FS_READ + 1,
    [__NR_preadv] = FS_READ + 1,    [__NR_preadv2] = FS_READ + 1, [__NR_write] = FS_WRITE + 1,
    [__NR_pwrite64] = FS_WRITE + 1, [__NR_writev] = FS_WRITE + 1, [__NR_pwritev] = FS_WRITE + 1,
    [__NR_pwritev2] = FS_WRITE + 1, [__NR_fsync] = FS_SYNC + 1,   [__NR_fdatasync] = FS_SYNC + 1,
    [__NR_openat] = FS_OPEN + 1,    [__NR_openat2] = FS_OPEN + 1,
#ifdef __NR_open
    [__NR_open] = FS_OPEN + 1,      [__NR_creat] = FS_OPEN + 1,
#endif
};

static struct slot slots[SLOTS];

volatile struct fs_shared shared SEC(".data.shared") = {};

/* If several CPUs want a class at the same time, the first gets it. A map decides, because not
 * every kernel supports atomic operations that return a value on every processor. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, FS_MOUNTS);
  __type(key, __u32);
  __type(value, __u64);
} owners SEC(".maps");

/* s_flags of what the kernel mounts for itself (linux/fs.h): pipes, memory files, … */
#define SB_KERNMOUNT (1 << 22)

/* Global, as mount_of below: the verifier checks such functions once. Static ones it checks on each
 * path of their callers: 318,000 instructions, 0.4 s; the limit is a million. */
__noinline __u32 type_of(__u64 address) {
  const struct super_block* super_block = (const void*)address;
  switch (BPF_CORE_READ(super_block, s_magic)) {
#define FS_CLASS(name, magic) \
  case magic:                 \
    return FS_CLASS_##name;
    FS_PSEUDO_LIST(FS_CLASS)
    FS_TYPE_LIST(FS_CLASS)
#undef FS_CLASS
  }
  return FS_OTHER;
}

static __always_inline void fill_in(volatile struct fs_mount* mount,
                                    const struct super_block* super_block, __u32 type) {
  const struct task_struct* task = (const void*)bpf_get_current_task_btf();
  mount->device = BPF_CORE_READ(super_block, s_dev);
  mount->parent = (__u32)BPF_CORE_READ(task, real_parent, tgid);
  mount->process = (__u32)(bpf_get_current_pid_tgid() >> 32);
  mount->type = type;
  mount->super_block = (__u64)super_block;
  say(SESAME_CLASS_ASSIGNED);
}

/* The class of a mounted file system: one of its own, or that of its type if none is left. */
__noinline __u32 mount_of(__u64 address, __u32 type) {
#pragma clang loop unroll(disable)
  for (__u32 i = 0; i < FS_MOUNTS; ++i) {
    volatile struct fs_mount* mount = &shared.mounts[i];
    const __u64 there = mount->super_block;
    const bool is_free = !there || there == FS_FREE;
    if (!is_free && there != address) continue;
    if (is_free) {
      const __u32 key = i;
      bpf_map_update_elem(&owners, &key, &address, BPF_NOEXIST);
      const __u64* owner = bpf_map_lookup_elem(&owners, &key);
      if (!owner || *owner != address) continue;
    }
    if (!mount->process) fill_in(mount, (const void*)address, type);
    return FS_TYPES + i;
  }
  return type;
}

static __noinline __u32 learn_class(const struct super_block* super_block, volatile __u64* known) {
  if (!super_block) return FS_UNKNOWN;
  const __u64 address = (__u64)super_block;
  __u32 class_ = type_of(address);
  const bool is_mounted = !(BPF_CORE_READ(super_block, s_flags) & SB_KERNMOUNT);
  if (class_ >= FS_PSEUDOS && is_mounted) class_ = mount_of(address, class_);
  *known = address << 8 | class_;
  return class_;
}

#ifndef OLDER
/* Since Linux 6.2: with it, memory at an address is read without a call for each member. */
extern void* bpf_rdonly_cast(const void* address, __u32 type) __ksym;
#endif

/* The address of an open file's super block; 0 where there is none. */
static __always_inline __u64 super_block_of(__u32 descriptor, struct cells* mine) {
  const struct file* file = file_of(descriptor);
  if (!file) return 0;
#ifdef OLDER
  (void)mine;
  return (__u64)BPF_CORE_READ(file, f_inode, i_sb);
#else
  file = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
  /* The verifier does not let a program compute with a pointer, but with a number in memory. */
  volatile __u64* scratch = &mine->account.scratch;
  *scratch = (__u64)file->f_inode->i_sb;
  return *scratch;
#endif
}

/* Runs at every counted call. All but the first call on a file system need only one word. */
static __always_inline __u32 class_of(__u64 super_block) {
  if (!super_block) return FS_OTHER;
  const __u64 address = super_block << 8;
  /* Addresses are spread by the golden ratio (Knuth, volume 3, section 6.4). */
  volatile __u64* known = &shared.known[(address * 0x9e3779b97f4a7c15) >> (64 - FS_KNOWN_BITS)];
  const __u64 class_ = *known ^ address;
  if (class_ < CLASSES) return (__u32)class_;
  return learn_class((const struct super_block*)super_block, known);
}

static __always_inline __u32 point_of(__u64 call) { return call < CALLS ? points[call] : 0; }

SEC("tp_btf/sys_enter")
int enter(__u64* ctx) {
  const __u32 point = point_of(ctx[1]);
  if (!point) return 0;
  if (!is_timed(settings.detail[(point - 1) & (SESAME_MAX_POINTS - 1)])) return 0;
  const __u32 thread = this_thread();
  struct slot* slot = &slots[thread % SLOTS];
  slot->pid = thread;
  slot->begin_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/sys_exit")
int leave(__u64* ctx) {
  struct cells* mine = begin_run();
  const struct pt_regs* registers = (const void*)ctx[0];
  const __s64 result = (__s64)ctx[1];
  const __u32 point_and_one = point_of(CALL_NUMBER(registers));
  if (!mine || !point_and_one || has_other_number()) return 0;
  const __u32 point = (point_and_one - 1) & (SESAME_MAX_POINTS - 1);
  const __u32 detail = settings.detail[point];
  if (detail == DETAIL_OFF) return 0;
  const __u64 bytes = point <= FS_WRITE && result > 0 ? (__u64)result : 0;
  if (detail == DETAIL_COUNT && !settings.tracing[point]) {
    note_in(mine, point, FS_UNKNOWN, bytes, 0);
    return 0;
  }
  const __u32 descriptor = point == FS_OPEN ? (__u32)result : (__u32)FIRST_ARGUMENT(registers);
  const bool is_none = result < 0 && point == FS_OPEN;
  const __u32 class_ = is_none ? FS_OTHER : class_of(super_block_of(descriptor, mine));
  const __u32 thread = this_thread();
  struct slot* slot = &slots[thread % SLOTS];
  __u64 now_ns = 0, duration_ns = 0;
  if (slot->pid == thread && slot->begin_ns) {
    now_ns = bpf_ktime_get_ns();
    duration_ns = time_since(slot->begin_ns, now_ns);
    slot->begin_ns = 0;
  }
  note_in(mine, point, class_, bytes, duration_ns);
  trace(point, class_, now_ns, duration_ns, descriptor, bytes, (__u32)CALL_NUMBER(registers));
  return 0;
}
