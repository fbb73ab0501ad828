#include "core/trace/parquet/arrow_schema.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace sesame::trace::parquet {
namespace {

// Start of an object, in bytes before the end of the buffer.
using Offset = uint32_t;

// Builds a FlatBuffers buffer from its end to its beginning, because references point forward: an
// object must be written before the objects that refer to it.
class FlatBuffer {
 public:
  Offset text(std::string_view value) {
    align(sizeof(uint32_t), value.size() + 1);
    bytes_.insert(0, 1, '\0');
    bytes_.insert(0, value);
    return push(static_cast<uint32_t>(value.size()));
  }

  Offset list(std::span<const Offset> elements) {
    align(sizeof(uint32_t), elements.size() * sizeof(uint32_t));
    for (size_t i = elements.size(); i-- > 0;) push_reference(elements[i]);
    return push(static_cast<uint32_t>(elements.size()));
  }

  // The fields of a table are added between begin_table() and end_table(), each by its number.
  void begin_table() {
    table_end_ = size();
    fields_.clear();
  }
  template <typename T>
  void add(size_t field, T value) {
    align(sizeof value, 0);
    set_field(field, push(value));
  }
  void add_reference(size_t field, Offset to) {
    align(sizeof(uint32_t), 0);
    set_field(field, push_reference(to));
  }
  Offset end_table() {
    align(sizeof(int32_t), 0);
    const Offset table = push(int32_t{0});
    for (size_t i = fields_.size(); i-- > 0;) {
      push(static_cast<uint16_t>(fields_[i] == 0 ? 0 : table - fields_[i]));
    }
    push(static_cast<uint16_t>(table - table_end_));
    const Offset description = push(static_cast<uint16_t>(2 * (fields_.size() + 2)));
    const auto distance = static_cast<int32_t>(description - table);
    std::memcpy(&bytes_[size() - table], &distance, sizeof distance);
    return table;
  }

  std::string finish(Offset root) {
    align(8, sizeof(uint32_t));
    push_reference(root);
    return std::move(bytes_);
  }

 private:
  Offset size() const { return static_cast<Offset>(bytes_.size()); }

  // Pads so that after `more` further bytes the size is a multiple of `to`.
  void align(size_t to, size_t more) {
    while ((bytes_.size() + more) % to != 0) bytes_.insert(0, 1, '\0');
  }
  template <typename T>
  Offset push(T value) {
    std::array<char, sizeof value> form;
    std::memcpy(form.data(), &value, sizeof value);
    bytes_.insert(0, form.data(), form.size());
    return size();
  }
  Offset push_reference(Offset to) {
    return push(static_cast<uint32_t>(size() + sizeof(uint32_t) - to));
  }
  void set_field(size_t field, Offset at) {
    if (fields_.size() <= field) fields_.resize(field + 1);
    fields_[field] = at;
  }

  std::string bytes_;
  std::vector<Offset> fields_;  // 0: absent
  Offset table_end_ = 0;
};

// Of Arrow's Schema.fbs and Message.fbs.
constexpr int16_t kMetadataV5 = 4;
constexpr uint8_t kSchemaMessage = 1;
constexpr int16_t kDouble = 2;
enum ArrowType : uint8_t { kArrowInt = 2, kArrowFloat = 3, kArrowUtf8 = 5 };

using Pairs = std::span<const std::pair<std::string_view, std::string_view>>;

Offset add_pairs(FlatBuffer& buffer, Pairs pairs) {
  std::vector<Offset> offsets;
  for (const auto& [key, value] : pairs) {
    const Offset key_offset = buffer.text(key);
    const Offset value_offset = buffer.text(value);
    buffer.begin_table();
    buffer.add_reference(0, key_offset);
    buffer.add_reference(1, value_offset);
    offsets.push_back(buffer.end_table());
  }
  return buffer.list(offsets);
}

Offset add_integer_type(FlatBuffer& buffer, int bits, bool is_signed) {
  buffer.begin_table();
  buffer.add<int32_t>(0, bits);
  buffer.add<uint8_t>(1, is_signed);
  return buffer.end_table();
}

ArrowType arrow_type(const Column& column) {
  if (is_integer(column.type)) return kArrowInt;
  return column.type == ColumnType::kFloat64 ? kArrowFloat : kArrowUtf8;
}

Offset add_type(FlatBuffer& buffer, const Column& column) {
  if (is_integer(column.type)) {
    return add_integer_type(buffer, bit_width(column.type), is_signed(column.type));
  }
  buffer.begin_table();
  if (column.type == ColumnType::kFloat64) buffer.add<int16_t>(0, kDouble);
  return buffer.end_table();
}

Offset add_dictionary(FlatBuffer& buffer, int64_t number) {
  const Offset index = add_integer_type(buffer, 32, true);
  buffer.begin_table();
  buffer.add<int64_t>(0, number);
  buffer.add_reference(1, index);
  return buffer.end_table();
}

Offset add_column(FlatBuffer& buffer, const Column& column, bool nullable, int64_t number) {
  const std::array<std::pair<std::string_view, std::string_view>, 2> pairs{
      {{"unit", column.unit}, {"meaning", column.meaning}}};
  const bool is_name = column.type == ColumnType::kName;
  const Offset name = buffer.text(column.name);
  const Offset metadata = add_pairs(buffer, pairs);
  const Offset children = buffer.list({});
  const Offset type = add_type(buffer, column);
  const Offset dictionary = is_name ? add_dictionary(buffer, number) : 0;
  buffer.begin_table();
  buffer.add_reference(0, name);
  buffer.add<uint8_t>(1, nullable);
  buffer.add<uint8_t>(2, arrow_type(column));
  buffer.add_reference(3, type);
  if (is_name) buffer.add_reference(4, dictionary);
  buffer.add_reference(5, children);
  buffer.add_reference(6, metadata);
  return buffer.end_table();
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

}  // namespace

std::string arrow_schema(const Table& table) {
  FlatBuffer buffer;
  std::vector<Offset> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    columns.push_back(
        add_column(buffer, table.columns[i], !table.complete, static_cast<int64_t>(i)));
  }
  const std::array<std::pair<std::string_view, std::string_view>, 2> pairs{
      {{"record_type", table.name}, {"meaning", table.meaning}}};
  const Offset metadata = add_pairs(buffer, pairs);
  const Offset fields = buffer.list(columns);
  buffer.begin_table();
  buffer.add_reference(1, fields);
  buffer.add_reference(2, metadata);
  const Offset schema = buffer.end_table();
  buffer.begin_table();
  buffer.add<int64_t>(3, 0);  // no body follows
  buffer.add_reference(2, schema);
  buffer.add<int16_t>(0, kMetadataV5);
  buffer.add<uint8_t>(1, kSchemaMessage);
  const std::string message = buffer.finish(buffer.end_table());

  // As in an Arrow stream: a continuation marker, the length, the message padded to 8 bytes.
  const std::array<uint32_t, 2> head{0xFFFFFFFF, static_cast<uint32_t>(message.size())};
  std::string whole(sizeof head, '\0');
  std::memcpy(whole.data(), head.data(), sizeof head);
  return base64(whole + message);
}

}  // namespace sesame::trace::parquet
