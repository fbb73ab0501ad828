// One call of the program into MPI: what an entry point opens first. It charges the compute time
// since the call before, and on the way out notes the call in the rank's profile and lets compute
// time run again. Calls from inside a call (a reduction function that asks for a type's size)
// belong to the outer one.
#pragma once

#include "core/mpi/call_ids.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class CallScope {
 public:
  // `caller` is, by default, where the function that opens the scope returns to.
  explicit CallScope(CallId id, const void* caller = __builtin_return_address(0))
      : strand_(self()), id_(id) {
    if (strand_.call_depth++ == 0) [[likely]] {
      strand_.caller = caller;
      enter();
    }
  }
  ~CallScope() {
    if (--strand_.call_depth == 0) [[likely]]
      leave();
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // The call's result: an error goes to the error handler of the object that it is about.
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
  void enter();
  void leave();
  void record_file_call();
  [[gnu::cold]] int raise(int error, CommObject* comm);
  [[gnu::cold]] int raise_on_comm(int error, Comm comm);
  [[gnu::cold]] int raise_on_win(int error, Win win);
  [[gnu::cold]] int raise_on_file(int error, File file);
  [[gnu::cold]] int raise_on_session(int error, Session session);

  Strand& strand_;
  CallId id_;
  SimTime begin_;
};

// Charges the compute time of the running strand up to now; outside of MPI calls for clocks and
// sleeps that the program calls, and for its end. resume_compute() lets it run again.
SimTime charge_compute(Strand& strand, ComputeEnd end);
void resume_compute(Strand& strand);
// Charges what was measured, without the last part of it, during which the program only polled
// memory: that is no work.
void charge_before_polling(Strand& strand, SimTime polled);

bool is_polling(CallId id);

}  // namespace sesame::mpi
