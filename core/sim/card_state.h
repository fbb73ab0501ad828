// What the network cards of a worker of a parallel simulation have carried, as JSON from which the
// supervisor's cards continue (worker_state.h). A card belongs to one worker.
#pragma once

#include <nlohmann/json.hpp>

#include "core/network/cards.h"

namespace sesame::sim {

// Of the cards that have carried a message.
nlohmann::json card_state(const network::Cards& cards);
void take_in_cards(const nlohmann::json& state, network::Cards* cards);

}  // namespace sesame::sim
