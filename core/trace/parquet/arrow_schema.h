// A table's columns as Arrow describes them, in the form in which Parquet files carry that (the
// value of the footer's key ARROW:schema): readers based on Arrow find units and meanings with the
// columns, and names from a list as dictionaries.
#pragma once

#include <string>

#include "core/trace/parquet/table.h"

namespace sesame::trace::parquet {

std::string arrow_schema(const Table& table);

}  // namespace sesame::trace::parquet
