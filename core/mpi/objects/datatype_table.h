// DatatypeTable: the datatype handles of one rank. The predefined types, which all ranks share, are
// valid handles of every table. The names and attributes that the program gives them are the
// rank's. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {

class DatatypeTable {
 public:
  DatatypeTable();
  ~DatatypeTable();  // types that are still referenced keep existing without a handle
  DatatypeTable(const DatatypeTable&) = delete;
  DatatypeTable& operator=(const DatatypeTable&) = delete;

  // The object of a handle, or null. The handle of a freed type stays valid while the object is
  // referenced, so that a user's reduction function can query the type that it is passed. Each
  // message calls this, so it is inlined in all three simulators.
  [[gnu::always_inline]] const DatatypeObject* find(Datatype handle) const {
    const uint32_t bits = static_cast<uint32_t>(handle);
    const DatatypeObject* object = nullptr;
    if ((bits >> 16) == kBuiltinBits) {
      object = builtins_[bits & 0xff];
      if (object == nullptr || object->handle_ != handle) return nullptr;
    } else if ((bits >> 24) == kDynamicBits) {
      const uint32_t index = bits & 0xffffff;
      if (index < kFirstDynamic) return builtins_[kPairSlot + index];
      object = slots_.find(index - kFirstDynamic);
    }
    return object;
  }

  // Adds a new object: gives it a handle and takes one reference for the user.
  Datatype insert(DatatypeObject* object);
  // MPI_Type_commit and MPI_Type_free on the object; return MPI error classes.
  int commit(Datatype handle);
  int free(Datatype handle);

  // The rank's name and attributes for any valid handle, also of a predefined type. The attribute
  // code owns what the pointer refers to, and must clear it before the type is freed.
  void*& attributes(Datatype handle);
  std::string_view name(Datatype handle) const;
  void set_name(Datatype handle, std::string_view name);

  // Types that are made only once for the same parameters (Fortran 90 kinds, value-index pairs).
  struct Cached {
    int combiner;
    int first, second;
    Datatype handle;
  };
  const Cached* find_cached(int combiner, int first, int second) const;
  void add_cached(const Cached& entry) { cache_.push_back(entry); }

  // The number of derived types whose handles have not been freed.
  size_t live_count() const;

 private:
  static constexpr uint32_t kBuiltinBits = 0x4c00;
  static constexpr uint32_t kDynamicBits = 0x8c;
  static constexpr uint32_t kFirstDynamic = 16;
  static constexpr uint32_t kPairSlot = 256;

  struct BuiltinState {
    Datatype handle;
    std::string name;
    bool is_named = false;
    void* attributes = nullptr;
  };
  DatatypeObject* find_mutable(Datatype handle) {
    return const_cast<DatatypeObject*>(find(handle));
  }
  BuiltinState& builtin_state(Datatype handle);

  const DatatypeObject* const* builtins_;  // 256 by handle bits, then kFirstDynamic pair types
  DatatypeSlots slots_;
  std::vector<std::unique_ptr<BuiltinState>> builtin_states_;
  std::vector<Cached> cache_;
};

}  // namespace sesame::mpi
