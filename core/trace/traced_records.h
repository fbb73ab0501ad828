// The records of a traced run as structs, made from traced_records.def, and their decoders. Numbers
// have their wide type, whichever form was decoded. Texts and lists point into the packet: they are
// valid until the next packet is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/trace/traced_format.h"

namespace sesame::trace {

using Bytes = const unsigned char*;

// A list of s32 in a packet, without alignment.
struct ListView {
  Bytes start = nullptr;
  uint32_t size = 0;

  int32_t operator[](uint32_t i) const {
    int32_t value;
    std::memcpy(&value, start + 4 * static_cast<size_t>(i), sizeof value);
    return value;
  }
};

#define SESAME_TRACED_BEGIN(type, id, meaning) \
  struct type##_record {                       \
    static constexpr uint8_t kId = id;         \
    static constexpr std::string_view kName = #type;
#define SESAME_TRACED_FIELD(type, field, narrow, wide, meaning) sesame_##wide field = {};
#define SESAME_TRACED_TEXT(type, field, meaning) std::string_view field = {};
#define SESAME_TRACED_LIST(type, field, meaning) ListView field = {};
#define SESAME_TRACED_END(type) \
  }                             \
  ;
#include "core/trace/traced_records.def"

namespace decode {

template <typename T>
inline T number(Bytes at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline uint8_t as_u8(Bytes at) { return *at; }
inline uint16_t as_u16(Bytes at) { return number<uint16_t>(at); }
inline uint16_t as_call(Bytes at) { return number<uint16_t>(at); }
inline uint32_t as_u32(Bytes at) { return number<uint32_t>(at); }
inline uint64_t as_u64(Bytes at) { return number<uint64_t>(at); }
inline int16_t as_s16(Bytes at) { return number<int16_t>(at); }
inline int32_t as_s32(Bytes at) { return number<int32_t>(at); }
inline int64_t as_s64(Bytes at) { return number<int64_t>(at); }
inline int64_t as_s40(Bytes at) {
  return static_cast<int64_t>(as_u32(at) | static_cast<uint64_t>(at[4]) << 32) << 24 >> 24;
}

inline bool text(Bytes& at, Bytes end, std::string_view& value) {
  auto* zero = static_cast<Bytes>(std::memchr(at, 0, static_cast<size_t>(end - at)));
  if (zero == nullptr) return false;
  value = {reinterpret_cast<const char*>(at), static_cast<size_t>(zero - at)};
  at = zero + 1;
  return true;
}

inline bool list(Bytes& at, Bytes end, ListView& value) {
  if (end - at < 4) return false;
  value = {at + 4, as_u32(at)};
  if (static_cast<uint64_t>(end - value.start) < 4 * uint64_t{value.size}) return false;
  at = value.start + 4 * static_cast<size_t>(value.size);
  return true;
}

}  // namespace decode

// The size of a record's numbers. They come first, so one comparison checks that all are there.
#define SESAME_TRACED_BEGIN(type, id, meaning) \
  template <bool kWide>                        \
  constexpr size_t type##_numbers() {          \
    return 0
#define SESAME_TRACED_FIELD(type, field, narrow, wide, meaning) \
  +(kWide ? SESAME_BYTES_##wide : SESAME_BYTES_##narrow)
#define SESAME_TRACED_END(type) \
  ;                             \
  }
#include "core/trace/traced_records.def"

// read_fields_of<wide>(at, end, record): false when the packet ends first; else `at` is behind
// the record.
#define SESAME_TRACED_BEGIN(type, id, meaning)                              \
  template <bool kWide>                                                     \
  inline bool read_fields_of(Bytes& at, Bytes end, type##_record& record) { \
    if (static_cast<size_t>(end - at) < type##_numbers<kWide>()) return false;
#define SESAME_TRACED_FIELD(type, field, narrow, wide, meaning)           \
  record.field = kWide ? decode::as_##wide(at) : decode::as_##narrow(at); \
  at += kWide ? SESAME_BYTES_##wide : SESAME_BYTES_##narrow;
#define SESAME_TRACED_TEXT(type, field, meaning) \
  if (!decode::text(at, end, record.field)) return false;
#define SESAME_TRACED_LIST(type, field, meaning) \
  if (!decode::list(at, end, record.field)) return false;
#define SESAME_TRACED_END(type) \
  return true;                  \
  }
#include "core/trace/traced_records.def"

enum class DecodeResult { kRecord, kCutOff, kUnknown };

// Decodes the record of this id at `at` and gives it to visitor.on(record, end_time).
template <typename Visitor>
inline DecodeResult decode_record(uint8_t id, Bytes& at, Bytes end, uint64_t time,
                                  Visitor& visitor) {
  switch (id) {
#define SESAME_TRACED_BEGIN(type, id, meaning)                                 \
  case id: {                                                                   \
    type##_record record;                                                      \
    if (!read_fields_of<false>(at, end, record)) return DecodeResult::kCutOff; \
    visitor.on(record, time);                                                  \
    return DecodeResult::kRecord;                                              \
  }                                                                            \
  case id | SESAME_WIDE: {                                                     \
    type##_record record;                                                      \
    if (!read_fields_of<true>(at, end, record)) return DecodeResult::kCutOff;  \
    visitor.on(record, time);                                                  \
    return DecodeResult::kRecord;                                              \
  }
#include "core/trace/traced_records.def"
    default:
      return DecodeResult::kUnknown;
  }
}

}  // namespace sesame::trace
