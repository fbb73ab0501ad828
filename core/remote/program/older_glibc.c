/* What the static libraries of GCC need of glibc 2.35 and 2.36, so that the libraries of ranks can
 * be loaded with glibc 2.34, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <features.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

#if __GLIBC_PREREQ(2, 36)
/* For std::random_device, which nothing here uses: a file of libstdc++ comes with another. */
HIDDEN uint32_t arc4random(void) {
  uint32_t bits;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) abort();
  return bits;
}
#endif

#if __GLIBC_PREREQ(2, 35)
typedef struct {
  uintptr_t address;
  struct dl_find_object* found;
} Search;

static int look_in(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  const Search* search = data;
  const void* table = NULL;
  int is_inside = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && search->address - begin < part->p_memsz) is_inside = 1;
    if (part->p_type == PT_GNU_EH_FRAME) table = (const void*)begin;
  }
  if (is_inside) search->found->dlfo_eh_frame = (void*)table;
  return is_inside;
}

/* For exceptions: finds the table of frames of the object that has this address. 0 on success. */
HIDDEN int _dl_find_object(void* address, struct dl_find_object* found) {
  Search search = {(uintptr_t)address, found};
  found->dlfo_eh_frame = NULL;
  dl_iterate_phdr(look_in, &search);
  return found->dlfo_eh_frame == NULL ? -1 : 0;
}
#endif
