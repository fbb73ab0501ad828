// Reads a raw trace, one stream at a time in bounded memory. Use: StreamReader::open(), then read()
// until at_end. A stream that is cut off or damaged gives the records before the damage and then an
// Error with its offset, so a run that was killed leaves a readable trace. A reader is used by one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/trace/metadata.h"
#include "core/trace/stream_format.h"

namespace sesame::trace {

// Records of one type, contiguous, with the layout of the stream.
struct RecordBatch {
  uint8_t id = 0;
  std::vector<std::byte> bytes;
};

struct StreamBatch {
  StreamBatch();

  std::vector<RecordBatch> records;  // one entry for each record type, in the order of the list
  bool at_end = false;               // the stream has no further records

  size_t size_bytes() const;  // of all records
};

class StreamReader {
 public:
  // `path` is that of a stream file (stream_files()).
  static Result<std::unique_ptr<StreamReader>> open(const std::string& path);

  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;
  ~StreamReader();

  // Reads whole packets until they have `size_bytes` or the stream ends. Records before damage are
  // returned first; the next call returns the Error.
  Result<StreamBatch> read(size_t size_bytes);
  // The same, appended to the records of `batch`.
  Result<> read_into(StreamBatch& batch, size_t size_bytes);

  uint32_t rank() const { return rank_; }            // known after the first read
  uint64_t discarded() const { return discarded_; }  // records lost before the last packet read

 private:
  StreamReader(std::string path, FILE* file);
  Result<bool> read_packet(StreamBatch& batch);
  Result<> check_packet_start(const PacketStart& start) const;
  Result<> take_events(StreamBatch& batch);
  std::unexpected<Error> damage(const std::string& what) const;

  std::string path_;
  FILE* file_;
  std::vector<std::byte> events_;  // of the packet being read
  uint64_t offset_ = 0;            // of the packet being read
  uint64_t read_bytes_ = 0;        // of packets
  uint32_t rank_ = 0;
  uint64_t packets_ = 0;
  uint64_t discarded_ = 0;
  std::optional<Error> pending_;  // damage after the records returned last
};

// The metadata of a raw trace directory.
Result<Metadata> read_metadata(const std::string& directory);

// The paths of the stream files of a raw trace directory, by rank.
Result<std::vector<std::string>> stream_files(const std::string& directory);

}  // namespace sesame::trace
