#include "core/machine/settings.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/machine/keys.h"

namespace sesame::machine {
namespace {

using Type = Value::Type;

constexpr int64_t kLargestCount = std::numeric_limits<int32_t>::max();

bool is_whole(const Value& value, int64_t least) {
  return value.type == Type::kInteger && value.integer >= least && value.integer <= kLargestCount;
}

bool is_number(const Value& value) {
  return value.type == Type::kInteger || value.type == Type::kNumber;
}

// The message for a value of another kind.
std::string expected(const Key& key, const Value& value) {
  return "expected " + expectation(key) + ", got " + value.shown();
}

// A problem with a value as (message, hint), with the key's name still missing; empty if none.
struct Problem {
  std::string message;
  std::string hint;
};

template <typename T>
Problem quantity_problem(const Result<T>& parsed) {
  if (parsed) return {};
  return {parsed.error().message, parsed.error().hint};
}

Problem quantity(const Key& key, const Value& value) {
  const Kind kind = key.kind;
  // A bare number of bytes is clear; a bare duration or bandwidth is not.
  if (kind == Kind::kSize && value.type == Type::kInteger && value.integer >= 0) return {};
  if (value.type != Type::kText) {
    return {expected(key, value), is_number(value) ? "write the unit too, in quotes" : ""};
  }
  if (kind == Kind::kDuration) return quantity_problem(parse_duration(value.text));
  if (kind == Kind::kSize) return quantity_problem(parse_size(value.text));
  const auto bandwidth = parse_bandwidth(value.text);
  if (bandwidth && *bandwidth <= 0) {
    return {"expected a bandwidth above zero, got " + value.shown(), {}};
  }
  return quantity_problem(bandwidth);
}

bool are_factors(const Value& value) {
  if (value.type != Type::kArray || value.items.empty()) return false;
  return std::ranges::all_of(value.items, [](const Value& item) {
    return is_number(item) && std::isfinite(item.number) && item.number >= 1;
  });
}

bool is_list(const Key& key, const Value& value) {
  if (value.type != Type::kArray || value.items.empty()) return false;
  return std::ranges::all_of(value.items, [&](const Value& item) {
    if (key.kind == Kind::kTexts) return item.type == Type::kText;
    return is_whole(item, key.kind == Kind::kCounts ? 1 : 0);
  });
}

// Whether the value is of its kind, for kinds that are no quantities.
bool fits(const Key& key, const Value& value) {
  switch (key.kind) {
    case Kind::kText:
    case Kind::kTopology:  // which words are topologies is known where they are read
      return value.type == Type::kText && !value.text.empty();
    case Kind::kChoice:
      return value.type == Type::kText &&
             std::ranges::any_of(key.words, [&](const char* word) { return value.text == word; });
    case Kind::kFlag:
      return value.type == Type::kBoolean;
    case Kind::kCount:
      return is_whole(value, 1);
    case Kind::kIndex:
      return is_whole(value, 0);
    case Kind::kRatio:
      return std::isfinite(value.number) && value.number > 0;
    case Kind::kFactors:
      return are_factors(value);
    case Kind::kShare:
      return is_number(value) && value.number >= 0 && value.number <= 1;
    case Kind::kTexts:
    case Kind::kCounts:
    case Kind::kIndices:
      return is_list(key, value);
    case Kind::kDuration:
    case Kind::kSize:
    case Kind::kBandwidth:
      break;
  }
  return true;
}

Problem problem_of(const Key& key, const Value& value) {
  const bool is_quantity =
      key.kind == Kind::kDuration || key.kind == Kind::kSize || key.kind == Kind::kBandwidth;
  if (is_quantity) return quantity(key, value);
  if (fits(key, value)) return {};
  return {expected(key, value), {}};
}

std::unexpected<Error> unknown_key(const Document& document, const Entry& entry) {
  std::string hint;
  if (const auto nearest = nearest_name(entry.key)) {
    hint = "did you mean " + *nearest + "?";
    if (nearest->find(".N") != std::string::npos) {
      hint += " (N counts the [[" + nearest->substr(0, nearest->find(".N")) + "]] tables from 0)";
    }
  }
  const bool table = entry.value.type == Type::kTable;
  return document.wrong(entry, (table ? "unknown table " : "unknown key ") + entry.key, hint);
}

const Value& value_of(const Document& document, std::string_view key) {
  static const Value kNone;
  const Entry* entry = document.find(key);
  return entry == nullptr ? kNone : entry->value;
}

}  // namespace

Result<> check_entries(const Document& document) {
  for (const Entry& entry : document.entries) {
    const Key* key = find_key(entry.key);
    if (key == nullptr) {
      if (!is_table_name(entry.key)) return unknown_key(document, entry);
      if (entry.value.type == Type::kTable) continue;
      return document.wrong(entry, entry.key + " is a table, expected [" + entry.key +
                                       "] with keys below it, got " + entry.value.shown());
    }
    if (key->kind == Kind::kDuration || key->kind == Kind::kBandwidth) Parameter::of(entry.key);
    const Problem problem = problem_of(*key, entry.value);
    if (!problem.message.empty()) {
      return document.wrong(entry, "wrong value for " + entry.key + ", " + problem.message,
                            problem.hint);
    }
  }
  return {};
}

SimTime duration_of(const Entry& entry) {
  return parse_duration(entry.value.text)->due_to(Parameter::of(entry.key));
}

SimTime duration_or(const Document& document, std::string_view key, SimTime otherwise) {
  const Entry* entry = document.find(key);
  return entry == nullptr ? otherwise : duration_of(*entry);
}

double bandwidth_or(const Document& document, std::string_view key, double otherwise) {
  const Entry* entry = document.find(key);
  return entry == nullptr ? otherwise : *parse_bandwidth(entry->value.text);
}

uint64_t size_or(const Document& document, std::string_view key, uint64_t otherwise) {
  const Entry* entry = document.find(key);
  return entry == nullptr ? otherwise : *parse_size(entry->value.text);  // an integer's text too
}

int count_or(const Document& document, std::string_view key, int otherwise) {
  const Entry* entry = document.find(key);
  return entry == nullptr ? otherwise : static_cast<int>(entry->value.integer);
}

double ratio_or(const Document& document, std::string_view key, double otherwise) {
  const Entry* entry = document.find(key);
  return entry == nullptr ? otherwise : entry->value.number;
}

bool flag_or(const Document& document, std::string_view key, bool otherwise) {
  const Entry* entry = document.find(key);
  return entry == nullptr ? otherwise : entry->value.text == "true";
}

std::string text_of(const Document& document, std::string_view key) {
  return value_of(document, key).text;
}

std::vector<std::string> texts_of(const Document& document, std::string_view key) {
  std::vector<std::string> texts;
  for (const Value& item : value_of(document, key).items) texts.push_back(item.text);
  return texts;
}

std::vector<uint32_t> counts_of(const Document& document, std::string_view key) {
  std::vector<uint32_t> counts;
  for (const Value& item : value_of(document, key).items) {
    counts.push_back(static_cast<uint32_t>(item.integer));
  }
  return counts;
}

std::vector<double> factors_of(const Document& document, std::string_view key) {
  std::vector<double> factors;
  for (const Value& item : value_of(document, key).items) factors.push_back(item.number);
  return factors;
}

const Entry* to_blame(const Document& document, const std::vector<std::string>& keys) {
  const Entry* blamed = nullptr;
  for (const std::string& key : keys) {
    const Entry* entry = document.find(key);
    if (entry == nullptr) continue;
    if (blamed == nullptr || (blamed->override.empty() && !entry->override.empty())) blamed = entry;
  }
  return blamed;
}

}  // namespace sesame::machine
