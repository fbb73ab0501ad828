// The file systems of the target machine as plain data: the parallel one of the machine
// ([storage]) and the local one of each node ([node.storage]). Times are SimTime, sizes bytes,
// bandwidths bytes per second. docs/models/storage.md says what each constant means to the model.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace sesame::machine {

enum class DeviceKind { kFixed, kDisk, kHp97560, kSolidState };
enum class RaidLevel { kNone, k0, k3, k5 };
enum class QueueDiscipline { kFcfs, kSstf, kScan, kCLook };

// One logical device of an I/O node: a device, or an array of equal ones.
struct DeviceParameters {
  DeviceKind kind = DeviceKind::kFixed;
  QueueDiscipline queue = QueueDiscipline::kFcfs;
  uint64_t capacity = 0;  // of one member; 0: unlimited
  RaidLevel raid = RaidLevel::kNone;
  int members = 1;
  uint64_t raid_unit = 64 << 10;

  // For all kinds: the highest rates, in bytes per second; 0: no limit.
  double read_limit = 0;
  double write_limit = 0;
  uint64_t read_burst = 0;  // burst size: unused rate that accumulates, at most
  uint64_t write_burst = 0;
  // Interval of refills: the bytes that a limit allows in an interval are available at its begin.
  // 0: bytes become available continuously.
  SimTime limit_refill;

  // kFixed: latency + bytes / bandwidth.
  SimTime read_latency;
  SimTime write_latency;
  double read_bandwidth = 0;
  double write_bandwidth = 0;
  [[no_unique_address]] Parameter read_key, write_key;  // the last two, for sensitivities

  // kDisk: overhead + seek(distance) + rotation to the sector + transfer at the media rate. The
  // medium holds cylinders x heads x sectors_per_track x sector bytes, whatever `capacity` says.
  uint64_t sector = 512;
  uint32_t sectors_per_track = 0;
  uint32_t heads = 1;
  uint32_t cylinders = 0;
  SimTime single_cylinder_seek;
  SimTime average_seek;  // over random pairs of cylinders; zero: from the two others
  SimTime full_seek;
  SimTime controller_overhead;  // of each request; kSolidState too
  double rotations_per_minute = 0;
  uint64_t buffer = 0;            // what it reads ahead of a sequential reader, at most
  bool immediate_report = false;  // a write is done when it is in the buffer

  // kSolidState: pages lie round-robin over channels, then over the dies of a channel. Dies work at
  // the same time; a channel moves one page at a time.
  int channels = 1;
  int dies = 1;  // of one channel
  uint64_t page = 4096;
  uint64_t pages_per_block = 256;
  SimTime page_read;
  SimTime page_program;
  SimTime block_erase;             // each program bears its share, 1 / pages_per_block
  double channel_bandwidth = 0;    // of one channel
  double interface_bandwidth = 0;  // to the I/O node; 0: as fast as the channels
  [[no_unique_address]] Parameter channel_key, interface_key;
  int queue_depth = 32;  // requests that it works on at the same time
};

enum class WriteHit { kBack, kThrough };
enum class WriteMiss { kAllocate, kAround };
enum class Coherence { kInvalidate, kUpdate };
enum class CachePolicy { kBase, kGreedy, kCoordinated, kGlobal };

struct CacheParameters {
  uint64_t size = 0;  // 0: no cache
  int ways = 0;       // 0: fully associative; 1: direct mapped
  WriteHit write_hit = WriteHit::kThrough;
  WriteMiss write_miss = WriteMiss::kAround;
  SimTime hit_time;                 // to find a block
  double copy_bandwidth = 0;        // from and to the cache; 0: at no cost
  double write_copy_bandwidth = 0;  // to the cache; 0: copy_bandwidth
  [[no_unique_address]] Parameter copy_key, write_copy_key;
  int read_ahead = 0;  // blocks after a sequential miss; I/O nodes only
};

enum class StorageModel { kAnalytic, kFull };
enum class StripingLayout { kRoundRobin, kVesta };
enum class CollectiveStrategy { kBarrier, kGrouping, kTwoPhase, kDiskDirected };

struct MetadataParameters {
  SimTime open;
  SimTime create;  // added to open
  SimTime close;
  SimTime stat;
  SimTime remove;
  SimTime sync;           // of a commit, beyond its writes
  uint64_t journal = 0;   // bytes that a commit writes
  SimTime open_per_node;  // of a shared file, for every node that opens it
};

// Whether collective calls use the strategy: always, only where the ranges of the ranks interleave
// (ROMIO's "automatic"), or never.
enum class CollectiveUse { kAlways, kInterleaved, kNever };

// ROMIO keeps the sizes of these buffers, and all counts of bytes in them, in 32 bits with a sign.
inline constexpr uint64_t kLongestCollectiveBuffer = std::numeric_limits<int32_t>::max();

struct CollectiveParameters {
  CollectiveStrategy strategy = CollectiveStrategy::kTwoPhase;
  int group_size = 4;                  // node grouping
  int cb_nodes = 0;                    // two-phase: aggregators; 0: one for each node
  uint64_t cb_buffer_size = 16 << 20;  // two-phase: bytes an aggregator holds at a time
  uint64_t cb_align = 0;               // two-phase: file domains begin at its multiples; 0: equal
  CollectiveUse cb_read = CollectiveUse::kAlways;
  CollectiveUse cb_write = CollectiveUse::kAlways;
  bool sieving = true;                    // data sieving for independent accesses with holes
  uint64_t ind_rd_buffer_size = 4 << 20;  // data sieving
  uint64_t ind_wr_buffer_size = 512 << 10;
  bool literal_io_list = false;  // one element for each elementary item, nothing joined
};

struct StorageParameters {
  std::vector<std::string> mounts;  // absolute paths; "." is the working directory of the run
  StorageModel detail = StorageModel::kFull;
  uint64_t capacity = 0;  // of the whole file system; 0: unlimited

  // The nodes that serve it; none in a node's own file system.
  int ionodes = 1;
  std::vector<uint32_t> attached;  // for each the node whose switch it is at; empty: spread evenly
  StripingLayout layout = StripingLayout::kRoundRobin;
  uint64_t stripe = 64 << 10;
  int stripe_factor = 0;   // I/O nodes that a file lies on; 0: all
  uint64_t vesta_bsu = 0;  // bytes of a basic striping unit
  int vesta_cells = 0;     // 0: one for each I/O node

  SimTime client_overhead;       // CPU time of the compute node for a request
  SimTime server_overhead;       // CPU time of the I/O node for a request
  uint64_t message_header = 64;  // bytes of a request or acknowledgement on the network

  MetadataParameters metadata;
  uint64_t block = 4096;  // of caches and devices
  CachePolicy policy = CachePolicy::kBase;
  double coordinated_fraction = 0.8;
  Coherence coherence = Coherence::kInvalidate;
  // Whether an I/O node's read of a block that is already being fetched waits for that fetch. Else
  // it reads the block from the device again.
  bool merges_misses = true;
  CacheParameters cnode_cache;
  CacheParameters ionode_cache;
  DeviceParameters device;
  // The analytic level: latency + bytes / bandwidth for each request, one at a time per I/O node.
  SimTime analytic_latency;
  double analytic_bandwidth = 0;
  [[no_unique_address]] Parameter analytic_key;
  CollectiveParameters collective;
};

// How many blocks of a compute node's cache the I/O nodes manage.
inline uint64_t coordinated_blocks(const StorageParameters& storage) {
  if (storage.policy != CachePolicy::kCoordinated) return 0;
  const auto blocks = static_cast<double>(storage.cnode_cache.size / storage.block);
  return static_cast<uint64_t>(blocks * storage.coordinated_fraction + 0.5);
}

}  // namespace sesame::machine
