// What the processes of one host share of a parallel simulation, apart from its protocol: how it
// ends, how far it is. The memory has no name.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/pdes/workers.h"

namespace sesame::sim {

struct SharedRun {
  static constexpr size_t kVerdictBytes = 1 << 14;

  struct alignas(64) OfWorker {
    std::atomic<int64_t> latest_ps;
    std::atomic<uint64_t> messages;
    std::atomic<int> ended_ranks;
    std::atomic<pid_t> process;         // 0: it has ended
    std::atomic<pid_t> rank_processes;  // the process group of its ranks; 0: it has none
    double startup_seconds;             // until its ranks were loaded
    bool has_left;                      // its state is written
    int record_error;                   // errno; 0: all records are written
  };

  // The first reason to end the run decides; whether it is this one. The caller sets
  // SharedState::stopped afterwards. `is_failure`: nothing that the run did counts.
  bool decide(int with_status, const std::string& why, bool fails, const std::string& what_to_do) {
    if (has_verdict.exchange(true)) return false;
    is_failure = fails;
    status = with_status;
    why.copy(text, kVerdictBytes - 1);
    what_to_do.copy(hint, kVerdictBytes - 1);
    return true;
  }

  std::atomic<bool> has_verdict;
  std::atomic<bool> begins_again;  // with ranks that are processes: nothing of this run counts
  std::atomic<int> interface;      // that processes of ranks use: 1 + its number; 0: none yet
  bool is_failure;
  int status;
  char text[kVerdictBytes];
  char hint[kVerdictBytes];  // of a failure
  OfWorker workers[pdes::kMostWorkers];
};

}  // namespace sesame::sim
