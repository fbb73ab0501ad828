// MPI datatypes (MPI 4.1, chapter 5).
//
// Use: DatatypeTable::find() (datatype_table.h) gives the object of a handle; datatype_create.h
// makes new types, datatype_query.h answers the program's questions, pack.h copies data. Keep a
// DatatypeRef to use a type after the call.
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

// The handles of derived types: the slots of a DatatypeTable. A type frees its slot when the last
// reference to it is released.
class DatatypeSlots {
 public:
  // Null if the slot is free or does not exist.
  DatatypeObject* find(uint32_t slot) const {
    return slot < objects_.size() ? objects_[slot] : nullptr;
  }
  // Returns the slot that the object takes. Freed slots are reused, the last one first.
  uint32_t add(DatatypeObject* object);
  void free(uint32_t slot);
  std::vector<DatatypeObject*>& objects() { return objects_; }
  const std::vector<DatatypeObject*>& objects() const { return objects_; }

 private:
  std::vector<DatatypeObject*> objects_;
  std::vector<uint32_t> free_;
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
  DatatypeSlots* slots_ = nullptr;  // null for internal types and once the table is gone
  uint32_t slot_ = 0;               // among `slots_`
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

}  // namespace sesame::mpi
