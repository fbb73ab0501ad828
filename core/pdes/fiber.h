// A fiber: a thread of control with its own stack that runs until it yields (Executive). A switch
// saves the callee-saved registers and takes about 5 ns. StackPool provides the stacks: reserved
// address space with a guard page below each, whose pages are allocated at their first use.
//
// Use: take() a stack, prepare() the fiber with it, then Executive::make_ready(). The owner of the
// fiber gives the stack back after the fiber has finished. Derive from Fiber to add state. A pool
// and its fibers belong to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace sesame::pdes {

struct Stack {
  char* base = nullptr;  // lowest usable address; the guard page lies just below
  size_t size_bytes = 0;
};

// How the page below a stack is made to fault. With a marker in the page table (Linux 6.13) the
// stacks of a batch are one memory mapping. Otherwise the page is a mapping of its own, which
// splits the batch.
enum class Guard : uint8_t { kMarker, kMapping };
// kMarker if the running kernel supports it.
Guard available_guard();
// How many memory mappings of the kernel a stack uses, in addition to the one of its batch.
constexpr int mappings_per_stack(Guard guard) { return guard == Guard::kMarker ? 0 : 2; }

class StackPool {
 public:
  static constexpr size_t kGuardBytes = 4096;

  // For stacks of `stack_bytes` (rounded up to pages), of which `batch` are reserved at a time.
  explicit StackPool(size_t stack_bytes, size_t batch = 64, Guard guard = available_guard());
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // A free stack. The Error when address space or mappings run out names the kernel's limit.
  Result<Stack> take();
  void give_back(Stack stack) { free_.push_back(stack); }

  // Bytes between the end of a stack and its lowest page in memory, of the stack where these are
  // most; 0 if the kernel does not tell. Pages that were swapped out do not count.
  size_t deepest_use() const;

 private:
  Result<> reserve_batch();
  size_t stride() const { return stack_bytes_ + kGuardBytes; }
  // Makes the page below the stack fault and the stack usable.
  bool guard(char* base) const;

  Guard guard_;
  size_t stack_bytes_;
  size_t batch_;
  std::vector<Stack> free_;
  std::vector<std::pair<char*, size_t>> regions_;
};

class Fiber {
 public:
  using Entry = void (*)(Fiber*);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // For the module above, which reads it where the class that it derives from Fiber is not known.
  void* owner = nullptr;

  // Makes the fiber start in `entry` on `stack` when it is first switched to. The entry function
  // must not return; it ends through Executive::finish().
  void prepare(Stack stack, Entry entry);

  const Stack& stack() const { return stack_; }

  // Whether it was made ready and has not resumed since.
  bool is_ready() const { return ready_; }

  // Names a cache line that the fiber will use as soon as it resumes: it is loaded shortly before.
  // Holds for the next time only. Ignored when there are more than kMostPrefetches.
  void prefetch_on_resume(const void* line) {
    if (prefetch_count_ < kMostPrefetches) prefetch_lines_[prefetch_count_++] = line;
  }
  // The same for each time that it resumes. To be called before prefetch_on_resume().
  void always_prefetch(const void* line) {
    if (always_count_ >= kMostPrefetches) return;
    prefetch_on_resume(line);
    always_count_ = prefetch_count_;
  }

 private:
  friend class Executive;
  static constexpr int kMostPrefetches = 24;

  void* stack_pointer_ = nullptr;
  Fiber* next_ready_ = nullptr;
  bool ready_ = false;
  uint8_t preferred_ = 0;  // how many times it is to run before others that are ready
  uint16_t prefetch_count_ = 0;
  uint16_t always_count_ = 0;
  const void* prefetch_lines_[kMostPrefetches];
  Stack stack_;
};

// The fiber that runs on this thread; null outside fibers and on threads that a program started.
extern constinit thread_local Fiber* current_fiber;

}  // namespace sesame::pdes
