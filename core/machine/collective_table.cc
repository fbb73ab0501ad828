#include "core/machine/collective_table.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/machine/document.h"
#include "core/machine/network_table.h"
#include "core/machine/settings.h"

namespace sesame::machine {
namespace {

std::string table_of(size_t collective) {
  return std::string("collectives.") + kCollectiveNames[collective];
}

// Ranks that are all on one node, or each on its own, pass over a rule with two levels.
bool covers(const CollectiveRule& earlier, const CollectiveRule& later, int two_level) {
  if (earlier.forms != CollectiveForms::kAll && earlier.forms != later.forms) return false;
  if (earlier.ranks != CollectiveRanks::kAny && earlier.ranks != later.ranks) return false;
  if (earlier.algorithm == two_level && later.algorithm != two_level) return false;
  return earlier.ranks_up_to >= later.ranks_up_to && earlier.up_to >= later.up_to;
}

Result<CollectiveRule> read_rule(const Document& document, size_t collective,
                                 const std::string& prefix) {
  const Entry* algorithm = document.find(prefix + ".algorithm");
  if (algorithm == nullptr) return missing_key(document, prefix + ".algorithm");
  CollectiveRule rule;
  if (const Entry* ranks = document.find(prefix + ".ranks_up_to"))
    rule.ranks_up_to = ranks->value.integer;
  rule.up_to = size_or(document, prefix + ".up_to", rule.up_to);
  rule.ranks = choice_or(document, prefix + ".ranks", kCollectiveRanksWords, rule.ranks);
  rule.forms = choice_or(document, prefix + ".forms", kCollectiveFormsWords, rule.forms);
  const auto words = algorithm_words(static_cast<Collective>(collective));
  const auto* word =
      std::ranges::find_if(words.data(), words.data() + words.size(),
                           [&](const char* known) { return algorithm->value.text == known; });
  rule.algorithm = static_cast<int>(word - words.data());
  if (algorithm->value.text == "hardware" &&
      document.find("collectives.hardware.latency") == nullptr) {
    return document.wrong(*algorithm,
                          "the time of the hardware is missing, expected a key "
                          "collectives.hardware.latency, got none",
                          "[collectives.hardware] with latency = \"3 us\", from the entry of the "
                          "last rank to the end");
  }
  return rule;
}

// The number of rules: each has the next number, from 0.
Result<int> count_rules(const Document& document, const std::string& table) {
  const std::string prefix = table + ".";
  int count = 0;
  while (std::ranges::any_of(document.entries, [&](const Entry& entry) {
    return entry.key.starts_with(prefix + std::to_string(count) + ".");
  })) {
    ++count;
  }
  for (const Entry& entry : document.entries) {
    if (!entry.key.starts_with(prefix)) continue;
    int number = 0;
    std::from_chars(entry.key.data() + prefix.size(), entry.key.data() + entry.key.size(), number);
    if (number <= count) continue;
    return document.wrong(entry, "no such rule, expected a number up to " + std::to_string(count) +
                                     ", got " + std::to_string(number));
  }
  return count;
}

Result<std::vector<CollectiveRule>> read_rules(const Document& document, size_t collective) {
  const std::string table = table_of(collective);
  const auto count = count_rules(document, table);
  if (!count) return std::unexpected(count.error());
  const auto words = algorithm_words(static_cast<Collective>(collective));
  const int two_level =
      static_cast<int>(std::ranges::find(words, std::string_view("two-level")) - words.begin());
  std::vector<CollectiveRule> rules;
  for (int i = 0; i < *count; ++i) {
    const std::string prefix = table + "." + std::to_string(i);
    const auto rule = read_rule(document, collective, prefix);
    if (!rule) return std::unexpected(rule.error());
    const auto earlier = std::ranges::find_if(
        rules, [&](const CollectiveRule& before) { return covers(before, *rule, two_level); });
    if (earlier != rules.end()) {
      return document.wrong(
          *to_blame(document, {prefix + ".up_to", prefix + ".ranks_up_to", prefix + ".algorithm"}),
          prefix + " can never hold, expected more ranks or bytes than in rule " +
              std::to_string(earlier - rules.begin()) + ", which holds before it",
          "the first rule that fits holds: write rules from few ranks and bytes to many");
    }
    rules.push_back(*rule);
  }
  return rules;
}

}  // namespace

Result<CollectiveTables> read_collectives(const Document& document) {
  CollectiveTables tables;
  tables.hardware_latency = duration_or(document, "collectives.hardware.latency", {});
  tables.hardware_bandwidth = bandwidth_or(document, "collectives.hardware.bandwidth", 0);
  for (size_t i = 0; i < kCollectives; ++i) {
    auto rules = read_rules(document, i);
    if (!rules) return std::unexpected(rules.error());
    tables.rules[i] = std::move(*rules);
  }
  const Entry* hardware = document.find("collectives.hardware.latency");
  const bool is_used = std::ranges::any_of(document.entries, [](const Entry& entry) {
    return entry.key.starts_with("collectives.") && entry.value.text == "hardware";
  });
  if (hardware != nullptr && !is_used) {
    return document.wrong(*hardware,
                          "no collective uses the hardware, expected a rule with algorithm = "
                          "\"hardware\" for barrier or allreduce, got none");
  }
  return tables;
}

}  // namespace sesame::machine
