/* The text file `metadata` of a raw trace (Common Trace Format 1.8), made from traced_records.def.
 */
#ifndef SESAME_TRACER_METADATA_H
#define SESAME_TRACER_METADATA_H

/* Calls `write` for each part of the text, in order. */
void sesame_metadata_write(void (*write)(int file, const char* text), int file);

#endif
