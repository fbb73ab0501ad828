// The schema of a table: its columns with types, units and meanings, as info.json has them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sesame::trace::parquet {

enum class ColumnType {
  kInt64,
  kInt32,
  kUint64,
  kUint32,
  kUint16,
  kUint8,
  kFloat64,
  kText,
  kName,  // text from a short list
};

// As info.json names types: "int64", "text", …
std::optional<ColumnType> column_type(std::string_view name);

bool is_signed(ColumnType type);
// The width of an integer type in Arrow. REQUIRES: is_integer(type)
int bit_width(ColumnType type);
// Whether Parquet holds it as INT64; other integers are INT32.
inline bool is_wide(ColumnType type) {
  return type == ColumnType::kInt64 || type == ColumnType::kUint64;
}
inline bool is_integer(ColumnType type) { return type < ColumnType::kFloat64; }

struct Column {
  std::string name;
  ColumnType type = ColumnType::kInt64;
  std::string unit;
  std::string meaning;
};

struct Table {
  std::string name;
  std::string meaning;
  bool complete = false;  // no value is missing: the file has no definition levels
  std::vector<Column> columns;
};

}  // namespace sesame::trace::parquet
