// Writes a table from memory as a Parquet file. An error leaves an incomplete file.
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
  // 1 for each row with a value, 0 for one without, whose element is ignored. Empty: all have one.
  std::vector<uint32_t> present;
};

// Each column has `rows` elements; those of missing values count.
Result<> write_table(const std::string& path, const Table& table,
                     const std::vector<Values>& columns, size_t rows);

}  // namespace sesame::trace::parquet
