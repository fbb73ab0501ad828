/* libsesame: a program switches the measurement of its node around what matters, and gives phases
 * of its run a name. It asks the daemon (sesamed) of this node; where there is none, every function
 * returns -1 at once and does nothing else, so that a program may keep the calls.
 *
 * SESAME_TOKEN, or a file named by SESAME_TOKEN_FILE, holds the daemon's token; without one nothing
 * is ever asked. SESAME_DAEMON is HOST:PORT, 127.0.0.1:7117 unless it is set. Any thread may call.
 */
#ifndef SESAME_H
#define SESAME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a point has counted since the daemon began; differences are what matters. */
struct sesame_counts {
  uint64_t count;
  uint64_t bytes;       /* of all of them */
  uint64_t timed;       /* those whose duration was taken */
  uint64_t duration_ns; /* of these together */
};

/* `where` is a subsystem "fs", a point "fs.read", or NULL for everything. In force when they
 * return 0. */
int sesame_on(const char* where);
int sesame_off(const char* where);

/* A phase is a record with name, begin, end and process. Phases may lie in each other and overlap;
 * the end is that of the latest begin with this name. */
int sesame_phase_begin(const char* name);
int sesame_phase_end(const char* name);

/* `point` is "fs.read". */
int sesame_read(const char* point, struct sesame_counts* counts);

/* Why the last call of this thread returned -1. */
const char* sesame_error(void);

#ifdef __cplusplus
}
#endif

#endif
