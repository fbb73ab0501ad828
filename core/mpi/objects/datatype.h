// MPI datatypes (MPI 4.1, chapter 5) and each rank's table of their handles.
//
// Use: DatatypeTable::find() gives the object of a handle; datatype_create.h makes new types,
// datatype_query.h answers the program's questions, pack.h copies data. Keep a DatatypeRef to use a
// type after the call.
//
// A DatatypeObject is immutable after its creation, except for its commit flag, its name and the
// pointer that the attribute code stores with it. It is reference counted, because derived types
// and pending communication outlive MPI_Type_free. Lengths and displacements are bytes. One thread.
// Predefined types are built once, never change and are shared by all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;
class DatatypeTable;
struct LayoutNode;
class LayoutStorage;
enum class BasicKind : uint8_t;

// A counted reference to a datatype. Counting is skipped for the shared predefined types.
class DatatypeRef {
 public:
  DatatypeRef() = default;
  explicit DatatypeRef(const DatatypeObject* object);
  DatatypeRef(const DatatypeRef& other) : DatatypeRef(other.object_) {}
  DatatypeRef(DatatypeRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  DatatypeRef& operator=(DatatypeRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~DatatypeRef();

  const DatatypeObject* get() const { return object_; }
  const DatatypeObject& operator*() const { return *object_; }
  const DatatypeObject* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const DatatypeObject* object_ = nullptr;
};

// The constructor call that made a type, for MPI_Type_get_envelope and MPI_Type_get_contents.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<Aint> addresses;
  std::vector<Count> large_counts;
  std::vector<DatatypeRef> types;
};

// The type map as a loop over older types, not optimised. kBasic: one basic element.
// kVector: `count` blocks of `blocklength` consecutive types[0], `stride` bytes apart, the first
// at `displacement`. kStruct: blocks of blocklengths[i] (or of `blocklength` each, when that list
// is empty) consecutive types[i] (types[0], when there is one only) at displacements[i].
struct TypeMap {
  enum class Kind : uint8_t { kBasic, kVector, kStruct };
  Kind kind = Kind::kBasic;
  Count count = 1;
  Count blocklength = 1;
  Aint stride = 0;
  Aint displacement = 0;
  std::vector<Aint> displacements;
  std::vector<Count> blocklengths;
  std::vector<DatatypeRef> types;

  Aint block_displacement(Count index) const {
    return kind == Kind::kStruct ? displacements[index] : displacement + index * stride;
  }
  Count block_length(Count index) const {
    return blocklengths.empty() ? blocklength : blocklengths[index];
  }
  const DatatypeObject& block_type(Count index) const {
    return types.size() == 1 ? *types[0] : *types[index];
  }
};

// Size and bounds of a type map, in bytes. Explicit bounds come from MPI_LB and MPI_UB and take
// precedence over those of the data. A type map without data has size 0 and, unless explicit,
// bounds 0.
struct TypeBounds {
  Count size = 0;
  Count element_count = 0;  // basic elements in one copy
  Aint lb = 0, ub = 0;
  Aint true_lb = 0, true_ub = 0;
  Aint alignment = 1;  // of the most strictly aligned basic element
  bool explicit_lb = false, explicit_ub = false;
};

class DatatypeObject {
 public:
  Datatype handle() const { return handle_; }
  Count size() const { return bounds_.size; }
  Aint lb() const { return bounds_.lb; }
  Aint ub() const { return bounds_.ub; }
  Aint extent() const { return bounds_.ub - bounds_.lb; }
  Aint true_lb() const { return bounds_.true_lb; }
  Aint true_extent() const { return bounds_.true_ub - bounds_.true_lb; }
  const TypeBounds& bounds() const { return bounds_; }

  // True when `count` copies are count * size() bytes in one block that starts at the buffer.
  bool is_contiguous() const { return is_contiguous_; }
  // The number of bytes from the first to the last byte that `count` copies use (true extent).
  Count span(Count count) const;

  bool is_committed() const { return is_committed_; }
  // Predefined types, named or not (Fortran 90 kinds, value-index pairs), may not be freed.
  bool is_predefined() const { return is_predefined_; }
  int combiner() const { return contents_.combiner; }
  // The representation of one element, for predefined types; BasicKind::kNone for derived ones.
  BasicKind basic_kind() const { return basic_kind_; }

  // The SignatureId of its elements (type_signature.h).
  uint32_t signature() const {
    if (signature_ == kUnknownSignature) [[unlikely]]
      find_signature();
    return signature_;
  }

  const TypeMap& type_map() const { return type_map_; }
  const TypeContents& contents() const { return contents_; }
  // The optimised loop nest that pack.h runs; offsets in it count from layout_offset().
  const LayoutNode& layout() const { return *layout_; }
  Aint layout_offset() const { return layout_offset_; }

  void add_reference() const { references_ += !is_immortal_; }
  void release() const {
    if (!is_immortal_ && --references_ == 0) destroy();
  }

  DatatypeObject(const DatatypeObject&) = delete;
  DatatypeObject& operator=(const DatatypeObject&) = delete;

 private:
  friend class DatatypeTable;
  friend class DatatypeBuilder;
  static constexpr uint32_t kUnknownSignature = UINT32_MAX;
  DatatypeObject();
  ~DatatypeObject();
  void destroy() const;
  void find_signature() const;

  TypeBounds bounds_;
  const LayoutNode* layout_ = nullptr;
  Aint layout_offset_ = 0;
  Datatype handle_ = MPI_DATATYPE_NULL;
  mutable uint32_t references_ = 0;
  mutable uint32_t signature_ = kUnknownSignature;
  BasicKind basic_kind_{};
  bool is_contiguous_ = false;
  bool is_committed_ = false;
  bool is_predefined_ = false;
  bool is_immortal_ = false;
  bool is_freed_ = false;
  DatatypeTable* table_ = nullptr;  // null for internal types and once the table is gone
  TypeMap type_map_;
  TypeContents contents_;
  std::unique_ptr<LayoutStorage> storage_;
  std::string name_;
  void* attributes_ = nullptr;
};

inline DatatypeRef::DatatypeRef(const DatatypeObject* object) : object_(object) {
  if (object_ != nullptr) object_->add_reference();
}
inline DatatypeRef::~DatatypeRef() {
  if (object_ != nullptr) object_->release();
}

// The datatype handles of one rank.
class DatatypeTable {
 public:
  DatatypeTable();
  ~DatatypeTable();  // types that are still referenced keep existing without a handle
  DatatypeTable(const DatatypeTable&) = delete;
  DatatypeTable& operator=(const DatatypeTable&) = delete;

  // The object of a handle, or null. The handle of a freed type stays valid while the object is
  // referenced, so that a user's reduction function can query the type that it is passed.
  const DatatypeObject* find(Datatype handle) const {
    const uint32_t bits = static_cast<uint32_t>(handle);
    const DatatypeObject* object = nullptr;
    if ((bits >> 16) == kBuiltinBits) {
      object = builtins_[bits & 0xff];
      if (object == nullptr || object->handle_ != handle) return nullptr;
    } else if ((bits >> 24) == kDynamicBits) {
      const uint32_t index = bits & 0xffffff;
      if (index < kFirstDynamic) return builtins_[kPairSlot + index];
      if (index - kFirstDynamic < slots_.size()) object = slots_[index - kFirstDynamic];
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
  friend class DatatypeObject;
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
  void forget(const DatatypeObject* object);

  const DatatypeObject* const* builtins_;  // 256 by handle bits, then kFirstDynamic pair types
  std::vector<DatatypeObject*> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<std::unique_ptr<BuiltinState>> builtin_states_;
  std::vector<Cached> cache_;
};

}  // namespace sesame::mpi
