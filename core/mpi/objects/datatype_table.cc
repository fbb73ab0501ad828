#include "core/mpi/objects/datatype_table.h"

#include "core/base/check.h"
#include "core/mpi/objects/datatype_predefined.h"

namespace sesame::mpi {

DatatypeTable::DatatypeTable() : builtins_(predefined_objects()) {}

DatatypeTable::~DatatypeTable() {
  // First detach every object: deleting a derived type may delete the types it was made of.
  for (DatatypeObject* object : slots_.objects()) {
    if (object != nullptr) object->slots_ = nullptr;
  }
  for (DatatypeObject*& object : slots_.objects()) {
    // Objects that are referenced elsewhere are deleted there, perhaps within this very loop.
    if (object != nullptr && object->is_freed_) object = nullptr;
  }
  for (DatatypeObject* object : slots_.objects()) {
    if (object != nullptr) object->release();
  }
}

Datatype DatatypeTable::insert(DatatypeObject* object) {
  const uint32_t slot = slots_.add(object);
  CHECK(slot + kFirstDynamic <= 0xffffff);
  object->handle_ = static_cast<Datatype>(kDynamicBits << 24 | (slot + kFirstDynamic));
  object->slots_ = &slots_;
  object->slot_ = slot;
  object->add_reference();
  return object->handle_;
}

int DatatypeTable::commit(Datatype handle) {
  DatatypeObject* object = find_mutable(handle);
  if (object == nullptr) return MPI_ERR_TYPE;
  if (!object->is_predefined_) object->is_committed_ = true;
  return MPI_SUCCESS;
}

int DatatypeTable::free(Datatype handle) {
  DatatypeObject* object = find_mutable(handle);
  if (object == nullptr || object->is_predefined_ || object->is_freed_) return MPI_ERR_TYPE;
  object->is_freed_ = true;
  object->release();
  return MPI_SUCCESS;
}

DatatypeTable::BuiltinState& DatatypeTable::builtin_state(Datatype handle) {
  for (const auto& state : builtin_states_) {
    if (state->handle == handle) return *state;
  }
  builtin_states_.push_back(std::make_unique<BuiltinState>());
  builtin_states_.back()->handle = handle;
  return *builtin_states_.back();
}

void*& DatatypeTable::attributes(Datatype handle) {
  DatatypeObject* object = find_mutable(handle);
  CHECK(object != nullptr);
  return object->is_immortal_ ? builtin_state(handle).attributes : object->attributes_;
}

std::string_view DatatypeTable::name(Datatype handle) const {
  const DatatypeObject* object = find(handle);
  CHECK(object != nullptr);
  if (!object->is_immortal_) return object->name_;
  for (const auto& state : builtin_states_) {
    if (state->handle == handle && state->is_named) return state->name;
  }
  return find_predefined(handle)->name;
}

void DatatypeTable::set_name(Datatype handle, std::string_view name) {
  DatatypeObject* object = find_mutable(handle);
  CHECK(object != nullptr);
  if (!object->is_immortal_) {
    object->name_ = name;
    return;
  }
  BuiltinState& state = builtin_state(handle);
  state.name = name;
  state.is_named = true;
}

const DatatypeTable::Cached* DatatypeTable::find_cached(int combiner, int first, int second) const {
  for (const Cached& entry : cache_) {
    if (entry.combiner == combiner && entry.first == first && entry.second == second) {
      return &entry;
    }
  }
  return nullptr;
}

size_t DatatypeTable::live_count() const {
  size_t count = 0;
  for (const DatatypeObject* object : slots_.objects()) {
    count += object != nullptr && !object->is_freed_ && !object->is_predefined_;
  }
  return count;
}

}  // namespace sesame::mpi
