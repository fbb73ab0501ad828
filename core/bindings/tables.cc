// Python's interface to write_table(): writes lists of values as a Parquet file.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/bindings/unwrap.h"
#include "core/trace/parquet/write_table.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sesame::bindings {
namespace {

namespace parquet = trace::parquet;
using parquet::ColumnType;
using parquet::Table;
using parquet::Values;

[[noreturn]] void refuse(const Table& table, const parquet::Column& column,
                         const std::string& what) {
  throw nb::value_error(("table " + table.name + ", column " + column.name + ": " + what).c_str());
}

void append(ColumnType type, nb::handle value, Values* values) {
  if (type == ColumnType::kFloat64) {
    values->numbers.push_back(nb::cast<double>(value));
  } else if (!is_integer(type)) {
    values->texts.push_back(nb::cast<std::string>(value));
  } else if (type == ColumnType::kUint64) {
    values->integers.push_back(static_cast<int64_t>(nb::cast<uint64_t>(value)));
  } else {
    const auto number = nb::cast<int64_t>(value);
    if (type != ColumnType::kInt64) {
      const int64_t most = int64_t{1} << (bit_width(type) - (is_signed(type) ? 1 : 0));
      if (number >= most || number < (is_signed(type) ? -most : 0)) throw nb::cast_error();
    }
    values->integers.push_back(number);
  }
}

void append_missing(ColumnType type, Values* values) {
  if (type == ColumnType::kFloat64) {
    values->numbers.push_back(0);
  } else if (is_integer(type)) {
    values->integers.push_back(0);
  } else {
    values->texts.emplace_back();
  }
}

Values read_column(const Table& table, const parquet::Column& column, const nb::list& given) {
  Values values;
  const size_t rows = nb::len(given);
  for (size_t row = 0; row < rows; ++row) {
    const nb::handle value = given[row];
    if (value.is_none()) {
      if (table.complete) refuse(table, column, "a value is missing");
      values.present.resize(row, 1);
      values.present.push_back(0);
      append_missing(column.type, &values);
      continue;
    }
    if (!values.present.empty()) values.present.push_back(1);
    try {
      append(column.type, value, &values);
    } catch (const std::bad_cast&) {
      refuse(table, column, nb::cast<std::string>(nb::repr(value)) + " does not fit its type");
    }
  }
  return values;
}

// columns: (name, type, unit, meaning) of each, as info.json has them; values: a list for each.
void write_table(const std::string& path, std::string name, std::string meaning, bool complete,
                 const nb::list& columns, const nb::list& values) {
  Table table{std::move(name), std::move(meaning), complete, {}};
  std::vector<Values> contents;
  size_t rows = 0;
  for (size_t i = 0; i < nb::len(columns); ++i) {
    const auto text = [&](size_t part) { return nb::cast<std::string>(columns[i][part]); };
    const auto type = parquet::column_type(text(1));
    if (!type) throw nb::value_error(("there is no type " + text(1)).c_str());
    table.columns.push_back({text(0), *type, text(2), text(3)});
    const auto column = nb::cast<nb::list>(values[i]);
    if (i > 0 && nb::len(column) != rows) {
      refuse(table, table.columns.back(),
             std::to_string(nb::len(column)) + " values, expected " + std::to_string(rows));
    }
    rows = nb::len(column);
    contents.push_back(read_column(table, table.columns.back(), column));
  }
  const nb::gil_scoped_release others;
  unwrap(parquet::write_table(path, table, contents, rows));
}

}  // namespace

void register_tables(nb::module_& module) {
  module.def("write_table", &write_table, "path"_a, "name"_a, "meaning"_a, "complete"_a,
             "columns"_a, "values"_a);
}

}  // namespace sesame::bindings
