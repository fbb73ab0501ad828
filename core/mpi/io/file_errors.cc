#include "core/mpi/io/file_errors.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

int raise_file_error(File handle, int error, const char* function_name) {
  if (storage::FileCallRecord* record = current_file_record())
    record->error = static_cast<uint16_t>(error);
  const FileObject* file = find_file(handle);
  const ErrhandlerObject* handler =
      file != nullptr ? file->errhandler : file_tables(this_rank()).errhandler;
  using Kind = ErrhandlerObject::Kind;
  const Kind kind = handler != nullptr ? handler->kind : Kind::kReturn;
  if (kind != Kind::kReturn && kind != Kind::kFile) {
    return raise_with(handler, 0, error, function_name);
  }
  ErrorState& state = this_rank().errors;
  state.added_codes().record_reason(error, std::exchange(state.detail, {}));
  if (kind == Kind::kReturn) return error;
  return callbacks().file_errhandler(handler->function, file != nullptr ? handle : nullptr, error);
}

int fail_host_call(const char* doing, const std::string& name, int error) {
  return fail(file_error_class(error),
              std::string("cannot ") + doing + " " + name + ": " + strerrordesc_np(error));
}

int file_error_class(int error) {
  switch (error) {
    case 0:
      return MPI_SUCCESS;
    case ENOENT:
    case ENOTDIR:
      return MPI_ERR_NO_SUCH_FILE;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
    case EFBIG:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case ENAMETOOLONG:
    case EISDIR:
    case ELOOP:
      return MPI_ERR_BAD_FILE;
    default:
      return MPI_ERR_IO;
  }
}

}  // namespace sesame::mpi
