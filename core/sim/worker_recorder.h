// The records of a worker of a parallel simulation, in a temporary file until the run has ended:
// the supervisor then adds them to the tables (Recording). The file has no name.
//
// Use: a WorkerRecorder writes to the file in the worker; replay_records() reads it in the
// supervisor, with which it shares the open file. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/mpi/messages/recorder.h"

namespace sesame::sim {

struct FirstUse {
  uint64_t round;
  int64_t end_ps;    // of the call
  std::string path;  // may be empty
  std::string call;
};

class WorkerRecorder final : public mpi::Recorder {
 public:
  // `round`: the protocol's, which orders the workers' uses of files.
  WorkerRecorder(std::FILE* file, int ranks, const std::atomic<uint64_t>& round)
      : file_(file), pending_(static_cast<size_t>(ranks)), round_(round) {}

  void record(const mpi::CallRecord& call) override;
  void record(const mpi::MessageRecord& message) override;
  void record(int rank, const storage::FileCallRecord& call) override;
  bool is_full(int rank) const override {
    return pending_[static_cast<size_t>(rank)] >= kMostPending;
  }
  void write_until(int rank, SimTime now) override;
  // To be called at the end.
  void flush();
  // The first uses of files and of calls on files, whose order gives them their numbers.
  const std::vector<FirstUse>& first_uses() const { return first_uses_; }
  // The errno of the first write that failed, or 0. No record is written after it.
  int error_number() const { return error_number_; }

 private:
  static constexpr uint32_t kMostPending = 1 << 14;
  static constexpr size_t kBufferBytes = 1 << 20;

  void add(const void* entry, size_t bytes);
  void write_buffer();
  void note_first_use(const storage::FileCallRecord& call);

  std::FILE* file_;
  int error_number_ = 0;
  std::string buffer_;
  std::vector<uint32_t> pending_;  // records of each rank since its last write_until()
  const std::atomic<uint64_t>& round_;
  std::set<std::string> known_files_;
  std::set<std::string> known_calls_;
  std::vector<FirstUse> first_uses_;
};

// Gives all records of the file to `recorder`, in the order in which they were made.
Result<> replay_records(std::FILE* file, mpi::Recorder& recorder);

}  // namespace sesame::sim
