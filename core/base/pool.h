// Memory for objects of one type that come and go all the time, or that thousands of ranks have:
// freed ones are used again, the last one first, and all lie on huge pages, which need fewer
// address translations. Only the simulator's own objects belong there; the target programs' heap
// must stay as it is in a real process. Memory is never given back. One free list for each thread.
#pragma once

#include <cstddef>

namespace sesame {

// `bytes` rounded up to whole huge pages, or an ordinary allocation when less than one; to be given
// to std::free(). Ends the program when there is no memory.
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

  // Little at first, for runs with few ranks.
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
