// Split collective calls (MPI 4.1, 14.4.5). The first half starts the operation concurrently with
// the program, the second waits for its end. Each handle can have one in progress.
#include "core/mpi/api.h"
#include "core/mpi/call_ids.h"
#include "core/mpi/io/file_call.h"
#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/io/shared_pointer.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using enum storage::Direction;

using Task = int (*)(const FileCall& call, Transfer& transfer, Status* status);

int run_all(const FileCall& call, Transfer& transfer, Status* status) {
  return run_file_call(call, &transfer, status);
}

int begin(FileCall call, Task task) {
  FileObject& file = *call.file;
  MPI_TRY(enter_collective(file));
  CommObject& comm = *file.comm;
  const int tag = static_cast<int>(comm.next_collective++);
  record_started(call);
  file.split.started = self().call;
  file.split.buffer = call.buffer;
  file.split.request = start_split_task(file, [call, task, &comm, tag](Status* status) {
    Transfer transfer(comm, tag);
    return task(call, transfer, status);
  });
  return MPI_SUCCESS;
}

int begin_at(File fh, storage::Direction direction, Offset offset, const void* buf, Count count,
             Datatype datatype) {
  FileCall call;
  MPI_TRY(prepare_file_call(fh, direction, Pointer::kExplicit, buf, count, datatype, &call));
  MPI_TRY(use_explicit_offset(call, offset));
  return begin(call, run_all);
}

int begin_next(File fh, storage::Direction direction, const void* buf, Count count,
               Datatype datatype) {
  FileCall call;
  MPI_TRY(prepare_file_call(fh, direction, Pointer::kIndividual, buf, count, datatype, &call));
  if (call.file->split.started == 0) use_individual_pointer(call);
  return begin(call, run_all);
}

int begin_ordered(File fh, storage::Direction direction, const void* buf, Count count,
                  Datatype datatype) {
  FileCall call;
  MPI_TRY(prepare_file_call(fh, direction, Pointer::kShared, buf, count, datatype, &call));
  return begin(call, run_ordered);
}

int end(File fh, CallId first_half, const void* buf, Status* status) {
  FileObject* file = nullptr;
  MPI_TRY(check_file(fh, &file));
  begin_file_record(*file);
  SplitCall& split = file->split;
  const char* name = call_name(first_half);
  if (split.started != static_cast<uint16_t>(first_half)) {
    return fail(MPI_ERR_IO, std::string("there was no ") + name + " before it");
  }
  if (split.buffer != buf) {
    return fail(MPI_ERR_IO, std::string("the buffer is not that of ") + name);
  }
  await(self(), *split.request);
  const std::unique_ptr<RequestObject> done = std::move(split.request);
  split = {};
  if (done->error == MPI_SUCCESS) set_bytes(status, done->status.byte_count());
  return done->error;
}

}  // namespace

int File_read_at_all_begin(File fh, Offset offset, void* buf, Count count, Datatype datatype) {
  return begin_at(fh, kRead, offset, buf, count, datatype);
}
int File_read_at_all_end(File fh, void* buf, Status* status) {
  return end(fh, CallId::File_read_at_all_begin, buf, status);
}
int File_write_at_all_begin(File fh, Offset offset, const void* buf, Count count,
                            Datatype datatype) {
  return begin_at(fh, kWrite, offset, buf, count, datatype);
}
int File_write_at_all_end(File fh, const void* buf, Status* status) {
  return end(fh, CallId::File_write_at_all_begin, buf, status);
}
int File_read_all_begin(File fh, void* buf, Count count, Datatype datatype) {
  return begin_next(fh, kRead, buf, count, datatype);
}
int File_read_all_end(File fh, void* buf, Status* status) {
  return end(fh, CallId::File_read_all_begin, buf, status);
}
int File_write_all_begin(File fh, const void* buf, Count count, Datatype datatype) {
  return begin_next(fh, kWrite, buf, count, datatype);
}
int File_write_all_end(File fh, const void* buf, Status* status) {
  return end(fh, CallId::File_write_all_begin, buf, status);
}
int File_read_ordered_begin(File fh, void* buf, Count count, Datatype datatype) {
  return begin_ordered(fh, kRead, buf, count, datatype);
}
int File_read_ordered_end(File fh, void* buf, Status* status) {
  return end(fh, CallId::File_read_ordered_begin, buf, status);
}
int File_write_ordered_begin(File fh, const void* buf, Count count, Datatype datatype) {
  return begin_ordered(fh, kWrite, buf, count, datatype);
}
int File_write_ordered_end(File fh, const void* buf, Status* status) {
  return end(fh, CallId::File_write_ordered_begin, buf, status);
}

}  // namespace sesame::mpi
