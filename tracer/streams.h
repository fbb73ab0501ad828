/* The buffers of all threads together. */
#ifndef SESAME_TRACER_STREAMS_H
#define SESAME_TRACER_STREAMS_H

/* Writes what is buffered in all threads. */
void sesame_streams_flush(void);

/* Writes it. Records that are made from now on are neither written nor counted, until
 * sesame_streams_resume. */
void sesame_streams_stop(void);
void sesame_streams_resume(void);

/* In a forked child: drops its parent's records, which the parent writes. */
void sesame_streams_forget(void);

#endif
