/* Finds the area of a process's memory that contains an address, in the kernel's own tree of areas
 * and without its lock. The tree may change meanwhile, so a read may fail or return a previous
 * area. The trees are no stable interface, so their layout is checked when the programs are loaded
 * (check_classes). */
#pragma once

#include "probes/probe.bpf.h"

/* lib/maple_tree.c: the type of a node in the bits of its address, and the layout of its 256 bytes.
 */
#define NODE_MASK 0xffUL
#define NODE_TYPE(node) ((__u64)(node) >> 3 & 0xf)
#define TYPE_LEAF 1
#define TYPE_RANGE 2
#define TYPE_ARANGE 3
#define RANGE_SLOTS 16
#define ARANGE_SLOTS 10
#define NODE_WORDS 32
#define MOST_LEVELS 6

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

static __always_inline struct vm_area_struct* area_in_maple_tree(const struct mm_struct* mm,
                                                                 __u64 address) {
  __u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
  const __u32 zero = 0;
  struct node* node = bpf_map_lookup_elem(&nodes, &zero);
  if (!node) return 0;
  if ((entry & 3) != 2) return 0; /* the root is no node; other entries have no such mark */
  for (int level = 0; level < MOST_LEVELS; ++level) {
    const __u64 type = NODE_TYPE(entry);
    if (type < TYPE_LEAF || type > TYPE_ARANGE) return 0;
    if (bpf_probe_read_kernel(node, sizeof *node, (void*)(entry & ~NODE_MASK))) return 0;
    entry = slot_for(node, address, type == TYPE_ARANGE);
    if (type == TYPE_LEAF) return (struct vm_area_struct*)entry;
  }
  return 0;
}

/* include/linux/rbtree.h, before Linux 6.1: a binary tree of areas by address. */
struct rb_node {
  struct rb_node* rb_right;
  struct rb_node* rb_left;
} __attribute__((preserve_access_index));
struct rb_root {
  struct rb_node* rb_node;
} __attribute__((preserve_access_index));
struct mm_struct___before_6_1 {
  struct rb_root mm_rb;
} __attribute__((preserve_access_index));
struct vm_area_struct___before_6_1 {
  struct rb_node vm_rb;
} __attribute__((preserve_access_index));
#define MOST_BINARY_LEVELS 40

static __always_inline struct vm_area_struct* area_in_binary_tree(const struct mm_struct* memory,
                                                                  __u64 address) {
  const struct mm_struct___before_6_1* mm = (const void*)memory;
  const __u64 offset = bpf_core_field_offset(struct vm_area_struct___before_6_1, vm_rb);
  struct rb_node* node = BPF_CORE_READ(mm, mm_rb.rb_node);
  for (int level = 0; level < MOST_BINARY_LEVELS && node; ++level) {
    struct vm_area_struct* area = (void*)((char*)node - offset);
    const bool is_below = address < BPF_CORE_READ(area, vm_start);
    if (!is_below && address < BPF_CORE_READ(area, vm_end)) return area;
    node = is_below ? BPF_CORE_READ(node, rb_left) : BPF_CORE_READ(node, rb_right);
  }
  return 0;
}

static __always_inline struct vm_area_struct* area_of(const struct mm_struct* mm, __u64 address) {
  return bpf_core_field_exists(mm->mm_mt) ? area_in_maple_tree(mm, address)
                                          : area_in_binary_tree(mm, address);
}

/* A number that grows whenever areas change, odd while they do: the count that guards areas' own
 * locks, since Linux 6.13, and their number, since 6.4. */
struct seqcount {
  unsigned int sequence;
} __attribute__((preserve_access_index));
struct mm_struct___since_6_13 {
  struct seqcount mm_lock_seq;
} __attribute__((preserve_access_index));
struct mm_struct___since_6_4 {
  int mm_lock_seq;
} __attribute__((preserve_access_index));

/* 0 if changes of areas cannot be detected. */
static __always_inline __u32 changes_of(const struct mm_struct* memory) {
  const struct mm_struct___since_6_13* counted = (const void*)memory;
  if (bpf_core_field_exists(counted->mm_lock_seq.sequence)) {
    const __u32 changes = BPF_CORE_READ(counted, mm_lock_seq.sequence);
    return changes & 1 ? 0 : changes;
  }
  const struct mm_struct___since_6_4* mm = (const void*)memory;
  return bpf_core_field_exists(mm->mm_lock_seq) ? (__u32)BPF_CORE_READ(mm, mm_lock_seq) : 0;
}
