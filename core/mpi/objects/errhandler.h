// Error handlers and the error codes that a program adds (MPI 4.1, section 9.3).
//
// Use: an MPI function of the simulator that fails only returns its error class (errors.h). The
// entry point then calls raise_error(), or raise_with() for other objects than communicators: the
// handler ends the job with a text, returns the error, or calls the program's function. Handlers
// are reference counted; the rank's tables own the handles. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct CommObject;
struct ObjectOwner;

struct ErrhandlerObject : Counted {
  // kThrow: a function that throws, whatever the object.
  enum class Kind : uint8_t { kFatal, kAbort, kReturn, kThrow, kComm, kWin, kFile, kSession };
  Kind kind = Kind::kFatal;
  ProxiedFunction function;  // of the program, for the last five kinds
  Errhandler handle = MPI_ERRORS_ARE_FATAL;
  int user_references = 1;  // how often the program must still free the handle
};

// Null if there is no error handler with this handle.
ErrhandlerObject* find_errhandler(ObjectOwner& owner, Errhandler handle);
// An error unless the handle may be attached to an object of this kind.
int check_errhandler(Errhandler handle, ErrhandlerObject::Kind kind, ErrhandlerObject** errhandler);
// Checks the handle and replaces the handler of an object, which is stored in `attached`.
int set_errhandler(ErrhandlerObject*& attached, Errhandler handle, ErrhandlerObject::Kind kind);

// Applies the error handler of the communicator (null: errors that concern no object) and returns
// the error, which a function of the program may have changed. Does not return if the handler ends
// the job. If the communicator has no handler, that of MPI_COMM_SELF and then that of
// MPI_COMM_WORLD applies. `function_name` is for the text, such as "MPI_Send".
[[gnu::cold]] int raise_error(CommObject* comm, int error, const char* function_name);
// The same with this handler (null: MPI_ERRORS_ARE_FATAL) of the object with this handle.
[[gnu::cold]] int raise_with(const ErrhandlerObject* errhandler, int object, int error,
                             const char* function_name);

// Error classes and codes added at run time. Codes of MPI itself equal their classes.
class ErrorCodes {
 public:
  static constexpr int kFirst = MPI_ERR_LASTCODE + 1;

  int add_class();
  int add_code(int error_class);
  // Each returns MPI_SUCCESS or MPI_ERR_ARG. remove_class() needs a class without codes,
  // remove_code() a code that is not a class, remove_text() one that has a text.
  int set_text(int code, std::string text);
  int remove_text(int code);
  int remove_class(int error_class);
  int remove_code(int code);

  // MPI_ERR_UNKNOWN if the code is unknown.
  int class_of(int code) const;
  // Null if the code is unknown; empty if no text was added.
  const char* text_of(int code) const;

  // Why a call returned this code; only the last reason is kept.
  void record_reason(int code, std::string reason) { reason_ = {code, std::move(reason)}; }
  std::string reason_of(int code) const { return code == reason_.first ? reason_.second : ""; }

 private:
  struct Entry {
    int error_class = 0;  // itself, for a class
    bool has_text = false;
    std::string text;
  };
  std::map<int, Entry> entries_;
  int next_ = kFirst;
  std::pair<int, std::string> reason_;
};

// A handle for the program, which frees it with MPI_Errhandler_free (MPI_Comm_get_errhandler).
Errhandler hand_out_errhandler(ErrhandlerObject* errhandler);

// Keeps the reason of an error that a call on a file returned, for MPI_Error_string.
void record_reason(ObjectOwner& owner, int error, std::string reason);

// The text of a class or code, predefined or added by the program.
std::string error_text(ObjectOwner& owner, int code);

}  // namespace sesame::mpi
