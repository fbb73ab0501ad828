#include "core/trace/parquet/write_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "core/base/check.h"
#include "core/trace/parquet/encodings.h"
#include "core/trace/parquet/file.h"

namespace sesame::trace::parquet {
namespace {

constexpr size_t kGroupRows = 1 << 20;
constexpr size_t kTablePageRows = 1 << 14;

std::string_view view(const std::string& buffer, const uint8_t* end) {
  return {buffer.data(),
          static_cast<size_t>(end - reinterpret_cast<const uint8_t*>(buffer.data()))};
}

// Makes the buffer hold `size` bytes, and 8 more that the encodings may overwrite.
uint8_t* reserve_bytes(std::string& buffer, size_t size) {
  buffer.resize(std::max(buffer.size(), size + 8));
  return reinterpret_cast<uint8_t*>(buffer.data());
}

// Writes the pages of one column.
class ColumnWriter {
 public:
  ColumnWriter(File& file, ColumnType type, const Values& values)
      : file_(file), type_(type), values_(values) {
    if (type == ColumnType::kName) make_dictionary();
  }

  void write(size_t begin, size_t end) {
    file_.begin_column();
    if (type_ == ColumnType::kName) file_.add_dictionary(names_);
    for (size_t at = begin; at < end; at += kTablePageRows) {
      write_page(at, std::min(at + kTablePageRows, end));
    }
    file_.end_column();
  }

 private:
  bool is_present(size_t row) const { return values_.present.empty() || values_.present[row] != 0; }

  void make_dictionary() {
    std::unordered_map<std::string_view, uint32_t> known;
    indices_.resize(values_.texts.size());
    for (size_t row = 0; row < indices_.size(); ++row) {
      if (!is_present(row)) continue;
      const auto [entry, is_new] =
          known.try_emplace(values_.texts[row], static_cast<uint32_t>(names_.size()));
      if (is_new) names_.push_back(values_.texts[row]);
      indices_[row] = entry->second;
    }
  }

  template <typename T, typename From>
  std::vector<T> present(const std::vector<From>& values, size_t begin, size_t end) const {
    std::vector<T> chosen;
    chosen.reserve(end - begin);
    for (size_t row = begin; row < end; ++row) {
      if (is_present(row)) chosen.push_back(static_cast<T>(values[row]));
    }
    return chosen;
  }

  void write_page(size_t begin, size_t end) {
    std::string_view levels;
    if (!values_.present.empty()) {
      const size_t rows = end - begin;
      levels = view(levels_, write_indices(&values_.present[begin], rows, 1,
                                           reserve_bytes(levels_, indices_bound(rows, 1))));
    }
    const auto [encoding, body] = encode(begin, end);
    file_.add_page(end - begin, encoding, {&body, 1}, levels);
  }

  std::pair<Encoding, std::string_view> encode(size_t begin, size_t end) {
    if (type_ == ColumnType::kName) return {Encoding::kRleDictionary, encode_names(begin, end)};
    if (type_ == ColumnType::kText) return {Encoding::kPlain, encode_texts(begin, end)};
    if (type_ == ColumnType::kFloat64) {
      const std::vector<double> numbers = present<double>(values_.numbers, begin, end);
      page_.assign(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
      return {Encoding::kPlain, page_};
    }
    return {Encoding::kDeltaBinaryPacked, is_wide(type_) ? encode_integers<int64_t>(begin, end)
                                                         : encode_integers<int32_t>(begin, end)};
  }

  template <typename T>
  std::string_view encode_integers(size_t begin, size_t end) {
    const std::vector<T> values = present<T>(values_.integers, begin, end);
    uint8_t* out = reserve_bytes(page_, kDeltaHeaderBound + delta_blocks_bound(values.size()));
    const T first = values.empty() ? 0 : values.front();
    out = write_delta_header(values.size(), first, out);
    if (values.size() > 1) {
      out = write_delta_blocks(values.data() + 1, values.size() - 1, first, out);
    }
    return view(page_, out);
  }

  std::string_view encode_names(size_t begin, size_t end) {
    const std::vector<uint32_t> indices = present<uint32_t>(indices_, begin, end);
    const int width = std::max(1, static_cast<int>(std::bit_width(names_.size())));
    uint8_t* out = reserve_bytes(page_, 1 + indices_bound(indices.size(), width));
    *out++ = static_cast<uint8_t>(width);
    return view(page_, write_indices(indices.data(), indices.size(), width, out));
  }

  std::string_view encode_texts(size_t begin, size_t end) {
    page_.clear();
    for (size_t row = begin; row < end; ++row) {
      if (!is_present(row)) continue;
      const std::string& text = values_.texts[row];
      const auto length = static_cast<uint32_t>(text.size());
      page_.append(reinterpret_cast<const char*>(&length), sizeof length);
      page_ += text;
    }
    return page_;
  }

  File& file_;
  ColumnType type_;
  const Values& values_;
  std::vector<std::string> names_;
  std::vector<uint32_t> indices_;
  std::string page_;
  std::string levels_;
};

}  // namespace

Result<> write_table(const std::string& path, const Table& table,
                     const std::vector<Values>& columns, size_t rows) {
  CHECK(columns.size() == table.columns.size());
  auto file = File::create(path, table);
  if (!file) return std::unexpected(file.error());
  std::vector<ColumnWriter> writers;
  for (size_t i = 0; i < columns.size(); ++i) {
    writers.emplace_back(*file, table.columns[i].type, columns[i]);
  }
  for (size_t begin = 0; begin < rows; begin += kGroupRows) {
    const size_t end = std::min(begin + kGroupRows, rows);
    file->begin_group();
    for (ColumnWriter& writer : writers) writer.write(begin, end);
    file->end_group(end - begin);
  }
  return file->close();
}

}  // namespace sesame::trace::parquet
