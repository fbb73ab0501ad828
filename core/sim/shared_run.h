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

// How a run ends before its ranks do.
enum class Verdict : uint32_t {
  kNone,
  kEnds,
  kFails,        // nothing that the run did counts
  kBeginsAgain,  // with ranks that are processes: nothing of this run counts
};

struct SharedRun {
  static constexpr size_t kVerdictBytes = 1 << 14;

  struct alignas(64) OfWorker {
    std::atomic<int64_t> latest_ps;
    std::atomic<uint64_t> messages;
    std::atomic<int> ended_ranks;
    std::atomic<pid_t> process;         // 0: it has ended
    std::atomic<pid_t> rank_processes;  // the process group of its ranks; 0: it has none
    double startup_seconds;             // until its ranks were loaded
    std::atomic<double> begin_seconds;  // of the monotonic clock, when they began; 0: they have not
    bool has_left;                      // its state is written
    int record_error;                   // errno; 0: all records are written
  };

  // The first reason to end the run decides; whether it is this one. The caller sets
  // SharedState::stopped afterwards, from when on the texts may be read.
  bool decide(int with_status, const std::string& why, bool fails, const std::string& what_to_do) {
    if (!is_first(fails ? Verdict::kFails : Verdict::kEnds)) return false;
    status = with_status;
    why.copy(text, kVerdictBytes - 1);
    what_to_do.copy(hint, kVerdictBytes - 1);
    return true;
  }

  // Whether the run begins again: for this caller or for an earlier one.
  bool begin_again() { return is_first(Verdict::kBeginsAgain) || begins_again(); }

  bool begins_again() const { return verdict == Verdict::kBeginsAgain; }
  bool is_failure() const { return verdict == Verdict::kFails; }

  std::atomic<Verdict> verdict;
  std::atomic<int> interface;  // that processes of ranks use: 1 + its number; 0: none yet
  int status;
  char text[kVerdictBytes];
  char hint[kVerdictBytes];  // of a failure
  OfWorker workers[pdes::kMostWorkers];

 private:
  bool is_first(Verdict mine) {
    Verdict none = Verdict::kNone;
    return verdict.compare_exchange_strong(none, mine);
  }
};

}  // namespace sesame::sim
