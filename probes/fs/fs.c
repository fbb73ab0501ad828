#include "probes/fs/fs.h"

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
    FS_CLASS_LIST(FS_CLASS)
#undef FS_CLASS
        "other",
};

DEFINE_SUBSYSTEM(fs, "calls of the system on files", "the descriptor", "the number of the call");
