#include "probes/sched/sched.h"

#include "probes/subsystem.h"

extern const unsigned char sesame_sched_object[], sesame_sched_object_end[];

static const struct point points[POINTS] = {
    [SCHED_WAIT] = {"wait",
                    "a task gets a processor; time since it could have used one",
                    {"switch_", "wakeup", "wakeup_new"},
                    DETAIL_DURATION},
    [SCHED_RUN] = {"run",
                   "a task gives a processor back; time since it got it",
                   {"switch_"},
                   DETAIL_DURATION},
};

static const char* const classes[CLASSES] = {"gave-up", "preempted"};

const struct subsystem sesame_sched = {
    .name = "sched",
    .meaning = "who has the processors",
    .points = points,
    .point_count = POINTS,
    .classes = classes,
    .class_count = CLASSES,
    .group_count = GROUPS,
    .where = "nothing",
    .what = "the number of the task",
    .object = sesame_sched_object,
    .object_end = sesame_sched_object_end,
};
