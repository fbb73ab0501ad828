#include "core/machine/storage_keys.h"

#include <span>

namespace sesame::machine {
namespace {

enum class Where { kBoth, kShared, kLocal };

struct StorageKey {
  const char* name;
  Where where;
  Kind kind;
  const char* meaning;
  std::span<const char* const> words = {};
};

constexpr StorageKey kKeys[] = {
    {"mount", Where::kBoth, Kind::kTexts,
     "paths that lie on it; \".\" is the working directory of the run"},
    {"detail", Where::kBoth, Kind::kChoice, "level of detail of its model", kStorageModelWords},
    {"capacity", Where::kBoth, Kind::kSize, "of the whole file system"},
    {"client_overhead", Where::kBoth, Kind::kDuration, "CPU time of a compute node for a request"},
    {"server_overhead", Where::kBoth, Kind::kDuration, "CPU time of an I/O node for a request"},
    {"block", Where::kBoth, Kind::kSize, "unit of caches and devices"},

    {"ionodes", Where::kShared, Kind::kCount, "number of I/O nodes"},
    {"attached", Where::kShared, Kind::kIndices,
     "for each I/O node the node whose switch it is attached to; default: spread evenly"},
    {"message_header", Where::kShared, Kind::kSize,
     "length of a request or acknowledgement on the network"},
    {"layout", Where::kShared, Kind::kChoice, "how a file lies on I/O nodes", kLayoutWords},
    {"stripe", Where::kShared, Kind::kSize, "consecutive data of a file on one I/O node"},
    {"stripe_factor", Where::kShared, Kind::kIndex, "I/O nodes that a file lies on; 0: all"},
    {"vesta.bsu", Where::kShared, Kind::kSize, "layout vesta: basic striping unit"},
    {"vesta.cells", Where::kShared, Kind::kIndex,
     "layout vesta: cells of a file; 0: one for each I/O node"},

    {"metadata.open", Where::kBoth, Kind::kDuration, "time to open a file"},
    {"metadata.create", Where::kBoth, Kind::kDuration, "added to open when the file is new"},
    {"metadata.close", Where::kBoth, Kind::kDuration, "time to close a file"},
    {"metadata.stat", Where::kBoth, Kind::kDuration, "time to inquire about a file"},
    {"metadata.remove", Where::kBoth, Kind::kDuration, "time to remove a file"},
    {"metadata.sync", Where::kBoth, Kind::kDuration,
     "time that a commit takes beyond what it writes"},
    {"metadata.journal", Where::kBoth, Kind::kSize,
     "bytes that a commit writes, after the data that it brings to the device"},
    {"metadata.open_per_node", Where::kShared, Kind::kDuration,
     "time to open a shared file, for every node that opens it"},

    {"cache.policy", Where::kShared, Kind::kChoice,
     "how the caches of compute nodes are managed together", kPolicyWords},
    {"cache.coordinated_fraction", Where::kShared, Kind::kShare,
     "policy coordinated: part of a cache that is managed centrally"},
    {"cache.coherence", Where::kShared, Kind::kChoice,
     "what a write does to copies in other caches", kCoherenceWords},
    {"cache.merge_misses", Where::kShared, Kind::kFlag,
     "whether misses of one block at the same time share one read of the device"},
    {"cache.cnode.size", Where::kShared, Kind::kSize, "cache of a compute node"},
    {"cache.cnode.ways", Where::kShared, Kind::kIndex,
     "blocks of a set; 1: direct mapped, 0: fully associative"},
    {"cache.cnode.write_hit", Where::kShared, Kind::kChoice, "write-back or write-through",
     kWriteHitWords},
    {"cache.cnode.write_miss", Where::kShared, Kind::kChoice, "write-allocate or write-around",
     kWriteMissWords},
    {"cache.cnode.hit_time", Where::kShared, Kind::kDuration, "time to find a block"},
    {"cache.cnode.copy_bandwidth", Where::kShared, Kind::kBandwidth, "from and to the cache"},
    {"cache.cnode.write_copy_bandwidth", Where::kShared, Kind::kBandwidth,
     "to the cache, if it differs from copy_bandwidth"},
    {"cache.ionode.size", Where::kShared, Kind::kSize, "cache of an I/O node"},
    {"cache.ionode.ways", Where::kShared, Kind::kIndex,
     "blocks of a set; 1: direct mapped, 0: fully associative"},
    {"cache.ionode.write_hit", Where::kShared, Kind::kChoice, "write-back or write-through",
     kWriteHitWords},
    {"cache.ionode.write_miss", Where::kShared, Kind::kChoice, "write-allocate or write-around",
     kWriteMissWords},
    {"cache.ionode.hit_time", Where::kShared, Kind::kDuration, "time to find a block"},
    {"cache.ionode.copy_bandwidth", Where::kShared, Kind::kBandwidth, "from and to the cache"},
    {"cache.ionode.write_copy_bandwidth", Where::kShared, Kind::kBandwidth,
     "to the cache, if it differs from copy_bandwidth"},
    {"cache.ionode.read_ahead", Where::kShared, Kind::kIndex,
     "blocks read in advance after a sequential miss"},
    {"cache.size", Where::kLocal, Kind::kSize, "page cache of the node"},
    {"cache.ways", Where::kLocal, Kind::kIndex,
     "blocks of a set; 1: direct mapped, 0: fully associative"},
    {"cache.write_hit", Where::kLocal, Kind::kChoice, "write-back or write-through",
     kWriteHitWords},
    {"cache.write_miss", Where::kLocal, Kind::kChoice, "write-allocate or write-around",
     kWriteMissWords},
    {"cache.hit_time", Where::kLocal, Kind::kDuration, "time to find a block"},
    {"cache.copy_bandwidth", Where::kLocal, Kind::kBandwidth, "from and to the cache"},
    {"cache.write_copy_bandwidth", Where::kLocal, Kind::kBandwidth,
     "to the cache, if it differs from copy_bandwidth"},
    {"cache.read_ahead", Where::kLocal, Kind::kIndex,
     "blocks read in advance after a sequential miss"},

    {"device.kind", Where::kBoth, Kind::kChoice, "what device it is", kDeviceWords},
    {"device.queue", Where::kBoth, Kind::kChoice, "order in which it serves requests", kQueueWords},
    {"device.capacity", Where::kBoth, Kind::kSize, "of one device"},
    {"device.raid", Where::kBoth, Kind::kChoice, "whether it is an array of equal devices",
     kRaidWords},
    {"device.members", Where::kBoth, Kind::kCount,
     "devices of an array, including those for parity"},
    {"device.raid_unit", Where::kBoth, Kind::kSize, "consecutive data on one member"},
    {"device.read_limit", Where::kBoth, Kind::kBandwidth, "limit on the rate of reads"},
    {"device.write_limit", Where::kBoth, Kind::kBandwidth, "limit on the rate of writes"},
    {"device.read_burst", Where::kBoth, Kind::kSize,
     "most unused bytes that the limit of reads saves for later"},
    {"device.write_burst", Where::kBoth, Kind::kSize,
     "most unused bytes that the limit of writes saves for later"},
    {"device.limit_refill", Where::kBoth, Kind::kDuration,
     "interval at whose begin a limit allows all of its bytes; 0: it allows them continuously"},
    {"device.read_latency", Where::kBoth, Kind::kDuration, "fixed: of each read"},
    {"device.write_latency", Where::kBoth, Kind::kDuration, "fixed: of each write"},
    {"device.read_bandwidth", Where::kBoth, Kind::kBandwidth, "fixed: of reads"},
    {"device.write_bandwidth", Where::kBoth, Kind::kBandwidth, "fixed: of writes"},
    {"device.sector", Where::kBoth, Kind::kSize, "disk: length of a sector"},
    {"device.sectors_per_track", Where::kBoth, Kind::kCount, "disk: sectors of a track"},
    {"device.heads", Where::kBoth, Kind::kCount, "disk: tracks of a cylinder"},
    {"device.cylinders", Where::kBoth, Kind::kCount, "disk: cylinders"},
    {"device.single_cylinder_seek", Where::kBoth, Kind::kDuration,
     "disk: seek to the next cylinder"},
    {"device.average_seek", Where::kBoth, Kind::kDuration,
     "disk: mean seek between random cylinders"},
    {"device.full_seek", Where::kBoth, Kind::kDuration, "disk: seek over all cylinders"},
    {"device.controller_overhead", Where::kBoth, Kind::kDuration,
     "disk, solid-state: of each request"},
    {"device.rotations_per_minute", Where::kBoth, Kind::kRatio, "disk: speed"},
    {"device.buffer", Where::kBoth, Kind::kSize, "disk: most data that it reads ahead"},
    {"device.immediate_report", Where::kBoth, Kind::kFlag,
     "disk: whether a write is done when it is in the buffer"},
    {"device.channels", Where::kBoth, Kind::kCount, "solid-state: channels"},
    {"device.dies", Where::kBoth, Kind::kCount, "solid-state: dies of a channel"},
    {"device.page", Where::kBoth, Kind::kSize, "solid-state: length of a page"},
    {"device.pages_per_block", Where::kBoth, Kind::kCount, "solid-state: pages erased together"},
    {"device.page_read", Where::kBoth, Kind::kDuration, "solid-state: a die reads a page"},
    {"device.page_program", Where::kBoth, Kind::kDuration, "solid-state: a die writes a page"},
    {"device.block_erase", Where::kBoth, Kind::kDuration, "solid-state: a die erases a block"},
    {"device.channel_bandwidth", Where::kBoth, Kind::kBandwidth, "solid-state: of one channel"},
    {"device.interface_bandwidth", Where::kBoth, Kind::kBandwidth, "solid-state: to the I/O node"},
    {"device.queue_depth", Where::kBoth, Kind::kCount, "solid-state: requests worked on at once"},

    {"analytic.latency", Where::kBoth, Kind::kDuration, "detail analytic: of each request"},
    {"analytic.bandwidth", Where::kBoth, Kind::kBandwidth, "detail analytic: of an I/O node"},

    {"collective.strategy", Where::kShared, Kind::kChoice, "how collective accesses are made",
     kCollectiveWords},
    {"collective.cb_read", Where::kShared, Kind::kChoice,
     "whether collective reads use the strategy: always, where ranks interleave, or never",
     kCollectiveUseWords},
    {"collective.cb_write", Where::kShared, Kind::kChoice,
     "whether collective writes use the strategy: always, where ranks interleave, or never",
     kCollectiveUseWords},
    {"collective.group_size", Where::kShared, Kind::kCount, "grouping: ranks of a group"},
    {"collective.cb_nodes", Where::kShared, Kind::kIndex,
     "two-phase: ranks that access the file (aggregators); 0: one on each node"},
    {"collective.cb_buffer_size", Where::kShared, Kind::kSize,
     "two-phase: data that an aggregator holds at a time"},
    {"collective.cb_align", Where::kShared, Kind::kSize,
     "two-phase: the file domains of aggregators begin at multiples of it"},
    {"collective.sieving", Where::kShared, Kind::kFlag,
     "data sieving: whether an independent access with holes goes through a buffer"},
    {"collective.ind_rd_buffer_size", Where::kShared, Kind::kSize,
     "data sieving: length of the buffer for reads"},
    {"collective.ind_wr_buffer_size", Where::kShared, Kind::kSize,
     "data sieving: length of the buffer for writes"},
    {"collective.io_list", Where::kShared, Kind::kChoice,
     "whether neighbouring items of an access are joined", kIoListWords},
};

}  // namespace

std::vector<Key> storage_keys(const std::string& table) {
  const Where other = table == "storage" ? Where::kLocal : Where::kShared;
  std::vector<Key> keys;
  for (const StorageKey& key : kKeys) {
    if (key.where == other) continue;
    keys.push_back({table + "." + key.name, key.kind, false, key.meaning, key.words});
  }
  return keys;
}

}  // namespace sesame::machine
