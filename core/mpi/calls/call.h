// CallScope: one MPI call of the program. Each entry point opens a scope first and returns through
// one of its finish functions. The constructor charges the compute time since the previous call;
// the destructor adds the call to the rank's profile and records, and restarts the measurement of
// compute time. Calls from inside a call (a reduction function that asks for a type's size) are
// part of the outer one.
//
// It has no times, so that simulators that calculate sensitivities have the same entry points as
// the others (SESAME_SENSITIVITY). So do the MPI libraries of ranks that are processes, which
// define its functions in core/remote/program/requests.cc, with a Strand of their own.
#pragma once

#include "core/mpi/call_ids.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct CommObject;
struct Strand;

class CallScope {
 public:
  // `caller` is an address in the program: by default the return address of the function that opens
  // the scope.
  explicit CallScope(CallId id, const void* caller = __builtin_return_address(0))
      : strand_(enter(id, caller)), id_(id) {}
  ~CallScope() { leave(); }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // Return the call's result. An error goes to the error handler of the object that it concerns.
  int finish(int error) { return error == MPI_SUCCESS ? error : raise(error, nullptr); }
  int finish_comm(int error, Comm comm) {
    return error == MPI_SUCCESS ? error : raise_on_comm(error, comm);
  }
  int finish_win(int error, Win win) {
    return error == MPI_SUCCESS ? error : raise_on_win(error, win);
  }
  int finish_file(int error, File file) {
    return error == MPI_SUCCESS ? error : raise_on_file(error, file);
  }
  int finish_session(int error, Session session) {
    return error == MPI_SUCCESS ? error : raise_on_session(error, session);
  }

  [[noreturn]] void not_implemented();

 private:
  static Strand& enter(CallId id, const void* caller);
  void leave();
  void record_file_call();
  [[gnu::cold]] int raise(int error, CommObject* comm);
  [[gnu::cold]] int raise_on_comm(int error, Comm comm);
  [[gnu::cold]] int raise_on_win(int error, Win win);
  [[gnu::cold]] int raise_on_file(int error, File file);
  [[gnu::cold]] int raise_on_session(int error, Session session);

  Strand& strand_;
  CallId id_;
};

bool is_polling(CallId id);

}  // namespace sesame::mpi
