// MPI_File_read and _write with explicit offsets and individual pointers (MPI 4.1, 14.4.2, 14.4.3).
#include "core/mpi/api.h"
#include "core/mpi/io/file_call.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

using enum storage::Direction;

struct Buffer {
  const void* address;
  Count count;
  Datatype datatype;
};

int prepare_at(File fh, storage::Direction direction, Offset offset, const Buffer& buffer,
               FileCall* call) {
  MPI_TRY(prepare_file_call(fh, direction, Pointer::kExplicit, buffer.address, buffer.count,
                            buffer.datatype, call));
  return use_explicit_offset(*call, offset);
}

int prepare_next(File fh, storage::Direction direction, const Buffer& buffer, FileCall* call) {
  MPI_TRY(prepare_file_call(fh, direction, Pointer::kIndividual, buffer.address, buffer.count,
                            buffer.datatype, call));
  use_individual_pointer(*call);
  return MPI_SUCCESS;
}

// A call at an offset, or at the individual pointer. `run` is one of the run_… functions with a
// status or of the start_… functions with a request.
template <typename Run, typename Result>
int call_at(Run run, File fh, storage::Direction direction, Offset offset, const Buffer& buffer,
            Result* result) {
  FileCall call;
  MPI_TRY(prepare_at(fh, direction, offset, buffer, &call));
  return run(call, result);
}

template <typename Run, typename Result>
int call_next(Run run, File fh, storage::Direction direction, const Buffer& buffer,
              Result* result) {
  FileCall call;
  MPI_TRY(prepare_next(fh, direction, buffer, &call));
  return run(call, result);
}

}  // namespace

int File_read_at(File fh, Offset offset, void* buf, Count count, Datatype datatype,
                 Status* status) {
  return call_at(run_independent_call, fh, kRead, offset, {buf, count, datatype}, status);
}
int File_write_at(File fh, Offset offset, const void* buf, Count count, Datatype datatype,
                  Status* status) {
  return call_at(run_independent_call, fh, kWrite, offset, {buf, count, datatype}, status);
}
int File_read_at_all(File fh, Offset offset, void* buf, Count count, Datatype datatype,
                     Status* status) {
  return call_at(run_collective_call, fh, kRead, offset, {buf, count, datatype}, status);
}
int File_write_at_all(File fh, Offset offset, const void* buf, Count count, Datatype datatype,
                      Status* status) {
  return call_at(run_collective_call, fh, kWrite, offset, {buf, count, datatype}, status);
}
int File_iread_at(File fh, Offset offset, void* buf, Count count, Datatype datatype,
                  Request* request) {
  return call_at(start_independent_call, fh, kRead, offset, {buf, count, datatype}, request);
}
int File_iwrite_at(File fh, Offset offset, const void* buf, Count count, Datatype datatype,
                   Request* request) {
  return call_at(start_independent_call, fh, kWrite, offset, {buf, count, datatype}, request);
}
int File_iread_at_all(File fh, Offset offset, void* buf, Count count, Datatype datatype,
                      Request* request) {
  return call_at(start_collective_call, fh, kRead, offset, {buf, count, datatype}, request);
}
int File_iwrite_at_all(File fh, Offset offset, const void* buf, Count count, Datatype datatype,
                       Request* request) {
  return call_at(start_collective_call, fh, kWrite, offset, {buf, count, datatype}, request);
}

int File_read(File fh, void* buf, Count count, Datatype datatype, Status* status) {
  return call_next(run_independent_call, fh, kRead, {buf, count, datatype}, status);
}
int File_write(File fh, const void* buf, Count count, Datatype datatype, Status* status) {
  return call_next(run_independent_call, fh, kWrite, {buf, count, datatype}, status);
}
int File_read_all(File fh, void* buf, Count count, Datatype datatype, Status* status) {
  return call_next(run_collective_call, fh, kRead, {buf, count, datatype}, status);
}
int File_write_all(File fh, const void* buf, Count count, Datatype datatype, Status* status) {
  return call_next(run_collective_call, fh, kWrite, {buf, count, datatype}, status);
}
int File_iread(File fh, void* buf, Count count, Datatype datatype, Request* request) {
  return call_next(start_independent_call, fh, kRead, {buf, count, datatype}, request);
}
int File_iwrite(File fh, const void* buf, Count count, Datatype datatype, Request* request) {
  return call_next(start_independent_call, fh, kWrite, {buf, count, datatype}, request);
}
int File_iread_all(File fh, void* buf, Count count, Datatype datatype, Request* request) {
  return call_next(start_collective_call, fh, kRead, {buf, count, datatype}, request);
}
int File_iwrite_all(File fh, const void* buf, Count count, Datatype datatype, Request* request) {
  return call_next(start_collective_call, fh, kWrite, {buf, count, datatype}, request);
}

}  // namespace sesame::mpi
