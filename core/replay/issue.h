// Issues one operation on the target's file system.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/replay/open_files.h"
#include "core/replay/payload.h"
#include "core/replay/plan.h"

namespace sesame::replay {

struct Outcome {
  int64_t bytes = 0;  // moved
  int error = 0;      // errno
};

// What the operations of one thread need.
struct Place {
  const Plan* plan;
  const Source* source;
  OpenFiles* files;
  char* sink;                          // what is read; as large as the largest operation
  std::atomic<uint64_t>* not_aligned;  // data that --direct could not move directly
};

Outcome issue(const PlanOperation& operation, uint64_t number, const Place& place);

// The parts of it, by what a call is about.
Outcome issue_data(const PlanOperation& operation, OpenFile& file, char* data, bool direct,
                   std::atomic<uint64_t>* not_aligned);
Outcome issue_on_descriptor(const PlanOperation& operation, const Place& place);
Outcome issue_stdio(const PlanOperation& operation, uint64_t number, const Place& place);
Outcome issue_on_names(const PlanOperation& operation, const Place& place);
Outcome issue_asynchronous(const PlanOperation& operation, char* data, const Place& place);

// What a call returned: -1 with errno, else bytes if it moves any.
Outcome outcome_of(int64_t returned, bool moves_data = false);

// Opens what was open before a process' first record of it, or notes that it is opened when it is
// used. errno of a failure.
int open_before(const PlanOpened& opened, const Place& place);

}  // namespace sesame::replay
