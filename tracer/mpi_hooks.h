/* All MPI hooks of one binary interface: included by the file of the interface, after its types. */
#include <stdlib.h>

#include "mpi_call.h"
#include "mpi_communicators.h"
#include "mpi_layout.h"

#include "mpi_files.h" /* uses layouts */
#include "mpi_lifetime.h"
#include "mpi_requests.h"

#include "mpi_hooks_made.h"

#include "mpi_counts.h"

#include "mpi_counts_made.h"

static void* const hooks[SESAME_SYMBOLS] = {
#define SESAME_SYMBOL(name) (void*)hook_##name,
#include "mpi_symbols.def"
#undef SESAME_SYMBOL
};

static void* const counts[SESAME_SYMBOLS] = {
#define SESAME_SYMBOL(name) (void*)count_##name,
#include "mpi_symbols.def"
#undef SESAME_SYMBOL
};

static void begin(void* handle) {
#define F(name, symbol, arguments) library.name = sesame_mpi_function(handle, symbol);
  LIBRARY_FUNCTIONS(F)
#undef F
  LOOK_UP_CONSTANTS(handle);
}

const SesameMpiInterface INTERFACE = {
    .number = INTERFACE_NUMBER, .hooks = hooks, .counts = counts, .begin = begin};
