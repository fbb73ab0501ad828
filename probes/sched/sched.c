#include "probes/sched/sched.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [SCHED_WAIT] = {"wait",
                    "a task gets a processor; time since it could have used one",
                    {"switch_", "wakeup", "wakeup_new"},
                    DETAIL_DURATION,
                    .counting = {"switch_"}},
    [SCHED_RUN] = {"run",
                   "a task leaves its processor; time since it got it",
                   {"switch_"},
                   DETAIL_DURATION},
};

static const char* const classes[CLASSES] = {"gave-up", "preempted"};

DEFINE_SUBSYSTEM(sched, "CPU scheduling", "nothing", "the task's state (include/linux/sched.h)");
