/* libsesame: a program switches the measurement of its node on and off, and names phases of its
 * run. The functions send requests to the daemon (sesamed) of this node. Where there is none, each
 * returns -1 at once and does nothing else, so that a program may keep the calls.
 *
 * SESAME_TOKEN, or a file named by SESAME_TOKEN_FILE, contains the daemon's token; without one no
 * request is sent. SESAME_DAEMON is HOST:PORT, by default 127.0.0.1:7117. Any thread may call. */
#ifndef SESAME_H
#define SESAME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a point has counted since the daemon started; use differences. */
struct sesame_counts {
  uint64_t count;
  uint64_t bytes;       /* of all of them */
  uint64_t timed;       /* those whose duration was measured */
  uint64_t duration_ns; /* their sum */
};

/* Switch counting on or off. `where` is a subsystem "fs", a point "fs.read", or NULL for
 * everything. It is in force when they return 0. */
int sesame_on(const char* where);
int sesame_off(const char* where);

/* A phase is a record with name, begin, end and process. Phases may nest and overlap;
 * sesame_phase_end ends the phase of this name that began last. It returns 0 when the phase has
 * been sent, without waiting for the daemon's answer. */
int sesame_phase_begin(const char* name);
int sesame_phase_end(const char* name);

/* Reads the counts of a point such as "fs.read". */
int sesame_read(const char* point, struct sesame_counts* counts);

/* Why the last call of this thread returned -1. */
const char* sesame_error(void);

#ifdef __cplusplus
}
#endif

#endif
