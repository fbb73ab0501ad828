// What the network cards and links of a worker of a parallel simulation have carried, as JSON from
// which the supervisor's continue (worker_state.h). A card or link belongs to one worker.
#pragma once

#include <nlohmann/json.hpp>

#include "core/network/cards.h"
#include "core/network/fabric.h"

namespace sesame::sim {

// Of the cards that have carried a message.
nlohmann::json card_state(const network::Cards& cards);
void take_in_cards(const nlohmann::json& state, network::Cards* cards);

// Of the links that have carried a message.
nlohmann::json link_state(const network::Fabric& fabric);
void take_in_links(const nlohmann::json& state, network::Fabric* fabric);

}  // namespace sesame::sim
