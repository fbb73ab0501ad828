#include "core/mpi/objects/datatype.h"

#include "core/base/check.h"
#include "core/mpi/objects/layout_node.h"

namespace sesame::mpi {

uint32_t DatatypeSlots::add(DatatypeObject* object) {
  if (free_.empty()) {
    objects_.push_back(object);
    return static_cast<uint32_t>(objects_.size() - 1);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  objects_[slot] = object;
  return slot;
}

void DatatypeSlots::free(uint32_t slot) {
  CHECK(find(slot) != nullptr);
  objects_[slot] = nullptr;
  free_.push_back(slot);
}

DatatypeObject::DatatypeObject() = default;
DatatypeObject::~DatatypeObject() = default;

void DatatypeObject::destroy() const {
  if (slots_ != nullptr) slots_->free(slot_);
  delete this;
}

Count DatatypeObject::span(Count count) const {
  if (count == 0 || size() == 0) return 0;
  const Aint step = extent() < 0 ? -extent() : extent();
  return (count - 1) * step + true_extent();
}

}  // namespace sesame::mpi
