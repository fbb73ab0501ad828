/* Recording in this process as a whole: its settings, its state file, its beginning and end. */
#ifndef SESAME_TRACER_PROCESS_H
#define SESAME_TRACER_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/trace/traced_format.h"

typedef struct {
  char directory[PATH_MAX]; /* of the raw trace; empty when nothing is recorded */
  char cells[PATH_MAX];     /* where calls are counted; empty when they are not */
  uint8_t kinds;            /* SESAME_IO, SESAME_MPI */
  uint64_t most_bytes;      /* that this process may write */
} SesameSettings;

extern SesameSettings sesame_settings;

/* Makes the state file if there is none yet. False when recording cannot be. */
bool sesame_process_begin(void);

/* The record that opens the first stream of the process. */
void sesame_process_describe(void);

/* Null before sesame_process_begin. */
SesameProcessState* sesame_process_state(void);

/* The start of the name of this process's files: DIRECTORY/HOST.PID.N, where N tells apart the
 * programs that one process id stood for. */
const char* sesame_process_name(void);

/* Writes all that is buffered; `how` as in the record `ended`. */
void sesame_process_end(int how);

/* Resumes recording when an exec failed after sesame_process_end(2). */
void sesame_process_resume(void);

/* In a forked child; its first record begins anew. */
void sesame_process_forked(void);

/* Whether the program's limit lets a file grow so far; to try would send it a signal. */
bool sesame_file_may_have(uint64_t bytes);

/* Reserves space in a file that is to be mapped: on a full disk it fails here, not with a signal
 * when the memory is used. */
bool sesame_reserve(int file, uint64_t bytes);

/* One line on stderr. `which` and `error` may be null and 0. */
void sesame_say(const char* what, const char* which, int error);

#endif
