// How an MPI function of ours reports an error: it returns fail(class, detail). The entry point
// then calls the error handler of the communicator; the detail is what the message says if that
// handler ends the job.
#pragma once

#include <string>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// Remembers the detail for the running rank and returns `error_class`.
[[gnu::cold]] int fail(int error_class, std::string detail);

// The text of a predefined error class ("invalid rank"), never null.
const char* error_class_text(int error_class);
// Whether MPI itself defines this class.
bool is_error_class(int error_class);

}  // namespace sesame::mpi

// Returns from the calling function with the error if `expression` is one.
#define MPI_TRY(expression)                                                                \
  do {                                                                                     \
    if (const int mpi_try_error = (expression); mpi_try_error != MPI_SUCCESS) [[unlikely]] \
      return mpi_try_error;                                                                \
  } while (0)
