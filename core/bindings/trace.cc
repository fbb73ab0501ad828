// The raw trace in Python: record types and the writer (tests and tools).
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>

#include "core/bindings/unwrap.h"
#include "core/trace/record_types.h"
#include "core/trace/writer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sesame::bindings {
namespace {

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
