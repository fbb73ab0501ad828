#include "core/machine/document.h"

#define TOML_EXCEPTIONS 0
// toml++ 3.3 has an assertion that fails for a wrong character after "[", which it then reports.
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_ENABLE_FORMATTERS 1
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

namespace sesame::machine {
namespace {

using Type = Value::Type;

template <typename Node>
std::string show(const Node& node) {
  std::ostringstream out;
  out << node;
  return out.str();
}

Value convert(const toml::node& node) {
  Value value;
  value.line = static_cast<int>(node.source().begin.line);
  if (const auto* text = node.as_string()) {
    value.type = Type::kText;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.type = Type::kInteger;
    value.integer = integer->get();
    value.number = static_cast<double>(value.integer);
    value.text = std::to_string(value.integer);
  } else if (const auto* number = node.as_floating_point()) {
    value.type = Type::kNumber;
    value.number = number->get();
    value.text = show(*number);
  } else if (const auto* boolean = node.as_boolean()) {
    value.type = Type::kBoolean;
    value.text = boolean->get() ? "true" : "false";
  } else if (const auto* array = node.as_array()) {
    value.type = Type::kArray;
    value.text = show(*array);
    for (const toml::node& item : *array) value.items.push_back(convert(item));
  } else if (node.is_table()) {
    value.type = Type::kTable;
    value.text = "a table";
  } else {
    value.text = "a date or time";
  }
  return value;
}

void flatten(const toml::table& table, const std::string& prefix, std::vector<Entry>& entries);

// An array of tables becomes a table whose keys are numbers.
void flatten_node(const toml::node& node, const std::string& key, std::vector<Entry>& entries) {
  if (const auto* table = node.as_table()) {
    entries.push_back({key, convert(node), {}});
    flatten(*table, key + ".", entries);
    return;
  }
  const auto* array = node.as_array();
  if (array == nullptr || !array->is_array_of_tables()) {
    entries.push_back({key, convert(node), {}});
    return;
  }
  Value value;
  value.type = Type::kTable;
  value.text = "a list of tables";
  value.line = static_cast<int>((*array)[0].source().begin.line);
  entries.push_back({key, value, {}});
  for (size_t i = 0; i < array->size(); ++i) {
    flatten_node((*array)[i], key + "." + std::to_string(i), entries);
  }
}

void flatten(const toml::table& table, const std::string& prefix, std::vector<Entry>& entries) {
  for (const auto& [key, node] : table) {
    flatten_node(node, prefix + std::string(key.str()), entries);
  }
}

// Parses a value as in the file; text that is no TOML value is a string, so quotes are optional.
Value parse_value(const std::string& text) {
  if (text.find('\n') == std::string::npos) {
    const toml::parse_result result = toml::parse("value = " + text);
    if (result && result.table().size() == 1) {
      Value value = convert(*result.table().get("value"));
      value.line = 0;
      for (Value& item : value.items) item.line = 0;
      // A date or a table is taken as a string: no key of a machine file has such a value.
      if (value.type != Type::kOther && value.type != Type::kTable) return value;
    }
  }
  Value value;
  value.type = Type::kText;
  value.text = text;
  return value;
}

std::string trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

Result<> apply_override(const std::string& text, Document& document) {
  const size_t equals = text.find('=');
  const std::string key = trim(text.substr(0, equals));
  if (equals == std::string::npos || key.empty()) {
    return error_at("override " + text, 0,
                    "expected dotted.key=value such as network.latency=1us, got \"" + text + "\"");
  }
  const std::string value = trim(text.substr(equals + 1));
  const auto is_replaced = [&](const Entry& entry) {
    return entry.key == key || (value.empty() && entry.key.starts_with(key + "."));
  };
  for (const Entry& entry : document.entries) {
    if (is_replaced(entry) && entry.override.empty()) document.replaced.push_back(entry);
  }
  std::erase_if(document.entries, is_replaced);
  if (!value.empty()) document.entries.push_back({key, parse_value(value), text});
  return {};
}

}  // namespace

std::string Value::shown() const { return type == Type::kText ? "\"" + text + "\"" : text; }

const Entry* Document::find(std::string_view key) const {
  const auto it = std::ranges::find(entries, key, &Entry::key);
  return it == entries.end() ? nullptr : &*it;
}

std::unexpected<Error> Document::wrong(const Entry& entry, const std::string& message,
                                       const std::string& hint) const {
  if (!entry.override.empty()) return error_at("override " + entry.override, 0, message, hint);
  return error_at(path, entry.value.line, message, hint);
}

Result<Document> read_document(std::string_view text, const std::string& path,
                               std::span<const std::string> overrides) {
  const toml::parse_result result = toml::parse(text);
  if (!result) {
    const toml::parse_error& problem = result.error();
    return error_at(path, static_cast<int>(problem.source().begin.line),
                    "not valid TOML: " + std::string(problem.description()),
                    "a value with a unit stands in quotes: latency = \"1.5 us\"");
  }
  Document document{path, {}, {}};
  flatten(result.table(), "", document.entries);
  std::ranges::stable_sort(document.entries, {},
                           [](const Entry& entry) { return entry.value.line; });
  for (const std::string& override : overrides) {
    if (auto applied = apply_override(override, document); !applied) {
      return std::unexpected(applied.error());
    }
  }
  return document;
}

}  // namespace sesame::machine
