#include "core/sim/link_result.h"

#include <nlohmann/json.hpp>

#include "core/network/traffic.h"
#include "core/sim/simulation.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

Json pairs_of(const network::ServerHistory& history) {
  Json pairs = Json::array();
  for (const auto& pair : history.pairs)
    if (pair.from >= 0) pairs.push_back({pair.from, pair.to, pair.own_bytes()});
  return pairs;
}

void add_row(Json& table, const network::LinkPlace& place, const network::Server& server) {
  if (server.history == nullptr) return;
  const Utilisation& activity = server.history->busy;
  Json busy = Json::array();
  for (const SimTime time : activity.busy()) busy.push_back(time.seconds());
  table.push_back({{"kind", place.kind},
                   {"number", place.number},
                   {"port", place.port},
                   {"messages", server.messages},
                   {"bytes", server.bytes},
                   {"busy_s", server.busy.seconds()},
                   {"slice_s", activity.slice().seconds()},
                   {"busy_by_slice_s", std::move(busy)},
                   {"pairs", pairs_of(*server.history)}});
}

}  // namespace

Json link_table(const Simulation& simulation) {
  Json table = Json::array();
  const network::Traffic* traffic = simulation.world().traffic.get();
  if (traffic == nullptr) return table;
  const std::vector<network::Card>& cards = traffic->cards().all();
  for (size_t i = 0; i < cards.size(); ++i) {
    const auto port = static_cast<uint32_t>(i) % traffic->cards().number();
    add_row(table, {network::kCardSends, cards[i].node, port}, cards[i].send);
    add_row(table, {network::kCardReceives, cards[i].node, port}, cards[i].receive);
  }
  if (const network::Fabric* fabric = traffic->fabric()) {
    for (size_t i = 0; i < fabric->links().size(); ++i) {
      add_row(table, fabric->place_of(i), fabric->links()[i]);
    }
  }
  return table;
}

}  // namespace sesame::sim
