// A plan: what each thread of a traced run did, ready to be repeated. Python makes it from a data
// set (python/sesame/replaying/plan.py). The file is mapped into memory and used unchanged. Times
// are nanoseconds. All structs are little-endian and have no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/error.h"

namespace sesame::replay {

enum class Call : uint16_t {
#define SESAME_REPLAY_CALL(name) name,
#include "core/replay/calls.def"
#undef SESAME_REPLAY_CALL
};
std::span<const char* const> call_names();

enum class Payload : uint32_t { kZero, kCompressible, kRandom };

inline constexpr uint32_t kPlanVersion = 2;

struct PlanHeader {
  char magic[8];  // "SESREPLY"
  uint32_t version;
  Payload payload;
  uint32_t direct;   // 1: open files with O_DIRECT
  uint32_t process;  // number of this process of the replay
  uint32_t processes;
  uint32_t tables;  // of open files: one for each traced process
  uint64_t streams;
  uint64_t operations;
  uint64_t events;
  uint64_t links;
  uint64_t targets;
  uint64_t opened;
  uint64_t files;
  uint64_t text;  // bytes of all paths
};

// What one thread of one process did.
struct PlanStream {
  uint32_t rank;
  uint32_t thread;
  uint32_t table;
  uint32_t slots;  // of its table
  uint64_t first;  // operation
  uint64_t count;
  int64_t tail_ns;  // computation after the last operation
  int64_t largest;  // bytes of its largest operation
  uint32_t flags;
  uint32_t unused;
};

enum StreamFlag : uint32_t {
  kKeepsProcessor = 1,  // it computed or polled for messages, and did not sleep
};

enum OperationFlag : uint16_t {
  kMerged = 1,     // bytes were moved one by one
  kFormatted = 2,  // transfer_ns is what the call takes without moving data
  kWillNeed = 4,   // of posix_fadvise; with neither flag the advice is POSIX_FADV_NORMAL
  kDontNeed = 8,
};

struct PlanOperation {
  int64_t gap_ns;       // computation before it
  int64_t transfer_ns;  // time it takes beside waiting and I/O
  int64_t offset;
  int64_t size;            // data requested; for an open, its flags
  int64_t expected_bytes;  // bytes moved when it was recorded
  int32_t file;            // path; -1 for none
  int32_t other_file;
  int32_t slot;  // open file; -1 for none
  Call call;
  uint16_t flags;
  // Its events in `links`: first `arrive` that it signals at its begin, then `wait` that it waits
  // for, then `arrive_after` that it signals at its end.
  uint32_t first_link;
  uint32_t arrive;
  uint32_t wait;
  uint32_t arrive_after;
  int32_t other_slot;
  int32_t expected_error;
};

struct PlanEvent {
  uint32_t arrivals;  // here
  uint32_t tokens;    // from other processes
  uint32_t first_target;
  uint32_t targets;  // processes to notify when all have arrived here
};

// A file that was open before the first operation on it, as standard output is.
struct PlanOpened {
  uint32_t table;
  uint32_t slots;  // of the table
  uint32_t slot;
  int32_t file;
  uint32_t flags;  // of open
  uint32_t late;   // 1: the run itself creates the file; it is opened at its first use
};

struct PlanFile {
  uint32_t begin;  // in the text; ends with a zero byte
  uint32_t flags;  // 1: a regular file or directory of the target
};

static_assert(sizeof(PlanHeader) == 96 && sizeof(PlanStream) == 56 && sizeof(PlanEvent) == 16);
static_assert(sizeof(PlanOperation) == 80 && sizeof(PlanOpened) == 24 && sizeof(PlanFile) == 8);

class Plan {
 public:
  // Fails if the file cannot be read, is no plan of this version, or has indices out of range.
  static Result<Plan> open(const std::string& path);
  Plan(Plan&& other) noexcept;
  Plan& operator=(Plan&&) = delete;
  ~Plan();

  const PlanHeader& header() const { return *reinterpret_cast<const PlanHeader*>(data_); }
  std::span<const PlanStream> streams;
  std::span<const PlanOperation> operations;
  std::span<const PlanEvent> events;
  std::span<const uint32_t> links;
  std::span<const uint32_t> targets;
  std::span<const PlanOpened> opened;
  std::span<const PlanFile> files;
  std::span<const char> text;

  const char* path(int32_t file) const { return &text[files[static_cast<size_t>(file)].begin]; }

 private:
  Plan(const std::byte* data, size_t size) : data_(data), size_(size) {}
  Result<> divide(const std::string& path);
  Result<> check(const std::string& path) const;

  const std::byte* data_;
  size_t size_;
};

}  // namespace sesame::replay
