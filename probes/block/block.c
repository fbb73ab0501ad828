#include "probes/block/block.h"

#include "probes/subsystem.h"

extern const unsigned char sesame_block_object[], sesame_block_object_end[];

static const struct point points[POINTS] = {
    [BLOCK_INSERT] = {"insert", "a request is put into a queue", {"insert"}, DETAIL_COUNT},
    [BLOCK_ISSUE] = {"issue", "a device is given a request", {"issue"}, DETAIL_COUNT},
    [BLOCK_COMPLETE] = {"complete",
                        "a device is done with a request; time since it was given it",
                        {"complete"},
                        DETAIL_DURATION},
};

static const char* const classes[CLASSES] = {"read", "write", "flush", "discard", "other"};

const struct subsystem sesame_block = {
    .name = "block",
    .meaning = "requests to block devices",
    .points = points,
    .point_count = POINTS,
    .classes = classes,
    .class_count = CLASSES,
    .group_count = GROUPS,
    .where = "sector of 512 bytes",
    .what = "device: major number * 2^20 + minor number",
    .object = sesame_block_object,
    .object_end = sesame_block_object_end,
};
