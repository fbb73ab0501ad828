// Stands in for core/mpi/calls/call.h in the MPI library of a rank that is a process: tells the
// simulator which call of the program a request belongs to. The simulator opens its own CallScope
// at the first request of a call. It closes it, and calls the error handler, after that request
// where a call needs only one; otherwise (needs_many_requests()) this does both.
#pragma once

#include "core/mpi/call_ids.h"
#include "core/mpi/objects/constants.h"
#include "core/remote/wire.h"

namespace sesame::mpi {

// Whether the entry point of this call may make several requests. Made from functions.table.
bool needs_many_requests(CallId id);

using remote::HandlerOwner;

class CallScope {
 public:
  explicit CallScope(CallId id, const void* caller = __builtin_return_address(0));
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  int finish(int error) { return finish_with(HandlerOwner::kNone, 0, error); }
  int finish_comm(int error, Comm comm) { return finish_with(HandlerOwner::kComm, comm, error); }
  int finish_win(int error, Win win) { return finish_with(HandlerOwner::kWin, win, error); }
  int finish_file(int error, File file) {
    return finish_with(HandlerOwner::kFile, reinterpret_cast<int64_t>(file), error);
  }
  int finish_session(int error, Session session) {
    return finish_with(HandlerOwner::kSession, session, error);
  }
  [[noreturn]] void not_implemented();

 private:
  int finish_with(HandlerOwner kind, int64_t object, int error) {
    return error == MPI_SUCCESS ? error : raise(kind, object, error);
  }
  [[gnu::cold]] int raise(HandlerOwner kind, int64_t object, int error);
};

}  // namespace sesame::mpi
