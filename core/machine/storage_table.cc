#include "core/machine/storage_table.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/machine/machine.h"
#include "core/machine/network_table.h"
#include "core/machine/settings.h"
#include "core/machine/storage_keys.h"

namespace sesame::machine {
namespace {

constexpr uint64_t kMostCacheBlocks = UINT32_MAX;  // the model numbers them in 32 bits

// Looks up keys of one table, and reports contradictions between them.
class Table {
 public:
  Table(const Document& document, std::string name)
      : document_(document), prefix_(std::move(name) + ".") {}

  const Document& document() const { return document_; }
  std::string key(const std::string& name) const { return prefix_ + name; }
  bool has(const std::string& name) const { return document_.find(key(name)) != nullptr; }
  const Entry* first() const {
    const auto it = std::ranges::find_if(
        document_.entries, [&](const Entry& entry) { return entry.key.starts_with(prefix_); });
    return it == document_.entries.end() ? nullptr : &*it;
  }

  void duration(const std::string& name, SimTime& value) const {
    value = duration_or(document_, key(name), value);
  }
  void bandwidth(const std::string& name, double& value) const {
    value = bandwidth_or(document_, key(name), value);
  }
  // `parameter`: what times at this bandwidth are due to.
  void bandwidth(const std::string& name, double& value, Parameter& parameter) const {
    bandwidth(name, value);
    parameter = Parameter::of(key(name));
  }
  void size(const std::string& name, uint64_t& value) const {
    value = size_or(document_, key(name), value);
  }
  template <typename Integer>
  void count(const std::string& name, Integer& value) const {
    value = static_cast<Integer>(count_or(document_, key(name), static_cast<int>(value)));
  }
  template <typename Enum, size_t n>
  void choice(const std::string& name, const char* const (&words)[n], Enum& value) const {
    value = choice_or(document_, key(name), words, value);
  }

  Result<> require(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (!has(name)) return missing_key(document_, key(name));
    return {};
  }
  // An Error at the last of these keys that the user set.
  std::unexpected<Error> wrong(std::initializer_list<std::string> names, const std::string& message,
                               const std::string& hint = {}) const {
    std::vector<std::string> keys;
    for (const std::string& name : names) keys.push_back(key(name));
    const Entry* blamed = to_blame(document_, keys);
    return document_.wrong(blamed == nullptr ? *first() : *blamed, message, hint);
  }

 private:
  const Document& document_;
  std::string prefix_;
};

MetadataParameters read_metadata(const Table& table) {
  MetadataParameters metadata;
  table.duration("metadata.open", metadata.open);
  table.duration("metadata.create", metadata.create);
  table.duration("metadata.close", metadata.close);
  table.duration("metadata.stat", metadata.stat);
  table.duration("metadata.remove", metadata.remove);
  table.duration("metadata.sync", metadata.sync);
  table.size("metadata.journal", metadata.journal);
  table.duration("metadata.open_per_node", metadata.open_per_node);
  return metadata;
}

CacheParameters read_cache(const Table& table, const std::string& prefix) {
  CacheParameters cache;
  table.size(prefix + "size", cache.size);
  table.count(prefix + "ways", cache.ways);
  table.choice(prefix + "write_hit", kWriteHitWords, cache.write_hit);
  table.choice(prefix + "write_miss", kWriteMissWords, cache.write_miss);
  table.duration(prefix + "hit_time", cache.hit_time);
  table.bandwidth(prefix + "copy_bandwidth", cache.copy_bandwidth, cache.copy_key);
  table.bandwidth(prefix + "write_copy_bandwidth", cache.write_copy_bandwidth,
                  cache.write_copy_key);
  table.count(prefix + "read_ahead", cache.read_ahead);
  return cache;
}

DeviceParameters read_device(const Table& table) {
  DeviceParameters device;
  table.choice("device.kind", kDeviceWords, device.kind);
  table.choice("device.queue", kQueueWords, device.queue);
  table.size("device.capacity", device.capacity);
  table.choice("device.raid", kRaidWords, device.raid);
  table.count("device.members", device.members);
  table.size("device.raid_unit", device.raid_unit);
  table.bandwidth("device.read_limit", device.read_limit);
  table.bandwidth("device.write_limit", device.write_limit);
  table.size("device.read_burst", device.read_burst);
  table.size("device.write_burst", device.write_burst);
  table.duration("device.limit_refill", device.limit_refill);
  table.duration("device.read_latency", device.read_latency);
  table.duration("device.write_latency", device.write_latency);
  table.bandwidth("device.read_bandwidth", device.read_bandwidth, device.read_key);
  table.bandwidth("device.write_bandwidth", device.write_bandwidth, device.write_key);
  table.size("device.sector", device.sector);
  table.count("device.sectors_per_track", device.sectors_per_track);
  table.count("device.heads", device.heads);
  table.count("device.cylinders", device.cylinders);
  table.duration("device.single_cylinder_seek", device.single_cylinder_seek);
  table.duration("device.average_seek", device.average_seek);
  table.duration("device.full_seek", device.full_seek);
  table.duration("device.controller_overhead", device.controller_overhead);
  device.rotations_per_minute =
      ratio_or(table.document(), table.key("device.rotations_per_minute"), 0);
  table.size("device.buffer", device.buffer);
  device.immediate_report =
      flag_or(table.document(), table.key("device.immediate_report"), device.immediate_report);
  table.count("device.channels", device.channels);
  table.count("device.dies", device.dies);
  table.size("device.page", device.page);
  table.count("device.pages_per_block", device.pages_per_block);
  table.duration("device.page_read", device.page_read);
  table.duration("device.page_program", device.page_program);
  table.duration("device.block_erase", device.block_erase);
  table.bandwidth("device.channel_bandwidth", device.channel_bandwidth, device.channel_key);
  table.bandwidth("device.interface_bandwidth", device.interface_bandwidth, device.interface_key);
  table.count("device.queue_depth", device.queue_depth);
  return device;
}

CollectiveParameters read_collective(const Table& table) {
  CollectiveParameters collective;
  table.choice("collective.strategy", kCollectiveWords, collective.strategy);
  table.choice("collective.cb_read", kCollectiveUseWords, collective.cb_read);
  table.choice("collective.cb_write", kCollectiveUseWords, collective.cb_write);
  table.count("collective.group_size", collective.group_size);
  table.count("collective.cb_nodes", collective.cb_nodes);
  table.size("collective.cb_buffer_size", collective.cb_buffer_size);
  table.size("collective.cb_align", collective.cb_align);
  collective.sieving =
      flag_or(table.document(), table.key("collective.sieving"), collective.sieving);
  table.size("collective.ind_rd_buffer_size", collective.ind_rd_buffer_size);
  table.size("collective.ind_wr_buffer_size", collective.ind_wr_buffer_size);
  const auto list = choice_or(table.document(), table.key("collective.io_list"), kIoListWords, 0);
  collective.literal_io_list = list == 1;
  return collective;
}

StorageParameters read_values(const Table& table, bool shared) {
  StorageParameters storage;
  storage.mounts = texts_of(table.document(), table.key("mount"));
  table.choice("detail", kStorageModelWords, storage.detail);
  table.size("capacity", storage.capacity);
  storage.ionodes = shared ? 1 : 0;
  table.count("ionodes", storage.ionodes);
  storage.attached = counts_of(table.document(), table.key("attached"));
  table.choice("layout", kLayoutWords, storage.layout);
  table.size("stripe", storage.stripe);
  table.count("stripe_factor", storage.stripe_factor);
  table.size("vesta.bsu", storage.vesta_bsu);
  table.count("vesta.cells", storage.vesta_cells);
  table.duration("client_overhead", storage.client_overhead);
  table.duration("server_overhead", storage.server_overhead);
  table.size("message_header", storage.message_header);
  storage.metadata = read_metadata(table);
  table.size("block", storage.block);
  table.choice("cache.policy", kPolicyWords, storage.policy);
  storage.coordinated_fraction = ratio_or(table.document(), table.key("cache.coordinated_fraction"),
                                          storage.coordinated_fraction);
  table.choice("cache.coherence", kCoherenceWords, storage.coherence);
  storage.merges_misses =
      flag_or(table.document(), table.key("cache.merge_misses"), storage.merges_misses);
  storage.cnode_cache = read_cache(table, "cache.cnode.");
  storage.ionode_cache = read_cache(table, shared ? "cache.ionode." : "cache.");
  storage.device = read_device(table);
  table.duration("analytic.latency", storage.analytic_latency);
  table.bandwidth("analytic.bandwidth", storage.analytic_bandwidth, storage.analytic_key);
  storage.collective = read_collective(table);
  return storage;
}

// Sizes that must not be zero.
Result<> check_sizes(const Table& table) {
  for (const char* name : {"block", "stripe", "vesta.bsu", "device.raid_unit", "device.sector",
                           "device.page", "collective.cb_buffer_size",
                           "collective.ind_rd_buffer_size", "collective.ind_wr_buffer_size"}) {
    const Entry* entry = table.document().find(table.key(name));
    if (entry == nullptr || size_or(table.document(), entry->key, 1) > 0) continue;
    return table.document().wrong(
        *entry,
        entry->key + " cannot be zero, expected a size above zero, got " + entry->value.shown());
  }
  return {};
}

Result<> check_collective_buffers(const Table& table) {
  for (const char* name : {"collective.cb_buffer_size", "collective.ind_rd_buffer_size",
                           "collective.ind_wr_buffer_size"}) {
    const Entry* entry = table.document().find(table.key(name));
    if (entry == nullptr || size_or(table.document(), entry->key, 1) <= kLongestCollectiveBuffer)
      continue;
    return table.document().wrong(
        *entry, entry->key + " is too long, expected less than 2 GiB, got " + entry->value.shown(),
        "choose a smaller buffer: ROMIO counts its bytes in 32 bits");
  }
  return {};
}

Result<> check_striping(const Table& table, const StorageParameters& storage,
                        const NodeLimits& limits) {
  const std::string ionodes = std::to_string(storage.ionodes);
  if (storage.stripe_factor > storage.ionodes) {
    return table.wrong({"stripe_factor", "ionodes"},
                       "a file cannot lie on more I/O nodes than there are, expected " +
                           table.key("stripe_factor") + " of at most " + ionodes + ", got " +
                           std::to_string(storage.stripe_factor),
                       "without " + table.key("stripe_factor") + " a file lies on all I/O nodes");
  }
  const bool vesta = storage.layout == StripingLayout::kVesta;
  if (vesta && storage.vesta_bsu == 0) return missing_key(table.document(), table.key("vesta.bsu"));
  const char* unit = vesta ? "vesta.bsu" : "stripe";
  const uint64_t bytes = vesta ? storage.vesta_bsu : storage.stripe;
  if (bytes % storage.block != 0) {
    return table.wrong({unit, "block"}, table.key(unit) +
                                            " must be whole blocks, expected a "
                                            "multiple of " +
                                            format_size(storage.block) + ", got " +
                                            format_size(bytes));
  }
  if (!storage.attached.empty() &&
      storage.attached.size() != static_cast<size_t>(storage.ionodes)) {
    return table.wrong({"attached", "ionodes"},
                       "each I/O node is attached to a node, expected " + ionodes + " nodes in " +
                           table.key("attached") + ", got " +
                           std::to_string(storage.attached.size()),
                       "without " + table.key("attached") + " they are spread evenly");
  }
  for (const uint32_t node : storage.attached) {
    if (node < static_cast<uint32_t>(limits.nodes)) continue;
    return table.wrong({"attached"},
                       "no such node to attach an I/O node to, expected a number "
                       "below " +
                           std::to_string(limits.nodes) + ", got " + std::to_string(node));
  }
  return {};
}

Result<> check_cache(const Table& table, const StorageParameters& storage,
                     const CacheParameters& cache, const std::string& prefix) {
  if (cache.size == 0) return {};
  const uint64_t blocks = cache.size / storage.block;
  if (blocks == 0 || cache.size % storage.block != 0) {
    return table.wrong({prefix + "size", "block"}, table.key(prefix + "size") +
                                                       " must be whole blocks, expected a multiple "
                                                       "of " +
                                                       format_size(storage.block) + ", got " +
                                                       format_size(cache.size));
  }
  if (blocks >= kMostCacheBlocks) {
    return table.wrong(
        {prefix + "size", "block"},
        "a cache has at most 4 billion blocks, expected " + table.key(prefix + "size") + " below " +
            format_size(kMostCacheBlocks * storage.block) + ", got " + format_size(cache.size));
  }
  if (cache.ways > 0 && blocks % static_cast<uint64_t>(cache.ways) != 0) {
    return table.wrong({prefix + "ways", prefix + "size", "block"},
                       "the blocks of a cache must fill its sets, expected " +
                           table.key(prefix + "ways") + " to divide its " + std::to_string(blocks) +
                           " blocks, got " + std::to_string(cache.ways));
  }
  return {};
}

Result<> check_own_share(const Table& table, const StorageParameters& storage) {
  const uint64_t blocks = storage.cnode_cache.size / storage.block;
  if (storage.policy != CachePolicy::kCoordinated || coordinated_blocks(storage) < blocks) {
    return {};
  }
  return table.wrong({"cache.coordinated_fraction", "cache.cnode.size", "block"},
                     "a compute node keeps a part of its cache for itself, expected " +
                         table.key("cache.coordinated_fraction") + " to leave it at least one of " +
                         std::to_string(blocks) + " blocks, got " +
                         std::to_string(coordinated_blocks(storage)) + " for the I/O nodes");
}

Result<> check_caches(const Table& table, const StorageParameters& storage,
                      const NodeLimits& limits) {
  const std::string ionode = storage.ionodes > 0 ? "cache.ionode." : "cache.";
  if (auto checked = check_cache(table, storage, storage.cnode_cache, "cache.cnode."); !checked)
    return checked;
  if (auto checked = check_cache(table, storage, storage.ionode_cache, ionode); !checked)
    return checked;
  // The cache of a compute node is in its memory; the memory of I/O nodes is unknown.
  const bool local = storage.ionodes == 0;
  const uint64_t size = local ? storage.ionode_cache.size : storage.cnode_cache.size;
  if (limits.memory > 0 && size > 0 && limits.taken + size > limits.memory) {
    return table.wrong(
        {local ? "cache.size" : "cache.cnode.size"},
        "a cache lies in the memory of its node, expected at most node.memory (" +
            format_size(limits.memory) + ")" +
            (limits.taken > 0 ? " less storage.cache.cnode.size (" + format_size(limits.taken) + ")"
                              : "") +
            ", got " + format_size(size));
  }
  if (storage.policy != CachePolicy::kBase && storage.cnode_cache.size == 0) {
    return table.wrong(
        {"cache.policy"},
        "compute nodes without caches have none to manage together, expected " +
            table.key("cache.policy") + " base, or a " + table.key("cache.cnode.size") + ", got " +
            word_of(storage.policy),
        "for instance " + table.key("cache.cnode.size") + "=" + format_size(64 * storage.block));
  }
  return check_own_share(table, storage);
}

Result<> check_array(const Table& table, const DeviceParameters& device) {
  const int least = device.raid == RaidLevel::kNone || device.raid == RaidLevel::k0 ? 1
                    : device.raid == RaidLevel::k3                                  ? 2
                                                                                    : 3;
  if (device.raid == RaidLevel::kNone && device.members > 1) {
    return table.wrong({"device.members", "device.raid"},
                       "one device has no members, expected " + table.key("device.raid") +
                           " raid0, raid3 or raid5 for " + std::to_string(device.members) +
                           " of them, got none");
  }
  if (device.members < least) {
    return table.wrong({"device.members", "device.raid"},
                       "too few devices for the array, expected " + table.key("device.members") +
                           " of at least " + std::to_string(least) + ", got " +
                           std::to_string(device.members));
  }
  return {};
}

Result<> check_disk(const Table& table, const DeviceParameters& device) {
  if (auto checked = table.require({"device.cylinders", "device.sectors_per_track",
                                    "device.rotations_per_minute", "device.single_cylinder_seek",
                                    "device.full_seek"});
      !checked) {
    return checked;
  }
  if (device.full_seek < device.single_cylinder_seek) {
    return table.wrong({"device.full_seek", "device.single_cylinder_seek"},
                       "the longest seek cannot be shorter than the shortest, expected " +
                           table.key("device.full_seek") + " of at least " +
                           format_duration(device.single_cylinder_seek) + ", got " +
                           format_duration(device.full_seek));
  }
  if (table.has("device.average_seek") && (device.average_seek < device.single_cylinder_seek ||
                                           device.full_seek < device.average_seek)) {
    return table.wrong(
        {"device.average_seek", "device.single_cylinder_seek", "device.full_seek"},
        "the mean seek lies between the shortest and the longest, expected " +
            table.key("device.average_seek") + " from " +
            format_duration(device.single_cylinder_seek) + " to " +
            format_duration(device.full_seek) + ", got " + format_duration(device.average_seek),
        "without " + table.key("device.average_seek") + " it comes from the two others");
  }
  return {};
}

Result<> check_device(const Table& table, const StorageParameters& storage) {
  const DeviceParameters& device = storage.device;
  if (auto checked = check_array(table, device); !checked) return checked;
  if (device.capacity > 0 && device.capacity < storage.block) {
    return table.wrong({"device.capacity", "block"},
                       "a device holds at least a block, expected " + table.key("device.capacity") +
                           " of at least " + format_size(storage.block) + ", got " +
                           format_size(device.capacity));
  }
  switch (device.kind) {
    case DeviceKind::kFixed:
      return table.require({"device.read_bandwidth", "device.write_bandwidth"});
    case DeviceKind::kDisk:
      return check_disk(table, device);
    case DeviceKind::kHp97560:
      return {};  // its constants are the model's
    case DeviceKind::kSolidState:
      return table.require({"device.page_read", "device.page_program", "device.block_erase",
                            "device.channel_bandwidth"});
  }
  return {};
}

Result<> check_whole(const Table& table, const StorageParameters& storage,
                     const NodeLimits& limits) {
  if (storage.capacity > 0 && storage.capacity < storage.block) {
    return table.wrong({"capacity", "block"}, "a file system holds at least a block, expected " +
                                                  table.key("capacity") + " of at least " +
                                                  format_size(storage.block) + ", got " +
                                                  format_size(storage.capacity));
  }
  if (storage.ionodes > 0) {
    if (auto checked = check_striping(table, storage, limits); !checked) return checked;
  }
  if (auto checked = check_caches(table, storage, limits); !checked) return checked;
  if (storage.detail == StorageModel::kAnalytic) return table.require({"analytic.bandwidth"});
  return check_device(table, storage);
}

bool is_normal_path(const std::string& path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  const std::string ended = path + "/";
  for (const char* part : {"//", "/./", "/../"})
    if (ended.find(part) != std::string::npos) return false;
  return true;
}

}  // namespace

Result<std::optional<StorageParameters>> read_storage(const Document& document,
                                                      const std::string& name,
                                                      const NodeLimits& limits) {
  const Table table(document, name);
  if (table.first() == nullptr) {
    if (document.find(name) == nullptr) return std::nullopt;
    return missing_key(document, name + ".mount");
  }
  if (auto checked = table.require({"mount"}); !checked) return std::unexpected(checked.error());
  if (auto checked = check_sizes(table); !checked) return std::unexpected(checked.error());
  if (auto checked = check_collective_buffers(table); !checked)
    return std::unexpected(checked.error());
  StorageParameters storage = read_values(table, name == "storage");
  if (auto checked = check_whole(table, storage, limits); !checked)
    return std::unexpected(checked.error());
  return storage;
}

Result<> check_mounts(const Document& document) {
  std::set<std::string> seen;
  for (const char* key : {"storage.mount", "node.storage.mount"}) {
    const Entry* entry = document.find(key);
    if (entry == nullptr) continue;
    for (const std::string& path : texts_of(document, key)) {
      if (path != "." && !is_normal_path(path)) {
        return document.wrong(*entry,
                              std::string("wrong path in ") + key +
                                  ", expected an absolute path below / such as \"/pfs\", or \".\" "
                                  "for the working directory of the run, got \"" +
                                  path + "\"");
      }
      if (seen.insert(path).second) continue;
      return document.wrong(*entry, std::string("\"") + path +
                                        "\" is mounted twice, expected it "
                                        "once in storage.mount and "
                                        "node.storage.mount together");
    }
  }
  return {};
}

const char* word_of(StorageModel detail) { return kStorageModelWords[static_cast<size_t>(detail)]; }
const char* word_of(CachePolicy policy) { return kPolicyWords[static_cast<size_t>(policy)]; }
const char* word_of(DeviceKind kind) { return kDeviceWords[static_cast<size_t>(kind)]; }
const char* word_of(RaidLevel level) { return kRaidWords[static_cast<size_t>(level)]; }
const char* word_of(CollectiveStrategy strategy) {
  return kCollectiveWords[static_cast<size_t>(strategy)];
}

}  // namespace sesame::machine
