// The objects of one kind that a rank holds, by handle. A handle is the kind's bits with an index;
// the table owns one reference to each object. Freed indices are used again, smallest last, so a
// rank's handles depend only on its own calls.
#pragma once

#include <cstdint>
#include <vector>

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

template <typename T, uint32_t kKindBits, uint32_t kFirstIndex = 0>
class HandleTable {
 public:
  static constexpr uint32_t kIndexMask = 0x03ffffff;

  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  ~HandleTable() {
    for (T* object : objects_) release(object);
  }

  // Takes over the caller's reference.
  int add(T* object) {
    uint32_t index;
    if (free_.empty()) {
      index = static_cast<uint32_t>(objects_.size());
      objects_.push_back(object);
    } else {
      index = free_.back();
      free_.pop_back();
      objects_[index] = object;
    }
    return static_cast<int>(kKindBits | (index + kFirstIndex));
  }

  // Null when the handle is not one of this table's.
  T* find(int handle) const {
    const uint32_t bits = static_cast<uint32_t>(handle);
    const uint32_t index = (bits & kIndexMask) - kFirstIndex;
    if ((bits & ~kIndexMask) != kKindBits || index >= objects_.size()) return nullptr;
    return objects_[index];
  }

  // Forgets the handle; the caller gets the table's reference. REQUIRES: find(handle) is not null.
  T* remove(int handle) {
    const uint32_t index = (static_cast<uint32_t>(handle) & kIndexMask) - kFirstIndex;
    T* object = objects_[index];
    objects_[index] = nullptr;
    free_.push_back(index);
    return object;
  }

  const std::vector<T*>& objects() const { return objects_; }

 private:
  std::vector<T*> objects_;
  std::vector<uint32_t> free_;
};

}  // namespace sesame::mpi
