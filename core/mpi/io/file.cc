#include "core/mpi/io/file.h"

#include <utility>

#include "core/mpi/io/file_errors.h"
#include "core/mpi/io/file_note.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/seek.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {

FileObject::FileObject() = default;

FileObject::~FileObject() {
  release(comm);
  release(errhandler);
  release(info);
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

int raise_file_error(File handle, int error, const char* function_name) {
  if (FileNote* note = current_note()) note->error = error;
  const FileObject* file = find_file(handle);
  const ErrhandlerObject* handler =
      file != nullptr ? file->errhandler : file_tables(this_rank()).errhandler;
  using Kind = ErrhandlerObject::Kind;
  const Kind kind = handler != nullptr ? handler->kind : Kind::kReturn;
  if (kind != Kind::kReturn && kind != Kind::kFile) {
    return raise_with(handler, 0, error, function_name);
  }
  note_reason(this_rank(), error, std::exchange(this_rank().error_detail, {}));
  if (kind == Kind::kReturn) return error;
  return callbacks().file_errhandler(handler->function, file != nullptr ? handle : nullptr, error);
}

int file_bytes(const FileObject& file, uint64_t* bytes) {
  const int error = file.real->size(bytes);
  if (error == 0) return MPI_SUCCESS;
  return fail(file_error_class(error), "cannot ask for the size of " + file.shared->name);
}

}  // namespace sesame::mpi
