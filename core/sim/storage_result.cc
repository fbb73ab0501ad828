#include "core/sim/storage_result.h"

#include <nlohmann/json.hpp>

#include "core/mpi/messages/world.h"
#include "core/storage/mounts.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

Json to_json(const storage::FileStatistics& file) {
  return {{"name", file.name},
          {"opens", file.opens},
          {"read_seeks", file.read_seeks},
          {"write_seeks", file.write_seeks},
          {"reads", file.reads},
          {"writes", file.writes},
          {"bytes_read", file.bytes_read},
          {"bytes_written", file.bytes_written},
          {"read_s", file.read_time.seconds()},
          {"write_s", file.write_time.seconds()},
          {"metadata_s", file.metadata_time.seconds()}};
}

Json to_json(const storage::CacheStatistics& cache) {
  return {{"read_hits", cache.read_hits},         {"read_misses", cache.read_misses},
          {"write_hits", cache.write_hits},       {"write_misses", cache.write_misses},
          {"evictions", cache.evictions},         {"written_back", cache.written_back},
          {"invalidations", cache.invalidations}, {"forwarded", cache.forwarded},
          {"read_ahead", cache.read_ahead}};
}

Json to_json(const storage::DeviceStatistics& device) {
  return {{"reads", device.reads},
          {"writes", device.writes},
          {"bytes_read", device.bytes_read},
          {"bytes_written", device.bytes_written},
          {"seeks", device.seeks},
          {"seek_s", device.seek_time.seconds()},
          {"rotation_s", device.rotation_time.seconds()},
          {"transfer_s", device.transfer_time.seconds()},
          {"busy_s", device.busy.seconds()},
          {"queued_s", device.queued.seconds()},
          {"longest_queue", device.longest_queue}};
}

Json to_json(const storage::IonodeStatistics& ionode) {
  Json busy = Json::array();
  for (const SimTime time : ionode.busy_by_slice) busy.push_back(time.seconds());
  return {{"requests", ionode.requests},           {"bytes_read", ionode.bytes_read},
          {"bytes_written", ionode.bytes_written}, {"busy_s", ionode.busy.seconds()},
          {"longest_queue", ionode.longest_queue}, {"cache", to_json(ionode.cache)},
          {"device", to_json(ionode.device)},      {"slice_s", ionode.slice.seconds()},
          {"busy_by_slice_s", std::move(busy)}};
}

bool was_used(const storage::FileStatistics& file) {
  return file.opens + file.reads + file.writes > 0 || file.metadata_time > SimTime::zero();
}

// The caches of nodes that had anything to do with files.
Json cache_table(const std::vector<storage::CacheStatistics>& caches) {
  Json table = Json::array();
  for (size_t node = 0; node < caches.size(); ++node) {
    const storage::CacheStatistics& cache = caches[node];
    if (cache.read_hits + cache.read_misses + cache.write_hits + cache.write_misses == 0) continue;
    Json entry = to_json(cache);
    entry["node"] = node;
    table.push_back(std::move(entry));
  }
  return table;
}

// Visits each file system with the name of its table in the machine file and its node; -1 for a
// file system of all nodes. Of several workers, the one with rank 0 visits those of all nodes.
template <typename Visit>
void visit_systems(const mpi::World& world, const Visit& visit) {
  if (world.mounts == nullptr) return;
  world.mounts->visit([&](int node, const storage::FileSystem& system) {
    if (node >= 0 || world.is_here(0))
      visit(node < 0 ? "storage" : "node.storage", node, system.statistics());
  });
}

}  // namespace

Json storage_table(const mpi::World& world) {
  Json table = Json::array();
  visit_systems(world, [&](const char* name, int node, const storage::Statistics& statistics) {
    Json files = Json::array();
    for (const storage::FileStatistics& file : statistics.files)
      if (was_used(file)) files.push_back(to_json(file));
    if (files.empty()) return;
    Json ionodes = Json::array();
    for (const auto& ionode : statistics.ionodes) ionodes.push_back(to_json(ionode));
    table.push_back({{"name", name},
                     {"node", node},
                     {"refused", statistics.refused},
                     {"files", std::move(files)},
                     {"ionodes", std::move(ionodes)},
                     {"cnode_caches", cache_table(statistics.cnode_caches)}});
  });
  return table;
}

std::string storage_failure(const mpi::World& world) {
  const bool has_failed = world.mounts != nullptr && world.mounts->failure();
  return has_failed ? world.mounts->failure()->to_string() : "";
}

StorageTotals storage_totals(const mpi::World& world) {
  StorageTotals totals;
  visit_systems(world, [&](const char*, int, const storage::Statistics& statistics) {
    for (const auto& ionode : statistics.ionodes) {
      totals.device_reads += ionode.device.reads;
      totals.device_writes += ionode.device.writes;
    }
    for (const auto& file : statistics.files) {
      totals.bytes_read += file.bytes_read;
      totals.bytes_written += file.bytes_written;
    }
  });
  return totals;
}

void add_storage_totals(const mpi::World& world, const StorageTotals& totals, Json& result) {
  SimTime time;
  for (const auto& rank : world.ranks) time += rank->io;
  result["io_time_s"] = time.seconds() / world.size();
  result["device_reads"] = totals.device_reads;
  result["device_writes"] = totals.device_writes;
  result["file_bytes_read"] = totals.bytes_read;
  result["file_bytes_written"] = totals.bytes_written;
}

}  // namespace sesame::sim
