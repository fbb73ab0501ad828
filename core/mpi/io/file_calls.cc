// Calls on a file as a whole: size, group, mode, atomicity, synchronisation, error handlers
// (MPI 4.1, 14.2, 14.6, 9.3.3).
#include "core/mpi/api.h"
#include "core/mpi/collectives/barrier.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/io/file_call.h"
#include "core/mpi/io/file_errors.h"
#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/io/seek.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"

namespace sesame::mpi {
namespace {

using storage::MetadataCall;

int check_writable(const FileObject& file) {
  if ((file.amode & MPI_MODE_RDONLY) == 0) return MPI_SUCCESS;
  return fail(MPI_ERR_READ_ONLY, "the file was opened for reading only");
}

// MPI_ERR_NOT_SAME unless all ranks pass the same value.
int check_same(ControlGroup& control, Offset value, const char* what) {
  const int high = static_cast<int>(value >> 32);
  const int low = static_cast<int>(value & 0xffffffff);
  int values[4] = {high, ~high, low, ~low};
  control.maximum(values);
  if (values[0] == ~values[1] && values[2] == ~values[3]) return MPI_SUCCESS;
  return fail(MPI_ERR_NOT_SAME, std::string("not all ranks give the same ") + what);
}

int resize(Strand& strand, FileObject& file, uint64_t bytes, bool only_longer) {
  yield_for_files(strand);
  charge_metadata(strand, file.path(), MetadataCall::kStat);
  uint64_t now = 0;
  MPI_TRY(query_file_size(file, &now));
  if (bytes == now || (only_longer && bytes < now)) return MPI_SUCCESS;
  const int error = file.open->resize(bytes);
  return error == 0 ? MPI_SUCCESS : fail_host_call("set the size of", file.shared->name, error);
}

int resize_collectively(File fh, Offset size, bool only_longer) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_writable(*file));
  storage::FileCallRecord* record = begin_file_record(*file);
  if (record != nullptr && size >= 0) record->size = static_cast<uint64_t>(size);
  if (size < 0) return fail(MPI_ERR_ARG, "the size is negative: " + std::to_string(size));
  MPI_TRY(enter_collective(*file));
  return run_collective(*file->comm, [&](Transfer& transfer) {
    ControlGroup control(transfer);
    MPI_TRY(check_same(control, size, "size"));
    int error[1] = {MPI_SUCCESS};
    if (file->is_first_of_host_file()) {
      error[0] = resize(self(), *file, static_cast<uint64_t>(size), only_longer);
    }
    const int mine = error[0];
    control.maximum(error);
    if (mine != MPI_SUCCESS || error[0] == MPI_SUCCESS) return mine;
    return fail(error[0], "the size could not be set");
  });
}

}  // namespace

int File_set_size(File fh, Offset size) { return resize_collectively(fh, size, false); }
int File_preallocate(File fh, Offset size) { return resize_collectively(fh, size, true); }

int File_get_size(File fh, Offset* size) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(size, "size"));
  begin_file_record(*file);
  Strand& strand = self();
  yield_for_files(strand);
  charge_metadata(strand, file->path(), MetadataCall::kStat);
  uint64_t bytes = 0;
  MPI_TRY(query_file_size(*file, &bytes));
  *size = static_cast<Offset>(bytes);
  return MPI_SUCCESS;
}

int File_get_group(File fh, Group* group) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(group, "group"));
  *group = publish_group(this_rank(), file->comm->local);
  return MPI_SUCCESS;
}

int File_get_amode(File fh, int* amode) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(amode, "amode"));
  *amode = file->amode;
  return MPI_SUCCESS;
}

int File_set_atomicity(File fh, int flag) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  begin_file_record(*file);
  MPI_TRY(enter_collective(*file));
  return run_collective(*file->comm, [&](Transfer& transfer) {
    ControlGroup control(transfer);
    MPI_TRY(check_same(control, flag != 0 ? 1 : 0, "flag"));
    file->atomic = flag != 0;
    return MPI_SUCCESS;
  });
}

int File_get_atomicity(File fh, int* flag) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(flag, "flag"));
  *flag = file->atomic ? 1 : 0;
  return MPI_SUCCESS;
}

int File_sync(File fh) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  if (file->pending > 0) {
    return fail(MPI_ERR_FILE, "a non-blocking or split call on the file is in progress");
  }
  begin_file_record(*file);
  MPI_TRY(enter_collective(*file));
  return run_collective(*file->comm, [file](Transfer& transfer) {
    Strand& strand = self();
    yield_for_files(strand);
    charge_flush(strand, file->path());
    return collectives::barrier(transfer);
  });
}

int File_set_errhandler(File handle, Errhandler errhandler) {
  FileObject* file = nullptr;
  if (handle != nullptr) MPI_TRY(check_file(handle, &file));
  ErrhandlerObject*& handler_of =
      file != nullptr ? file->errhandler : file_tables(this_rank()).errhandler;
  return set_errhandler(handler_of, errhandler, ErrhandlerObject::Kind::kFile);
}

int File_get_errhandler(File handle, Errhandler* errhandler) {
  FileObject* file = nullptr;
  if (handle != nullptr) MPI_TRY(check_file(handle, &file));
  MPI_TRY(check_out(errhandler, "errhandler"));
  ErrhandlerObject* handler =
      file != nullptr ? file->errhandler : file_tables(this_rank()).errhandler;
  *errhandler = handler == nullptr ? MPI_ERRORS_RETURN : hand_out_errhandler(handler);
  return MPI_SUCCESS;
}

int File_call_errhandler(File handle, int errorcode) {
  if (handle != nullptr) {
    FileObject* file;
    MPI_TRY(check_file(handle, &file));
  }
  this_rank().errors.detail = "the program called the error handler";
  raise_file_error(handle, errorcode, "MPI_File_call_errhandler");
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
