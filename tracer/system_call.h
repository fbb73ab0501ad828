/* System calls that the tracer makes for itself: the C library's `syscall`, past the hook of it. */
#ifndef SESAME_TRACER_SYSTEM_CALL_H
#define SESAME_TRACER_SYSTEM_CALL_H

#include <sys/syscall.h>

long sesame_system_call(long number, ...);

#endif
