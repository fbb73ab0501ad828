// The result of a replay: a header, the outcome of each operation, and the end of each thread.
// Times are ns since the start of the replay. Python reads the file
// (python/sesame/replaying/result.py).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace sesame::replay {

struct OperationResult {
  int64_t begin_ns;  // -1: the replay stopped before it
  int64_t duration_ns;
  int64_t lateness_ns;  // begin against the schedule; of I/O only
  int64_t bytes;
  int32_t error;
  int32_t unused;
};

struct StreamResult {
  int64_t scheduled_end_ns;  // without the replayer's own lateness
  int64_t end_ns;
  int64_t preempted_ns;  // time in the schedule in which others had its processor
};

struct ResultHeader {
  char magic[8];  // "SESRESLT"
  uint32_t version;
  uint32_t failed_error;     // errno of the operation that ended the replay; 0 when it is complete
  int64_t failed_operation;  // -1 when there is none
  uint64_t operations;
  uint64_t streams;
  uint64_t not_aligned;  // accesses that --direct could not make directly
  int64_t wake_up_median_ns;
  int64_t wake_up_latest_ns;
  int64_t spin_ns;  // how long before its due time a thread stops sleeping
};

static_assert(sizeof(ResultHeader) == 72 && sizeof(OperationResult) == 40);

struct ReplayResult {
  ResultHeader header{};
  std::vector<OperationResult> operations;
  std::vector<StreamResult> streams;

  std::string bytes() const;
};

Result<> write_file(const std::string& path, const std::string& bytes);

}  // namespace sesame::replay
