#include "core/mpi/messages/poll_samples.h"

#include <unwind.h>

namespace sesame::mpi {
namespace {

// rbx, rbp and r12 to r15 in the numbers of the System V ABI for x86-64 (figure 3.36).
constexpr int kKeptRegisters[] = {3, 6, 12, 13, 14, 15};

}  // namespace

// Looks for the frame of the program among those of the simulator above it.
struct PollSamples::Search {
  const void* caller;
  const pdes::Stack& stack;
  Sample sample{};
  bool found = false;

  static _Unwind_Reason_Code visit(_Unwind_Context* frame, void* search) {
    return static_cast<Search*>(search)->look(frame);
  }

  _Unwind_Reason_Code look(_Unwind_Context* frame) {
    if (_Unwind_GetIP(frame) != reinterpret_cast<uintptr_t>(caller)) return _URC_NO_REASON;
    found = true;
    sample.caller = caller;
    sample.stack_pointer = _Unwind_GetCFA(frame);
    size_t next = 0;
    for (const int number : kKeptRegisters) sample.words[next++] = _Unwind_GetGR(frame, number);
    const auto* end = reinterpret_cast<const uint64_t*>(stack.base + stack.size_bytes);
    const auto* word = reinterpret_cast<const uint64_t*>(sample.stack_pointer);
    while (word < end && next < sample.words.size()) sample.words[next++] = *word++;
    return _URC_END_OF_STACK;
  }
};

void PollSamples::add(const void* caller, const pdes::Stack& stack) {
  if (count_ == kMost || caller == nullptr) return;
  Search search{caller, stack};
  _Unwind_Backtrace(Search::visit, &search);
  if (search.found) samples_[count_++] = search.sample;
}

size_t PollSamples::next_of_same_call(size_t i) const {
  for (size_t next = i + 1; next < count_; ++next) {
    if (samples_[next].is_of_same_call(samples_[i])) return next;
  }
  return kMost;
}

bool PollSamples::show_work() const {
  for (size_t first = 0; first < count_; ++first) {
    const size_t second = next_of_same_call(first);
    const size_t third = second == kMost ? kMost : next_of_same_call(second);
    if (third == kMost) continue;
    for (size_t i = 0; i < samples_[first].words.size(); ++i) {
      const uint64_t before = samples_[second].words[i] - samples_[first].words[i];
      const uint64_t after = samples_[third].words[i] - samples_[second].words[i];
      if (before != after) return true;
    }
  }
  return false;
}

}  // namespace sesame::mpi
