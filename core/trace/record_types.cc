#include "core/trace/record_types.h"

#include <array>
#include <string>
#include <type_traits>

#include "core/trace/record.h"

namespace sesame::trace {
namespace {

#define SESAME_RECORD_BEGIN(name, id, timestamp_field, meaning) \
  constexpr FieldType name##_fields[] = {
#define SESAME_NAMED_FIELD(record, type, field, names, meaning)      \
  FieldType{#field,       #type,                                     \
            "",           meaning,                                   \
            #names,       offsetof(sesame_##record##_record, field), \
            sizeof(type), std::is_signed_v<type>},
#define SESAME_FIELD(record, type, field, unit, meaning)             \
  FieldType{#field,       #type,                                     \
            unit,         meaning,                                   \
            "",           offsetof(sesame_##record##_record, field), \
            sizeof(type), std::is_signed_v<type>},
#define SESAME_RECORD_END(name) \
  }                             \
  ;
#include "core/trace/records.def"

#define SESAME_RECORD_BEGIN(name, id, timestamp_field, meaning) \
  RecordType{#name, id, #timestamp_field, meaning, sizeof(sesame_##name##_record), name##_fields},
constexpr RecordType kRecordTypes[] = {
#include "core/trace/records.def"
};

// A record's bytes are its form in the stream, so the compiler must not have padded it.
constexpr bool no_record_has_padding() {
  for (const RecordType& type : kRecordTypes) {
    size_t end = 0;
    for (const FieldType& field : type.fields) {
      if (field.offset != end) return false;
      end += field.size_bytes;
    }
    if (end != type.size_bytes) return false;
  }
  return true;
}
static_assert(no_record_has_padding());
static_assert(sizeof(sesame_call_record) <= 48 && sizeof(sesame_message_record) <= 56 &&
              sizeof(sesame_file_call_record) <= 56);

}  // namespace

std::span<const std::string> protocol_names() {
  static const std::array<std::string, SESAME_PROTOCOL_GET + 1> kNames{"eager", "rendezvous", "put",
                                                                       "get"};
  return kNames;
}

std::span<const RecordType> record_types() { return kRecordTypes; }

const RecordType* find_record_type(uint8_t id) {
  for (const RecordType& type : kRecordTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

}  // namespace sesame::trace
