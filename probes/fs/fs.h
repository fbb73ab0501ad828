/* Calls of the system on files: how many, how large, how long, by type of file system. */
#pragma once

#define POINTS 4
#define CLASSES 14
#define GROUPS 8

enum fs_point { FS_READ, FS_WRITE, FS_SYNC, FS_OPEN };

/* From a file system's magic number (linux/magic.h and the file systems' own headers). */
#define FS_CLASS_LIST(X) \
  X(ext, 0xef53)         \
  X(xfs, 0x58465342)     \
  X(btrfs, 0x9123683e)   \
  X(tmpfs, 0x01021994)   \
  X(fuse, 0x65735546)    \
  X(nfs, 0x6969)         \
  X(lustre, 0x0bd00bd0)  \
  X(gpfs, 0x47504653)    \
  X(overlay, 0x794c7630) \
  X(proc, 0x9fa0)        \
  X(pipe, 0x50495045)    \
  X(socket, 0x534f434b)

enum fs_class {
  FS_UNKNOWN, /* not looked at */
#define FS_CLASS(name, magic) FS_CLASS_##name,
  FS_CLASS_LIST(FS_CLASS)
#undef FS_CLASS
      FS_OTHER,
};
