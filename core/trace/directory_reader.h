// Reads a whole raw trace, the streams one behind the other in the order of ranks, in bounded
// memory. Damage ends the stream that it is in, not the reading.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/trace/packet_index.h"
#include "core/trace/reader.h"

namespace sesame::trace {

// How many of a batch's records of one type a rank has.
struct RankRows {
  uint32_t rank;
  uint64_t rows;
};

struct DirectoryBatch : StreamBatch {
  // Beside `records`: whose they are, in the same order.
  std::vector<std::vector<RankRows>> rows;
};

class DirectoryReader {
 public:
  static Result<std::unique_ptr<DirectoryReader>> open(const std::string& directory);

  // About `size_bytes` of records, from as many streams as it takes. `at_end` when none follow. A
  // file that cannot be opened counts as damage.
  DirectoryBatch read(size_t size_bytes);

  uint64_t discarded() const { return discarded_; }  // in the streams read to their end
  const std::vector<std::string>& damage() const { return damage_; }  // a line for each place

 private:
  explicit DirectoryReader(std::vector<StreamSource> sources) : sources_(std::move(sources)) {}
  bool open_next();
  void end_stream();
  void note_rows(DirectoryBatch& batch, const std::vector<size_t>& had) const;

  std::vector<StreamSource> sources_;
  size_t next_source_ = 0;
  std::unique_ptr<StreamReader> stream_;  // null between streams
  uint64_t discarded_ = 0;
  std::vector<std::string> damage_;
};

}  // namespace sesame::trace
