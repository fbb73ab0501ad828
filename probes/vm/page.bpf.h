/* The kind of a page that is written to free memory, and its size in base pages. */
#pragma once

#include "probes/probe.bpf.h"

#define PAGE_BYTES 4096ULL

/* include/linux/page-flags.h; the loader sets the numbers of the running kernel. */
enum pageflags { PG_head, PG_swapbacked };

/* Where the number of pages is: since Linux 6.15, since 6.0, and before, in the second page. */
struct folio {
  unsigned int _nr_pages;
} __attribute__((preserve_access_index));
struct folio___since_6_0 {
  unsigned int _folio_nr_pages;
} __attribute__((preserve_access_index));
struct page {
  unsigned int compound_nr;
} __attribute__((preserve_access_index));

/* The flags are the first word in every kernel; their type is not the same. */
static __always_inline bool has_flag(const void* page, __u64 number) {
  __u64 flags = 0;
  bpf_probe_read_kernel(&flags, sizeof flags, page);
  return flags >> number & 1;
}

static __always_inline bool is_of_file(const void* page) {
  return !has_flag(page, bpf_core_enum_value(enum pageflags, PG_swapbacked));
}

static __always_inline __u32 pages_in(const void* page) {
  if (!has_flag(page, bpf_core_enum_value(enum pageflags, PG_head))) return 1;
  const struct folio* folio = page;
  if (bpf_core_field_exists(folio->_nr_pages)) return BPF_CORE_READ(folio, _nr_pages);
  const struct folio___since_6_0* older = page;
  if (bpf_core_field_exists(older->_folio_nr_pages)) return BPF_CORE_READ(older, _folio_nr_pages);
  const struct page* second = page + bpf_core_type_size(struct page);
  return bpf_core_field_exists(second->compound_nr) ? BPF_CORE_READ(second, compound_nr) : 1;
}
