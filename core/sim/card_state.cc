#include "core/sim/card_state.h"

#include <memory>
#include <utility>
#include <vector>

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

SimTime time_from(const Json& json) { return SimTime::from_ps(json.get<int64_t>()); }

Json to_json(const network::ServerHistory& history) {
  Json json{
      {"slice", history.busy.slice().ps()}, {"busy", Json::array()}, {"pairs", Json::array()}};
  for (const SimTime busy : history.busy.busy()) json["busy"].push_back(busy.ps());
  for (const auto& pair : history.pairs)
    json["pairs"].push_back({pair.from, pair.to, pair.bytes, pair.of_others});
  return json;
}

std::unique_ptr<network::ServerHistory> history_from(const Json& json) {
  auto history = std::make_unique<network::ServerHistory>();
  std::vector<SimTime> busy;
  for (const Json& slice : json.at("busy")) busy.push_back(time_from(slice));
  history->busy.restore(time_from(json.at("slice")), std::move(busy));
  for (size_t i = 0; i < history->pairs.size(); ++i) {
    const Json& pair = json.at("pairs").at(i);
    history->pairs[i] = {pair.at(0), pair.at(1), pair.at(2), pair.at(3)};
  }
  return history;
}

Json to_json(const network::Server& server) {
  Json json{{"busy", server.busy.ps()}, {"bytes", server.bytes}, {"messages", server.messages}};
  if (server.history != nullptr) json["history"] = to_json(*server.history);
  return json;
}

void take_in(const Json& json, network::Server* server) {
  server->busy = time_from(json.at("busy"));
  server->bytes = json.at("bytes");
  server->messages = json.at("messages");
  if (json.contains("history")) server->history = history_from(json.at("history"));
}

}  // namespace

Json card_state(const network::Cards& cards) {
  Json state = Json::array();
  for (size_t i = 0; i < cards.all().size(); ++i) {
    const network::Card& card = cards.all()[i];
    if (card.send.messages > 0) state.push_back({i, "send", to_json(card.send)});
    if (card.receive.messages > 0) state.push_back({i, "receive", to_json(card.receive)});
  }
  return state;
}

Json link_state(const network::Fabric& fabric) {
  Json state = Json::array();
  for (size_t i = 0; i < fabric.links().size(); ++i)
    if (fabric.links()[i].messages > 0) state.push_back({i, to_json(fabric.links()[i])});
  return state;
}

void take_in_links(const Json& state, network::Fabric* fabric) {
  for (const Json& entry : state) take_in(entry.at(1), &fabric->at(entry.at(0)));
}

void take_in_cards(const Json& state, network::Cards* cards) {
  for (const Json& entry : state) {
    network::Card& card = cards->at(entry.at(0));
    if (entry.at(1) == "send") {
      take_in(entry.at(2), &card.send);
    } else {
      take_in(entry.at(2), &card.receive);
    }
  }
}

}  // namespace sesame::sim
