// Plays a plan: one thread for each thread of the traced run.
//
// Each thread keeps a schedule. It waits for the recorded computation between two operations; an
// operation takes the time that it takes on this file system; a wait ends when its events have
// happened. If an operation begins late because of the replayer or the kernel, the schedule does
// not move: the next wait is shorter. The schedule moves if a thread that keeps its processor is
// preempted, for instance by the file system's processes: the recorded program would be late, too.
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
  // Both must outlive the player.
  Player(const Plan& plan, Transport& transport);

  // Plays the whole plan and returns at its end; call it once. Fails if an open file of the plan
  // cannot be opened or another process cannot begin. An operation that ends the replay is in the
  // result's header.
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
