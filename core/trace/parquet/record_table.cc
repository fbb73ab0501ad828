#include "core/trace/parquet/record_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <type_traits>

#include "core/base/check.h"
#include "core/trace/parquet/encodings.h"

namespace sesame::trace::parquet {
namespace {

constexpr size_t kRecordPageRows = 1 << 14;
constexpr size_t kRecordGroupRows = 1 << 17;

// Readers skip row groups by the ranges of the columns that are queried most: times and ranks.
bool has_range(const Column& column) {
  return is_integer(column.type) && column.type != ColumnType::kUint64 &&
         (column.unit == "ps" || column.unit == "ns" || column.unit == "rank");
}

// Returns the bits in which any two of the values differ.
template <typename From, typename T>
From gather(const RecordSpan& records, size_t record_bytes, size_t offset, T* out) {
  const std::byte* at = records.begin + offset;
  From first;
  std::memcpy(&first, at, sizeof first);
  From different = 0;
  for (size_t i = 0; i < records.count; ++i, at += record_bytes) {
    From value;
    std::memcpy(&value, at, sizeof value);
    different |= value ^ first;
    out[i] = static_cast<T>(value);
  }
  return different;
}

template <typename T>
bool are_equal(const RecordSpan& records, size_t record_bytes, const ColumnSource& source, T* out) {
  switch (source.size_bytes) {
    case 0:
      std::fill_n(out, records.count, static_cast<T>(records.rank));
      return true;
    case 2:
      return gather<uint16_t>(records, record_bytes, source.offset, out) == 0;
    case 4:
      return gather<uint32_t>(records, record_bytes, source.offset, out) == 0;
    default:
      CHECK(source.size_bytes == 8);
      return gather<uint64_t>(records, record_bytes, source.offset, out) == 0;
  }
}

// Copies the values of one column to consecutive elements of `out`. Returns whether all are equal.
template <typename T>
bool gather_all(std::span<const RecordSpan> all, size_t record_bytes, const ColumnSource& source,
                T* out) {
  const T* const first = out;
  bool equal = true;
  for (const RecordSpan& records : all) {
    if (records.count == 0) continue;
    equal &= are_equal(records, record_bytes, source, out);
    equal &= *out == *first;
    out += records.count;
  }
  return equal;
}

}  // namespace

RecordTable::RecordTable(Table table, std::vector<ColumnSource> sources, size_t record_bytes,
                         const std::string& directory)
    : table_(std::move(table)),
      sources_(std::move(sources)),
      record_bytes_(record_bytes),
      spill_(directory) {
  CHECK(sources_.size() == table_.columns.size());
  for (const Column& column : table_.columns) has_range_.push_back(has_range(column));
}

size_t RecordTable::append(const RecordSpan& records) {
  static_assert(kChunkRows % kBlock == 0);
  size_t done = 0;
  while (records.count - done >= kChunkRows) {
    if (records.rank >= pages_.size()) pages_.resize(records.rank + 1);
    OpenPage& page = pages_[records.rank];
    const bool begins_page = page.last.empty() || page.rows + kChunkRows > kRecordPageRows;
    const size_t count = kChunkRows + (begins_page ? 1 : 0);
    if (records.count - done < count) break;
    const RecordSpan chunk{records.rank, records.begin + done * record_bytes_, count};
    const std::string_view encoded = encode({&chunk, 1}, count, page, begins_page);
    chunks_.push_back({records.rank, static_cast<uint32_t>(count), begins_page,
                       spill_.append(encoded), encoded.size()});
    done += count;
  }
  return done;
}

std::string_view RecordTable::encode(std::span<const RecordSpan> records, size_t count,
                                     OpenPage& page, bool begins_page) {
  const size_t columns = table_.columns.size();
  page.last.resize(columns);
  page.rows = begins_page ? count : page.rows + count;
  values_.resize(std::max(values_.size(), count * sizeof(int64_t)));
  const size_t head = columns * sizeof(EncodedColumn);
  const size_t bound = head + columns * (delta_blocks_bound(count) + 16) + 8;
  encoded_.resize(std::max(encoded_.size(), bound));
  auto* const begin = reinterpret_cast<uint8_t*>(encoded_.data());
  uint8_t* out = begin + head;
  for (size_t i = 0; i < columns; ++i) {
    uint8_t* const column_begin = out;
    EncodedColumn encoded{};
    const ColumnType type = table_.columns[i].type;
    if (type == ColumnType::kName) {
      out = encode_names(i, records, count, begins_page, out);
    } else if (is_wide(type)) {
      out = encode_numbers<int64_t>(i, records, count, begins_page, page.last[i], encoded, out);
    } else {
      out = encode_numbers<int32_t>(i, records, count, begins_page, page.last[i], encoded, out);
    }
    encoded.size_bytes = static_cast<uint64_t>(out - column_begin);
    std::memcpy(begin + i * sizeof encoded, &encoded, sizeof encoded);
  }
  return {encoded_.data(), static_cast<size_t>(out - begin)};
}

template <typename T>
uint8_t* RecordTable::encode_numbers(size_t column, std::span<const RecordSpan> records,
                                     size_t count, bool begins_page, int64_t& last,
                                     EncodedColumn& encoded, uint8_t* out) {
  static_assert(sizeof(T) <= sizeof(int64_t));
  T* const values = reinterpret_cast<T*>(values_.data());
  const bool equal = gather_all(records, record_bytes_, sources_[column], values);
  if (has_range_[column]) {
    const auto [least, most] = extremes_of(values, equal ? 1 : count);
    encoded.range = {least, most};
  }
  const size_t in_header = begins_page ? 1 : 0;  // the page's first value
  const T before = begins_page ? values[0] : static_cast<T>(last);
  encoded.first = values[0];
  last = values[count - 1];
  if (equal) return write_equal_blocks(values[0], count - in_header, before, out);
  return write_delta_blocks(values + in_header, count - in_header, before, out);
}

uint8_t* RecordTable::encode_names(size_t column, std::span<const RecordSpan> records, size_t count,
                                   bool begins_page, uint8_t* out) {
  auto* const values = reinterpret_cast<uint32_t*>(values_.data());
  const bool equal = gather_all(records, record_bytes_, sources_[column], values);
  const int width = sources_[column].name_width;
  const size_t alone = begins_page ? 1 : 0;  // the page's first value: a multiple of kBlock follow
  if (begins_page) out = write_run(1, values[0], width, out);
  if (equal && count > alone) return write_run(count - alone, values[0], width, out);
  return write_indices(values + alone, count - alone, width, out);
}

// Concatenates chunks to pages, and pages to row groups.
class RecordTable::FileAssembler {
 public:
  FileAssembler(RecordTable& table, File& file, std::span<const std::span<const std::string>> names)
      : table_(table), file_(file), names_(names) {}

  // Later chunks belong to a new page.
  void begin_page() {
    if (rows_ >= kRecordGroupRows) write_group();
    pages_.emplace_back();
  }

  // `chunk` must stay valid until the next write_group().
  void add(std::string_view chunk, size_t rows) {
    pages_.back().chunks.push_back({chunk, chunk.data() + columns() * sizeof(EncodedColumn)});
    pages_.back().rows += rows;
    rows_ += rows;
  }
  void add_copy(std::string_view chunk, size_t rows) { add(copies_.emplace_back(chunk), rows); }

  void write_group() {
    if (rows_ == 0) return;
    file_.begin_group();
    size_t names_used = 0;
    for (size_t i = 0; i < columns(); ++i) {
      file_.begin_column();
      const bool is_name = table_.table_.columns[i].type == ColumnType::kName;
      if (is_name) file_.add_dictionary(names_[names_used++]);
      Range range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
      for (Page& page : pages_) write_page(i, page, is_name, range);
      file_.end_column(table_.has_range_[i] ? std::optional(range) : std::nullopt);
    }
    file_.end_group(rows_);
    pages_.clear();
    copies_.clear();
    rows_ = 0;
  }

 private:
  struct ChunkReader {
    std::string_view chunk;
    const char* next;  // start of the column to be written next
  };
  struct Page {
    std::vector<ChunkReader> chunks;
    size_t rows = 0;
  };

  size_t columns() const { return table_.sources_.size(); }

  static EncodedColumn encoded_column(const ChunkReader& reader, size_t column) {
    EncodedColumn encoded;
    std::memcpy(&encoded, reader.chunk.data() + column * sizeof encoded, sizeof encoded);
    return encoded;
  }

  void write_page(size_t column, Page& page, bool is_name, Range& range) {
    std::array<uint8_t, kDeltaHeaderBound> head;
    uint8_t* head_end = head.data();
    if (is_name) {
      *head_end++ = static_cast<uint8_t>(table_.sources_[column].name_width);
    } else {
      head_end = write_delta_header(page.rows, encoded_column(page.chunks.front(), column).first,
                                    head.data());
    }
    segments_.assign(1, {reinterpret_cast<const char*>(head.data()),
                         static_cast<size_t>(head_end - head.data())});
    for (ChunkReader& reader : page.chunks) {
      const EncodedColumn encoded = encoded_column(reader, column);
      segments_.emplace_back(reader.next, encoded.size_bytes);
      reader.next += encoded.size_bytes;
      range.least = std::min(range.least, encoded.range.least);
      range.most = std::max(range.most, encoded.range.most);
    }
    file_.add_page(page.rows, is_name ? Encoding::kRleDictionary : Encoding::kDeltaBinaryPacked,
                   segments_);
  }

  RecordTable& table_;
  File& file_;
  std::span<const std::span<const std::string>> names_;
  std::vector<Page> pages_;
  std::deque<std::string> copies_;
  std::vector<std::string_view> segments_;
  size_t rows_ = 0;
};

// Pages of ranks with too few records for a chunk: the records of several ranks share a page.
class RecordTable::SharedPages {
 public:
  SharedPages(RecordTable& table, FileAssembler& assembler)
      : table_(table), assembler_(assembler) {}

  void add(const RecordSpan& records) {
    if (rows_ + records.count > kRecordPageRows) end_page();
    records_.push_back(records);
    rows_ += records.count;
  }
  void end_page() {
    if (rows_ > 0) {
      OpenPage page;
      assembler_.begin_page();
      assembler_.add_copy(table_.encode(records_, rows_, page, true), rows_);
    }
    records_.clear();
    rows_ = 0;
  }

 private:
  RecordTable& table_;
  FileAssembler& assembler_;
  std::vector<RecordSpan> records_;
  size_t rows_ = 0;
};

Result<uint64_t> RecordTable::write(const std::string& path, uint32_t ranks,
                                    const std::function<RecordSpan(uint32_t)>& remaining,
                                    std::span<const std::span<const std::string>> names) {
  if (auto finished = spill_.finish(); !finished) return std::unexpected(finished.error());
  auto file = File::create(path, table_);
  if (!file) return std::unexpected(file.error());
  std::ranges::stable_sort(chunks_, {}, &Chunk::rank);
  FileAssembler assembler(*this, *file, names);
  SharedPages shared(*this, assembler);
  auto chunk = chunks_.begin();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const RecordSpan left = remaining(rank);
    if (chunk == chunks_.end() || chunk->rank != rank) {
      shared.add(left);
      continue;
    }
    shared.end_page();
    for (; chunk != chunks_.end() && chunk->rank == rank; ++chunk) {
      if (chunk->begins_page) assembler.begin_page();
      assembler.add(spill_.view(chunk->spill_offset, chunk->size_bytes), chunk->rows);
    }
    if (left.count > 0) {
      assembler.add_copy(encode({&left, 1}, left.count, pages_[rank], false), left.count);
    }
  }
  shared.end_page();
  CHECK(chunk == chunks_.end());
  assembler.write_group();
  if (auto closed = file->close(); !closed) return std::unexpected(closed.error());
  return file->rows();
}

}  // namespace sesame::trace::parquet
