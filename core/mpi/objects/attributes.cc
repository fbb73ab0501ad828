#include "core/mpi/objects/attributes.h"

#include "core/mpi/objects/error_state.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

// Only codes that the program added are passed on, since others may mean anything.
int user_function_failed(const char* which, int error) {
  const ErrorCodes* added = this_error_state().codes.get();
  const bool known = added != nullptr && added->text_of(error) != nullptr;
  return fail(known ? error : MPI_ERR_OTHER, "the program's attribute " + std::string(which) +
                                                 " function returned " + std::to_string(error));
}

}  // namespace

Attribute::~Attribute() {
  if (keyval->freed && keyval->table != nullptr && keyval->references == 2) {
    // Only the table and this attribute reference it.
    release(keyval->table->remove(keyval->handle & ~kKeyvalOwnerMask));
  }
  release(keyval);
}

Attribute* AttributeSet::find(const KeyvalObject& keyval) {
  for (const auto& entry : entries_) {
    if (entry->keyval == &keyval) return entry.get();
  }
  return nullptr;
}

int AttributeSet::call_delete(const Attribute& attribute, int object) const {
  // The function may free the keyval and change this very set.
  KeyvalObject* keyval = attribute.keyval;
  retain(keyval);
  const int error =
      callbacks().delete_attribute(keyval->remove, keyval->owner, object, keyval->handle,
                                   keyval->extra_state, attribute.type, attribute.value);
  release(keyval);
  return error == MPI_SUCCESS ? error : user_function_failed("delete", error);
}

void AttributeSet::erase(const Attribute* attribute) {
  std::erase_if(entries_, [attribute](const auto& entry) { return entry.get() == attribute; });
}

int AttributeSet::set(KeyvalObject& keyval, int object, AttributeType type, void* value) {
  if (const Attribute* old = find(keyval); old != nullptr) MPI_TRY(call_delete(*old, object));
  Attribute* attribute = find(keyval);
  if (attribute == nullptr) {
    attribute = entries_.emplace_back(std::make_unique<Attribute>(&keyval)).get();
  }
  attribute->type = type;
  attribute->value = value;
  return MPI_SUCCESS;
}

int AttributeSet::remove(KeyvalObject& keyval, int object) {
  const Attribute* attribute = find(keyval);
  if (attribute == nullptr) return MPI_SUCCESS;
  MPI_TRY(call_delete(*attribute, object));
  erase(attribute);
  return MPI_SUCCESS;
}

int AttributeSet::remove_all(int object) {
  while (!entries_.empty()) {
    const Attribute* last = entries_.back().get();
    MPI_TRY(call_delete(*last, object));
    erase(last);
  }
  return MPI_SUCCESS;
}

int AttributeSet::copy_to(AttributeSet& copy, int object) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Attribute& attribute = *entries_[i];
    KeyvalObject* keyval = attribute.keyval;
    void* value = nullptr;
    bool keep = false;
    const int error = callbacks().copy_attribute(keyval->copy, keyval->owner, object,
                                                 keyval->handle, keyval->extra_state,
                                                 attribute.type, attribute.value, &value, &keep);
    if (error != MPI_SUCCESS) return user_function_failed("copy", error);
    if (!keep) continue;
    Attribute& copied = *copy.entries_.emplace_back(std::make_unique<Attribute>(keyval));
    copied.type = attribute.type;
    copied.value = value;
  }
  return MPI_SUCCESS;
}

int copy_attributes(const AttributeSet* from, int object, std::unique_ptr<AttributeSet>& to) {
  if (from == nullptr) return MPI_SUCCESS;
  auto copy = std::make_unique<AttributeSet>();
  MPI_TRY(from->copy_to(*copy, object));
  if (!copy->empty()) to = std::move(copy);
  return MPI_SUCCESS;
}

int delete_attributes(AttributeSet* attributes, int object) {
  return attributes != nullptr ? attributes->remove_all(object) : MPI_SUCCESS;
}

}  // namespace sesame::mpi
