// The objects of one kind that a rank holds, by handle. A handle is the kind's bits with an index;
// the table owns one reference to each object. Freed indices are used again, the last one first, so
// a rank's handles depend only on its own calls.
//
// Use: add() gives the handle that the program gets; find() its object, or null for any handle that
// is not of this table, so that a wrong argument is found; remove() when the program frees it. Who
// keeps an object longer than a call calls retain() and release(). O(1) each; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace sesame::mpi {

// What objects in tables derive from: pending operations and other objects hold references, and
// the last one to let go deletes it.
struct Counted {
  int references = 1;
};

template <typename T>
void retain(T* object) {
  if (object != nullptr) ++object->references;
}

template <typename T>
void release(T* object) {
  if (object != nullptr && --object->references == 0) delete object;
}

// The first kNear slots are part of the table, so that they are in the cache when their rank is.
template <typename T, uint32_t kKindBits, uint32_t kFirstIndex = 0, uint32_t kNear = 1>
class HandleTable {
 public:
  static constexpr uint32_t kIndexMask = 0x03ffffff;

  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  ~HandleTable() {
    visit([](T& object) { release(&object); });
  }

  // Takes over the caller's reference.
  int add(T* object) {
    uint32_t index = first_free_;
    if (index != kNone) {
      first_free_ = slots_[index].next_free();
    } else {
      if (size_ == capacity_) [[unlikely]]
        grow();
      index = size_++;
    }
    slots_[index].set(object);
    return static_cast<int>(kKindBits | (index + kFirstIndex));
  }

  // Null when the handle is not one of this table's.
  T* find(int handle) const {
    const uint32_t bits = static_cast<uint32_t>(handle);
    const uint32_t index = (bits & kIndexMask) - kFirstIndex;
    if ((bits & ~kIndexMask) != kKindBits || index >= size_) return nullptr;
    return slots_[index].object();
  }

  // Forgets the handle; the caller gets the table's reference. REQUIRES: find(handle) is not null.
  T* remove(int handle) {
    const uint32_t index = (static_cast<uint32_t>(handle) & kIndexMask) - kFirstIndex;
    T* object = slots_[index].object();
    slots_[index].set_free(first_free_);
    first_free_ = index;
    return object;
  }

  template <typename Visit>
  void visit(Visit visit) const {
    for (uint32_t i = 0; i < size_; ++i) {
      if (T* object = slots_[i].object()) visit(*object);
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // An object, or in an odd number the next free slot.
  class Slot {
   public:
    T* object() const { return (bits_ & 1) != 0 ? nullptr : reinterpret_cast<T*>(bits_); }
    uint32_t next_free() const { return static_cast<uint32_t>(bits_ >> 1); }
    void set(T* object) { bits_ = reinterpret_cast<uintptr_t>(object); }
    void set_free(uint32_t next) { bits_ = static_cast<uintptr_t>(next) << 1 | 1; }

   private:
    uintptr_t bits_ = 0;
  };

  void grow() {
    auto larger = std::make_unique<Slot[]>(size_t{2} * capacity_);
    std::copy_n(slots_, size_, larger.get());
    far_ = std::move(larger);
    slots_ = far_.get();
    capacity_ *= 2;
  }

  Slot* slots_ = near_.data();
  uint32_t size_ = 0;
  uint32_t capacity_ = kNear;
  uint32_t first_free_ = kNone;
  std::unique_ptr<Slot[]> far_;
  std::array<Slot, kNear> near_;
};

}  // namespace sesame::mpi
