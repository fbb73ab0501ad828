/* The numbers of the MPI symbols that the tracer defines: SESAME_SYMBOL_MPI_Send, … */
#ifndef SESAME_TRACER_MPI_SYMBOLS_H
#define SESAME_TRACER_MPI_SYMBOLS_H

#define SESAME_SYMBOL(name) SESAME_SYMBOL_##name,
enum sesame_symbol_number {
#include "mpi_symbols.def"
  SESAME_SYMBOLS
};
#undef SESAME_SYMBOL

#endif
