/* The names in a directory of /proc, without memory of the program's allocator. */
#ifndef SESAME_TRACER_ENTRIES_H
#define SESAME_TRACER_ENTRIES_H

/* Calls see(name, argument) for each name that does not begin with a dot. */
void sesame_each_entry(const char* directory, void (*see)(const char* name, void* argument),
                       void* argument);

#endif
