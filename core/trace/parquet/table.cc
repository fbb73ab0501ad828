#include "core/trace/parquet/table.h"

#include <array>
#include <utility>

#include "core/base/check.h"

namespace sesame::trace::parquet {
namespace {

constexpr std::array<std::pair<std::string_view, ColumnType>, 9> kTypeNames{{
    {"int64", ColumnType::kInt64},
    {"int32", ColumnType::kInt32},
    {"uint64", ColumnType::kUint64},
    {"uint32", ColumnType::kUint32},
    {"uint16", ColumnType::kUint16},
    {"uint8", ColumnType::kUint8},
    {"float64", ColumnType::kFloat64},
    {"text", ColumnType::kText},
    {"name", ColumnType::kName},
}};

}  // namespace

std::optional<ColumnType> column_type(std::string_view name) {
  for (const auto& [known, type] : kTypeNames) {
    if (known == name) return type;
  }
  return std::nullopt;
}

bool is_signed(ColumnType type) { return type == ColumnType::kInt64 || type == ColumnType::kInt32; }

int bit_width(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
    case ColumnType::kUint64:
      return 64;
    case ColumnType::kInt32:
    case ColumnType::kUint32:
      return 32;
    case ColumnType::kUint16:
      return 16;
    case ColumnType::kUint8:
      return 8;
    default:
      CHECK(is_integer(type));
      return 0;
  }
}

}  // namespace sesame::trace::parquet
