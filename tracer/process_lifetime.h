/* The beginning and end of recording in this process: it begins when the library is loaded, and
 * ends or pauses at exit, exec and fork. */
#ifndef SESAME_TRACER_PROCESS_LIFETIME_H
#define SESAME_TRACER_PROCESS_LIFETIME_H

/* Writes all that is buffered; `how` as in the record `ended`. */
void sesame_process_end(int how);

/* Resumes recording when an exec failed after sesame_process_end(2). */
void sesame_process_resume(void);

/* Call it in a forked child: forgets the parent's streams. The child's recording starts with its
 * first record. */
void sesame_process_forked(void);

#endif
