// Keeps the processors of a virtual machine from halting while the computation of ranks is
// measured.
//
// A virtual processor that halts is often continued on another processor of the host, whose caches
// are cold. Ranks of a real MPI look for their messages all the time, so their processors do not
// halt. Those of ranks that are processes would, whenever all wait for the simulator. Hence one
// thread for each processor, of the policy for which there is time only where there is nothing else
// to do (SCHED_IDLE, sched(7)), looks at a clock. It does so only while ranks compute for a good
// part of the time: programs that exchange messages all the time run slower beside such threads.
//
// Use: make one when ranks begin; note_computation() with the computation before each call. The
// destructor ends the threads. One thread calls.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sesame::remote {

// Whether this is a virtual machine.
bool is_virtual_machine();

class IdlePolling {
 public:
  // For these processors. It is off before note_computation().
  explicit IdlePolling(const cpu_set_t& processors);
  ~IdlePolling();
  IdlePolling(const IdlePolling&) = delete;
  IdlePolling& operator=(const IdlePolling&) = delete;

  // Picoseconds of host time.
  void note_computation(int64_t ps);
  // Whether idle processors poll now.
  bool is_on() const;

 private:
  void poll(int processor);
  void decide(int64_t now_ns);

  std::atomic<int64_t> on_until_ns_ = 0;  // CLOCK_MONOTONIC
  std::atomic<uint32_t> changes_ = 0;     // what the threads sleep on
  std::atomic<bool> is_ending_ = false;
  // Since `since_ns_`, of all ranks.
  int64_t computed_ps_ = 0;
  int64_t since_ns_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace sesame::remote
