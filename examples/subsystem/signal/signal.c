#include "probes/signal/signal.h"

#include "probes/subsystem.h"

extern const unsigned char sesame_signal_object[], sesame_signal_object_end[];

static const struct point points[POINTS] = {
    [SIGNAL_SEND] = {"send", "a signal is sent", {"generate"}, DETAIL_COUNT},
};

static const char* const classes[CLASSES] = {"thread", "process"};

const struct subsystem sesame_signal = {
    .name = "signal",
    .meaning = "signals",
    .points = points,
    .point_count = POINTS,
    .classes = classes,
    .class_count = CLASSES,
    .group_count = GROUPS,
    .where = "the task that it is for",
    .what = "the signal's number",
    .object = sesame_signal_object,
    .object_end = sesame_signal_object_end,
};
