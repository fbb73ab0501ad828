// The Arrow schema of a table, in base64, for the Parquet footer's key ARROW:schema. Readers based
// on Arrow find units and meanings in the metadata of the columns, and columns of names as
// dictionaries.
#pragma once

#include <string>

#include "core/trace/parquet/table.h"

namespace sesame::trace::parquet {

std::string arrow_schema(const Table& table);

}  // namespace sesame::trace::parquet
