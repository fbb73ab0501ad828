#include "core/trace/parquet/file.h"

#include <lz4.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/trace/parquet/arrow_schema.h"
#include "core/trace/parquet/compact_writer.h"
#include "core/trace/parquet/encodings.h"

namespace sesame::trace::parquet {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::string_view kCreatedBy = "sesame";
constexpr int kFormatVersion = 2;
constexpr int kLz4Raw = 7;
constexpr int kUtf8 = 0;
enum PageType { kDataPage = 0, kDictionaryPage = 2 };
enum PhysicalType {
  kPhysicalInt32 = 1,
  kPhysicalInt64 = 2,
  kPhysicalDouble = 5,
  kPhysicalBytes = 6
};

PhysicalType physical_type(ColumnType type) {
  if (is_integer(type)) return is_wide(type) ? kPhysicalInt64 : kPhysicalInt32;
  return type == ColumnType::kFloat64 ? kPhysicalDouble : kPhysicalBytes;
}

// ConvertedType's UINT_8 … UINT_64, INT_8 … INT_64 follow one another.
int converted_integer(ColumnType type) {
  int power = 0;
  for (int bits = bit_width(type); bits > 8; bits /= 2) ++power;
  return (is_signed(type) ? 15 : 11) + power;
}

void add_schema_element(CompactWriter& out, const Column& column, bool complete) {
  out.begin_element();
  out.i32(1, physical_type(column.type));
  out.i32(3, complete ? 0 : 1);
  out.text(4, column.name);
  if (is_integer(column.type)) {
    out.i32(6, converted_integer(column.type));
    out.begin_struct(10);
    out.begin_struct(10);  // of the union LogicalType: INTEGER
    out.byte(1, static_cast<int8_t>(bit_width(column.type)));
    out.boolean(2, is_signed(column.type));
    out.end_struct();
    out.end_struct();
  } else if (column.type != ColumnType::kFloat64) {
    out.i32(6, kUtf8);
    out.begin_struct(10);
    out.begin_struct(1);  // of the union LogicalType: STRING
    out.end_struct();
    out.end_struct();
  }
  out.end_struct();
}

void add_pair(CompactWriter& out, std::string_view key, std::string_view value) {
  out.begin_element();
  out.text(1, key);
  out.text(2, value);
  out.end_struct();
}

std::string_view bytes_of(const int64_t& value, ColumnType type) {
  return {reinterpret_cast<const char*>(&value), is_wide(type) ? 8u : 4u};
}

}  // namespace

Result<File> File::create(const std::string& path, Table table) {
  auto output = FileOutput::create(path);
  if (!output) return std::unexpected(output.error());
  return File(std::move(*output), std::move(table));
}

File::File(FileOutput output, Table table) : output_(std::move(output)), table_(std::move(table)) {
  output_.write(kMagic);
}

void File::begin_group() { groups_.emplace_back(); }

void File::begin_column() {
  Chunk& chunk = groups_.back().chunks.emplace_back();
  chunk.begin = chunk.data = output_.size();
}

template <typename Describe>
void File::write_page(int type, Describe describe) {
  Chunk& chunk = groups_.back().chunks.back();
  CHECK(page_.size() <= LZ4_MAX_INPUT_SIZE);  // less than INT32_MAX, the header's limit
  const auto page_bytes = static_cast<int>(page_.size());
  const int bound = LZ4_compressBound(page_bytes);
  compressed_.resize(std::max(compressed_.size(), static_cast<size_t>(bound)));
  const int compressed_bytes =
      LZ4_compress_default(page_.data(), compressed_.data(), page_bytes, bound);
  CHECK(compressed_bytes > 0);
  const auto size = static_cast<size_t>(compressed_bytes);
  header_.clear();
  CompactWriter out(&header_);
  out.begin_element();
  out.i32(1, type);
  out.i32(2, static_cast<int64_t>(page_.size()));
  out.i32(3, static_cast<int64_t>(size));
  describe(out);
  out.end_struct();
  output_.write(header_);
  output_.write({compressed_.data(), size});
  chunk.expanded_bytes += header_.size() + page_.size();
}

void File::add_dictionary(std::span<const std::string> names) {
  Chunk& chunk = groups_.back().chunks.back();
  CHECK(!chunk.dictionary && chunk.values == 0);
  page_.clear();
  for (const std::string& name : names) {
    const auto length = static_cast<uint32_t>(name.size());
    page_.append(reinterpret_cast<const char*>(&length), sizeof length);
    page_ += name;
  }
  chunk.dictionary = output_.size();
  write_page(kDictionaryPage, [&](CompactWriter& out) {
    out.begin_struct(7);
    out.i32(1, static_cast<int64_t>(names.size()));
    out.i32(2, static_cast<int>(Encoding::kPlain));
    out.end_struct();
  });
  chunk.data = output_.size();
}

void File::add_page(size_t rows, Encoding encoding, std::span<const std::string_view> segments,
                    std::string_view levels) {
  page_.clear();
  if (!table_.complete) {
    std::array<uint8_t, 16> all_present;
    if (levels.empty()) {
      const uint8_t* end = write_run(rows, 1, 1, all_present.data());
      levels = {reinterpret_cast<const char*>(all_present.data()),
                static_cast<size_t>(end - all_present.data())};
    }
    const auto length = static_cast<uint32_t>(levels.size());
    page_.append(reinterpret_cast<const char*>(&length), sizeof length);
    page_ += levels;
  }
  for (const std::string_view segment : segments) page_ += segment;
  write_page(kDataPage, [&](CompactWriter& out) {
    out.begin_struct(5);
    out.i32(1, static_cast<int64_t>(rows));
    out.i32(2, static_cast<int>(encoding));
    out.i32(3, static_cast<int>(Encoding::kRle));
    out.i32(4, static_cast<int>(Encoding::kRle));
    out.end_struct();
  });
  Chunk& chunk = groups_.back().chunks.back();
  chunk.encoding = encoding;
  chunk.values += rows;
}

void File::end_column(std::optional<Range> range) {
  Chunk& chunk = groups_.back().chunks.back();
  chunk.end = output_.size();
  chunk.range = range;
}

void File::end_group(uint64_t rows) {
  CHECK(groups_.back().chunks.size() == table_.columns.size());
  groups_.back().rows = rows;
  rows_ += rows;
}

void File::add_column_metadata(CompactWriter& out, const Column& column, const Chunk& chunk) const {
  out.begin_struct(3);
  out.i32(1, physical_type(column.type));
  const auto encoding = static_cast<int64_t>(chunk.encoding);
  out.begin_list(2, CompactWriter::kInt32, chunk.dictionary ? 3 : 2);
  if (chunk.dictionary) out.number_element(static_cast<int64_t>(Encoding::kPlain));
  out.number_element(static_cast<int64_t>(Encoding::kRle));
  out.number_element(encoding);
  out.begin_list(3, CompactWriter::kBinary, 1);
  out.text_element(column.name);
  out.i32(4, kLz4Raw);
  out.i64(5, static_cast<int64_t>(chunk.values));
  out.i64(6, static_cast<int64_t>(chunk.expanded_bytes));
  out.i64(7, static_cast<int64_t>(chunk.end - chunk.begin));
  out.i64(9, static_cast<int64_t>(chunk.data));
  if (chunk.dictionary) out.i64(11, static_cast<int64_t>(*chunk.dictionary));
  if (chunk.range) {
    out.begin_struct(12);
    out.text(5, bytes_of(chunk.range->most, column.type));
    out.text(6, bytes_of(chunk.range->least, column.type));
    out.end_struct();
  }
  out.end_struct();
}

std::string File::footer() const {
  std::string text;
  CompactWriter out(&text);
  out.begin_element();
  out.i32(1, kFormatVersion);
  out.begin_list(2, CompactWriter::kStruct, table_.columns.size() + 1);
  out.begin_element();
  out.text(4, "schema");
  out.i32(5, static_cast<int64_t>(table_.columns.size()));
  out.end_struct();
  for (const Column& column : table_.columns) add_schema_element(out, column, table_.complete);
  out.i64(3, static_cast<int64_t>(rows_));
  out.begin_list(4, CompactWriter::kStruct, groups_.size());
  for (const Group& group : groups_) {
    uint64_t expanded = 0;
    for (const Chunk& chunk : group.chunks) expanded += chunk.expanded_bytes;
    out.begin_element();
    out.begin_list(1, CompactWriter::kStruct, group.chunks.size());
    for (size_t i = 0; i < group.chunks.size(); ++i) {
      out.begin_element();
      out.i64(2, static_cast<int64_t>(group.chunks[i].begin));
      add_column_metadata(out, table_.columns[i], group.chunks[i]);
      out.end_struct();
    }
    out.i64(2, static_cast<int64_t>(expanded));
    out.i64(3, static_cast<int64_t>(group.rows));
    out.end_struct();
  }
  out.begin_list(5, CompactWriter::kStruct, 3);
  add_pair(out, "record_type", table_.name);
  add_pair(out, "meaning", table_.meaning);
  add_pair(out, "ARROW:schema", arrow_schema(table_));
  out.text(6, kCreatedBy);
  out.begin_list(7, CompactWriter::kStruct, table_.columns.size());
  for (size_t i = 0; i < table_.columns.size(); ++i) {  // ColumnOrder: TYPE_ORDER
    out.begin_element();
    out.begin_struct(1);
    out.end_struct();
    out.end_struct();
  }
  out.end_struct();
  return text;
}

Result<> File::close() {
  const std::string text = footer();
  const auto length = static_cast<uint32_t>(text.size());
  output_.write(text);
  output_.write({reinterpret_cast<const char*>(&length), sizeof length});
  output_.write(kMagic);
  return output_.close();
}

}  // namespace sesame::trace::parquet
