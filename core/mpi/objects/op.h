// MPI reduction operations (MPI 4.1, section 6.9), predefined and user-defined, and each rank's
// table of their handles.
//
// Use: OpTable::find() gives the object of a handle; check with op_is_valid(), then call
// reduce_local(). An OpObject is immutable and reference counted, because a pending non-blocking
// collective outlives MPI_Op_free: keep an OpRef. One thread; predefined objects are shared by all
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;
class OpTable;

// Calls a user's function on `count` elements. Defined by the entry points, which know the
// function's signature and the handles of the binary interface.
using OpInvoker = void (*)(const ProxiedFunction& function, const void* in, void* inout,
                           Count count, Datatype datatype);

class OpObject {
 public:
  Op handle() const { return handle_; }
  bool is_commutative() const { return is_commutative_; }
  bool is_predefined() const { return invoker_ == nullptr; }

  void add_reference() const { references_ += !is_immortal_; }
  void release() const {
    if (!is_immortal_ && --references_ == 0) destroy();
  }

 private:
  friend class OpTable;
  friend void reduce_local(const void*, void*, Count, const DatatypeObject&, const OpObject&);
  OpObject() = default;
  void destroy() const;

  Op handle_ = MPI_OP_NULL;
  mutable uint32_t references_ = 0;
  bool is_commutative_ = true;
  bool is_immortal_ = false;
  bool is_freed_ = false;
  bool counts_are_int_ = false;
  OpInvoker invoker_ = nullptr;
  ProxiedFunction function_;
  OpTable* table_ = nullptr;
};

// A counted reference to an operation.
class OpRef {
 public:
  OpRef() = default;
  explicit OpRef(const OpObject* object) : object_(object) {
    if (object_ != nullptr) object_->add_reference();
  }
  OpRef(const OpRef& other) : OpRef(other.object_) {}
  OpRef(OpRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  OpRef& operator=(OpRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~OpRef() {
    if (object_ != nullptr) object_->release();
  }
  const OpObject* get() const { return object_; }
  const OpObject& operator*() const { return *object_; }
  const OpObject* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const OpObject* object_ = nullptr;
};

// The operation handles of one rank.
class OpTable {
 public:
  OpTable();
  ~OpTable();
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  // Null when invalid. A freed handle stays valid while the object is referenced.
  const OpObject* find(Op handle) const {
    const uint32_t bits = static_cast<uint32_t>(handle);
    if ((bits & 0xfffffff0) == 0x58000000) return builtins_[bits & 0xf];
    const uint32_t index = bits & 0xffffff;
    return (bits >> 24) == 0x98 && index < slots_.size() ? slots_[index] : nullptr;
  }

  // `counts_are_int`: the function takes its length as an int, so that longer vectors are passed in
  // several calls. Return MPI error classes.
  int create(Function function, OpInvoker invoker, bool commutative, bool counts_are_int, Op* out);
  int free(Op* op);
  // Calls the function through this proxy of another language (ProxiedFunction).
  void set_proxy(Op op, Function proxy);
  size_t live_count() const;

 private:
  friend class OpObject;
  void forget(const OpObject* object);

  const OpObject* const* builtins_;
  std::vector<OpObject*> slots_;
  std::vector<uint32_t> free_slots_;
};

// Return MPI_SUCCESS if `op` may reduce elements of this type, otherwise MPI_ERR_OP. Predefined
// operations are valid for the predefined types that the standard lists, and for a few more as in
// MPICH. User operations are valid for any type, but not in one-sided accumulation. MPI_REPLACE and
// MPI_NO_OP are valid only there.
int op_is_valid(const OpObject& op, const DatatypeObject& type);
int op_is_valid_for_accumulate(const OpObject& op, const DatatypeObject& type);

// inout[i] = in[i] op inout[i] for i < count. REQUIRES: op_is_valid(). The buffers hold `count`
// copies of the type in its own layout (not packed).
void reduce_local(const void* in, void* inout, Count count, const DatatypeObject& type,
                  const OpObject& op);

}  // namespace sesame::mpi
