/* Signals: those sent to a process, and those sent to one thread. */
#pragma once

#define POINTS 1
#define CLASSES 2
#define GROUPS 1

enum signal_point { SIGNAL_SEND };
enum signal_class { SIGNAL_TO_THREAD, SIGNAL_TO_PROCESS };
