// Attribute caching: values that a program hangs on communicators, datatypes and windows under
// keys of its own (keyvals), with functions that copy and delete them. Everything belongs to one
// rank. Functions return MPI error classes; for a copy or delete function of the program that fails
// the code that it returned, if the program added that code to MPI's, and MPI_ERR_OTHER otherwise.
#pragma once

#include <memory>
#include <vector>

#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct CommObject;

// The largest tag, which MPI_TAG_UB reports.
inline constexpr int kTagUpperBound = 0x7fffffff;

struct KeyvalObject;
using KeyvalTable = HandleTable<KeyvalObject, 0xa4000000>;

// Lives, and its handle stays good, as long as an attribute uses it, also after
// MPI_Comm_free_keyval.
struct KeyvalObject : Counted {
  int handle = MPI_KEYVAL_INVALID;
  AttributeOwner owner = AttributeOwner::kComm;
  ProxiedFunction copy;
  ProxiedFunction remove;
  void* extra_state = nullptr;
  bool freed = false;
  KeyvalTable* table = nullptr;  // null once the rank's tables are gone
};

struct Attribute {
  explicit Attribute(KeyvalObject* keyval_in) : keyval(keyval_in) { retain(keyval); }
  ~Attribute();
  Attribute(const Attribute&) = delete;
  Attribute& operator=(const Attribute&) = delete;

  KeyvalObject* keyval;
  AttributeType type = AttributeType::kPointer;
  // By type: the pointer, or the integer at this address. C programs get the integer's address.
  void* value = nullptr;
};

// The attributes of one object in the order in which they were set.
class AttributeSet {
 public:
  Attribute* find(const KeyvalObject& keyval);

  // Replaces an attribute after its delete function has succeeded. `object` is the owner's handle.
  int set(KeyvalObject& keyval, int object, AttributeType type, void* value);
  // Success if there is none.
  int remove(KeyvalObject& keyval, int object);
  // The last one set first; stops at a delete function that fails.
  int remove_all(int object);
  // Adds to `copy` what the copy functions want there. `object` is the handle of this set's owner.
  int copy_to(AttributeSet& copy, int object) const;

  bool empty() const { return entries_.empty(); }

 private:
  int call_delete(const Attribute& attribute, int object) const;
  void erase(const Attribute* attribute);

  std::vector<std::unique_ptr<Attribute>> entries_;
};

// The two bits of a keyval's handle that tell what its attributes hang on.
inline constexpr int kKeyvalOwnerMask = 0x03c00000;

// For MPI_Comm_dup and MPI_Comm_free.
int copy_attributes(const CommObject& from, CommObject& to);
int delete_attributes(CommObject& comm);

}  // namespace sesame::mpi
