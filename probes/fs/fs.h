/* System calls on files: how many, how large, how long, by file system. One that is mounted
 * has a class of its own, named when it is seen; others are in the class of their type. */
#pragma once

#include <linux/types.h>

#define POINTS 4
#define GROUPS 8
#define CLASSES (FS_TYPES + FS_MOUNTS)

enum fs_point { FS_READ, FS_WRITE, FS_SYNC, FS_OPEN };

/* Types by the file system's magic number (linux/magic.h and the file systems' own headers). For
 * those of the first list it does not matter where they are mounted. */
#define FS_PSEUDO_LIST(X) \
  X(proc, 0x9fa0)         \
  X(sysfs, 0x62656572)    \
  X(cgroup, 0x27e0eb)     \
  X(cgroup2, 0x63677270)  \
  X(pipe, 0x50495045)     \
  X(socket, 0x534f434b)   \
  X(anon, 0x09041934)
#define FS_TYPE_LIST(X) \
  X(ext, 0xef53)        \
  X(xfs, 0x58465342)    \
  X(btrfs, 0x9123683e)  \
  X(tmpfs, 0x01021994)  \
  X(fuse, 0x65735546)   \
  X(nfs, 0x6969)        \
  X(lustre, 0x0bd00bd0) \
  X(gpfs, 0x47504653)   \
  X(overlay, 0x794c7630)

enum fs_class {
  FS_UNKNOWN, /* not looked at */
#define FS_CLASS(name, magic) FS_CLASS_##name,
  FS_PSEUDO_LIST(FS_CLASS) FS_PSEUDOS,
  FS_LAST_PSEUDO = FS_PSEUDOS - 1,
  FS_TYPE_LIST(FS_CLASS)
#undef FS_CLASS
      FS_OTHER,
  FS_TYPES, /* the classes of mounts begin here */
};

/* More file systems than this are in the class of their type. */
#define FS_MOUNTS 64
#define FS_KNOWN_BITS 10
#define FS_KNOWN (1 << FS_KNOWN_BITS)

/* A mounted file system, as the programs fill it in at its first call. */
struct fs_mount {
  __u64 super_block; /* its address, written last; 0, FS_FREE: of none, FS_GONE: unmounted */
  __u32 device;      /* its s_dev */
  __u32 process;     /* one that uses it; the user side writes 0 to get another */
  __u32 parent;      /* of that process: mostly it has the same mounts and runs longer */
  __u32 type;
  /* Written by the user side. */
  __u32 asked;     /* the process by which it was named */
  __u32 is_theirs; /* it is mounted for that process and not for this one */
  __u32 was_read;  /* all its events have been read since it was unmounted */
  __u32 unused;
};
#define FS_GONE 1
#define FS_FREE 2

/* `shared` of the programs, mapped by the user side. A word of `known` is the address of a super
 * block without its upper byte, which is the same for all, and then the class. It is written and
 * read as a whole; only the user side sets it to 0. */
struct fs_shared {
  __u64 known[FS_KNOWN];
  struct fs_mount mounts[FS_MOUNTS];
  __u32 changes; /* of the list of mounts: those that the user side has processed */
};
