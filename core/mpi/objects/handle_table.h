// A rank's objects of one kind by handle. A handle is the kind's bits and an index. The table owns
// one reference to each object. Freed indices are reused, the last one first, so that a rank's
// handles depend only on its own calls.
//
// Use: add() returns the handle for the program; find() its object, or null for any handle that is
// not in this table, so that wrong arguments are detected; remove() when the program frees it. Code
// that keeps an object longer than a call uses retain() and release(). All O(1). One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace sesame::mpi {

// The base of objects in tables. Tables, pending operations and other objects hold references;
// releasing the last one deletes the object.
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

// kKindBits: the high bits of all handles of the table; kFirstIndex: the index of the first handle.
// The first kNear slots are inside the table, so that they are loaded together with their rank.
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

  // Adds the object with the caller's reference to it and returns its handle.
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

  // Removes the handle and gives the table's reference to the caller. REQUIRES: find(handle) is not
  // null.
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

  // The address of an object, or, as an odd number, the index of the next free slot.
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
