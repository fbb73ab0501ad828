// Keeps the processors of a virtual machine from halting while the computation of ranks is
// measured.
//
// A virtual processor that halts is often continued on another processor of the host, whose caches
// are cold. Ranks of a real MPI look for their messages all the time, so their processors do not
// halt. Those of ranks that are processes would, whenever all wait for the simulator. Hence one
// thread for each processor looks at a clock. Its policy is SCHED_IDLE (sched(7)), so it takes the
// time that nothing else needs. It does so only while ranks compute for a good part of the time:
// programs that exchange messages all the time run slower beside such threads.
//
// Use: make one when ranks begin; note_computation() with the computation before each call. The
// destructor ends the threads. One thread calls.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace sesame::remote {

// Whether this is a virtual machine whose processors this process may use all the time: a control
// group may have a quota (cpu.max), which threads that poll would use up. `groups`: where those of
// version 2 are mounted.
bool halts_lose_caches(const std::filesystem::path& groups = "/sys/fs/cgroup");
// The quota of a control group and of those it is in: whether there is one.
bool has_quota(const std::filesystem::path& groups, const std::string& group);

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
  // Since `since_ns_`, of all ranks. Not in the cache line that the threads read.
  alignas(64) double computed_ps_ = 0;
  int64_t since_ns_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace sesame::remote
