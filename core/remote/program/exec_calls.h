// Statically linked programs that a process of a rank executes or starts.
#pragma once

#include <limits.h>

namespace sesame::remote {

// Executes or starts the program at `path`; the result is that of the system's function.
using Execution = int (*)(const char* path, char* const environment[], void* context);

// Calls `execution` once: with the program that starts statically linked ones, and its
// environment, if this is one and the rank's environment says so; else with what is given.
int execute_by_starter(const char* path, char* const environment[], Execution execution,
                       void* context);

// The first program of this name on PATH, if it is statically linked. False: it is not.
bool find_static(const char* name, char (&path)[PATH_MAX]);

}  // namespace sesame::remote
