// Issues one operation on the target's file system, with the system or library call that was
// recorded. Called by the thread that plays the operation; calls that fail return errno and print
// nothing.
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

// What the operations of one thread use. The pointers are not owned.
struct IssueContext {
  const Plan* plan;
  const PayloadData* source;
  OpenFiles* files;
  char* sink;                          // receives what is read; holds the largest operation
  std::atomic<uint64_t>* not_aligned;  // counts accesses that --direct could not make directly
};

// `number` is the operation's index in the plan; it selects the data that is written.
Outcome issue(const PlanOperation& operation, uint64_t number, const IssueContext& context);

// issue() for each kind of call.
Outcome issue_data(const PlanOperation& operation, OpenFile& file, char* data, bool direct,
                   std::atomic<uint64_t>* not_aligned);
Outcome issue_on_descriptor(const PlanOperation& operation, const IssueContext& context);
Outcome issue_stdio(const PlanOperation& operation, uint64_t number, const IssueContext& context);
Outcome issue_on_names(const PlanOperation& operation, const IssueContext& context);
Outcome issue_asynchronous(const PlanOperation& operation, char* data, const IssueContext& context);

// What a call returned: -1 with errno, else bytes if it moves any.
Outcome outcome_of(int64_t returned, bool moves_data = false);

// Opens a file that the process had open before its first record, or marks it to be opened at its
// first use. Returns 0 or errno.
int open_before(const PlanOpened& opened, const IssueContext& context);

}  // namespace sesame::replay
