#include "probes/block/block.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [BLOCK_INSERT] = {"insert", "a request is put into a queue", {"insert"}, DETAIL_COUNT},
    [BLOCK_ISSUE] = {"issue", "a device is given a request", {"issue"}, DETAIL_COUNT},
    [BLOCK_COMPLETE] = {"complete",
                        "a device completes a request; time since it was given the request",
                        {"issue", "complete"},
                        DETAIL_DURATION,
                        .counting = {"complete"}},
};

static const char* const classes[CLASSES] = {"read", "write", "flush", "discard", "other"};

static const struct absence absent[] = {
    {"queue-depth", "requests that a device has at once",
     "it is no event: its mean is the sum of durations of complete over the interval, and sesame "
     "characterize has it over time"},
    {0},
};

DEFINE_SUBSYSTEM(block, "requests to block devices", "sector of 512 bytes",
                 "device: major number * 2^20 + minor number", .absent = absent);
