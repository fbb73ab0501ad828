// A TOML document with overrides, flattened to a list of dotted keys; the only user of the TOML
// library. Tables are entries too; arrays of tables are numbered ("segment.0.up_to").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace sesame::machine {

struct Value {
  enum class Type { kText, kInteger, kNumber, kBoolean, kArray, kTable, kOther };
  Type type = Type::kOther;
  std::string text;  // the string itself; for other types how a message shows the value
  int64_t integer = 0;
  double number = 0;         // integers too
  std::vector<Value> items;  // of an array; empty for an array of tables
  int line = 0;

  std::string shown() const;  // as in the file: strings in quotes
};

struct Entry {
  std::string key;
  Value value;
  std::string override;  // the override that set it; empty when the file did
};

// Entries in the order of the file, overrides last.
struct Document {
  std::string path;
  std::vector<Entry> entries;
  std::vector<Entry> replaced;  // entries of the file that overrides replaced

  const Entry* find(std::string_view key) const;
  // An Error with the entry's line, or that names its override.
  std::unexpected<Error> wrong(const Entry& entry, const std::string& message,
                               const std::string& hint = {}) const;
};

// An override "key=value" replaces or adds a key, "key=" removes it.
Result<Document> read_document(std::string_view text, const std::string& path,
                               std::span<const std::string> overrides);

}  // namespace sesame::machine
