// Attribute caching (MPI 4.1, section 7.7): values that a program attaches to communicators,
// datatypes and windows under keys (keyvals), with functions of the program that copy and delete
// them. The object owns its AttributeSet; keyvals are reference counted. Everything belongs to one
// rank. Functions return MPI error classes. If a copy or delete function of the program fails, they
// return its error code if the program has added this code, otherwise MPI_ERR_OTHER.
#pragma once

#include <memory>
#include <vector>

#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

// The largest tag, which MPI_TAG_UB reports.
inline constexpr int kTagUpperBound = 0x7fffffff;

struct KeyvalObject;
using KeyvalTable = HandleTable<KeyvalObject, 0xa4000000>;

// A key. It exists, and its handle stays valid, as long as an attribute uses it, also after
// MPI_Comm_free_keyval.
struct KeyvalObject : Counted {
  int handle = MPI_KEYVAL_INVALID;
  AttributeOwner owner = AttributeOwner::kComm;
  ProxiedFunction copy;
  ProxiedFunction remove;
  void* extra_state = nullptr;
  bool freed = false;
  KeyvalTable* table = nullptr;  // null after the rank's tables were deleted
};

struct Attribute {
  explicit Attribute(KeyvalObject* keyval_in) : keyval(keyval_in) { retain(keyval); }
  ~Attribute();
  Attribute(const Attribute&) = delete;
  Attribute& operator=(const Attribute&) = delete;

  KeyvalObject* keyval;
  AttributeType type = AttributeType::kPointer;
  // By type: the pointer, or the address of the integer. C programs get the integer's address.
  void* value = nullptr;
};

// The attributes of one object in the order in which they were set.
class AttributeSet {
 public:
  Attribute* find(const KeyvalObject& keyval);

  // Replaces an attribute after its delete function has succeeded. `object` is the owner's handle.
  int set(KeyvalObject& keyval, int object, AttributeType type, void* value);
  // MPI_SUCCESS if there is none.
  int remove(KeyvalObject& keyval, int object);
  // Removes the attribute set last first; stops at a delete function that fails.
  int remove_all(int object);
  // Adds to `copy` the attributes that their copy functions copy. `object` is the handle of this
  // set's owner.
  int copy_to(AttributeSet& copy, int object) const;

  bool empty() const { return entries_.empty(); }

 private:
  int call_delete(const Attribute& attribute, int object) const;
  void erase(const Attribute* attribute);

  std::vector<std::unique_ptr<Attribute>> entries_;
};

// The bits of a keyval's handle that hold the kind of object it is for.
inline constexpr int kKeyvalOwnerMask = 0x03c00000;

// copy_to() and remove_all() for sets that may be null, for MPI_Comm_dup and MPI_Comm_free.
// `object` is the handle of the owner of the existing set.
int copy_attributes(const AttributeSet* from, int object, std::unique_ptr<AttributeSet>& to);
int delete_attributes(AttributeSet* attributes, int object);

}  // namespace sesame::mpi
