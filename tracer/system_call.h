/* System calls that the tracer itself makes: by the C library's `syscall`, not by the hook. */
#ifndef SESAME_TRACER_SYSTEM_CALL_H
#define SESAME_TRACER_SYSTEM_CALL_H

#include <sys/syscall.h>

long sesame_system_call(long number, ...);

#endif
