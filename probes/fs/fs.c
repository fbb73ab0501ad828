#include "probes/fs/fs.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [FS_READ] = {"read", "a call that reads", {"enter", "leave"}, DETAIL_DURATION},
    [FS_WRITE] = {"write", "a call that writes", {"enter", "leave"}, DETAIL_DURATION},
    [FS_SYNC] = {"sync", "fsync or fdatasync", {"enter", "leave"}, DETAIL_DURATION},
    [FS_OPEN] = {"open", "a file is opened", {"enter", "leave"}, DETAIL_DURATION},
};

static const char* const classes[CLASSES] = {
    "unknown",
#define FS_CLASS(name, magic) #name,
    FS_CLASS_LIST(FS_CLASS)
#undef FS_CLASS
        "other",
};

DEFINE_SUBSYSTEM(fs, "calls of the system on files", "the descriptor", "the number of the call");
