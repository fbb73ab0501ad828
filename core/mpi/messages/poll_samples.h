// Whether a program that polls again and again works between its polls. Its computation does not
// tell where it takes no simulated time (--compute none), or less than a clock resolves.
//
// The samples are the program's registers and the words around its stack pointer at consecutive
// polls. In a loop that only waits they stay the same, or change by the same amount from poll to
// poll: it counts. A program that works changes some word in another way (a random number, a hash).
// It goes unnoticed if it keeps all that it changes elsewhere in memory.
//
// Use: clear(), add() at each of some consecutive polls of one strand, then show_work(). Reads the
// program's stack and changes nothing. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/pdes/fiber.h"

namespace sesame::mpi {

class PollSamples {
 public:
  // Enough for five loops around three different polls.
  static constexpr size_t kMost = 16;

  void clear() { count_ = 0; }
  // Adds the state in which the program, which runs on `stack`, called the MPI function that will
  // return to `caller`. Adds nothing if no such call is on the stack, or if there are kMost samples
  // already. Takes some microseconds.
  void add(const void* caller, const pdes::Stack& stack);
  // Whether a word changed by different amounts between polls from the same call site.
  bool show_work() const;

 private:
  static constexpr size_t kRegisters = 6;    // those that calls keep
  static constexpr size_t kStackWords = 64;  // from the caller's stack pointer upward
  struct Sample {
    const void* caller = nullptr;
    uintptr_t stack_pointer = 0;
    std::array<uint64_t, kRegisters + kStackWords> words{};  // 0 beyond the end of the stack

    bool is_of_same_call(const Sample& other) const {
      return caller == other.caller && stack_pointer == other.stack_pointer;
    }
  };
  struct Search;

  // The next sample from the same call as sample `i`; kMost if there is none.
  size_t next_of_same_call(size_t i) const;

  std::array<Sample, kMost> samples_;
  size_t count_ = 0;
};

}  // namespace sesame::mpi
