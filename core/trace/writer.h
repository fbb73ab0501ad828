// Writes a raw trace: a directory with the text file `metadata` and one stream file for each rank.
// Use: open(), append() records of each rank in the order of time, close().
//
// append() copies a record into the packet buffer without allocating. The packet is written to the
// rank's file when it is full or a record of another rank follows, so append many records of a rank
// in succession. One buffer serves all ranks and stays in the processor's cache. The number of open
// files is bounded. A rank without records has no file.
//
// A write that fails (a full disk) ends the recording: later records are counted as discarded, and
// close() returns the error. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/trace/metadata.h"
#include "core/trace/record.h"

namespace sesame::trace {

struct WriterOptions {
  std::string directory;  // exists, is empty
  uint32_t ranks = 0;
  Metadata metadata;
  size_t packet_bytes = 32 * 1024;
  size_t open_files = 128;  // at most so many descriptors stay open
};

class Writer {
 public:
  // Writes the metadata, so this fails when the directory cannot be written.
  static Result<std::unique_ptr<Writer>> open(WriterOptions options);

  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // closes; an error is lost, so call close()

  void append(uint32_t rank, const sesame_call_record& record);
  void append(uint32_t rank, const sesame_message_record& record);
  void append(uint32_t rank, const sesame_file_call_record& record);

  // Adds streams for `ranks` more ranks.
  void add_ranks(uint32_t ranks);

  // Adds a name of a call and rewrites the metadata; returns its number.
  uint16_t add_call_name(const std::string& name);

  // Writes the buffer and closes the files. Returns the first error of all writes.
  Result<> close();

  // The first error so far, to stop a long run early; empty when all is well.
  const std::optional<Error>& failure() const { return failure_; }
  uint64_t discarded() const { return discarded_; }  // records appended after a failure

 private:
  struct Stream;

  explicit Writer(WriterOptions options);
  void append_bytes(uint32_t rank, uint8_t id, int64_t timestamp_ps, const void* record,
                    size_t size);
  void begin_packet(uint32_t rank);
  void write_packet();
  std::string path_of(uint32_t rank) const;
  int descriptor_of(uint32_t rank, Stream& stream);
  void fail(const std::string& path, int error_number);

  WriterOptions options_;
  std::vector<Stream> streams_;
  std::unique_ptr<std::byte[]> packet_;
  size_t used_ = 0;           // bytes of the current packet; 0: there is none
  uint32_t packet_rank_ = 0;  // whose packet it is
  std::optional<Error> failure_;
  uint64_t discarded_ = 0;
  size_t files_kept_open_ = 0;
  bool closed_ = false;
};

// The name of a rank's file in the directory.
std::string stream_file_name(uint32_t rank);

}  // namespace sesame::trace
