// Requests for functions of MPI, for the generated code of the rank's side (generate_remote.py):
// the arguments are written in order by put…(), then call() sends them, then what comes back
// through arguments is read in the same order by get…().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/mpi/call_ids.h"
#include "core/mpi/calls/array_lengths.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/int_array.h"
#include "core/remote/program/connection.h"
#include "core/remote/wire.h"

namespace sesame::mpi {

// Whether the entry point of this call may make several requests. Made from functions.table.
bool needs_many_requests(CallId id);

}  // namespace sesame::mpi

namespace sesame::remote {

using namespace sesame::mpi;

// Data up to this size come with a call (put_window()). Bytes.
inline constexpr Count kMostWindow = 1024;

class CallRequest {
 public:
  explicit CallRequest(uint16_t function);

  template <typename T>
  void put(T value) {
    writer_.put(value);
  }
  void put_text(const char* text) { writer_.put_text(text); }
  // A variable of the program: null, ignored (MPI_STATUS_IGNORE), or its value.
  template <typename T>
  void put_variable(const T* variable);
  // The bytes of a small buffer that the call sends, so that the simulator need not look for them.
  void put_window(const void* buffer, Count count, Datatype datatype);
  // An array: its bytes, or its address if it is long.
  template <typename T>
  void put_array(const T* values, Count count);
  void put_array(IntArray values, Count count);
  // What a spawn starts: lists of texts, each up to a null pointer, and one list of `count` texts.
  void put_argv(char** argv, Count count);
  void put_argv_array(void* lists, Count count);
  void put_commands(void* commands, Count count);

  // Sends the request; its outcome.
  int call();
  // Defers the call (deferral.h), whose request gets a handle if there is one; false: not possible.
  bool defer(Request* handle = nullptr);
  double call_for_double();
  // Sends a question that is no call of the program; its answer.
  int64_t query();

  template <typename T>
  void get_variable(T* variable);
  template <typename T>
  void get_array(T* values);
  void get_text(char* text);
  template <typename T>
  T get() {
    return reader_.get<T>();
  }

 private:
  void put_texts(const char* const* const* lists, Count count);
  void send();

  Slot& slot_;
  uint16_t function_;
  Writer writer_;
  Reader reader_;
  std::vector<std::unique_ptr<Count[]>> wide_;  // long arrays, widened
  std::vector<std::unique_ptr<std::string>> packed_;
};

// The bytes of a value of a predefined type, which its handle has (core/mpi/objects/constants.h);
// 0: it is another type.
inline Count predefined_size(Datatype datatype) {
  return (datatype >> 26) == (MPI_BYTE >> 26) ? datatype >> 8 & 0xff : 0;
}

// Whether the call that runs is one of the program, and may be deferred.
bool may_defer();
// Defers the record of a call that has been answered; false: not possible.
bool defer_scope();

// The slot of this process. Ends the process with a message when it is no rank.
Slot& own_slot();

// Lengths of arrays that other arguments give; core/mpi/calls/array_lengths.h has those that only
// the simulator knows.
Count last_of(const int* values, int count);
Count sum_of(const int* values, int count);

// ---- Templates ----

inline bool is_ignored(const void* variable) { return variable == MPI_STATUS_IGNORE; }

template <typename T>
void CallRequest::put_variable(const T* variable) {
  const VariableState state = variable == nullptr    ? VariableState::kNull
                              : is_ignored(variable) ? VariableState::kIgnored
                                                     : VariableState::kValue;
  writer_.put(state);
  if (state == VariableState::kValue) writer_.put_bytes(variable, sizeof(T));
}

template <typename T>
void CallRequest::get_variable(T* variable) {
  if (variable == nullptr || is_ignored(variable)) return;
  std::memcpy(static_cast<void*>(variable), reader_.get_bytes(sizeof(T)), sizeof(T));
}

template <typename T>
void CallRequest::put_array(const T* values, Count count) {
  if (reinterpret_cast<uint64_t>(values) < kFirstAddress || count < 0) count = 0;
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  const bool is_inline = bytes <= kMostInline && bytes + 64 <= writer_.left() / 2;
  writer_.put(reinterpret_cast<uint64_t>(values));
  writer_.put(bytes);
  writer_.put<int64_t>(is_inline);
  if (is_inline) writer_.put_bytes(values, bytes);
}

template <typename T>
void CallRequest::get_array(T* values) {
  // 0 bytes: unchanged, or written by the simulator where it is.
  const auto bytes = reader_.get<size_t>();
  const char* const from = reader_.get_bytes(bytes);
  if (bytes > 0) std::memcpy(static_cast<void*>(values), from, bytes);
}

}  // namespace sesame::remote
