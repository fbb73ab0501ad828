#include "core/mpi/io/file_tables.h"

#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

FileTables& file_tables(Rank& rank) {
  if (rank.objects.files == nullptr) rank.objects.files = std::make_shared<FileTables>();
  return *rank.objects.files;
}

FileObject* find_file(File handle) {
  return file_tables(this_rank()).files.find(file_number(handle));
}

int check_file(File handle, FileObject** file) {
  *file = find_file(handle);
  if (*file != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_FILE, handle == nullptr ? "the file is MPI_FILE_NULL"
                                              : "no such file handle, or it was closed");
}

}  // namespace sesame::mpi
