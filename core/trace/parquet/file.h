// Writes a Parquet file from encoded pages. Use: for each row group begin_group(), its columns in
// the order of the table, end_group(). For each column begin_column(), for names add_dictionary(),
// then add_page() for its rows, end_column(). close() writes the footer and returns the first error
// of all writes. Pages are compressed with LZ4 (codec LZ4_RAW); only one page is in memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/trace/file_output.h"
#include "core/trace/parquet/table.h"

namespace sesame::trace::parquet {

// As Parquet numbers them.
enum class Encoding { kPlain = 0, kRle = 3, kDeltaBinaryPacked = 5, kRleDictionary = 8 };

// The smallest and the largest value of an integer column, unsigned ones as their bits.
struct Range {
  int64_t least = 0;
  int64_t most = 0;
};

class File {
 public:
  static Result<File> create(const std::string& path, Table table);

  void begin_group();
  void begin_column();
  // Texts that the numbers in the pages of this column stand for.
  void add_dictionary(std::span<const std::string> names);
  // The encoded values of `rows` rows are the concatenation of `segments`. For tables that are not
  // complete, `levels` has a 1 for each present value and a 0 for each missing one, RLE-encoded; it
  // is empty when all are present. Segments have only the present values.
  void add_page(size_t rows, Encoding encoding, std::span<const std::string_view> segments,
                std::string_view levels = {});
  void end_column(std::optional<Range> range = std::nullopt);
  void end_group(uint64_t rows);
  // Writes the footer. The first error of all writes.
  Result<> close();

  const Table& table() const { return table_; }
  uint64_t rows() const { return rows_; }

 private:
  struct Chunk {
    uint64_t begin = 0;
    std::optional<uint64_t> dictionary;
    uint64_t data = 0;
    uint64_t end = 0;
    uint64_t expanded_bytes = 0;
    uint64_t values = 0;
    Encoding encoding = Encoding::kPlain;
    std::optional<Range> range;
  };
  struct Group {
    std::vector<Chunk> chunks;
    uint64_t rows = 0;
  };

  File(FileOutput output, Table table);
  // Writes page_ compressed behind a header whose further fields `describe` adds.
  template <typename Describe>
  void write_page(int type, Describe describe);
  std::string footer() const;
  void add_column_metadata(class CompactWriter& out, const Column& column,
                           const Chunk& chunk) const;

  FileOutput output_;
  Table table_;
  std::vector<Group> groups_;
  uint64_t rows_ = 0;
  std::string page_;
  std::string header_;
  std::string compressed_;
};

}  // namespace sesame::trace::parquet
