#include "probes/signal/signal.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [SIGNAL_SEND] = {"send", "a signal is sent", {"generate"}, DETAIL_COUNT},
};

static const char* const classes[CLASSES] = {"thread", "process"};

DEFINE_SUBSYSTEM(signal, "signals", "the task that it is for", "the signal's number");
