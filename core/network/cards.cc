#include "core/network/cards.h"

#include <algorithm>
#include <map>

#include "core/network/transfer_time.h"

namespace sesame::network {
namespace {

// Without a bandwidth of its own a card carries what a message, or a stream of them, gets alone.
ByteTime byte_time(const machine::CardDirection& direction,
                   const machine::NetworkParameters& alone) {
  if (direction.bandwidth > 0) return {1e12 / direction.bandwidth, direction.key};
  return {1e12 / std::max(alone.bandwidth, alone.stream_bandwidth), alone.bandwidth_key};
}

// Messages per second with this many ranks at a card: linear between the points given, constant
// beyond them; 0: no limit.
double rate_for(const std::vector<uint32_t>& pairs, const std::vector<double>& rates,
                uint32_t ranks) {
  if (rates.empty()) return 0;
  const auto next = std::ranges::lower_bound(pairs, ranks);
  const auto index = static_cast<size_t>(next - pairs.begin());
  if (index == 0) return rates.front();
  if (index >= rates.size()) return rates.back();
  const double part = static_cast<double>(ranks - pairs[index - 1]) /
                      static_cast<double>(pairs[index] - pairs[index - 1]);
  return rates[index - 1] + part * (rates[index] - rates[index - 1]);
}

SimTime gap_of(double rate) { return rate > 0 ? SimTime::from_seconds(1 / rate) : SimTime::zero(); }

}  // namespace

Cards::Cards(const machine::Machine& machine)
    : parameters_(machine.sharing.card),
      number_(parameters_.number),
      send_(byte_time(parameters_.send, machine.network)),
      receive_(byte_time(parameters_.receive, machine.network)),
      cards_(static_cast<size_t>(machine.nodes) * number_) {
  for (size_t i = 0; i < cards_.size(); ++i) {
    cards_[i].node = static_cast<uint32_t>(i / number_);
    set_gaps(cards_[i]);
  }
}

void Cards::add_ranks(const std::vector<int>& nodes) {
  std::map<int, uint32_t> total;  // of a node
  for (const int node : nodes) ++total[node];
  std::map<int, uint32_t> placed;
  for (const int node : nodes) {
    const uint32_t number = placed[node]++;  // of the rank on its node
    const uint32_t card = parameters_.assignment == machine::CardAssignment::kCyclic
                              ? number % number_
                              : static_cast<uint32_t>(uint64_t{number} * number_ / total[node]);
    const uint32_t index = static_cast<uint32_t>(node) * number_ + card;
    rank_cards_.push_back(index);
    ++cards_[index].ranks;
    set_gaps(cards_[index]);
  }
}

void Cards::set_gaps(Card& card) const {
  const uint32_t ranks = std::max(card.ranks, 1u);
  card.send.gap = gap_of(rate_for(parameters_.pairs, parameters_.send.message_rate, ranks));
  card.receive.gap = gap_of(rate_for(parameters_.pairs, parameters_.receive.message_rate, ranks));
}

SimTime Cards::time_of(uint64_t bytes, const ByteTime& rate, int busy_cores) const {
  double ps = rate.ps;
  const std::vector<double>& slowdown = parameters_.slowdown;
  if (busy_cores > 0 && !slowdown.empty()) {
    ps *= slowdown[std::min(static_cast<size_t>(busy_cores), slowdown.size()) - 1];
  }
  return transfer_time(bytes, ps).due_to(rate.key);
}

}  // namespace sesame::network
