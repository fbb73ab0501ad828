#include "core/machine/settings.h"

#include <cmath>
#include <limits>

#include "core/machine/keys.h"

namespace sesame::machine {
namespace {

using Type = Value::Type;

constexpr int64_t kLargestCount = std::numeric_limits<int32_t>::max();

bool is_count(const Value& value) {
  return value.type == Type::kInteger && value.integer >= 1 && value.integer <= kLargestCount;
}

// What a message says where a value is not of its kind at all.
std::string expected(Kind kind, const Value& value) {
  return std::string("expected ") + kind_phrase(kind) + ", got " + value.shown();
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

Problem quantity(Kind kind, const Value& value) {
  // A bare number of bytes is clear; a bare duration or bandwidth is not.
  if (kind == Kind::kSize && value.type == Type::kInteger && value.integer >= 0) return {};
  if (value.type != Type::kText) {
    const bool bare = value.type == Type::kInteger || value.type == Type::kNumber;
    return {expected(kind, value), bare ? "write the unit too, in quotes" : ""};
  }
  if (kind == Kind::kDuration) return quantity_problem(parse_duration(value.text));
  if (kind == Kind::kSize) return quantity_problem(parse_size(value.text));
  const auto bandwidth = parse_bandwidth(value.text);
  if (bandwidth && *bandwidth <= 0) {
    return {"expected a bandwidth above zero, got " + value.shown(), {}};
  }
  return quantity_problem(bandwidth);
}

Problem list(Kind kind, const Value& value) {
  if (value.type != Type::kArray || value.items.empty()) return {expected(kind, value), {}};
  for (const Value& item : value.items) {
    const bool fits = kind == Kind::kTexts ? item.type == Type::kText : is_count(item);
    if (!fits) return {expected(kind, value), {}};
  }
  return {};
}

Problem problem_of(Kind kind, const Value& value) {
  switch (kind) {
    case Kind::kText:
    case Kind::kTopology:  // which words are topologies is known where they are read
      if (value.type == Type::kText && !value.text.empty()) return {};
      return {expected(kind, value), {}};
    case Kind::kCount:
      if (is_count(value)) return {};
      return {expected(kind, value), {}};
    case Kind::kRatio:
      if (std::isfinite(value.number) && value.number > 0) return {};
      return {expected(kind, value), {}};
    case Kind::kTexts:
    case Kind::kCounts:
      return list(kind, value);
    case Kind::kDuration:
    case Kind::kSize:
    case Kind::kBandwidth:
      return quantity(kind, value);
  }
  return {};
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
  return document.wrong(entry,
                        std::string(table ? "unknown table " : "unknown key ") + entry.key +
                            ", expected a key of the machine file format, got " +
                            entry.value.shown(),
                        hint);
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
    const Problem problem = problem_of(key->kind, entry.value);
    if (!problem.message.empty()) {
      return document.wrong(entry, "wrong value for " + entry.key + ", " + problem.message,
                            problem.hint);
    }
  }
  return {};
}

SimTime duration_of(const Entry& entry) { return *parse_duration(entry.value.text); }

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

}  // namespace sesame::machine
