/* What is recorded in this process, and where: its settings, its state file, and what its first
 * record says. Makes no records itself; process_lifetime.h is the beginning and end of recording.
 */
#ifndef SESAME_TRACER_PROCESS_H
#define SESAME_TRACER_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/trace/traced_format.h"

/* What is recorded, as bits. */
enum { SESAME_IO = 1, SESAME_MPI = 2 };

typedef struct {
  char directory[PATH_MAX]; /* of the raw trace; empty when nothing is recorded */
  char cells[PATH_MAX];     /* where calls are counted; empty when they are not */
  uint8_t kinds;            /* SESAME_IO, SESAME_MPI */
  uint64_t most_bytes;      /* that this process may write */
} SesameSettings;

extern SesameSettings sesame_settings;

/* Since `since_ns` (CLOCK_MONOTONIC) the tracer has made itself ready to record. Returns when the
 * program began, on the same clock: when its libraries were loaded or the process was forked, and
 * later by all that the tracer has taken since, which the program alone would not have. The first
 * record says it: what the tracer takes after that (to look up MPI) counts as the program's. */
uint64_t sesame_process_ready(uint64_t since_ns);

/* Reads the settings. Call it once, before anything else here. False when nothing is recorded. */
bool sesame_process_prepare(void);

/* Makes the state file if there is none yet. False if that fails, which is reported: nothing can be
 * recorded. */
bool sesame_process_begin(void);

enum { SESAME_COMMAND_BYTES = 4096 };

/* What the record `process` says about this process. */
typedef struct {
  char command[SESAME_COMMAND_BYTES]; /* the words of the command line, separated by character 31 */
  char directory[PATH_MAX];           /* the working directory */
  const char* host;
  char kernel[96]; /* boot id and time namespace; empty when /proc does not say */
  uint64_t pid_namespace;
  int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
} SesameProcessFacts;

void sesame_process_look_up(SesameProcessFacts* facts);

enum { SESAME_JOB_BYTES = 320 };

/* What the launcher calls the MPI program that this process is a rank of, the same in all its
 * ranks and in those of no other; empty when it does not say. Reads the environment. */
void sesame_process_job(char job[SESAME_JOB_BYTES]);

/* In a forked child: forgets the parent's state file. */
void sesame_process_forget(void);

/* Null before sesame_process_begin. */
SesameProcessState* sesame_process_state(void);

/* The start of the name of this process's files: DIRECTORY/HOST.PID.N, where N distinguishes
 * programs that had the same process id. */
const char* sesame_process_name(void);

/* Whether the program's limit (RLIMIT_FSIZE) allows a file of this size. Exceeding it would send
 * the program a signal. */
bool sesame_file_may_have(uint64_t bytes);

/* Reserves space in a file that will be mapped. So a full disk is noticed here, not by a signal
 * when the memory is used. */
bool sesame_reserve(int file, uint64_t bytes);

/* One line on stderr. `which` and `error` may be null and 0. */
void sesame_say(const char* what, const char* which, int error);

#endif
