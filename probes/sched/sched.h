/* CPU scheduling: how long tasks wait for a processor, and how long they run. */
#pragma once

#define POINTS 2
#define CLASSES 2
#define GROUPS 1

enum sched_point { SCHED_WAIT, SCHED_RUN };
enum sched_class { SCHED_GAVE_UP, SCHED_PREEMPTED };
