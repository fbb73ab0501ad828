// Error handlers of files. Where none was set, errors of files are returned (MPI 4.1, 14.7), and so
// are those of calls that name no open file, unless the program gives MPI_FILE_NULL a handler.
#pragma once

#include <string>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// Applies the file's error handler (that of MPI_FILE_NULL for what is no open file) and returns
// the error, unless the handler ends the job. `function_name` is "MPI_File_read".
[[gnu::cold]] int raise_file_error(File file, int error, const char* function_name);

// The error class of an errno value: MPI_SUCCESS, MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SPACE, …
int file_error_class(int error);
// Fails with that class, since "cannot read NAME: …"; `doing` is "read".
[[gnu::cold]] int fail_host_call(const char* doing, const std::string& name, int error);

}  // namespace sesame::mpi
