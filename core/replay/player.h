// Plays a plan: one thread for each thread of the traced run.
//
// Each thread keeps a schedule: the computation between two operations is waited out, an
// operation takes the time that it takes here, a wait ends when its events have happened. What an
// operation begins late through the replayer's or the kernel's fault does not move the schedule:
// the next wait is shorter by it. But where a thread keeps its processor and something else takes
// it, as a file system's processes do, the program would be late, too: that moves the schedule.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/replay/clock.h"
#include "core/replay/events.h"
#include "core/replay/issue.h"
#include "core/replay/plan.h"
#include "core/replay/result.h"
#include "core/replay/transport.h"

namespace sesame::replay {

class Player {
 public:
  Player(const Plan& plan, Transport& transport);

  Result<ReplayResult> play();

 private:
  struct Thread;

  Result<> prepare();
  void start_threads();
  void play_stream(size_t number);
  bool play_operation(uint64_t number, Thread& thread);
  void compute(Thread& thread) const;
  void await(const PlanOperation& operation, Thread& thread);
  void fail(uint64_t operation, int error);

  const Plan& plan_;
  Transport& transport_;
  Waiter waiter_;
  bool may_keep_processors_;
  Events events_;
  PayloadData source_;
  int64_t print_cost_ns_ = 0;  // of printing a line without moving data
  std::vector<std::unique_ptr<OpenFiles>> tables_;
  ReplayResult result_;
  std::atomic<uint64_t> not_aligned_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<uint32_t> ready_ = 0;
  std::atomic<int64_t> origin_ns_ = 0;  // the replay's time zero; 0 until all are ready
};

}  // namespace sesame::replay
