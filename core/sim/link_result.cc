#include "core/sim/link_result.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "core/network/traffic.h"
#include "core/sim/simulation.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

// Every slice of this many links is in the result, of the others the whole: runs with many links
// would have gigabytes.
constexpr size_t kBusiestLinks = 4096;

struct Row {
  network::LinkPlace place;
  const network::Server* server;
};

// What carried a message: cards, then links.
std::vector<Row> rows_of(const network::Traffic& traffic) {
  std::vector<Row> rows;
  const auto add = [&](const network::LinkPlace& place, const network::Server& server) {
    if (server.history != nullptr) rows.push_back({place, &server});
  };
  const std::vector<network::Card>& cards = traffic.cards().all();
  for (size_t i = 0; i < cards.size(); ++i) {
    const auto port = static_cast<uint32_t>(i) % traffic.cards().number();
    add({network::kCardSends, cards[i].node, port}, cards[i].send);
    add({network::kCardReceives, cards[i].node, port}, cards[i].receive);
  }
  if (const network::Fabric* fabric = traffic.fabric()) {
    for (size_t i = 0; i < fabric->links().size(); ++i)
      add(fabric->place_of(i), fabric->links()[i]);
  }
  return rows;
}

// For each row, whether it is one of the busiest; of equal ones the first are.
std::vector<bool> busiest(const std::vector<Row>& rows) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t most = std::min(rows.size(), kBusiestLinks);
  std::ranges::partial_sort(order, order.begin() + static_cast<ptrdiff_t>(most), {},
                            [&](size_t i) { return std::pair(-rows[i].server->busy.ps(), i); });
  std::vector<bool> found(rows.size());
  for (size_t i = 0; i < most; ++i) found[order[i]] = true;
  return found;
}

void add_link(Json& columns, size_t link, const Row& row) {
  columns["link"].push_back(link);
  columns["kind"].push_back(row.place.kind);
  columns["number"].push_back(row.place.number);
  columns["port"].push_back(row.place.port);
  columns["messages"].push_back(row.server->messages);
  columns["bytes"].push_back(row.server->bytes);
  columns["busy_s"].push_back(row.server->busy.seconds());
}

void add_activity(Json& columns, size_t link, const Utilisation& activity, bool is_detailed) {
  const auto add = [&](SimTime begin, SimTime length, SimTime busy) {
    if (busy == SimTime::zero()) return;
    columns["link"].push_back(link);
    columns["begin_s"].push_back(begin.seconds());
    columns["length_s"].push_back(length.seconds());
    columns["busy_s"].push_back(busy.seconds());
  };
  SimTime begin;
  SimTime all;
  for (const SimTime busy : activity.busy()) {
    if (is_detailed) add(begin, activity.slice(), busy);
    begin += activity.slice();
    all += busy;
  }
  if (!is_detailed) add(SimTime::zero(), begin, all);
}

void add_pairs(Json& columns, size_t link, const network::ServerHistory& history) {
  for (const auto& pair : history.pairs) {
    if (pair.from < 0) continue;
    columns["link"].push_back(link);
    columns["source"].push_back(pair.from);
    columns["destination"].push_back(pair.to);
    columns["bytes"].push_back(pair.own_bytes());
  }
}

}  // namespace

Json link_tables(const Simulation& simulation) {
  Json tables = Json::object();
  const network::Traffic* traffic = simulation.world().traffic.get();
  if (traffic == nullptr) return tables;
  const std::vector<Row> rows = rows_of(*traffic);
  const std::vector<bool> is_detailed = busiest(rows);
  for (size_t link = 0; link < rows.size(); ++link) {
    const network::ServerHistory& history = *rows[link].server->history;
    add_link(tables["link"], link, rows[link]);
    add_activity(tables["link_activity"], link, history.busy, is_detailed[link]);
    add_pairs(tables["link_pair"], link, history);
  }
  return tables;
}

}  // namespace sesame::sim
