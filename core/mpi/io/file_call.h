// What the calls that move data share: checks, the item that the call begins at, and the way from
// a typed buffer to an access of the file and back.
#pragma once

#include <functional>

#include "core/mpi/io/file.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/messages/world.h"
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

// MPI_File_X: at once. MPI_File_X_all: with all ranks. Likewise with a request.
int run_alone(const FileCall& call, Status* status);
int run_together(const FileCall& call, Status* status);
int start_alone(const FileCall& call, Request* request);
int start_together(const FileCall& call, Request* request);

// A collective call on a file: sees that the ranks of the file make the same ones in one order, and
// that no split one is under way. Ends the job with a sentence about calls that do not match.
int enter_collective(FileObject& file);

void set_bytes(Status* status, Count bytes);

}  // namespace sesame::mpi
