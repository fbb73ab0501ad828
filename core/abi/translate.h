// What the generated entry points of a binary interface other than MPICH's need to translate
// arguments. Its types are those of SESAME_ABI_TYPES (mpiabi_types.h, openmpi_types.h). Here are a
// function x_in (from the program) or x_out (to it) for values, a class where something comes back
// through an argument: get() is passed on, store() hands the result to the program. Constants that
// the standard does not define become kInvalid, which every check of ours rejects.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include SESAME_ABI_TYPES
#include "core/abi/narrow.h"
#include "core/mpi/calls/array_lengths.h"
#include "core/mpi/objects/callbacks.h"

namespace sesame::abi {

inline constexpr int kInvalid = -1000000;

using AbiComm = AbiHandle<ConstantKind::comm>;
using AbiDatatype = AbiHandle<ConstantKind::datatype>;
using AbiErrhandler = AbiHandle<ConstantKind::errhandler>;
using AbiGroup = AbiHandle<ConstantKind::group>;
using AbiInfo = AbiHandle<ConstantKind::info>;
using AbiMessage = AbiHandle<ConstantKind::message>;
using AbiOp = AbiHandle<ConstantKind::op>;
using AbiRequest = AbiHandle<ConstantKind::request>;
using AbiSession = AbiHandle<ConstantKind::session>;
using AbiWin = AbiHandle<ConstantKind::win>;

// ---- Values ----

// Those of nearly every call are inlined: three of them find the running rank once.
[[gnu::always_inline]] inline Comm comm_in(AbiComm handle) { return AbiComm::in(handle); }
[[gnu::always_inline]] inline Datatype datatype_in(AbiDatatype handle) {
  return AbiDatatype::in(handle);
}
inline Errhandler errhandler_in(AbiErrhandler handle) { return AbiErrhandler::in(handle); }
inline File file_in(AbiFile handle) { return AbiFile::in(handle); }
inline Group group_in(AbiGroup handle) { return AbiGroup::in(handle); }
inline Info info_in(AbiInfo handle) { return AbiInfo::in(handle); }
inline Message message_in(AbiMessage handle) { return AbiMessage::in(handle); }
inline Op op_in(AbiOp handle) { return AbiOp::in(handle); }
inline Request request_in(AbiRequest handle) { return AbiRequest::in(handle); }
inline Session session_in(AbiSession handle) { return AbiSession::in(handle); }
inline Win win_in(AbiWin handle) { return AbiWin::in(handle); }

template <typename Handle>
typename Handle::Inside object_at(const Handle* handle) {
  return handle == nullptr ? typename Handle::Inside{} : Handle::in(*handle);
}

constexpr int rank_in(int rank) {
  return rank >= 0 ? rank : constant_in<ConstantKind::rank>(rank, kInvalid);
}
constexpr int rank_out(int rank) {
  return rank >= 0 ? rank : constant_out<ConstantKind::rank>(rank, rank);
}
inline int tag_in(int tag) {
  return tag >= 0 ? tag : constant_in<ConstantKind::tag>(tag, kInvalid);
}
inline int tag_out(int tag) { return tag >= 0 ? tag : constant_out<ConstantKind::tag>(tag, tag); }

// Error classes that the program adds follow MPI_ERR_LASTCODE, here and there.
inline int error_in(int error) {
  if (error > kAbiLastCode) return error - kAbiLastCode + MPI_ERR_LASTCODE;
  return constant_in<ConstantKind::error>(error, error);
}
inline int error_out(int error) {
  if (error == MPI_SUCCESS) [[likely]]
    return error;
  if (error > MPI_ERR_LASTCODE) return error - MPI_ERR_LASTCODE + kAbiLastCode;
  return constant_out<ConstantKind::error>(error, error);
}

// Keyvals that the program creates keep their numbers.
inline int keyval_in(int keyval) { return constant_in<ConstantKind::keyval>(keyval, keyval); }
inline int keyval_out(int keyval) { return constant_out<ConstantKind::keyval>(keyval, keyval); }

#define SESAME_ABI_TRANSLATION(kind)                                                           \
  inline int kind##_in(int value) { return constant_in<ConstantKind::kind>(value, kInvalid); } \
  inline int kind##_out(int value) { return constant_out<ConstantKind::kind>(value, value); }
SESAME_ABI_TRANSLATION(combiner)
SESAME_ABI_TRANSLATION(comparison)
SESAME_ABI_TRANSLATION(distribution)
SESAME_ABI_TRANSLATION(lock_type)
SESAME_ABI_TRANSLATION(order)
SESAME_ABI_TRANSLATION(thread_level)
SESAME_ABI_TRANSLATION(typeclass)
SESAME_ABI_TRANSLATION(whence)
#undef SESAME_ABI_TRANSLATION

// MPI_UNDEFINED is the same on both sides.
inline int split_type_in(int type) {
  if (type == MPI_UNDEFINED) return type;
  return constant_in<ConstantKind::split_type>(type, kInvalid);
}
inline int topology_out(int topology) {
  return constant_out<ConstantKind::topology>(topology, topology);
}
inline int distribution_argument_in(int argument) {
  return constant_in<ConstantKind::distribution_argument>(argument, argument);
}
inline int distribution_argument_out(int argument) {
  return constant_out<ConstantKind::distribution_argument>(argument, argument);
}

// Sums of flags.
template <ConstantKind kind>
int flags_in(int flags) {
  int inside = 0;
  for (const Constant& constant : kConstantsOf<kind>) {
    if ((flags & constant.abi) != 0) inside |= constant.inside;
  }
  return inside;
}
template <ConstantKind kind>
int flags_out(int flags) {
  int abi = 0;
  for (const Constant& constant : kConstantsOf<kind>) {
    if ((flags & constant.inside) != 0) abi |= constant.abi;
  }
  return abi;
}
inline int access_mode_in(int mode) { return flags_in<ConstantKind::access_mode>(mode); }
inline int access_mode_out(int mode) { return flags_out<ConstantKind::access_mode>(mode); }
inline int win_assertion_in(int flags) {
  const int inside = flags_in<ConstantKind::win_assertion>(flags);
  return flags_out<ConstantKind::win_assertion>(inside) == flags ? inside : kInvalid;
}

// MPI_BOTTOM is null on both sides.
template <typename Pointer>
Pointer buffer_in(Pointer buffer) {
  const auto address = reinterpret_cast<uintptr_t>(buffer);
  if (address - 1 > 1) [[likely]]
    return buffer;
  return address == kAbiInPlace ? MPI_IN_PLACE : MPI_BUFFER_AUTOMATIC;
}

template <typename Pointer>
Pointer weights_in(Pointer weights) {
  const auto address = reinterpret_cast<uintptr_t>(weights);
  if (address == kAbiUnweighted) return reinterpret_cast<Pointer>(kUnweightedAddress);
  if (address == kAbiWeightsEmpty) return reinterpret_cast<Pointer>(kWeightsEmptyAddress);
  return weights;
}

void status_in(const AbiStatus& status, Status* inside);
void status_out(const Status& status, AbiStatus* abi);

// ---- Results ----

// Integers; what the call does not set the program's variable keeps.
template <int (*translate)(int)>
class IntOut {
 public:
  explicit IntOut(int* target) : target_(target) {}
  int* get() { return target_ == nullptr ? nullptr : &value_; }
  void store() {
    if (target_ != nullptr && value_ != kUnset) *target_ = translate(value_);
  }

 private:
  static constexpr int kUnset = INT_MIN + 77;
  int* target_;
  int value_ = kUnset;
};

template <int (*translate_in)(int), int (*translate_out)(int)>
class IntInOut {
 public:
  explicit IntInOut(int* target) : target_(target) {
    if (target != nullptr) value_ = translate_in(*target);
  }
  int* get() { return target_ == nullptr ? nullptr : &value_; }
  void store() {
    if (target_ != nullptr) *target_ = translate_out(value_);
  }

 private:
  int* target_;
  int value_ = 0;
};

template <typename Handle>
class HandleOut {
 public:
  using Inside = typename Handle::Inside;

  explicit HandleOut(Handle* target) : target_(target) {}
  Inside* get() { return target_ == nullptr ? nullptr : &value_; }
  [[gnu::always_inline]] void store() {
    if (target_ != nullptr && value_ != unset()) *target_ = Handle::out(value_);
  }

 private:
  static Inside unset() {
    if constexpr (std::is_pointer_v<Inside>) {
      return reinterpret_cast<Inside>(-77L);
    } else {
      return 0;
    }
  }
  Handle* target_;
  Inside value_ = unset();
};

template <typename Handle>
class HandleInOut {
 public:
  using Inside = typename Handle::Inside;

  explicit HandleInOut(Handle* target) : target_(target), value_(object_at(target)) {}
  Inside* get() { return target_ == nullptr ? nullptr : &value_; }
  void store() {
    if (target_ != nullptr) *target_ = Handle::out(value_);
  }

 private:
  Handle* target_;
  Inside value_;
};

// An array of ours beside one of the program's; short ones on the stack.
template <typename T>
class Scratch {
 public:
  explicit Scratch(Count size) : size_(std::max<Count>(size, 0)) {
    if (size_ > static_cast<Count>(near_.size())) [[unlikely]]
      data_ = new T[static_cast<size_t>(size_)];
  }
  ~Scratch() {
    if (data_ != near_.data()) [[unlikely]]
      delete[] data_;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Count size() const { return size_; }
  T& operator[](Count index) { return data_[index]; }
  T* data() { return data_; }

 private:
  Count size_;
  T* data_ = near_.data();
  std::array<T, 16> near_;
};

template <int (*translate)(int)>
class IntArrayIn {
 public:
  IntArrayIn(const int* source, Count size) : is_null_(source == nullptr), values_(size) {
    for (Count i = 0; !is_null_ && i < values_.size(); ++i) values_[i] = translate(source[i]);
  }
  const int* get() { return is_null_ ? nullptr : values_.data(); }

 private:
  bool is_null_;
  Scratch<int> values_;
};

template <int (*translate)(int)>
class IntArrayOut {
 public:
  IntArrayOut(int* target, Count size) : target_(target), size_(size) {}
  int* get() { return target_; }
  void store() {
    for (Count i = 0; target_ != nullptr && i < size_; ++i) target_[i] = translate(target_[i]);
  }

 private:
  int* target_;
  Count size_;
};

template <typename Handle>
class HandleArrayIn {
 public:
  HandleArrayIn(const Handle* source, Count size) : is_null_(source == nullptr), values_(size) {
    for (Count i = 0; !is_null_ && i < values_.size(); ++i) values_[i] = Handle::in(source[i]);
  }
  const int* get() { return is_null_ ? nullptr : values_.data(); }

 private:
  bool is_null_;
  Scratch<int> values_;
};

template <typename Handle>
class HandleArrayOut {
 public:
  HandleArrayOut(Handle* target, Count size) : target_(target), values_(size) {
    for (Count i = 0; i < values_.size(); ++i) values_[i] = 0;
  }
  int* get() { return target_ == nullptr ? nullptr : values_.data(); }
  void store() {
    for (Count i = 0; target_ != nullptr && i < values_.size(); ++i) {
      if (values_[i] != 0) target_[i] = Handle::out(values_[i]);
    }
  }

 private:
  Handle* target_;
  Scratch<int> values_;
};

template <typename Handle>
class HandleArrayInOut {
 public:
  HandleArrayInOut(Handle* target, Count size) : target_(target), values_(size) {
    for (Count i = 0; target != nullptr && i < values_.size(); ++i) {
      values_[i] = Handle::in(target[i]);
    }
  }
  int* get() { return target_ == nullptr ? nullptr : values_.data(); }
  // Of completed requests all are null: what one handle becomes is kept for the next.
  void store() {
    if (target_ == nullptr || values_.size() == 0) return;
    int inside = values_[0];
    Handle handle = Handle::out(inside);
    for (Count i = 0; i < values_.size(); ++i) {
      if (values_[i] != inside) handle = Handle::out(inside = values_[i]);
      target_[i] = handle;
    }
  }

 private:
  Handle* target_;
  Scratch<int> values_;
};

class StatusIn {
 public:
  explicit StatusIn(const AbiStatus* source) : source_(source) {
    if (source != nullptr) status_in(*source, &status_);
  }
  // In this interface MPI_STATUS_IGNORE is null.
  const Status* get() { return source_ == nullptr ? MPI_STATUS_IGNORE : &status_; }

 private:
  const AbiStatus* source_;
  Status status_;
};

class StatusInOut {
 public:
  explicit StatusInOut(AbiStatus* target) : target_(target) {
    if (target != nullptr) status_in(*target, &status_);
  }
  Status* get() { return target_ == nullptr ? MPI_STATUS_IGNORE : &status_; }
  void store() {
    if (target_ != nullptr) status_out(status_, target_);
  }

 private:
  AbiStatus* target_;
  Status status_;
};

// Statuses that the call may set in part: the error field of a single completion is left alone.
class StatusArrayOut {
 public:
  StatusArrayOut(AbiStatus* target, Count size)
      : target_(target), statuses_(target == nullptr ? 0 : size) {
    if (target != nullptr) clear();
  }
  Status* get() { return target_ == nullptr ? MPI_STATUSES_IGNORE : statuses_.data(); }
  void store() {
    if (target_ != nullptr) store_all();
  }

 private:
  void clear();
  void store_all();

  AbiStatus* target_;
  Scratch<Status> statuses_;
};

class StatusOut {
 public:
  explicit StatusOut(AbiStatus* target) : target_(target) {
    if (target != nullptr) status_ = kEmpty;
  }
  Status* get() { return target_ == nullptr ? MPI_STATUS_IGNORE : &status_; }
  void store() {
    if (target_ != nullptr) store_fields();
  }

  // A status with no field set.
  static constexpr int kUnset = INT_MIN + 77;
  static constexpr Status kEmpty{0, 0, kUnset, kUnset, kUnset};

 private:
  void store_fields();

  AbiStatus* target_;
  Status status_;
};

// Attribute values of the program pass unchanged; where a predefined attribute is the address of a
// constant, the program gets the address of that constant's value in its own interface.
class AttributeOut {
 public:
  AttributeOut(void* target, int keyval);
  void* get() { return target_; }
  void store();

 private:
  void** target_;
  int keyval_;
};

// A text of which the program has memory for kLimit bytes, with the null byte: what is longer is
// cut.
template <size_t kLimit>
class ShortString {
 public:
  explicit ShortString(char* target) : target_(target) {}
  char* get() { return target_ == nullptr ? nullptr : text_.data(); }
  void store() {
    if (target_ == nullptr || text_[0] == kUnset) return;
    text_[kLimit - 1] = 0;
    std::strcpy(target_, text_.data());
  }

 private:
  static constexpr char kUnset = 1;  // no text of ours begins with it
  char* target_;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text_{kUnset};
};

// The length of such a text.
template <int kLimit>
class ShortLength {
 public:
  explicit ShortLength(int* target) : target_(target) {}
  int* get() { return target_; }
  void store() {
    if (target_ != nullptr) *target_ = std::min(*target_, kLimit - 1);
  }

 private:
  int* target_;
};

class BufferAddressOut {
 public:
  explicit BufferAddressOut(void* target) : target_(static_cast<void**>(target)) {}
  void* get() { return target_ == nullptr ? nullptr : &value_; }
  void store();

 private:
  static inline void* const kUnset = reinterpret_cast<void*>(-77L);
  void** target_;
  void* value_ = kUnset;
};

// What MPI_Type_get_contents tells of a subarray or darray has constants among its integers.
class ContentIntegers {
 public:
  ContentIntegers(int* target, Datatype datatype) : target_(target), datatype_(datatype) {}
  int* get() { return target_; }
  void store();

 private:
  int* target_;
  Datatype datatype_;
};

}  // namespace sesame::abi
