// Detects a rank that polls memory in a loop without calls. Only one rank runs at a time, so no
// other rank could change that memory and the loop would never end.
//
// A timer on the simulator thread's processor time samples the instruction pointer and registers of
// a rank that has made no call for long. If the same instructions recur with the same registers,
// the rank polls: it yields to the other ranks, and if none can run its clock advances to the next
// event. The computation measured in such a loop is not charged. A rank that only computes is not
// disturbed; after a long time one line on standard error says where it is.
#pragma once

#include <ucontext.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "core/mpi/messages/world.h"

namespace sesame::sim {

class PollingWatch {
 public:
  // Watches until it is destroyed the ranks that run on the calling thread. One at a time.
  explicit PollingWatch(mpi::World& world);
  ~PollingWatch();
  PollingWatch(const PollingWatch&) = delete;
  PollingWatch& operator=(const PollingWatch&) = delete;

 private:
  static constexpr int kGeneralRegisters = 16;
  struct Sample {
    const void* instruction;
    std::array<greg_t, kGeneralRegisters> registers;
    bool operator==(const Sample&) const = default;
  };

  static void on_tick(int, siginfo_t*, void* context);
  static Sample sample_of(const ucontext_t& context);
  void look(mpi::Strand& strand, const ucontext_t& context);
  bool is_same_stretch(const mpi::Strand& strand);
  void add(const Sample& sample);
  bool polls() const;
  void yield(mpi::Strand& strand, const void* instruction);
  void mention_polling(const mpi::Strand& strand, const void* instruction);
  void mention_long_run(const mpi::Strand& strand, const void* instruction);
  [[noreturn]] void abort_polling(const mpi::Strand& strand, const void* instruction);

  mpi::World& world_;
  timer_t timer_{};
  // Identifies the stretch without a call: it ends when one of these three changes.
  const mpi::Strand* strand_ = nullptr;
  uint64_t switches_ = 0;
  SimTime now_;
  int ticks_ = 0;                   // since it began
  std::array<Sample, 32> samples_;  // the latest, which may all be of one loop that changes nothing
  size_t count_ = 0;                // of samples, overwritten ones included
  int repeats_ = 0;                 // how many were equal to one before
  bool mentioned_polling_ = false;
  bool mentioned_long_run_ = false;
};

}  // namespace sesame::sim
