// The raw trace in Python: record types, the writer (tests and tools), the reader.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

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

using ByteArray = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;

// A numpy array that owns the bytes: none are copied.
ByteArray as_array(std::vector<std::byte> bytes) {
  auto* owned = new std::vector<std::byte>(std::move(bytes));
  nb::capsule owner(owned,
                    [](void* data) noexcept { delete static_cast<std::vector<std::byte>*>(data); });
  return ByteArray(owned->data(), {owned->size()}, owner);
}

// By type name (records as bytes, [(rank, rows), …] in their order), and whether nothing follows.
nb::tuple read_batch(DirectoryReader& reader, size_t size_bytes) {
  trace::DirectoryBatch batch = reader.read(size_bytes);
  nb::dict records;
  for (size_t i = 0; i < batch.records.size(); ++i) {
    const std::string_view name = trace::find_record_type(batch.records[i].id)->name;
    nb::list rows;
    for (const trace::RankRows& run : batch.rows[i])
      rows.append(nb::make_tuple(run.rank, run.rows));
    records[nb::str(name.data(), name.size())] =
        nb::make_tuple(as_array(std::move(batch.records[i].bytes)), rows);
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
                  "packet_bytes"_a = 16 * 1024)
      .def("append_calls", &append_all<sesame_call_record>, "rank"_a, "records"_a)
      .def("append_messages", &append_all<sesame_message_record>, "rank"_a, "records"_a)
      .def("append_file_calls", &append_all<sesame_file_call_record>, "rank"_a, "records"_a)
      .def("close", [](Writer& writer) { unwrap(writer.close()); })
      .def_prop_ro("discarded", &Writer::discarded);
}

}  // namespace sesame::bindings
