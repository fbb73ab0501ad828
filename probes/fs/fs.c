#include "probes/fs/fs.h"

#include "probes/subsystem.h"

extern const unsigned char sesame_fs_object[], sesame_fs_object_end[];

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

const struct subsystem sesame_fs = {
    .name = "fs",
    .meaning = "calls of the system on files",
    .points = points,
    .point_count = POINTS,
    .classes = classes,
    .class_count = CLASSES,
    .group_count = GROUPS,
    .where = "the descriptor",
    .what = "the number of the call",
    .object = sesame_fs_object,
    .object_end = sesame_fs_object_end,
};
