#include "probes/task/task.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [TASK_CREATE] = {"create", "a task is created", {"create"}, DETAIL_COUNT},
    [TASK_EXEC] = {"exec", "a process starts another program", {"exec"}, DETAIL_COUNT},
    [TASK_EXIT] = {"exit", "a task ends", {"exit_"}, DETAIL_COUNT},
};

static const char* const classes[CLASSES] = {"process", "thread"};

DEFINE_SUBSYSTEM(task, "processes and threads",
                 "create: the thread that created it; exec: its previous number",
                 "the number of the task");
