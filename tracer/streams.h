/* The buffers of all threads together. */
#ifndef SESAME_TRACER_STREAMS_H
#define SESAME_TRACER_STREAMS_H

/* Writes what is buffered in all threads. */
void sesame_streams_flush(void);

/* Writes it, and counts what is made from now on as discarded. */
void sesame_streams_stop(void);
void sesame_streams_resume(void);

/* In a forked child: its parent's records are the parent's. */
void sesame_streams_forget(void);

#endif
