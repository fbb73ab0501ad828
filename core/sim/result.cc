#include "core/sim/result.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/mpi/call_ids.h"
#include "core/sim/host_use.h"
#include "core/sim/link_result.h"
#include "core/sim/sensitivity.h"
#include "core/sim/simulation.h"
#include "core/sim/storage_result.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted:
      return "completed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kAborted:
      return "aborted";
    case Outcome::kDeadlock:
      return "deadlock";
  }
  return "";
}

SimTime time_in_calls(const mpi::Rank& rank) {
  SimTime total;
  rank.profile.visit(rank.world.call_slots,
                     [&](uint16_t, const auto& entry) { total += entry.time; });
  return total;
}

Json rank_table(const mpi::World& world, const std::vector<uint64_t>& messages,
                const std::vector<uint64_t>& bytes) {
  Json table;
  for (const auto& rank : world.ranks) {
    const auto id = static_cast<size_t>(rank->id);
    const double calls_s = time_in_calls(*rank).seconds();
    const double wait_s = rank->main.waited.seconds();
    table["begin_s"].push_back(rank->job.begin.seconds());
    table["end_s"].push_back(rank->main.now.seconds());
    table["compute_s"].push_back(rank->computed.seconds());
    const double inside_s = rank->io_in_calls.seconds();
    table["communication_s"].push_back(std::max(0.0, calls_s - wait_s - inside_s));
    table["wait_s"].push_back(wait_s);
    table["io_s"].push_back(rank->io.seconds());
    table["messages_sent"].push_back(messages[id]);
    table["bytes_sent"].push_back(bytes[id]);
    // After the last call no other call resets it.
    table["compute_after_calls_ps"].push_back(rank->compute_before_call.ps());
    table["exit_status"].push_back(rank->exit_status);
    table["world"].push_back(rank->job.number);
    table["world_rank"].push_back(rank->id - rank->job.first_rank);
  }
  return table;
}

Json call_table(const mpi::World& world) {
  struct Total {
    uint64_t count = 0;
    uint64_t bytes = 0;
    SimTime time;
    SimTime most;
  };
  std::map<uint16_t, Total> totals;
  for (const auto& rank : world.ranks) {
    rank->profile.visit(world.call_slots, [&](uint16_t call, const auto& entry) {
      Total& total = totals[call];
      total.count += entry.count;
      total.bytes += entry.bytes;
      total.time += entry.time;
      total.most = later(total.most, entry.time);
    });
  }
  Json calls = Json::array();
  for (const auto& [call, total] : totals) {
    calls.push_back({{"name", mpi::call_name(static_cast<mpi::CallId>(call))},
                     {"count", total.count},
                     {"time_s", total.time.seconds()},
                     {"bytes", total.bytes},
                     {"max_rank_time_s", total.most.seconds()}});
  }
  return calls;
}

// Messages and bytes of each pair of ranks; also adds up the senders' totals.
Json traffic_matrix(const mpi::World& world, std::vector<uint64_t>* sent_messages,
                    std::vector<uint64_t>* sent_bytes) {
  Json matrix = Json::array();
  for (const auto& rank : world.ranks) {
    std::map<int, std::pair<uint64_t, uint64_t>> from;
    rank->matching.visit_channels([&](const mpi::Channel& channel) {
      if (channel.messages == 0) return;
      auto& [messages, bytes] = from[channel.source_world];
      messages += channel.messages;
      bytes += channel.bytes;
    });
    for (const auto& [source, traffic] : from) {
      matrix.push_back({source, rank->id, traffic.first, traffic.second});
      (*sent_messages)[static_cast<size_t>(source)] += traffic.first;
      (*sent_bytes)[static_cast<size_t>(source)] += traffic.second;
    }
  }
  return matrix;
}

Json size_table(const mpi::World& world) {
  Json sizes = Json::array();
  for (size_t k = 0; k < world.sizes.size(); ++k) {
    if (world.sizes[k].count == 0) continue;
    // Class 0 (no data) is -1; class k holds sizes from 2^(k-1).
    sizes.push_back({static_cast<int>(k) - 1, world.sizes[k].count, world.sizes[k].bytes});
  }
  return sizes;
}

// The uncertainty of measured computation: docs/models/uncertainty.md.
mpi::ComputeSpread compute_spread(const Simulation& simulation) {
  if (simulation.parallel() != nullptr) return simulation.parallel()->totals().compute;
  mpi::ComputeSpread all;
  for (const auto& rank : simulation.world().ranks) {
    if (rank->measured != nullptr) all += rank->measured->spread();
  }
  return all;
}

Json compute_table(const Simulation& simulation) {
  const mpi::ComputeSpread all = compute_spread(simulation);
  const auto seconds = [](int64_t ps) { return SimTime::from_ps(ps).seconds(); };
  return {{"reading_s", simulation.world().meter.reading().seconds()},
          {"samples", all.samples},
          {"regions", all.regions},
          {"sampled_s", seconds(all.total_ps)},
          {"short_s", seconds(all.short_ps)},
          {"repeated_s", seconds(all.repeated_ps)},
          {"difference_s", seconds(all.difference_ps)},
          {"fastest_s", seconds(all.fastest_ps)}};
}

Json host_table(const Simulation& simulation) {
  HostUse use = host_use();
  if (simulation.parallel() != nullptr) use += simulation.parallel()->totals().host;
  return {{"preemptions", use.preemptions},
          {"cpu_time_s", use.cpu_time_s},
          {"delayed_s", use.delayed_s}};
}

Json parallel_table(const Simulation& simulation) {
  const ParallelRun& parallel = *simulation.parallel();
  Json table{{"workers", parallel.workers()},
             {"protocol", simulation.scenario().protocol},
             {"look_ahead_s", parallel.look_ahead().seconds()},
             {"rounds", parallel.rounds()},
             {"frames", parallel.frames()}};
  if (const HostScenario& hosts = simulation.scenario().hosts; hosts.are_several())
    table["hosts"] = hosts.names;
  for (int i = 0; i < parallel.workers(); ++i) {
    table["null_messages"].push_back(parallel.counts(i).null_messages);
    table["queries"].push_back(parallel.counts(i).queries);
    table["waited_s"].push_back(parallel.waited_seconds(i));
  }
  return table;
}

Json libraries_opened(const Simulation& simulation) {
  if (simulation.has_process_ranks()) return Json::array();
  if (simulation.parallel() != nullptr) return simulation.parallel()->totals().libraries;
  return loader::libraries_opened_for_all_ranks();
}

// Whether smaller stacks may make it much faster: each of many stacks has page tables of its own,
// which a page table's reach of 2 MiB is too small to share.
bool has_many_large_stacks(const Simulation& simulation) {
  constexpr int kMany = 2048;
  constexpr uint64_t kLarge = 2 << 20, kLargest = 64 << 20;  // of more, looking takes too long
  const uint64_t bytes = simulation.scenario().stack_bytes;
  return simulation.world().size() >= kMany && bytes >= kLarge && bytes <= kLargest;
}

Json to_json(const Simulation& simulation) {
  const mpi::World& world = simulation.world();
  SimTime end;
  for (const auto& rank : world.ranks) end = later(end, rank->main.now);
  std::vector<uint64_t> messages(world.ranks.size());
  std::vector<uint64_t> bytes(world.ranks.size());
  Json json;
  json["predicted_time_s"] = end.seconds();
  json["ranks"] = world.size();
  json["spawned_ranks"] = world.size() - world.jobs.front().size;
  json["spawn_time_s"] = simulation.machine().spawn_time.seconds();
  json["machine"] = simulation.machine().name;
  if (!simulation.machine().assumed.empty())
    json["assumed_constants"] = simulation.machine().assumed;
  json["sharing"] = machine::word_of(simulation.machine().sharing.mode);
  json["collectives"] = simulation.world().open_mpi_collectives ? "openmpi" : "mpich";
  json["messages"] = world.messages;
  json["bytes"] = world.message_bytes;
  json["wall_time_s"] = simulation.wall_seconds();
  json["startup_s"] = simulation.startup_seconds();
  json["messages_per_second"] =
      simulation.wall_seconds() > 0
          ? static_cast<double>(world.messages) / simulation.wall_seconds()
          : 0.0;
  const ParallelRun* parallel = simulation.parallel();
  json["switches"] = parallel != nullptr ? parallel->totals().switches : world.executive.switches();
  if (parallel != nullptr) json["parallel"] = parallel_table(simulation);
  json["computed_together"] = simulation.computed_together();
  if (simulation.scenario().compute == mpi::ComputeMode::kMeasured) {
    json["compute"] = compute_table(simulation);
  }
  json["host_process"] = host_table(simulation);
  json["exit_status"] = simulation.exit_status();
  json["outcome"] = outcome_name(simulation.outcome());
  json["outcome_text"] = simulation.outcome_text();
  json["matrix"] = traffic_matrix(world, &messages, &bytes);
  json["rank_table"] = rank_table(world, messages, bytes);
  json["calls"] = call_table(world);
  json["message_sizes"] = size_table(world);
  if (simulation.scenario().is_repeated) json["asks_for_threads"] = true;
  json["host_files"] = world.host_files;
  json["uses_without_time"] = world.uses_without_time;
  json["libraries_opened_for_all_ranks"] = libraries_opened(simulation);
  json["storage"] =
      parallel != nullptr ? Json(parallel->totals().storage_table) : storage_table(world);
  json["links"] = link_tables(simulation);
  add_storage_totals(
      world, parallel != nullptr ? parallel->totals().storage : storage_totals(world), json);
  if (const Recording* recording = simulation.recording()) {
    json["recorded_files"] = recording->files();
    json["recorded_rows"] = recording->rows();
  }
  if (has_many_large_stacks(simulation)) json["deepest_stack_bytes"] = simulation.deepest_stack();
  add_sensitivity(world, json);
  json["peak_rss_bytes"] = simulation.peak_memory_bytes();
  return json;
}

}  // namespace

Result<> write_result(const Simulation& simulation, const std::string& path) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << to_json(simulation).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  if (!file || std::rename(partial.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    std::remove(partial.c_str());
    return error_at(path, 0,
                    std::string("cannot write the result: ") + std::strerror(error_number));
  }
  return {};
}

}  // namespace sesame::sim
