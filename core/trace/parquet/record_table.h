// Writes a table of fixed-size records as a Parquet file while the records are produced.
//
// Ranks produce records in any order. Rows of the file are sorted by rank; rows of a rank are in
// the order in which they were appended. Use: append() the records of a rank as they become known,
// then write() once, with the records that append() did not take.
//
// Memory and order. append() encodes whole chunks of a rank, column by column, and stores them in a
// Spill (a temporary file). write() concatenates the chunks of each rank into Parquet pages without
// decoding them. That works because a chunk that continues a page has a multiple of 128 rows, the
// block length of the encodings. The first chunk of a page has one row more: the first value is
// encoded separately. The length of a chunk is fixed, so the bytes of the file depend on each
// rank's sequence of records only, not on when append() was called. Memory is bounded by one
// encoded chunk, 32 bytes for each stored chunk, and the last encoded value of each column of each
// rank.
//
// One thread at a time. An input or output error is stored: later calls do nothing, write() returns
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/trace/parquet/file.h"
#include "core/trace/parquet/spill.h"
#include "core/trace/parquet/table.h"

namespace sesame::trace::parquet {

// Where the value of a column is in a record in memory.
struct ColumnSource {
  size_t offset = 0;  // from the start of the record, in bytes
  // 2, 4 or 8; 0: the value is the record's rank. A field that is smaller than the column's integer
  // is extended with zeros, so a signed field must have the column's size.
  size_t size_bytes = 0;
  int name_width = 0;  // for a column of names: bits of an index in the list of names
};

// Consecutive records of one rank in the caller's memory.
struct RecordSpan {
  uint32_t rank = 0;
  const std::byte* begin = nullptr;
  size_t count = 0;
};

class RecordTable {
 public:
  // `sources` has an entry for each column of `table`, whose columns are all integers or names.
  // `record_bytes` is the size of a record. `directory` must exist and gets the temporary file.
  RecordTable(Table table, std::vector<ColumnSource> sources, size_t record_bytes,
              const std::string& directory);

  // Encodes as many records from the front as make whole chunks and returns their number. The
  // caller passes the others again, followed by later records of the rank. A call with fewer than
  // kChunkRows + 1 records may encode none.
  size_t append(const RecordSpan& records);

  // Rows of a chunk; the first chunk of a page has one more.
  static constexpr size_t kChunkRows = 256;

  // Writes the file; returns its number of rows. REQUIRES: all ranks that were appended are below
  // `ranks`. `remaining(rank)` returns the records of a rank
  // that append() has not encoded; they must stay valid during the call. `names` has the list of
  // names of each column of names, in the order of columns. Call once.
  Result<uint64_t> write(const std::string& path, uint32_t ranks,
                         const std::function<RecordSpan(uint32_t)>& remaining,
                         std::span<const std::span<const std::string>> names);

  // The first input or output error so far.
  const std::optional<Error>& failure() const { return spill_.failure(); }

 private:
  // Precedes the encoded columns in a chunk, one for each column.
  struct EncodedColumn {
    int64_t first;  // value of the first row
    Range range;
    uint64_t size_bytes;
  };
  // A rank's page that later chunks may continue.
  struct OpenPage {
    std::vector<int64_t> last;  // value of each column in the last row; empty: no page
    size_t rows = 0;
  };
  struct Chunk {
    uint32_t rank;
    uint32_t rows;
    bool begins_page;
    uint64_t spill_offset;  // an EncodedColumn for each column, then the bytes of all columns
    size_t size_bytes;
  };
  class FileAssembler;
  class SharedPages;

  // Encodes `count` records, all of one page, as a chunk; the result is valid until the next call.
  std::string_view encode(std::span<const RecordSpan> records, size_t count, OpenPage& page,
                          bool begins_page);
  template <typename T>
  uint8_t* encode_numbers(size_t column, std::span<const RecordSpan> records, size_t count,
                          bool begins_page, int64_t& last, EncodedColumn& encoded, uint8_t* out);
  uint8_t* encode_names(size_t column, std::span<const RecordSpan> records, size_t count,
                        bool begins_page, uint8_t* out);

  Table table_;
  std::vector<ColumnSource> sources_;
  std::vector<bool> has_range_;
  size_t record_bytes_;
  Spill spill_;
  std::vector<OpenPage> pages_;  // by rank
  std::vector<Chunk> chunks_;
  std::vector<std::byte> values_;  // of one column while it is encoded, 4 or 8 bytes each
  std::string encoded_;            // the chunk being encoded
};

}  // namespace sesame::trace::parquet
