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

// As many records as make it worth while to go through their columns.
constexpr size_t kFewestTaken = 2 * kBlock;
constexpr size_t kRecordPageRows = 1 << 14;
constexpr size_t kRecordGroupRows = 1 << 17;

// Readers leave out row groups by what is asked for most: times and ranks.
bool has_range(const Column& column) {
  return is_integer(column.type) && column.type != ColumnType::kUint64 &&
         (column.unit == "ps" || column.unit == "ns" || column.unit == "rank");
}

template <typename From, typename T>
T* gather(const Records& records, size_t record_bytes, size_t offset, T* out) {
  const std::byte* at = records.begin + offset;
  for (size_t i = 0; i < records.count; ++i, at += record_bytes) {
    From value;
    std::memcpy(&value, at, sizeof value);
    *out++ = static_cast<T>(value);
  }
  return out;
}

// The values of one column, one behind the other.
template <typename T>
void gather_all(std::span<const Records> all, size_t record_bytes, const Source& source, T* out) {
  for (const Records& records : all) {
    switch (source.size_bytes) {
      case 0:
        out = std::fill_n(out, records.count, static_cast<T>(records.rank));
        break;
      case 2:
        out = gather<uint16_t>(records, record_bytes, source.offset, out);
        break;
      case 4:
        out = gather<uint32_t>(records, record_bytes, source.offset, out);
        break;
      default:
        CHECK(source.size_bytes == 8);
        out = gather<uint64_t>(records, record_bytes, source.offset, out);
    }
  }
}

}  // namespace

RecordTable::RecordTable(Table table, std::vector<Source> sources, size_t record_bytes,
                         const std::string& directory)
    : table_(std::move(table)),
      sources_(std::move(sources)),
      record_bytes_(record_bytes),
      spill_(directory) {
  CHECK(sources_.size() == table_.columns.size());
  for (const Column& column : table_.columns) has_range_.push_back(has_range(column));
}

size_t RecordTable::take(const Records& records) {
  if (records.count < kFewestTaken) return 0;
  if (records.rank >= open_.size()) open_.resize(records.rank + 1);
  Open& open = open_[records.rank];
  const bool begins_page = open.last.empty() || open.rows + records.count > kRecordPageRows;
  // The first number of a page is no difference.
  const size_t apart = begins_page ? 1 : 0;
  const size_t count = (records.count - apart) / kBlock * kBlock + apart;
  const Records taken{records.rank, records.begin, count};
  const std::string_view form = encode({&taken, 1}, count, open, begins_page);
  chunks_.push_back(
      {records.rank, static_cast<uint32_t>(count), begins_page, spill_.append(form), form.size()});
  return count;
}

std::string_view RecordTable::encode(std::span<const Records> records, size_t count, Open& open,
                                     bool begins_page) {
  const size_t columns = table_.columns.size();
  open.last.resize(columns);
  open.rows = begins_page ? count : open.rows + count;
  values_.resize(std::max(values_.size(), count * sizeof(int64_t)));
  const size_t head = columns * sizeof(Part);
  const size_t bound = head + columns * (delta_blocks_bound(count) + 16) + 8;
  encoded_.resize(std::max(encoded_.size(), bound));
  auto* const begin = reinterpret_cast<uint8_t*>(encoded_.data());
  uint8_t* out = begin + head;
  for (size_t i = 0; i < columns; ++i) {
    uint8_t* const column_begin = out;
    Part part{};
    const ColumnType type = table_.columns[i].type;
    if (type == ColumnType::kName) {
      out = encode_names(i, records, count, begins_page, out);
    } else if (is_wide(type)) {
      out = encode_numbers<int64_t>(i, records, count, begins_page, open.last[i], part, out);
    } else {
      out = encode_numbers<int32_t>(i, records, count, begins_page, open.last[i], part, out);
    }
    part.size_bytes = static_cast<uint64_t>(out - column_begin);
    std::memcpy(begin + i * sizeof part, &part, sizeof part);
  }
  return {encoded_.data(), static_cast<size_t>(out - begin)};
}

template <typename T>
uint8_t* RecordTable::encode_numbers(size_t column, std::span<const Records> records, size_t count,
                                     bool begins_page, int64_t& last, Part& part, uint8_t* out) {
  static_assert(sizeof(T) <= sizeof(int64_t));
  T* const values = reinterpret_cast<T*>(values_.data());
  gather_all(records, record_bytes_, sources_[column], values);
  if (has_range_[column]) {
    const auto [least, most] = std::minmax_element(values, values + count);
    part.range = {*least, *most};
  }
  const size_t apart = begins_page ? 1 : 0;
  const T before = begins_page ? values[0] : static_cast<T>(last);
  part.first = values[0];
  last = values[count - 1];
  return write_delta_blocks(values + apart, count - apart, before, out);
}

uint8_t* RecordTable::encode_names(size_t column, std::span<const Records> records, size_t count,
                                   bool begins_page, uint8_t* out) {
  auto* const values = reinterpret_cast<uint32_t*>(values_.data());
  gather_all(records, record_bytes_, sources_[column], values);
  const int width = sources_[column].name_width;
  const size_t apart = begins_page ? 1 : 0;
  if (begins_page) out = write_run(1, values[0], width, out);
  return write_indices(values + apart, count - apart, width, out);
}

// Puts chunks together to pages, and these to row groups.
class RecordTable::Assembly {
 public:
  Assembly(RecordTable& table, File& file, std::span<const std::span<const std::string>> names)
      : table_(table), file_(file), names_(names) {}

  // What follows is of another page than what came before.
  void begin_page() {
    if (rows_ >= kRecordGroupRows) write_group();
    pages_.emplace_back();
  }

  // A chunk in memory that stays.
  void add(std::string_view chunk, size_t rows) {
    pages_.back().chunks.push_back({chunk, chunk.data() + columns() * sizeof(Part)});
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
  struct Piece {
    std::string_view form;
    const char* next;  // the bytes of the column to be written
  };
  struct Page {
    std::vector<Piece> chunks;
    size_t rows = 0;
  };

  size_t columns() const { return table_.sources_.size(); }

  static Part part_of(const Piece& piece, size_t column) {
    Part part;
    std::memcpy(&part, piece.form.data() + column * sizeof part, sizeof part);
    return part;
  }

  void write_page(size_t column, Page& page, bool is_name, Range& range) {
    std::array<uint8_t, kDeltaHeaderBound> head;
    uint8_t* head_end = head.data();
    if (is_name) {
      *head_end++ = static_cast<uint8_t>(table_.sources_[column].name_width);
    } else {
      head_end =
          write_delta_header(page.rows, part_of(page.chunks.front(), column).first, head.data());
    }
    parts_.assign(1, {reinterpret_cast<const char*>(head.data()),
                      static_cast<size_t>(head_end - head.data())});
    for (Piece& piece : page.chunks) {
      const Part part = part_of(piece, column);
      parts_.emplace_back(piece.next, part.size_bytes);
      piece.next += part.size_bytes;
      range.least = std::min(range.least, part.range.least);
      range.most = std::max(range.most, part.range.most);
    }
    file_.add_page(page.rows, is_name ? Encoding::kRleDictionary : Encoding::kDeltaBinaryPacked,
                   parts_);
  }

  RecordTable& table_;
  File& file_;
  std::span<const std::span<const std::string>> names_;
  std::vector<Page> pages_;
  std::deque<std::string> copies_;
  std::vector<std::string_view> parts_;
  size_t rows_ = 0;
};

// Records of several ranks that have no chunks share pages.
class RecordTable::Shared {
 public:
  Shared(RecordTable& table, Assembly& assembly) : table_(table), assembly_(assembly) {}

  void add(const Records& records) {
    if (rows_ + records.count > kRecordPageRows) end_page();
    records_.push_back(records);
    rows_ += records.count;
  }
  void end_page() {
    if (rows_ > 0) {
      Open open;
      assembly_.begin_page();
      assembly_.add_copy(table_.encode(records_, rows_, open, true), rows_);
    }
    records_.clear();
    rows_ = 0;
  }

 private:
  RecordTable& table_;
  Assembly& assembly_;
  std::vector<Records> records_;
  size_t rows_ = 0;
};

Result<uint64_t> RecordTable::write(const std::string& path, uint32_t ranks,
                                    const std::function<Records(uint32_t)>& rest,
                                    std::span<const std::span<const std::string>> names) {
  if (auto finished = spill_.finish(); !finished) return std::unexpected(finished.error());
  auto file = File::create(path, table_);
  if (!file) return std::unexpected(file.error());
  std::ranges::stable_sort(chunks_, {}, &Chunk::rank);
  Assembly assembly(*this, *file, names);
  Shared shared(*this, assembly);
  auto chunk = chunks_.begin();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const Records left = rest(rank);
    if (chunk == chunks_.end() || chunk->rank != rank) {
      shared.add(left);
      continue;
    }
    shared.end_page();
    for (; chunk != chunks_.end() && chunk->rank == rank; ++chunk) {
      if (chunk->begins_page) assembly.begin_page();
      assembly.add(spill_.view(chunk->at, chunk->size_bytes), chunk->rows);
    }
    if (left.count > 0) {
      assembly.add_copy(encode({&left, 1}, left.count, open_[rank], false), left.count);
    }
  }
  shared.end_page();
  assembly.write_group();
  if (auto closed = file->close(); !closed) return std::unexpected(closed.error());
  return file->rows();
}

}  // namespace sesame::trace::parquet
