#include "probes/task/task.h"

#include "probes/subsystem.h"

extern const unsigned char sesame_task_object[], sesame_task_object_end[];

static const struct point points[POINTS] = {
    [TASK_CREATE] = {"create", "a task is made", {"create"}, DETAIL_COUNT},
    [TASK_EXEC] = {"exec", "a process begins another program", {"exec"}, DETAIL_COUNT},
    [TASK_EXIT] = {"exit", "a task ends", {"exit_"}, DETAIL_COUNT},
};

static const char* const classes[CLASSES] = {"process", "thread"};

const struct subsystem sesame_task = {
    .name = "task",
    .meaning = "processes and threads",
    .points = points,
    .point_count = POINTS,
    .classes = classes,
    .class_count = CLASSES,
    .group_count = GROUPS,
    .where = "create: the thread that made it; exec: its number before",
    .what = "the number of the task",
    .object = sesame_task_object,
    .object_end = sesame_task_object_end,
};
