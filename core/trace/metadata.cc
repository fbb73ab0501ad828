#include "core/trace/metadata.h"

#include <charconv>
#include <cstdint>

#include "core/trace/record.h"
#include "core/trace/record_types.h"

namespace sesame::trace {
namespace {

constexpr std::string_view kFormatKey = "sesame_format = ";
constexpr std::string_view kCallNamesStart = "enum : uint16_t {\n";

constexpr std::string_view kPreamble = R"(/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;

trace {
  major = 1;
  minor = 8;
  byte_order = le;
  packet.header := struct {
    uint32_t magic;
    uint32_t stream_id;
  };
};

clock {
  name = simulated;
  description = "Simulated time in picoseconds since the start of the run";
  freq = 1000000000000;
};
typealias integer {
  size = 64; align = 8; signed = false; map = clock.simulated.value;
} := timestamp_t;

stream {
  id = 0;
  packet.context := struct {
    uint32_t rank;
    timestamp_t timestamp_begin;
    timestamp_t timestamp_end;
    uint64_t content_size;
    uint64_t packet_size;
    uint64_t packet_seq_num;
    uint64_t events_discarded;
  };
  event.header := struct {
    uint8_t id;
    timestamp_t timestamp;
  };
};

)";

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string environment_text(const Metadata& metadata) {
  std::string text =
      "env {\n  " + std::string(kFormatKey) + std::to_string(SESAME_TRACE_FORMAT) + ";\n";
  for (const auto& [key, value] : metadata.environment) {
    text += "  " + key + " = \"" + escaped(value) + "\";\n";
  }
  return text + "};\n\n";
}

// A list of names as a TSDL enumeration; the position is the number.
std::string enumeration_text(std::string_view integer_type, std::span<const std::string> names) {
  std::string text = "enum : " + std::string(integer_type) + " {\n";
  for (size_t i = 0; i < names.size(); ++i) {
    text += "      \"" + escaped(names[i]) + "\" = " + std::to_string(i) + ",\n";
  }
  return text + "    }";
}

std::string field_text(const FieldType& field, const Metadata& metadata) {
  std::string type(field.c_type);
  if (field.names == "protocol_name") type = enumeration_text(type, protocol_names());
  if (field.names == "call_name" && !metadata.call_names.empty()) {
    type = enumeration_text(type, metadata.call_names);
  }
  return "    " + type + " " + std::string(field.name) + ";\n";
}

// The quoted text at the start of `text` with its escapes undone; moves `text` behind it.
Result<std::string> take_quoted(std::string_view& text) {
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && ++i == text.size()) break;
    value += text[i];
  }
  return error("a name without its closing quote");
}

Result<std::vector<std::string>> parse_call_names(std::string_view text) {
  std::vector<std::string> names;
  size_t start = text.find(kCallNamesStart);
  if (start == std::string_view::npos) return names;
  text.remove_prefix(start + kCallNamesStart.size());
  while (names.size() <= UINT16_MAX) {
    size_t next = text.find_first_of("\"}");
    if (next == std::string_view::npos) return error("a list of names without its end");
    if (text[next] == '}') return names;
    text.remove_prefix(next);
    auto name = take_quoted(text);
    if (!name) return std::unexpected(name.error());
    names.push_back(*std::move(name));
  }
  return error("more names than a record can tell apart");
}

}  // namespace

std::string metadata_text(const Metadata& metadata) {
  std::string text(kPreamble);
  text += environment_text(metadata);
  for (const RecordType& type : record_types()) {
    text += "/* " + std::string(type.meaning) + " */\nevent {\n  name = \"" +
            std::string(type.name) + "\";\n  id = " + std::to_string(type.id) +
            ";\n  stream_id = 0;\n  fields := struct {\n";
    for (const FieldType& field : type.fields) text += field_text(field, metadata);
    text += "  };\n};\n\n";
  }
  return text;
}

Result<Metadata> parse_metadata(std::string_view text, const std::string& path) {
  size_t key = text.find(kFormatKey);
  if (!text.starts_with("/* CTF 1.8 */") || key == std::string_view::npos) {
    return error_at(path, 1, "this is not the metadata of a raw trace of Sesame");
  }
  std::string_view rest = text.substr(key + kFormatKey.size());
  int format = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), format);
  if (format != SESAME_TRACE_FORMAT) {
    return error_at(path, 0,
                    "raw trace format " + std::to_string(format) + ", expected " +
                        std::to_string(SESAME_TRACE_FORMAT),
                    "read it with the version of Sesame that wrote it");
  }
  auto names = parse_call_names(rest);
  if (!names) return error_at(path, 0, names.error().message);
  return Metadata{*std::move(names), {}};
}

}  // namespace sesame::trace
