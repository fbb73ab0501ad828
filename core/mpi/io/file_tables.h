// FileTables: one rank's MPI-IO state: its open files, the error handler of MPI_FILE_NULL, and the
// registered data representations. The rank owns it; file_tables() makes it at the first use.
// find_file() is how the calls of the program find the open file of a handle.
#pragma once

#include "core/mpi/io/file.h"
#include "core/mpi/io/representation.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct Rank;

struct FileTables {
  FileTables() = default;
  ~FileTables() { release(errhandler); }
  FileTables(const FileTables&) = delete;
  FileTables& operator=(const FileTables&) = delete;

  HandleTable<FileObject, 0xb4000000> files;
  int open_count = 0;                      // so far
  ErrhandlerObject* errhandler = nullptr;  // of MPI_FILE_NULL; null: MPI_ERRORS_RETURN
  RegisteredRepresentations representations;
};

FileTables& file_tables(Rank& rank);

// Returns null unless the handle is that of an open file of the running rank.
FileObject* find_file(File handle);
// MPI_SUCCESS and the object, or MPI_ERR_FILE.
int check_file(File handle, FileObject** file);

}  // namespace sesame::mpi
