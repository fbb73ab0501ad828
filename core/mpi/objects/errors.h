// How an MPI function of the simulator reports an error: it returns fail(class, detail). The entry
// point then calls the error handler of the communicator (errhandler.h). The detail becomes part of
// the message if this handler ends the job. MPI_TRY(call) returns from the calling function if the
// call fails.
#pragma once

#include <string>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct ErrorState;

// Stores the detail with the running rank and returns `error_class`.
[[gnu::cold]] int fail(int error_class, std::string detail);

// Checks the address of a result: MPI_ERR_ARG, with a detail that names `what`, when it is null.
int check_out(const void* address, const char* what);

// The text of a predefined error class ("invalid rank"), never null.
const char* error_class_text(int error_class);
// The text of a class or code, predefined or added by the program.
std::string error_text(const ErrorState& state, int code);
// Whether MPI itself defines this class.
bool is_error_class(int error_class);

}  // namespace sesame::mpi

// Returns from the calling function with the error if `expression` is one.
#define MPI_TRY(expression)                                                                \
  do {                                                                                     \
    if (const int mpi_try_error = (expression); mpi_try_error != MPI_SUCCESS) [[unlikely]] \
      return mpi_try_error;                                                                \
  } while (0)
