// Writes a table that is in memory as a Parquet file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/trace/parquet/table.h"

namespace sesame::trace::parquet {

// The values of a column, in the list that its type asks for: `integers` (unsigned ones as their
// bits), `numbers` (float64) or `texts`.
struct Values {
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  // For each row whether there is a value, 1 or 0; what the list has for the others means nothing.
  // Empty when there are all.
  std::vector<uint32_t> present;
};

// A column has `rows` values.
Result<> write_table(const std::string& path, const Table& table,
                     const std::vector<Values>& columns, size_t rows);

}  // namespace sesame::trace::parquet
