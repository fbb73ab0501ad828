#include "core/mpi/calls/attribute_calls.h"

#include "core/base/check.h"
#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/rma/window.h"

namespace sesame::mpi {
namespace {

// A keyval's handle is 0xa4000000, bits that identify the kind of owner as in MPICH, and an index.
int owner_bits(AttributeOwner owner) {
  switch (owner) {
    case AttributeOwner::kComm:
      return 0x00400000;
    case AttributeOwner::kDatatype:
      return 0x00c00000;
    case AttributeOwner::kWin:
      return 0x02000000;
  }
  return 0;
}

const char* owner_text(AttributeOwner owner) {
  switch (owner) {
    case AttributeOwner::kComm:
      return "communicators";
    case AttributeOwner::kDatatype:
      return "datatypes";
    case AttributeOwner::kWin:
      return "windows";
  }
  return "";
}

bool is_predefined_keyval(int keyval) {
  return (keyval & ~0xf) == (MPI_TAG_UB & ~0xf) || (keyval & ~0xf) == (MPI_WIN_BASE & ~0xf);
}

int check_keyval(int handle, AttributeOwner owner, KeyvalObject** keyval) {
  *keyval = nullptr;
  if (is_predefined_keyval(handle)) {
    return fail(MPI_ERR_KEYVAL, "the keyval is predefined, and its attribute cannot be changed");
  }
  if (handle != MPI_KEYVAL_INVALID) {
    *keyval = this_rank().objects.keyvals.find(handle & ~kKeyvalOwnerMask);
  }
  if (*keyval == nullptr) {
    return fail(MPI_ERR_KEYVAL, handle == MPI_KEYVAL_INVALID ? "the keyval is MPI_KEYVAL_INVALID"
                                                             : "no such keyval, or it was freed");
  }
  if ((*keyval)->owner != owner || (*keyval)->handle != handle) {
    return fail(MPI_ERR_KEYVAL, std::string("the keyval was made for attributes of ") +
                                    owner_text((*keyval)->owner) + ", not of " + owner_text(owner));
  }
  return MPI_SUCCESS;
}

// The value of a predefined attribute of communicators, or null.
const int* predefined_value(Rank& rank, int keyval) {
  static constexpr int tag_ub = kTagUpperBound;
  static constexpr int no_host = MPI_PROC_NULL;
  static constexpr int io_everywhere = MPI_ANY_SOURCE;
  static constexpr int yes = 1;  // all ranks read one simulated clock
  switch (keyval) {
    case MPI_TAG_UB:
      return &tag_ub;
    case MPI_HOST:
      return &no_host;
    case MPI_IO:
      return &io_everywhere;
    case MPI_WTIME_IS_GLOBAL:
      return &yes;
    case MPI_APPNUM:
      return &rank.application;
    case MPI_UNIVERSE_SIZE:
      return &rank.world.universe_size;
    case MPI_LASTUSEDCODE:
      return &rank.errors.last_used_code;
    default:
      return nullptr;
  }
}

// `out` is the address of a pointer in C; in the Fortran layer, of an integer of a pointer's size.
void hand_out(const Attribute& attribute, AttributeType asked, void* out) {
  const bool by_address =
      asked == AttributeType::kPointer && attribute.type != AttributeType::kPointer;
  *static_cast<const void**>(out) = by_address ? &attribute.value : attribute.value;
}

void hand_out_predefined(const int* value, AttributeType asked, void* out) {
  if (asked == AttributeType::kPointer) {
    *static_cast<const int**>(out) = value;
  } else {
    *static_cast<Aint*>(out) = *value;
  }
}

bool is_predefined_of_window(int keyval) {
  return keyval == MPI_WIN_BASE || keyval == MPI_WIN_SIZE || keyval == MPI_WIN_DISP_UNIT ||
         keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL;
}

// C gets the base itself, and the addresses of the size and the other values.
void hand_out_of_window(WindowObject& window, int keyval, AttributeType asked, void* out) {
  switch (keyval) {
    case MPI_WIN_BASE:
      *static_cast<void**>(out) = address_in_program(window, window.me());
      return;
    case MPI_WIN_SIZE:
      if (asked == AttributeType::kPointer) {
        *static_cast<const Aint**>(out) = &window.size;
      } else {
        *static_cast<Aint*>(out) = window.size;
      }
      return;
    case MPI_WIN_DISP_UNIT:
      return hand_out_predefined(&window.displacement_unit, asked, out);
    case MPI_WIN_CREATE_FLAVOR:
      return hand_out_predefined(&window.flavor, asked, out);
    default:
      return hand_out_predefined(&window.model, asked, out);
  }
}

int get_from(AttributeSet* set, const KeyvalObject& keyval, AttributeType asked, void* out,
             int* flag) {
  const Attribute* attribute = set != nullptr ? set->find(keyval) : nullptr;
  *flag = attribute != nullptr;
  if (attribute != nullptr) hand_out(*attribute, asked, out);
  return MPI_SUCCESS;
}

int check_type(Datatype datatype, AttributeSet** set) {
  Rank& rank = this_rank();
  if (rank.datatypes.find(datatype) == nullptr) {
    return fail(MPI_ERR_TYPE, datatype == MPI_DATATYPE_NULL ? "the datatype is MPI_DATATYPE_NULL"
                                                            : "no such datatype, or it was freed");
  }
  *set = static_cast<AttributeSet*>(rank.datatypes.attributes(datatype));
  return MPI_SUCCESS;
}

// For MPI_Comm_create_keyval, MPI_Type_create_keyval and MPI_Win_create_keyval.
int create_keyval(AttributeOwner owner, Function copy, Function remove, void* extra_state,
                  int* keyval) {
  MPI_TRY(check_out(keyval, "the keyval"));
  auto* object = new KeyvalObject;
  object->owner = owner;
  object->copy.function = copy;
  object->remove.function = remove;
  object->extra_state = extra_state;
  object->table = &this_rank().objects.keyvals;
  object->handle = object->table->add(object) | owner_bits(owner);
  *keyval = object->handle;
  return MPI_SUCCESS;
}

int free_keyval(AttributeOwner owner, int* keyval) {
  MPI_TRY(check_out(keyval, "the keyval"));
  KeyvalObject* object;
  MPI_TRY(check_keyval(*keyval, owner, &object));
  object->freed = true;
  if (object->references == 1) release(object->table->remove(*keyval & ~kKeyvalOwnerMask));
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

}  // namespace

void Keyval_set_proxies(int keyval, Function copy_proxy, Function delete_proxy) {
  KeyvalObject* object = this_rank().objects.keyvals.find(keyval & ~kKeyvalOwnerMask);
  if (object == nullptr) return;
  object->copy.proxy = copy_proxy;
  object->remove.proxy = delete_proxy;
}

int Comm_create_keyval(Function comm_copy_attr_fn, Function comm_delete_attr_fn, int* comm_keyval,
                       void* extra_state) {
  return create_keyval(AttributeOwner::kComm, comm_copy_attr_fn, comm_delete_attr_fn, extra_state,
                       comm_keyval);
}

int Comm_free_keyval(int* comm_keyval) { return free_keyval(AttributeOwner::kComm, comm_keyval); }

int Comm_set_attribute(Comm comm, int keyval, AttributeType type, void* value) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  KeyvalObject* key;
  MPI_TRY(check_keyval(keyval, AttributeOwner::kComm, &key));
  if (object->attributes == nullptr) object->attributes = std::make_unique<AttributeSet>();
  return object->attributes->set(*key, comm, type, value);
}

int Comm_get_attribute(Comm comm, int keyval, AttributeType asked, void* value, int* flag) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(value, "attribute_val"));
  MPI_TRY(check_out(flag, "flag"));
  if (const int* predefined = predefined_value(this_rank(), keyval); predefined != nullptr) {
    *flag = 1;
    hand_out_predefined(predefined, asked, value);
    return MPI_SUCCESS;
  }
  KeyvalObject* key;
  MPI_TRY(check_keyval(keyval, AttributeOwner::kComm, &key));
  return get_from(object->attributes.get(), *key, asked, value, flag);
}

int Comm_set_attr(Comm comm, int comm_keyval, void* attribute_val) {
  return Comm_set_attribute(comm, comm_keyval, AttributeType::kPointer, attribute_val);
}

int Comm_get_attr(Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  return Comm_get_attribute(comm, comm_keyval, AttributeType::kPointer, attribute_val, flag);
}

int Comm_delete_attr(Comm comm, int comm_keyval) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  KeyvalObject* key;
  MPI_TRY(check_keyval(comm_keyval, AttributeOwner::kComm, &key));
  return object->attributes != nullptr ? object->attributes->remove(*key, comm) : MPI_SUCCESS;
}

int Type_create_keyval(Function type_copy_attr_fn, Function type_delete_attr_fn, int* type_keyval,
                       void* extra_state) {
  return create_keyval(AttributeOwner::kDatatype, type_copy_attr_fn, type_delete_attr_fn,
                       extra_state, type_keyval);
}

int Type_free_keyval(int* type_keyval) {
  return free_keyval(AttributeOwner::kDatatype, type_keyval);
}

int Type_set_attribute(Datatype datatype, int keyval, AttributeType type, void* value) {
  AttributeSet* set;
  MPI_TRY(check_type(datatype, &set));
  KeyvalObject* key;
  MPI_TRY(check_keyval(keyval, AttributeOwner::kDatatype, &key));
  if (set == nullptr) this_rank().datatypes.attributes(datatype) = set = new AttributeSet;
  return set->set(*key, datatype, type, value);
}

int Type_get_attribute(Datatype datatype, int keyval, AttributeType asked, void* value, int* flag) {
  AttributeSet* set;
  MPI_TRY(check_type(datatype, &set));
  MPI_TRY(check_out(value, "attribute_val"));
  MPI_TRY(check_out(flag, "flag"));
  KeyvalObject* key;
  MPI_TRY(check_keyval(keyval, AttributeOwner::kDatatype, &key));
  return get_from(set, *key, asked, value, flag);
}

int Type_set_attr(Datatype datatype, int type_keyval, void* attribute_val) {
  return Type_set_attribute(datatype, type_keyval, AttributeType::kPointer, attribute_val);
}

int Type_get_attr(Datatype datatype, int type_keyval, void* attribute_val, int* flag) {
  return Type_get_attribute(datatype, type_keyval, AttributeType::kPointer, attribute_val, flag);
}

int Type_delete_attr(Datatype datatype, int type_keyval) {
  AttributeSet* set;
  MPI_TRY(check_type(datatype, &set));
  KeyvalObject* key;
  MPI_TRY(check_keyval(type_keyval, AttributeOwner::kDatatype, &key));
  return set != nullptr ? set->remove(*key, datatype) : MPI_SUCCESS;
}

int Win_create_keyval(Function win_copy_attr_fn, Function win_delete_attr_fn, int* win_keyval,
                      void* extra_state) {
  return create_keyval(AttributeOwner::kWin, win_copy_attr_fn, win_delete_attr_fn, extra_state,
                       win_keyval);
}

int Win_free_keyval(int* win_keyval) { return free_keyval(AttributeOwner::kWin, win_keyval); }

int Win_set_attribute(Win win, int keyval, AttributeType type, void* value) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  KeyvalObject* key;
  MPI_TRY(check_keyval(keyval, AttributeOwner::kWin, &key));
  if (window->attributes == nullptr) window->attributes = std::make_unique<AttributeSet>();
  return window->attributes->set(*key, win, type, value);
}

int Win_get_attribute(Win win, int keyval, AttributeType asked, void* value, int* flag) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_out(value, "attribute_val"));
  MPI_TRY(check_out(flag, "flag"));
  if (is_predefined_of_window(keyval)) {
    *flag = 1;
    hand_out_of_window(*window, keyval, asked, value);
    return MPI_SUCCESS;
  }
  KeyvalObject* key;
  MPI_TRY(check_keyval(keyval, AttributeOwner::kWin, &key));
  return get_from(window->attributes.get(), *key, asked, value, flag);
}

int Win_set_attr(Win win, int win_keyval, void* attribute_val) {
  return Win_set_attribute(win, win_keyval, AttributeType::kPointer, attribute_val);
}

int Win_get_attr(Win win, int win_keyval, void* attribute_val, int* flag) {
  return Win_get_attribute(win, win_keyval, AttributeType::kPointer, attribute_val, flag);
}

int Win_delete_attr(Win win, int win_keyval) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  KeyvalObject* key;
  MPI_TRY(check_keyval(win_keyval, AttributeOwner::kWin, &key));
  return window->attributes != nullptr ? window->attributes->remove(*key, win) : MPI_SUCCESS;
}

int copy_type_attributes(Rank& rank, Datatype from, Datatype to) {
  const auto* set = static_cast<const AttributeSet*>(rank.datatypes.attributes(from));
  if (set == nullptr) return MPI_SUCCESS;
  auto copy = std::make_unique<AttributeSet>();
  MPI_TRY(set->copy_to(*copy, from));
  if (!copy->empty()) rank.datatypes.attributes(to) = copy.release();
  return MPI_SUCCESS;
}

int delete_type_attributes(Rank& rank, Datatype datatype) {
  auto* set = static_cast<AttributeSet*>(rank.datatypes.attributes(datatype));
  if (set == nullptr) return MPI_SUCCESS;
  MPI_TRY(set->remove_all(datatype));
  rank.datatypes.attributes(datatype) = nullptr;
  delete set;
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
