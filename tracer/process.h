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

/* Makes the state file if there is none yet. False if that fails, which is reported: nothing can be
 * recorded. */
bool sesame_process_begin(void);

/* Makes the record `process`, the first one of the process's first stream. */
void sesame_process_describe(void);

/* Null before sesame_process_begin. */
SesameProcessState* sesame_process_state(void);

/* The start of the name of this process's files: DIRECTORY/HOST.PID.N, where N distinguishes
 * programs that had the same process id. */
const char* sesame_process_name(void);

/* Writes all that is buffered; `how` as in the record `ended`. */
void sesame_process_end(int how);

/* Resumes recording when an exec failed after sesame_process_end(2). */
void sesame_process_resume(void);

/* Call it in a forked child: forgets the parent's streams. The child's recording starts with its
 * first record. */
void sesame_process_forked(void);

/* Whether the program's limit (RLIMIT_FSIZE) allows a file of this size. Exceeding it would send
 * the program a signal. */
bool sesame_file_may_have(uint64_t bytes);

/* Reserves space in a file that will be mapped. So a full disk is noticed here, not by a signal
 * when the memory is used. */
bool sesame_reserve(int file, uint64_t bytes);

/* One line on stderr. `which` and `error` may be null and 0. */
void sesame_say(const char* what, const char* which, int error);

#endif
