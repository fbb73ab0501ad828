/* Which MPI the program has, and the real functions behind the tracer's symbols. */
#ifndef SESAME_TRACER_MPI_LIBRARY_H
#define SESAME_TRACER_MPI_LIBRARY_H

#include "mpi_symbols.h"

/* The hooks for one binary interface, and the number that the record `joined` has for it. */
typedef struct {
  int number;
  void* const* hooks;           /* that record calls: one for each symbol */
  void* const* counts;          /* that count calls, likewise */
  void (*begin)(void* library); /* looks up the functions and constants that hooks need */
} SesameMpiInterface;

extern const SesameMpiInterface sesame_mpi_mpich;
extern const SesameMpiInterface sesame_mpi_mpiabi;
extern const SesameMpiInterface sesame_mpi_openmpi;

/* What each hook calls: one that records, and one that counts. */
extern void* sesame_mpi_real[SESAME_SYMBOLS];
extern void* sesame_mpi_counted[SESAME_SYMBOLS];

/* The functions to which the stubs MPI_X and PMPI_X of symbol i jump: entries 2 i and 2 i + 1. */
extern void* sesame_mpi_entries[2 * SESAME_SYMBOLS];

/* Until the first MPI call all entries lead here, since the program's MPI may not be loaded before.
 * Sets all entries and returns the function of this one. */
void* sesame_mpi_resolve(unsigned long entry);

/* A function of the library itself, or null. Without library the next one of this name. */
void* sesame_mpi_function(void* library, const char* name);

#endif
