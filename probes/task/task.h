/* Tasks: processes and threads that are created, start another program, or end. */
#pragma once

#define POINTS 3
#define CLASSES 2
#define GROUPS 1

enum task_point { TASK_CREATE, TASK_EXEC, TASK_EXIT };
enum task_class { TASK_PROCESS, TASK_THREAD };
