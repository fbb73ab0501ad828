// Notices a rank that waits in a loop for memory to change and makes no call meanwhile: only one
// rank runs at a time, so nobody could change it and the loop would never end.
//
// A timer of the simulator thread's processor time looks where a rank is that has made no call for
// long. Where it comes by the same instructions with the same registers again and again, it polls:
// it yields to the other ranks, and its clock follows the next event if none of them can run. What
// was measured of such a loop is not charged. A rank that only computes is left alone; after some
// time one line on standard error says where it is.
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
  [[noreturn]] void end_in_vain(const mpi::Strand& strand, const void* instruction);

  mpi::World& world_;
  timer_t timer_{};
  // What runs without a call: these three stay as they are.
  const mpi::Strand* strand_ = nullptr;
  uint64_t switches_ = 0;
  SimTime now_;
  int ticks_ = 0;                   // since then
  std::array<Sample, 32> samples_;  // that can all be of one loop which changes nothing
  size_t count_ = 0;                // of them, the earliest overwritten
  int repeats_ = 0;                 // how many were equal to one before
  bool mentioned_polling_ = false;
  bool mentioned_long_run_ = false;
};

}  // namespace sesame::sim
