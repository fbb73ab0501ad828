// The record types of records.def as data, for the metadata text, the reader and the Python
// binding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sesame::trace {

// By sesame_protocol.
// Valid for ever.
std::span<const std::string> protocol_names();

struct FieldType {
  std::string_view name;
  std::string_view c_type;  // "int64_t", …
  std::string_view unit;    // "ps", "B", "rank", "bits" or empty
  std::string_view meaning;
  std::string_view names;  // for a number that stands for a name: which list; else empty
  size_t offset;
  size_t size_bytes;
  bool is_signed;
};

struct RecordType {
  std::string_view name;
  uint8_t id;
  std::string_view timestamp_field;
  std::string_view meaning;
  size_t size_bytes;
  std::span<const FieldType> fields;
};

std::span<const RecordType> record_types();

// Null when no record type has this id.
const RecordType* find_record_type(uint8_t id);

}  // namespace sesame::trace
