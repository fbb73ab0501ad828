// Typed look-up of the keys of a machine document. check_entries finds what is wrong with any
// single key; after it passed, the look-ups cannot fail.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/document.h"

namespace sesame::machine {

// An Error for the first unknown key or wrong value, in the order of the file.
Result<> check_entries(const Document& document);

SimTime duration_of(const Entry& entry);

SimTime duration_or(const Document& document, std::string_view key, SimTime otherwise);
double bandwidth_or(const Document& document, std::string_view key, double otherwise);
uint64_t size_or(const Document& document, std::string_view key, uint64_t otherwise);
int count_or(const Document& document, std::string_view key, int otherwise);
double ratio_or(const Document& document, std::string_view key, double otherwise);
bool flag_or(const Document& document, std::string_view key, bool otherwise);
// The position of the key's word in the list of words.
template <typename Enum, size_t n>
Enum choice_or(const Document& document, std::string_view key, const char* const (&words)[n],
               Enum otherwise) {
  const Entry* entry = document.find(key);
  if (entry == nullptr) return otherwise;
  const auto* word =
      std::ranges::find_if(words, [&](const char* known) { return entry->value.text == known; });
  return static_cast<Enum>(word - words);
}
std::string text_of(const Document& document, std::string_view key);
std::vector<std::string> texts_of(const Document& document, std::string_view key);
std::vector<uint32_t> counts_of(const Document& document, std::string_view key);
std::vector<double> factors_of(const Document& document, std::string_view key);

// The key to name in a message about keys that contradict each other: an override if there is one.
// Null when none of them is present.
const Entry* to_blame(const Document& document, const std::vector<std::string>& keys);

}  // namespace sesame::machine
