// Stands in for core/mpi/calls/call.h where entry points are tested without a simulator: it notes
// what an entry point did with its call.
#pragma once

#include <string>

#include "core/mpi/call_ids.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct LastCall {
  CallId id = CallId::None;
  std::string handler;  // which finish was called: "", "comm", "win", "file" or "session"
  long object = 0;      // with which handle
  int error = 0;
};
inline LastCall last_call;

struct NotImplemented {
  CallId id;
};

class CallScope {
 public:
  explicit CallScope(CallId id) { last_call = {id, "not finished", 0, 0}; }

  int finish(int error) { return note("", 0, error); }
  int finish_comm(int error, Comm comm) { return note("comm", comm, error); }
  int finish_win(int error, Win win) { return note("win", win, error); }
  int finish_file(int error, File file) {
    return note("file", reinterpret_cast<long>(file), error);
  }
  int finish_session(int error, Session session) { return note("session", session, error); }
  [[noreturn]] void not_implemented() { throw NotImplemented{last_call.id}; }

 private:
  static int note(const char* handler, long object, int error) {
    last_call.handler = handler;
    last_call.object = object;
    last_call.error = error;
    return error;
  }
};

}  // namespace sesame::mpi
