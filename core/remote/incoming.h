// The arguments of a call that a rank's process has sent, for the generated code of the simulator's
// side (generate_remote.py): objects that read an argument in the order in which it was written,
// and store() what comes back through it in the same order, after the outcome.
//
// Everything read lives until the call's reply. Buffers of the program become remote addresses
// (core/mpi/objects/memory.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/mpi/calls/call.h"
#include "core/mpi/objects/memory.h"
#include "core/remote/messages.h"
#include "core/remote/request_checks.h"
#include "core/remote/wire.h"

namespace sesame::remote {

using namespace sesame::mpi;

struct Process;

class Incoming {
 public:
  // `scope`: that which ends with this call, and calls the error handler; null: neither.
  Incoming(Process& process, Reader values, Writer& reply, CallScope* scope)
      : process_(process), reader_(values), reply_(reply), scope_(scope) {}

  template <typename T>
  T value() {
    return reader_.get<T>();
  }
  const char* text() { return reader_.get_text(); }
  // The address of a buffer of the program, or a constant that stands for one.
  template <typename Pointer>
  Pointer buffer();
  // The address of memory of the program, or null.
  template <typename Pointer>
  Pointer address();
  // What the process has at this address, for the functions that copy.
  void* remote(uint64_t address) const;
  // The bytes of this buffer, as they were sent with the call.
  void window(const void* buffer);

  void returns(int outcome) { reply_.put<int64_t>(outcome); }
  void returns(double value) { reply_.put(value); }
  void finish(int outcome) { returns(scope_ == nullptr ? outcome : scope_->finish(outcome)); }
  void finish_comm(int outcome, Comm comm) {
    returns(scope_ == nullptr ? outcome : scope_->finish_comm(outcome, comm));
  }
  void finish_file(int outcome, File file) {
    returns(scope_ == nullptr ? outcome : scope_->finish_file(outcome, file));
  }
  void finish_session(int outcome, Session session) {
    returns(scope_ == nullptr ? outcome : scope_->finish_session(outcome, session));
  }
  void finish_win(int outcome, Win win) {
    returns(scope_ == nullptr ? outcome : scope_->finish_win(outcome, win));
  }

  Process& process() { return process_; }
  Reader& reader() { return reader_; }
  Writer& reply() { return reply_; }

 private:
  Process& process_;
  Reader reader_;
  Writer& reply_;
  CallScope* scope_;
};

// A variable of the program. The reply has its value, changed or not.
template <typename T>
class Variable {
 public:
  explicit Variable(Incoming& call) : call_(call), state_(call.value<VariableState>()) {
    if (has_value())
      std::memcpy(static_cast<void*>(&value_), call.reader().get_bytes(sizeof(T)), sizeof(T));
  }
  T* get() {
    if (has_value()) return &value_;
    if (state_ == VariableState::kNull) return nullptr;
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(MPI_STATUS_IGNORE));
  }
  bool has_value() const { return state_ == VariableState::kValue; }
  T& value() { return value_; }
  void store() {
    if (has_value()) call_.reply().put_bytes(&value_, sizeof(T));
  }

 private:
  Incoming& call_;
  VariableState state_;
  T value_{};
};

// The variable that receives the address of a buffer.
class BufferAddress {
 public:
  explicit BufferAddress(Incoming& call) : variable_(call) {}
  void* get() { return variable_.get(); }
  void store() {
    void*& given = variable_.value();
    if (variable_.has_value() && is_remote(given))
      given = reinterpret_cast<void*>(address_there(given));
    variable_.store();
  }

 private:
  Variable<void*> variable_;
};

// What is common to arrays: the bytes of one that was sent, or a copy of one that was not.
class ArrayBytes {
 public:
  explicit ArrayBytes(Incoming& call);
  ArrayBytes(const ArrayBytes&) = delete;
  ArrayBytes& operator=(const ArrayBytes&) = delete;

  // A constant is as it is (kFirstAddress).
  void* get() const { return data_; }
  size_t bytes() const { return bytes_; }

 protected:
  void store_bytes();
  void expect_elements(Count count, size_t size) const {
    const bool is_constant = address_ < kFirstAddress;
    expect(is_constant || count <= 0 || static_cast<size_t>(count) <= bytes_ / size,
           "an array is shorter than the call says");
  }

  Incoming& call_;
  uint64_t address_;  // in the rank's process
  size_t bytes_;
  bool is_inline_;
  void* data_;
  std::unique_ptr<char[]> copy_;
};

template <typename T>
class InArray : public ArrayBytes {
 public:
  using ArrayBytes::ArrayBytes;
  const T* get() const { return static_cast<const T*>(ArrayBytes::get()); }
  // Ends the job if it has fewer elements.
  void expect_count(Count count) const { expect_elements(count, sizeof(T)); }
};

template <typename T>
class OutArray : public ArrayBytes {
 public:
  using ArrayBytes::ArrayBytes;
  T* get() const { return static_cast<T*>(ArrayBytes::get()); }
  void expect_count(Count count) const { expect_elements(count, sizeof(T)); }
  void store() { store_bytes(); }
};

// Lists of texts (kTextFollows).
class TextLists {
 public:
  explicit TextLists(Incoming& call);
  // The first list, and all: pointers, with a null pointer at the end of each list. Null: there is
  // none.
  char** first() { return lists_.empty() ? nullptr : lists_.front().data(); }
  char*** all() { return lists_.empty() ? nullptr : pointers_.data(); }

 private:
  InArray<char> packed_;
  std::vector<std::vector<char*>> lists_;
  std::vector<char**> pointers_;
};

// A text that the call may write, of at most kMostBytes with the null byte.
class TextOut {
 public:
  TextOut() { text_[0] = kUnset; }
  char* get() { return text_.data(); }
  void store(Incoming& call) { call.reply().put_text(text_[0] == kUnset ? nullptr : text_.data()); }

 private:
  static constexpr size_t kMostBytes = 4096;
  static constexpr char kUnset = 1;  // no text of ours begins with it
  std::array<char, kMostBytes> text_;
};

using Serve = void (*)(Incoming& call);
// Null for what ranks as processes do not have.
Serve serve_function(CallId id);
Serve serve_special(SpecialCall what);

}  // namespace sesame::remote
