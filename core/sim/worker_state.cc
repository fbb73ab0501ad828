#include "core/sim/worker_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/loader/loader.h"
#include "core/network/traffic.h"
#include "core/sim/card_state.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

Json to_json(const HostUse& use) {
  return {use.peak_memory_bytes, use.preemptions, use.cpu_time_s, use.delayed_s};
}

HostUse host_use_from(const Json& json) { return {json.at(0), json.at(1), json.at(2), json.at(3)}; }

Json to_json(const mpi::ComputeSpread& spread) {
  return {spread.samples,     spread.regions,       spread.total_ps,  spread.short_ps,
          spread.repeated_ps, spread.difference_ps, spread.fastest_ps};
}

mpi::ComputeSpread spread_from(const Json& json) {
  return {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4), json.at(5), json.at(6)};
}

// What the rank measured, apart from the spread: a time before each call, ~t for one before a poll.
void take_in_times(const Json& json, mpi::MeasuredCompute& measured) {
  for (const Json& value : json) {
    const auto time_ps = value.get<int64_t>();
    const bool polling = time_ps < 0;
    measured.add(nullptr, SimTime::from_ps(polling ? ~time_ps : time_ps), polling);
  }
}

Json to_json(const mpi::Rank& rank) {
  Json json{{"rank", rank.id},
            {"now", rank.main.now.ps()},
            {"waited", rank.main.waited.ps()},
            {"computed", rank.computed.ps()},
            {"io", rank.io.ps()},
            {"io_in_calls", rank.io_in_calls.ps()},
            {"compute_before_call", rank.compute_before_call.ps()},
            {"exit_status", rank.exit_status},
            {"initialized", rank.initialized},
            {"finalized", rank.finalized},
            {"ended", rank.main.ended},
            {"calls", Json::array()},
            {"channels", Json::array()}};
  rank.profile.visit(rank.world.call_slots, [&](uint16_t call, const auto& entry) {
    json["calls"].push_back({call, entry.count, entry.bytes, entry.time.ps()});
  });
  rank.matching.visit_channels([&](const mpi::Channel& channel) {
    if (channel.messages == 0) return;
    json["channels"].push_back(
        {channel.key, channel.messages, channel.bytes, int{channel.source_world}});
  });
  if (rank.measured != nullptr) {
    json["spread"] = to_json(rank.measured->spread());
    json["times"] = rank.measured->times_ps();
  }
  if (const auto blocked = describe_blocked(rank))
    json["blocked"] = {blocked->wait, blocked->waited_for, blocked->lock, blocked->helper};
  for (const mpi::WaitingClaim& claim : mpi::waiting_claims(rank))
    json["claims"].push_back({claim.origin, claim.target, claim.holder, claim.holders});
  return json;
}

SimTime time_from(const Json& json) { return SimTime::from_ps(json.get<int64_t>()); }

void take_in_rank(const Json& json, mpi::Rank& rank) {
  if (rank.measured != nullptr) take_in_times(json.at("times"), *rank.measured);
  rank.main.now = time_from(json.at("now"));
  rank.main.waited = time_from(json.at("waited"));
  rank.main.ended = json.at("ended");
  rank.computed = time_from(json.at("computed"));
  rank.io = time_from(json.at("io"));
  rank.io_in_calls = time_from(json.at("io_in_calls"));
  rank.compute_before_call = time_from(json.at("compute_before_call"));
  rank.exit_status = json.at("exit_status");
  rank.initialized = json.at("initialized");
  rank.finalized = json.at("finalized");
  for (const Json& call : json.at("calls")) {
    mpi::CallProfile::Entry& entry =
        rank.profile.at(rank.world.call_slots.of(call.at(0).get<uint16_t>()));
    entry = {call.at(1), call.at(2), time_from(call.at(3))};
  }
  for (const Json& from : json.at("channels")) {
    const auto key = from.at(0).get<uint64_t>();
    mpi::Channel& channel =
        rank.matching.channel(mpi::ChannelTable::context_of(key), static_cast<int>(key));
    channel.messages = from.at(1);
    channel.bytes = from.at(2);
    channel.source_world = from.at(3).get<int>();
  }
}

Json to_json(const StorageTotals& totals) {
  return {totals.device_reads, totals.device_writes, totals.bytes_read, totals.bytes_written};
}

StorageTotals storage_totals_from(const Json& json) {
  return {json.at(0), json.at(1), json.at(2), json.at(3)};
}

Json network_state(const network::Traffic& traffic) {
  Json json{{"cards", card_state(traffic.cards())}};
  if (traffic.fabric() != nullptr) json["links"] = link_state(*traffic.fabric());
  return json;
}

void take_in_network(const Json& json, network::Traffic& traffic) {
  take_in_cards(json.at("cards"), &traffic.cards());
  if (traffic.fabric() != nullptr) take_in_links(json.at("links"), traffic.fabric());
}

Json file_state(const mpi::World& world, const WorkerRecorder* recorder) {
  Json uses = Json::array();
  if (recorder != nullptr) {
    for (const FirstUse& use : recorder->first_uses())
      uses.push_back({use.round, use.end_ps, use.path, use.call});
  }
  return {{"table", storage_table(world)},
          {"totals", to_json(storage_totals(world))},
          {"failure", storage_failure(world)},
          {"first_uses", std::move(uses)}};
}

void take_in_files(const Json& json, WorkerTotals* totals) {
  for (const Json& system : json.at("table")) totals->storage_table.push_back(system);
  totals->storage += storage_totals_from(json.at("totals"));
  if (totals->storage_failure.empty()) totals->storage_failure = json.at("failure");
  for (const Json& use : json.at("first_uses"))
    totals->first_uses.push_back({use.at(0), use.at(1), use.at(2), use.at(3)});
}

}  // namespace

std::string worker_state(const mpi::World& world, const WorkerRecorder* recorder) {
  Json json{{"messages", world.messages},
            {"bytes", world.message_bytes},
            {"switches", world.executive.switches()},
            {"host", to_json(host_use())},
            {"host_files", world.host_files},
            {"libraries", loader::libraries_opened_for_all_ranks()},
            {"sizes", Json::array()},
            {"ranks", Json::array()},
            {"files", file_state(world, recorder)}};
  for (const mpi::SizeClass& size : world.sizes) json["sizes"].push_back({size.count, size.bytes});
  for (const auto& rank : world.ranks)
    if (world.is_here(rank->id)) json["ranks"].push_back(to_json(*rank));
  if (world.traffic != nullptr) json["network"] = network_state(*world.traffic);
  std::string state;
  Json::to_cbor(json, state);
  return state;
}

Result<> take_in_state(const std::string& state, mpi::World& world, WorkerTotals* totals) {
  const Json json = Json::from_cbor(state, true, false);
  if (json.is_discarded()) return error("cannot read the state of a worker");
  world.messages += json.at("messages").get<uint64_t>();
  world.message_bytes += json.at("bytes").get<uint64_t>();
  for (const std::string name : json.at("host_files")) world.host_files.insert(name);
  for (size_t i = 0; i < world.sizes.size(); ++i) {
    const Json& size = json.at("sizes").at(i);
    world.sizes[i].count += size.at(0).get<uint64_t>();
    world.sizes[i].bytes += size.at(1).get<uint64_t>();
  }
  if (world.traffic != nullptr) take_in_network(json.at("network"), *world.traffic);
  totals->host += host_use_from(json.at("host"));
  totals->switches += json.at("switches").get<uint64_t>();
  for (const std::string name : json.at("libraries")) totals->libraries.insert(name);
  take_in_files(json.at("files"), totals);
  for (const Json& rank : json.at("ranks")) {
    const int id = rank.at("rank");
    take_in_rank(rank, *world.ranks[static_cast<size_t>(id)]);
    if (rank.contains("spread")) totals->compute += spread_from(rank.at("spread"));
    if (rank.contains("claims"))
      for (const Json& claim : rank.at("claims"))
        totals->claims.push_back({claim.at(0), claim.at(1), claim.at(2), claim.at(3)});
    if (!rank.contains("blocked")) continue;
    const Json& blocked = rank.at("blocked");
    totals->blocked.push_back({id, blocked.at(0), blocked.at(1), blocked.at(2), blocked.at(3)});
  }
  return {};
}

void describe_together(WorkerTotals* totals) {
  std::ranges::sort(totals->blocked, {}, &BlockedRank::rank);
  for (BlockedRank& blocked : totals->blocked) {
    if (blocked.lock < 0 || blocked.waited_for >= 0) continue;  // of its own worker
    const auto claim = std::ranges::find_if(totals->claims, [&](const mpi::WaitingClaim& one) {
      return one.origin == blocked.rank && one.target == blocked.lock;
    });
    if (claim == totals->claims.end()) continue;
    blocked.waited_for = claim->holder;
    // A worker that knows the holders has named them.
    if (!blocked.wait.ends_with(claim->holders)) blocked.wait += claim->holders;
  }
}

}  // namespace sesame::sim
