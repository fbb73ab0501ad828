// A table of records that come while a simulation runs, some of one rank and then some of another,
// and that stand in the file in the order of ranks, those of a rank in the order in which they
// came.
//
// A few hundred records of a rank are encoded at a time, column by column, and kept in a Spill; at
// the end these chunks become pages, with what is left of each rank. So memory is bounded, a
// record is touched once, and the file does not depend on whose records came first.
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

// Where a record in memory has the value of a column.
struct Source {
  size_t offset = 0;
  size_t size_bytes = 0;  // 2, 4 or 8; 0: the column is the record's rank
  int name_width = 0;     // of a name: bits for its number
};

// Records of one rank, one behind the other.
struct Records {
  uint32_t rank = 0;
  const std::byte* begin = nullptr;
  size_t count = 0;
};

class RecordTable {
 public:
  // A source for each column, all integers or names; `directory` is for what memory does not hold.
  RecordTable(Table table, std::vector<Source> sources, size_t record_bytes,
              const std::string& directory);

  // Takes as many of the records as make whole chunks, and returns how many. Those that it did not
  // take are to come again, with later ones behind them.
  size_t take(const Records& records);

  // Writes the file and gives the number of its rows. `rest` gives what was not taken of a rank; it
  // stays in memory. `names` are those of the columns of names, in the order of columns.
  Result<uint64_t> write(const std::string& path, uint32_t ranks,
                         const std::function<Records(uint32_t)>& rest,
                         std::span<const std::span<const std::string>> names);

  const std::optional<Error>& failure() const { return spill_.failure(); }

 private:
  // Of one column in a chunk.
  struct Part {
    int64_t first;  // value, where a page begins
    Range range;
    uint64_t size_bytes;
  };
  // Where the columns of a page so far have ended.
  struct Open {
    std::vector<int64_t> last;  // values; empty: no record was taken
    size_t rows = 0;
  };
  struct Chunk {
    uint32_t rank;
    uint32_t rows;
    bool begins_page;
    uint64_t at;  // in the spill: a Part for each column, then the bytes of all
    size_t size_bytes;
  };
  class Assembly;
  class Shared;

  // In the form of a chunk in the spill; valid until the next call.
  std::string_view encode(std::span<const Records> records, size_t count, Open& open,
                          bool begins_page);
  template <typename T>
  uint8_t* encode_numbers(size_t column, std::span<const Records> records, size_t count,
                          bool begins_page, int64_t& last, Part& part, uint8_t* out);
  uint8_t* encode_names(size_t column, std::span<const Records> records, size_t count,
                        bool begins_page, uint8_t* out);

  Table table_;
  std::vector<Source> sources_;
  std::vector<bool> has_range_;
  size_t record_bytes_;
  Spill spill_;
  std::vector<Open> open_;  // by rank
  std::vector<Chunk> chunks_;
  std::vector<std::byte> values_;  // of a column, of whatever width it has
  std::string encoded_;            // a chunk
};

}  // namespace sesame::trace::parquet
