// Error handlers and the error codes that a program adds. An MPI function of ours that fails only
// returns its error class; the entry point then comes here, and the communicator's (or session's)
// handler decides: end the job with a text, return the code, or call the program's function.
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
  enum class Kind : uint8_t { kFatal, kAbort, kReturn, kComm, kWin, kFile, kSession };
  Kind kind = Kind::kFatal;
  ProxiedFunction function;  // of the program, for the last four kinds
  Errhandler handle = MPI_ERRORS_ARE_FATAL;
  int user_references = 1;  // handles that the program has yet to free
};

// Null when the handle is not that of an error handler.
ErrhandlerObject* find_errhandler(ObjectOwner& owner, Errhandler handle);
// An error unless the handle may be attached to an object of this kind.
int check_errhandler(Errhandler handle, ErrhandlerObject::Kind kind, ErrhandlerObject** errhandler);
// The object at `place` gets this handler from now on.
int set_errhandler(ErrhandlerObject*& place, Errhandler handle, ErrhandlerObject::Kind kind);

// Applies the error handler of the communicator (null: errors that concern no object) and returns
// the error, which a function of the program may have changed, unless the handler ends the job.
// Where none was set, that of MPI_COMM_SELF and then that of MPI_COMM_WORLD counts.
// `function_name` is "MPI_Send".
[[gnu::cold]] int raise_error(CommObject* comm, int error, const char* function_name);
// The same with a handler found elsewhere (null: MPI_ERRORS_ARE_FATAL).
[[gnu::cold]] int raise_with(const ErrhandlerObject* errhandler, int object, int error,
                             const char* function_name);

// Error classes and codes added at run time. Codes of MPI itself equal their classes.
class ErrorCodes {
 public:
  static constexpr int kFirst = MPI_ERR_LASTCODE + 1;

  int add_class();
  int add_code(int error_class);
  // MPI_SUCCESS, or MPI_ERR_ARG for what is unknown or of the other sort.
  int set_text(int code, std::string text);
  int remove_text(int code);
  int remove_class(int error_class);
  int remove_code(int code);

  // MPI_ERR_UNKNOWN for what is not known.
  int class_of(int code) const;
  // Null for what is not known; empty when no text was added.
  const char* text_of(int code) const;

  // Why the program was given this code; kept for the last one only.
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

// A reference for the program, which it frees with MPI_Errhandler_free.
Errhandler hand_out_errhandler(ErrhandlerObject* errhandler);

// What MPI_Error_string adds to the text of this error, the last one of a file that the program was
// given back.
void record_reason(ObjectOwner& owner, int error, std::string reason);

// The text of a class or code, predefined or added by the program.
std::string error_text(ObjectOwner& owner, int code);

}  // namespace sesame::mpi
