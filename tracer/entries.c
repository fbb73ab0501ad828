#include "entries.h"

#include <fcntl.h>
#include <stdint.h>

#include "system_call.h"

/* As getdents64 gives them. */
typedef struct {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
} Entry;

void sesame_each_entry(const char* directory, void (*see)(const char* name, void* argument),
                       void* argument) {
  _Alignas(Entry) char entries[2048];
  int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, directory, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  for (long size; (size = sesame_system_call(SYS_getdents64, file, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < size; at += ((const Entry*)(entries + at))->length) {
      const Entry* entry = (const Entry*)(entries + at);
      if (entry->name[0] != '.') see(entry->name, argument);
    }
  }
  sesame_system_call(SYS_close, file);
}
