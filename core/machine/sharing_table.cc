#include "core/machine/sharing_table.h"

#include <algorithm>
#include <string>

#include "core/machine/keys.h"
#include "core/machine/machine.h"
#include "core/machine/settings.h"

namespace sesame::machine {
namespace {

Result<> check_number(const Document& document, const CardParameters& card, int cores) {
  if (static_cast<int64_t>(card.number) <= cores) return {};
  return document.wrong(*to_blame(document, {"network.card.number", "node.cores"}),
                        "no rank would use some of the cards, expected network.card.number of at "
                        "most node.cores (" +
                            std::to_string(cores) + "), got " + std::to_string(card.number));
}

Result<> check_pairs(const Document& document, const CardParameters& card) {
  const Entry* pairs = document.find("network.card.pairs");
  if (pairs != nullptr &&
      std::ranges::adjacent_find(card.pairs, std::greater_equal{}) != card.pairs.end()) {
    return document.wrong(*pairs,
                          "network.card.pairs must rise, expected each number above the one "
                          "before, got " +
                              pairs->value.shown());
  }
  for (const char* key : {"network.card.message_rate", "network.card.receive_message_rate"}) {
    const Entry* entry = document.find(key);
    if (entry == nullptr) continue;
    const size_t expected = std::max<size_t>(card.pairs.size(), 1);
    const size_t rates = entry->value.items.size();
    if (rates == expected) continue;
    return document.wrong(*entry,
                          std::string(key) +
                              " has a rate for each of network.card.pairs, expected " +
                              std::to_string(expected) + (expected == 1 ? " number" : " numbers") +
                              ", got " + std::to_string(rates),
                          "network.card.pairs = [1, 16] says with how many ranks at the card");
  }
  return {};
}

// What the time is due to that a bandwidth causes: its own key, if the file has it.
Parameter key_of(const Document& document, const std::string& key, Parameter otherwise) {
  return document.find(key) != nullptr ? Parameter::of(key) : otherwise;
}

CardParameters read_card(const Document& document) {
  const std::string prefix = "network.card.";
  CardParameters card;
  card.number = static_cast<uint32_t>(count_or(document, prefix + "number", 1));
  card.assignment =
      choice_or(document, prefix + "assignment", kCardAssignmentWords, CardAssignment::kBlock);
  card.send = {bandwidth_or(document, prefix + "bandwidth", 0), Parameter::of(prefix + "bandwidth"),
               factors_of(document, prefix + "message_rate")};
  card.receive = {bandwidth_or(document, prefix + "receive_bandwidth", card.send.bandwidth),
                  key_of(document, prefix + "receive_bandwidth", card.send.key),
                  factors_of(document, prefix + "receive_message_rate")};
  if (card.receive.message_rate.empty()) card.receive.message_rate = card.send.message_rate;
  card.pairs = counts_of(document, prefix + "pairs");
  card.slowdown = factors_of(document, prefix + "slowdown");
  return card;
}

}  // namespace

const char* word_of(SharingMode mode) { return kSharingWords[static_cast<int>(mode)]; }
const char* word_of(CardAssignment assignment) {
  return kCardAssignmentWords[static_cast<int>(assignment)];
}
const char* word_of(Routing routing) { return kRoutingWords[static_cast<int>(routing)]; }

Result<Sharing> read_sharing(const Document& document, int cores) {
  Sharing sharing;
  sharing.card = read_card(document);
  sharing.mode = choice_or(document, "network.sharing", kSharingWords, SharingMode::kNone);
  sharing.link.bandwidth = bandwidth_or(document, "network.link.bandwidth", 0);
  sharing.link.global_bandwidth =
      bandwidth_or(document, "network.link.global_bandwidth", sharing.link.bandwidth);
  sharing.link.key = Parameter::of("network.link.bandwidth");
  sharing.link.global_key = key_of(document, "network.link.global_bandwidth", sharing.link.key);
  sharing.memory_bandwidth = bandwidth_or(document, "node.network.total_bandwidth", 0);
  sharing.memory_key = Parameter::of("node.network.total_bandwidth");
  if (auto checked = check_number(document, sharing.card, cores); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = check_pairs(document, sharing.card); !checked) {
    return std::unexpected(checked.error());
  }
  return sharing;
}

}  // namespace sesame::machine
