#define _GNU_SOURCE
#include "probes/fs/fs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/subsystem.h"

#define POINT(name, meaning)                                                    \
  {                                                                             \
    name, meaning, {"enter", "leave"}, DETAIL_DURATION, .counting = { "leave" } \
  }

static const struct point points[POINTS] = {
    [FS_READ] = POINT("read", "a call that reads"),
    [FS_WRITE] = POINT("write", "a call that writes"),
    [FS_SYNC] = POINT("sync", "fsync or fdatasync"),
    [FS_OPEN] = POINT("open", "a file is opened"),
};

static const char* const classes[CLASSES] = {
    "unknown",
#define FS_CLASS(name, magic) #name,
    FS_PSEUDO_LIST(FS_CLASS) FS_TYPE_LIST(FS_CLASS)
#undef FS_CLASS
        "other",
};

static unsigned classes_seen(const void* memory) {
  const struct fs_shared* shared = memory;
  unsigned mounts = FS_MOUNTS;
  while (mounts > 0 && shared->mounts[mounts - 1].super_block == 0) --mounts;
  return FS_TYPES + mounts;
}

/* ---- Lists of mounts ---- */

static const char kOwnList[] = "/proc/self/mountinfo";

/* The name of a mounted file system, while it is sought in lists of mounts. */
struct sought {
  __u32 device; /* 0: not sought */
  char* name;   /* NULL: not found */
  bool is_whole;
};

/* `\040` as the list writes it becomes a space; what would end a line stays as it is. */
static void unescape(char* text) {
  char* to = text;
  for (const char* from = text; *from != 0; ++from) {
    unsigned code;
    if (sscanf(from, "\\%3o", &code) == 1 && code >= ' ') {
      *to++ = (char)code;
      from += 3;
    } else {
      *to++ = *from;
    }
  }
  *to = 0;
}

/* A line is `22 27 0:21 / /proc rw shared:5 - proc proc rw` (proc(5)). Of several mounts of a file
 * system the first one that shows all of it gives the name. */
static void look_at(const char* line, struct sought* sought, bool is_theirs) {
  char *root, *place, *type;
  unsigned id;
  const char* rest = strstr(line, " - ");
  if (rest == NULL || sscanf(line, "%u %*u %*s %ms %ms", &id, &root, &place) != 3) return;
  const bool is_whole = strcmp(root, "/") == 0;
  if (sscanf(rest, " - %ms", &type) == 1) {
    if (sought->name == NULL || (is_whole && !sought->is_whole)) {
      unescape(place);
      free(sought->name);
      const int length = is_theirs ? asprintf(&sought->name, "%s %s (mount %u)", type, place, id)
                                   : asprintf(&sought->name, "%s %s", type, place);
      if (length < 0) sought->name = NULL;
      sought->is_whole = is_whole;
    }
    free(type);
  }
  free(root);
  free(place);
}

static void look_through(const char* path, struct sought* sought, unsigned count, bool is_theirs) {
  FILE* list = fopen(path, "re");
  if (list == NULL) return;
  char* line = NULL;
  size_t capacity = 0;
  unsigned major, minor;
  while (getline(&line, &capacity, list) > 0) {
    if (sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2) continue;
    for (unsigned i = 0; i < count; ++i) {
      if (sought[i].device == (major << 20 | minor)) look_at(line, &sought[i], is_theirs);
    }
  }
  free(line);
  fclose(list);
}

static void look_at_theirs(__u32 process, struct sought* sought) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%u/mountinfo", process);
  look_through(path, sought, 1, true);
}

/* Whether our list of mounts has changed since the last call for `shared`. */
static bool has_list_changed(struct fs_shared* shared) {
  static int list = -1; /* stays open: poll() reports changes of it */
  static __u32 changes;
  if (list < 0) list = open(kOwnList, O_RDONLY | O_CLOEXEC);
  struct pollfd change = {list, POLLPRI, 0};
  if (poll(&change, 1, 0) > 0) ++changes;
  const bool has_changed = shared->changes != changes;
  shared->changes = changes;
  return has_changed;
}

/* ---- Names ---- */

/* Makes the programs find the file systems of these classes again. */
static void forget(struct fs_shared* shared, unsigned first, unsigned count) {
  for (unsigned i = 0; i < FS_KNOWN; ++i) {
    const __u64 word = shared->known[i];
    if (word != 0 && (word & 0xff) - first < count) shared->known[i] = 0;
  }
}

/* Whether its name must be looked up: it is new, or may have been unmounted. */
static bool is_in_question(const struct fs_mount* mount, bool has_changed) {
  if (mount->super_block <= FS_FREE || mount->process == 0) return false;
  return mount->process != mount->asked || (has_changed && !mount->is_theirs);
}

static bool has_ended(__u32 process) { return kill((pid_t)process, 0) != 0 && errno == ESRCH; }

/* The kernel does not notify us when a file system that is not mounted in our namespace is
 * unmounted and its address reused. So the mount list of a process that uses it is read again, once
 * an interval, since that costs more than a call. */
static void after_read(void* memory) {
  struct fs_shared* shared = memory;
  forget(shared, 0, FS_TYPES);
  for (unsigned i = 0; i < FS_MOUNTS; ++i) {
    struct fs_mount* mount = &shared->mounts[i];
    if (mount->super_block <= FS_FREE || !mount->is_theirs || mount->process == 0) continue;
    if (!has_ended(mount->process)) continue;
    mount->process = 0;
    forget(shared, FS_TYPES + i, 1);
  }
}

/* Names the class by what was found, and frees that. A mount that is gone or replaced leaves its
 * class for ever, because the kernel may reuse its address and number. Events counted since the
 * last reading may then be of both file systems, so they are named by the type. */
static bool settle(struct fs_shared* shared, unsigned i, char** name, char* found) {
  struct fs_mount* mount = &shared->mounts[i];
  const char* type = classes[mount->type];
  const bool was_found = *name != NULL && strcmp(*name, type) != 0;
  const bool is_gone = was_found && (found == NULL || strcmp(*name, found) != 0);
  const char* now = found != NULL ? found : type;
  if (is_gone) {
    mount->super_block = FS_GONE;
    forget(shared, FS_TYPES + i, 1);
    now = found != NULL ? type : *name;
  }
  const bool is_renamed = *name == NULL || strcmp(*name, now) != 0;
  if (is_renamed) {
    char* copy = strdup(now);
    free(*name);
    *name = copy;
  }
  free(found);
  return is_renamed;
}

static int name_classes(void* memory, char** names) {
  struct fs_shared* shared = memory;
  struct sought sought[FS_MOUNTS] = {0};
  const bool has_changed = has_list_changed(shared);
  bool is_any = false, is_renamed = false;
  for (unsigned i = 0; i < FS_MOUNTS; ++i) {
    if (!is_in_question(&shared->mounts[i], has_changed)) continue;
    sought[i].device = shared->mounts[i].device;
    is_any = true;
  }
  if (!is_any) return 0;
  look_through(kOwnList, sought, FS_MOUNTS, false);
  for (unsigned i = 0; i < FS_MOUNTS; ++i) {
    struct fs_mount* mount = &shared->mounts[i];
    if (sought[i].device == 0) continue;
    mount->asked = mount->process;
    mount->is_theirs = sought[i].name == NULL;
    if (mount->is_theirs) look_at_theirs(mount->process, &sought[i]);
    if (sought[i].name == NULL) look_at_theirs(mount->parent, &sought[i]);
    is_renamed |= settle(shared, i, &names[FS_TYPES + i], sought[i].name);
  }
  return is_renamed;
}

static int free_classes(struct bpf_object* object, void* memory, char** names) {
  struct fs_shared* shared = memory;
  const int owners = bpf_map__fd(bpf_object__find_map_by_name(object, "owners"));
  int freed = 0;
  for (__u32 i = 0; i < FS_MOUNTS; ++i) {
    struct fs_mount* mount = &shared->mounts[i];
    if (mount->super_block != FS_GONE) continue;
    if (!mount->was_read) {
      mount->was_read = true;
      continue;
    }
    bpf_map_delete_elem(owners, &i);
    free(names[FS_TYPES + i]);
    names[FS_TYPES + i] = NULL;
    mount->process = mount->asked = mount->is_theirs = mount->was_read = 0;
    __atomic_store_n(&mount->super_block, FS_FREE, __ATOMIC_RELEASE); /* now others may take it */
    ++freed;
  }
  return freed;
}

extern const unsigned char sesame_fs_older_object[], sesame_fs_older_object_end[];

DEFINE_SUBSYSTEM(fs, "system calls on files", "the descriptor", "the number of the system call",
                 .classes_seen = classes_seen, .name_classes = name_classes,
                 .after_read = after_read, .free_classes = free_classes, .needs = "bpf_rdonly_cast",
                 .older = sesame_fs_older_object, .older_end = sesame_fs_older_object_end);
