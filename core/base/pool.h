// A pool allocator for types with many short-lived objects, or with objects for each of thousands
// of ranks. Freed objects are reused, the last one first. Blocks of 2 MiB and more are on huge
// pages, which need fewer address translations. Only for the simulator's own objects: the heap of
// target programs must behave as in a real process. Memory is not returned to the system. Each
// thread has its own free list; a deleted object is added to the list of the thread that deletes
// it.
#pragma once

#include <cstddef>

namespace sesame {

// Allocates at least `bytes` bytes: whole huge pages if `bytes` is a huge page (2 MiB) or more,
// else ordinary memory with this alignment. Free the block with std::free(). Ends the program when
// there is no memory.
void* allocate_block(size_t bytes, size_t alignment);

// Gives T its operators new and delete: struct T : Pooled<T>. Not for types that others derive
// from.
template <typename T>
struct Pooled {
  static void* operator new(size_t) {
    if (free_ == nullptr) refill();
    Slot* slot = free_;
    free_ = slot->next;
    return slot;
  }
  static void operator delete(void* object) {
    auto* slot = static_cast<Slot*>(object);
    slot->next = free_;
    free_ = slot;
  }

 private:
  struct Slot {
    Slot* next;
  };
  static constexpr size_t kFewBytes = 64 << 10;
  static constexpr size_t kManyBytes = 2 << 20;

  // The first blocks are small, for runs with few ranks.
  static void refill() {
    const size_t bytes = refills_++ < 4 ? kFewBytes : kManyBytes;
    char* block = static_cast<char*>(allocate_block(bytes, alignof(T)));
    for (size_t at = bytes / sizeof(T) * sizeof(T); at >= sizeof(T);) {
      at -= sizeof(T);
      operator delete(block + at);
    }
  }

  static inline constinit thread_local Slot* free_ = nullptr;
  static inline constinit thread_local int refills_ = 0;
};

}  // namespace sesame
