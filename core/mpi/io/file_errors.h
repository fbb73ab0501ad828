// Errors of MPI-IO. A file without a handler returns errors (MPI 4.1, 14.7). Errors of calls that
// name no open file go to the handler of MPI_FILE_NULL, which returns them unless the program sets
// another.
#pragma once

#include <string>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// Calls the file's error handler, or that of MPI_FILE_NULL if `file` is not open. Returns the
// error, unless the handler ends the job. `function_name` is the MPI function, such as
// "MPI_File_read".
[[gnu::cold]] int raise_file_error(File file, int error, const char* function_name);

// The error class of an errno value: MPI_SUCCESS, MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SPACE, …
int file_error_class(int error);
// Fails with that class and the reason "cannot DOING NAME: …"; `doing` is a verb, such as "read".
[[gnu::cold]] int fail_host_call(const char* doing, const std::string& name, int error);

}  // namespace sesame::mpi
