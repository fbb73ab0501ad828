// The raw trace in Python: record types, the writer (tests and tools), the reader.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <type_traits>

#include "core/base/check.h"
#include "core/bindings/unwrap.h"
#include "core/trace/directory_reader.h"
#include "core/trace/reader.h"
#include "core/trace/record_types.h"
#include "core/trace/writer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sesame::bindings {
namespace {

using trace::DirectoryReader;
using trace::Writer;

nb::dict field_dict(const trace::FieldType& field) {
  nb::dict result;
  result["name"] = field.name;
  // As numpy names it: "<i8", "<u4", …
  result["dtype"] = std::string(field.is_signed ? "<i" : "<u") + std::to_string(field.size_bytes);
  result["unit"] = field.unit;
  result["meaning"] = field.meaning;
  result["names"] = field.names;
  return result;
}

nb::list record_type_list() {
  nb::list types;
  for (const trace::RecordType& type : trace::record_types()) {
    nb::list fields;
    for (const trace::FieldType& field : type.fields) fields.append(field_dict(field));
    nb::dict result;
    result["name"] = type.name;
    result["id"] = type.id;
    result["timestamp_field"] = type.timestamp_field;
    result["meaning"] = type.meaning;
    result["size_bytes"] = type.size_bytes;
    result["fields"] = fields;
    types.append(result);
  }
  return types;
}

using FieldValues = nb::ndarray<nb::numpy>;

// One field of each record, in memory of its own.
std::unique_ptr<std::byte[]> values_of(const trace::RecordBatch& batch, size_t record_bytes,
                                       const trace::FieldType& field) {
  const size_t rows = batch.bytes.size() / record_bytes;
  auto values = std::make_unique_for_overwrite<std::byte[]>(rows * field.size_bytes);
  const std::byte* from = batch.bytes.data() + field.offset;
  const auto copy = [&]<size_t kBytes>(std::integral_constant<size_t, kBytes>) {
    std::byte* to = values.get();
    for (size_t row = 0; row < rows; ++row, from += record_bytes, to += kBytes) {
      std::memcpy(to, from, kBytes);
    }
  };
  switch (field.size_bytes) {
    case 2:
      copy(std::integral_constant<size_t, 2>());
      break;
    case 4:
      copy(std::integral_constant<size_t, 4>());
      break;
    default:
      CHECK(field.size_bytes == 8);
      copy(std::integral_constant<size_t, 8>());
  }
  return values;
}

FieldValues as_array(std::unique_ptr<std::byte[]> values, size_t rows,
                     const trace::FieldType& field) {
  std::byte* data = values.release();
  nb::capsule owner(data, [](void* bytes) noexcept { delete[] static_cast<std::byte*>(bytes); });
  using nb::dlpack::dtype_code;
  const nb::dlpack::dtype type{
      static_cast<uint8_t>(field.is_signed ? dtype_code::Int : dtype_code::UInt),
      static_cast<uint8_t>(8 * field.size_bytes), 1};
  return FieldValues(data, {rows}, owner, {}, type);
}

// By type name (values by field name, [(rank, rows), …] in their order), and whether nothing
// follows. Python's other threads run meanwhile.
nb::tuple read_batch(DirectoryReader& reader, size_t size_bytes) {
  trace::DirectoryBatch batch;
  std::vector<std::vector<std::unique_ptr<std::byte[]>>> columns(trace::record_types().size());
  {
    const nb::gil_scoped_release others;
    batch = reader.read(size_bytes);
    for (size_t i = 0; i < batch.records.size(); ++i) {
      const trace::RecordType& type = *trace::find_record_type(batch.records[i].id);
      for (const trace::FieldType& field : type.fields) {
        columns[i].push_back(values_of(batch.records[i], type.size_bytes, field));
      }
    }
  }
  nb::dict records;
  for (size_t i = 0; i < batch.records.size(); ++i) {
    const trace::RecordType& type = *trace::find_record_type(batch.records[i].id);
    const size_t rows = batch.records[i].bytes.size() / type.size_bytes;
    nb::dict values;
    for (size_t f = 0; f < type.fields.size(); ++f) {
      const trace::FieldType& field = type.fields[f];
      values[nb::str(field.name.data(), field.name.size())] =
          as_array(std::move(columns[i][f]), rows, field);
    }
    nb::list runs;
    for (const trace::RankRows& run : batch.rows[i])
      runs.append(nb::make_tuple(run.rank, run.rows));
    records[nb::str(type.name.data(), type.name.size())] = nb::make_tuple(values, runs);
  }
  return nb::make_tuple(records, batch.at_end);
}

std::unique_ptr<Writer> open_writer(const std::string& directory, uint32_t ranks,
                                    std::vector<std::string> call_names,
                                    std::vector<std::pair<std::string, std::string>> environment,
                                    size_t packet_bytes) {
  trace::WriterOptions options;
  options.directory = directory;
  options.ranks = ranks;
  options.metadata = {std::move(call_names), std::move(environment)};
  options.packet_bytes = packet_bytes;
  return unwrap(Writer::open(std::move(options)));
}

// Appends the records of a numpy structured array, given as bytes.
template <typename Record>
void append_all(Writer& writer, uint32_t rank, nb::bytes records) {
  for (size_t at = 0; at + sizeof(Record) <= records.size(); at += sizeof(Record)) {
    Record record;
    std::memcpy(&record, records.c_str() + at, sizeof record);
    writer.append(rank, record);
  }
}

}  // namespace

void register_trace(nb::module_& module) {
  module.def("record_types", &record_type_list);
  module.def("read_call_names", [](const std::string& directory) {
    return unwrap(trace::read_metadata(directory)).call_names;
  });

  nb::class_<DirectoryReader>(module, "RawReader")
      .def_static("open",
                  [](const std::string& path) { return unwrap(DirectoryReader::open(path)); })
      .def("read", &read_batch, "size_bytes"_a)
      .def_prop_ro("damage", &DirectoryReader::damage)
      .def_prop_ro("discarded", &DirectoryReader::discarded);

  nb::class_<Writer>(module, "TraceWriter")
      .def_static("open", &open_writer, "directory"_a, "ranks"_a, "call_names"_a,
                  "environment"_a = std::vector<std::pair<std::string, std::string>>{},
                  "packet_bytes"_a = trace::WriterOptions{}.packet_bytes)
      .def("append_calls", &append_all<sesame_call_record>, "rank"_a, "records"_a)
      .def("append_messages", &append_all<sesame_message_record>, "rank"_a, "records"_a)
      .def("append_file_calls", &append_all<sesame_file_call_record>, "rank"_a, "records"_a)
      .def("close", [](Writer& writer) { unwrap(writer.close()); })
      .def_prop_ro("discarded", &Writer::discarded);
}

}  // namespace sesame::bindings
