// Reads the raw trace of a traced run (traced_format.h): its metadata, the states of its processes,
// and the records of each thread, one packet at a time. Use of TracedStream: while peek() is true,
// take(). Damage ends a stream after the records before it; damage() says what and where. A stream
// belongs to one thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/trace/traced_records.h"

namespace sesame::trace {

// The names of the functions, by their number in field `call`.
Result<std::vector<std::string>> parse_traced_metadata(std::string_view text,
                                                       const std::string& path);

struct TracedState {
  uint64_t records = 0;    // produced by all threads
  uint64_t discarded = 0;  // of these known to be lost
  uint32_t pid = 0;
  uint32_t ended = 0;  // as in traced_format.h
  int32_t error = 0;
};

Result<TracedState> read_traced_state(const std::string& path);

// The files of one process.
struct TracedFiles {
  std::string name;                  // the common part of their names
  std::string state;                 // path of the state file; empty when there is none
  std::vector<std::string> streams;  // paths, in the order of their names
};

struct TracedDirectory {
  std::vector<std::string> call_names;
  std::vector<TracedFiles> processes;  // sorted by name
};

Result<TracedDirectory> read_traced_directory(const std::string& path);

// The records of one thread in the order of their ends.
class TracedStream {
 public:
  explicit TracedStream(std::string path);

  // Whether there is a record; `next_time` is its time, in ns of CLOCK_MONOTONIC.
  bool peek() {
    while (at_ == end_) {
      if (!next_packet()) return false;
    }
    return peek_in_packet();
  }
  uint64_t next_time() const { return next_time_; }

  // Decodes the next record and gives it to visitor.on(record, its time). REQUIRES: peek() was
  // true. False when the record is damaged, which ends the stream.
  template <typename Visitor>
  bool take(Visitor& visitor) {
    uint8_t id = *at_;
    Bytes fields = at_ + sizeof(SesameRecordStart);
    DecodeResult taken = decode_record(id, fields, end_, next_time_, visitor);
    if (taken != DecodeResult::kRecord) [[unlikely]]
      return refuse(taken, id);
    at_ = fields;
    time_ = next_time_;
    ++records_;
    return true;
  }

  const std::string& path() const { return path_; }
  uint32_t pid() const { return pid_; }        // known once peek() was true
  uint32_t thread() const { return thread_; }  // likewise
  uint64_t records() const { return records_; }
  uint64_t discarded() const { return discarded_; }
  const std::optional<std::string>& damage() const { return damage_; }

 private:
  bool peek_in_packet() {
    if (static_cast<size_t>(end_ - at_) < sizeof(SesameRecordStart)) [[unlikely]] {
      return refuse(DecodeResult::kCutOff, 0);
    }
    auto low = decode::number<uint32_t>(at_ + 1);
    next_time_ = time_ + (low - static_cast<uint32_t>(time_));
    return true;
  }
  bool next_packet();
  bool check(const SesamePacketStart& start);
  bool refuse(DecodeResult why, uint8_t id);
  bool fail(const std::string& what);

  struct Closer {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<FILE, Closer> file_;
  std::vector<unsigned char> packet_;
  Bytes at_ = nullptr;
  Bytes end_ = nullptr;
  uint64_t time_ = 0;
  uint64_t next_time_ = 0;
  uint64_t records_ = 0;
  uint64_t discarded_ = 0;
  uint64_t offset_ = 0;       // of the packet being read
  uint64_t next_offset_ = 0;  // of the packet behind it
  uint64_t packets_ = 0;
  uint32_t pid_ = 0;
  uint32_t thread_ = 0;
  bool cut_ = false;  // the file ends inside the packet being read
  std::optional<std::string> damage_;
};

}  // namespace sesame::trace
