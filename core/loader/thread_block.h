// Thread-local variables of a program.
//
// The program's code addresses them at fixed distances below the thread pointer (the local-exec and
// initial-exec models). So each rank of such a program has its own thread pointer and its own
// block. The block is a copy of the simulator thread's block: thread-local variables of the shared
// libraries and the C library, and the thread descriptor. A window of kThreadWindow bytes right
// below the thread pointer holds the program's variables. The simulator reserves the same window in
// its own executable, so that no other variable is there. The simulator's own thread-local
// variables must keep one value for all ranks: they are copied from block to block at every switch.
// Programs without thread-local variables have no blocks and no cost.
//
// Simulator thread only. Errors: the C library or linker does not have the expected layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/error.h"

namespace sesame::loader {

// As in thread_pointer_x86_64.S. Threads of a program have the window too, in stacks that may be
// small; so it cannot be large.
inline constexpr uint64_t kThreadWindow = 64 * 1024;
inline constexpr uint64_t kThreadAlignment = 256;

class ThreadBlock {
 public:
  // Copies the simulator thread's block, with an empty window. The first one must be made while no
  // block is entered.
  static Result<std::unique_ptr<ThreadBlock>> create();
  ~ThreadBlock();
  ThreadBlock(const ThreadBlock&) = delete;
  ThreadBlock& operator=(const ThreadBlock&) = delete;

  char* pointer() const { return pointer_; }  // the thread pointer

 private:
  ThreadBlock() = default;
  void* memory_ = nullptr;
  size_t size_ = 0;
  char* pointer_ = nullptr;
};

// Sets the thread pointer of the running thread to the block's; null: to the simulator thread's
// own. Addresses of thread-local variables, errno included, that were computed before are wrong
// after it.
void enter_thread_block(const ThreadBlock* next);

}  // namespace sesame::loader
