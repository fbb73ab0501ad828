// FileCall: one MPI-IO call that moves data. Checks its arguments, finds the item at which it
// begins, and brings the data from a typed buffer to an access of the file (transfer_file.h) and
// back.
//
// To make a call: take_file_call(), then take_position() or take_pointer(), then one of the four
// functions run_/start_independent_call/_collective_call. Positions and item counts are in
// elementary items of the view. Functions run on a strand of the rank and return an MPI error
// class.
#pragma once

#include <functional>

#include "core/mpi/io/file.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/transfer.h"
#include "core/storage/access.h"

namespace sesame::mpi {

// One call: so many items of a type, between this buffer and the items of the view from a
// position on.
struct FileCall {
  FileObject* file = nullptr;
  FileView view;  // at the time of the call: a non-blocking one outlives the file's
  storage::Direction direction = storage::Direction::kRead;
  void* buffer = nullptr;
  Count count = 0;
  DatatypeRef type;
  int64_t position = 0;
  int64_t items = 0;  // elementary items that it is about
};

// How a call finds its position; sequential files have a shared one only.
enum class Pointer { kExplicit, kIndividual, kShared };

// Checks the arguments and fills in the call, but for the position.
int take_file_call(File handle, storage::Direction direction, Pointer pointer, const void* buffer,
                   Count count, Datatype datatype, FileCall* call);
// The position is one that the program gave.
int take_position(FileCall& call, Offset offset);
// The position is that of the file's individual pointer, which moves on.
void take_pointer(FileCall& call);

// Moves the data on the running strand; with `transfer` together with all ranks of the file.
int run_file_call(const FileCall& call, Transfer* transfer, Status* status);

// What a non-blocking or split call does on a strand of its own; returns an error class.
using FileBody = std::function<int(Status*)>;
// Starts the body beside the program. The request keeps the file.
int start_file_body(FileObject& file, FileBody body, Request* handle);
// The same with a request that is no handle of the program's.
std::unique_ptr<RequestObject> start_split_body(FileObject& file, FileBody body);

// MPI_File_X, which this rank makes alone; MPI_File_X_all, which all ranks of the file make;
// MPI_File_iX and MPI_File_iX_all, which return a request.
int run_independent_call(const FileCall& call, Status* status);
int run_collective_call(const FileCall& call, Status* status);
int start_independent_call(const FileCall& call, Request* request);
int start_collective_call(const FileCall& call, Request* request);

// A collective call on a file: sees that the ranks of the file make the same ones in one order, and
// that no split one is under way. Ends the job with a sentence about calls that do not match.
int enter_collective(FileObject& file);

void set_bytes(Status* status, Count bytes);

}  // namespace sesame::mpi
