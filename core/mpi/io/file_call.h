// FileCall: one MPI-IO call that moves data. The functions check its arguments, find its position,
// and move the data between the typed buffer and the file (transfer_file.h).
//
// To make a call: prepare_file_call(), then use_explicit_offset() or use_individual_pointer(), then
// one of run_independent_call(), run_collective_call(), start_independent_call() and
// start_collective_call(). Positions and item counts are in elementary items of the view. Functions
// run on a strand of the rank and return an MPI error class.
#pragma once

#include <functional>

#include "core/mpi/io/file.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/transfer.h"
#include "core/storage/access.h"

namespace sesame::mpi {

// One call: moves `count` elements of `type` between `buffer` and the items of the view from
// `position` on.
struct FileCall {
  FileObject* file = nullptr;
  FileView view;  // a copy: the file's view may change during a non-blocking call
  storage::Direction direction = storage::Direction::kRead;
  void* buffer = nullptr;
  Count count = 0;
  DatatypeRef type;
  int64_t position = -1;  // -1: unknown
  int64_t items = 0;      // how many elementary items
};

// Which position a call uses. Sequential files have only the shared pointer.
enum class Pointer { kExplicit, kIndividual, kShared };

// Checks the arguments and fills in the call, except the position. Starts the call's record.
int prepare_file_call(File handle, storage::Direction direction, Pointer pointer,
                      const void* buffer, Count count, Datatype datatype, FileCall* call);
// Sets the position to the program's offset.
int use_explicit_offset(FileCall& call, Offset offset);
// Sets the position to the file's individual pointer, and advances that.
void use_individual_pointer(FileCall& call);

// Moves the data on the running strand; with `transfer` (may be null) collectively with all ranks
// of the file.
int run_file_call(const FileCall& call, Transfer* transfer, Status* status);

// The body of a non-blocking or split call; returns an error class.
using FileTask = std::function<int(Status*)>;
// Runs the task on a new strand, concurrently with the program. The request keeps the file open.
int start_file_task(FileObject& file, FileTask task, Request* handle);
// The same with a request that has no handle; the caller owns it.
std::unique_ptr<RequestObject> start_split_task(FileObject& file, FileTask task);

// The four forms: MPI_File_X (independent), MPI_File_X_all (collective), and MPI_File_iX and
// MPI_File_iX_all, which return a request.
int run_independent_call(const FileCall& call, Status* status);
int run_collective_call(const FileCall& call, Status* status);
int start_independent_call(const FileCall& call, Request* request);
int start_collective_call(const FileCall& call, Request* request);

// Fills in status and record of a call that ran on the program's own strand. Returns `error`.
int record_moved(const FileCall& call, int error, const Status& moved, Status* status);
// Fills in the record of a call that starts a transfer.
void record_started(const FileCall& call);

// Call it first in each collective call on a file. Checks that all ranks of the file make the same
// calls in the same order, and ends the job with a message if they do not. MPI_ERR_IO if a split
// collective call is in progress.
int enter_collective(FileObject& file);

// Sets the byte count of a status, unless it is MPI_STATUS_IGNORE.
void set_bytes(Status* status, Count bytes);

}  // namespace sesame::mpi
