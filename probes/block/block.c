#include "probes/block/block.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [BLOCK_INSERT] = {"insert", "a request is put into a queue", {"insert"}, DETAIL_COUNT},
    [BLOCK_ISSUE] = {"issue", "a device is given a request", {"issue"}, DETAIL_COUNT},
    [BLOCK_COMPLETE] = {"complete",
                        "a device is done with a request; time since it was given it",
                        {"complete"},
                        DETAIL_DURATION},
};

static const char* const classes[CLASSES] = {"read", "write", "flush", "discard", "other"};

DEFINE_SUBSYSTEM(block, "requests to block devices", "sector of 512 bytes",
                 "device: major number * 2^20 + minor number");
