#include <gtest/gtest.h>

#include "core/machine/machine.h"

namespace sesame::machine {
namespace {

constexpr char kMachine[] =
    "name = \"test\"\n"                  // 1
    "nodes = 8\n"                        // 2
    "[node]\n"                           // 3
    "memory = \"32 MiB\"\n"              // 4
    "[network]\n"                        // 5
    "latency = \"10 us\"\n"              // 6
    "bandwidth = \"100 MB/s\"\n"         // 7
    "[topology]\n"                       // 8
    "kind = \"crossbar\"\n"              // 9
    "[storage]\n"                        // 10
    "mount = [\"/pfs\", \".\"]\n"        // 11
    "ionodes = 4\n"                      // 12
    "stripe = \"64 KiB\"\n"              // 13
    "block = \"8 KiB\"\n"                // 14
    "[storage.cache.cnode]\n"            // 15
    "size = \"1 MiB\"\n"                 // 16
    "ways = 4\n"                         // 17
    "[storage.device]\n"                 // 18
    "read_bandwidth = \"5 MB/s\"\n"      // 19
    "write_bandwidth = \"4 MB/s\"\n"     // 20
    "[node.storage]\n"                   // 21
    "mount = [\"/scratch\"]\n"           // 22
    "detail = \"analytic\"\n"            // 23
    "analytic.bandwidth = \"2 MB/s\"\n"  // 24
    "cache.size = \"2 MiB\"\n";          // 25

using Overrides = std::vector<std::string>;

Machine read(const Overrides& overrides = {}) {
  auto machine = parse_machine(kMachine, "m.toml", overrides);
  EXPECT_TRUE(machine) << machine.error().to_string();
  return machine ? *machine : Machine{};
}

std::string complaint(const std::string& from, const std::string& to) {
  std::string text = kMachine;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto machine = parse_machine(text.replace(at, from.size(), to), "m.toml");
  return machine ? "" : machine.error().to_string();
}

std::string complaint_about(const Overrides& overrides) {
  const auto machine = parse_machine(kMachine, "m.toml", overrides);
  return machine ? "" : machine.error().to_string();
}

void expect_starts(const std::string& text, const std::string& start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << "in full: " << text;
}

TEST(Storage, OfAMachineWithoutTheTableIsAbsent) {
  std::string text = kMachine;
  const auto machine = parse_machine(text.substr(0, text.find("[storage]")), "m.toml");
  ASSERT_TRUE(machine);
  EXPECT_FALSE(machine->storage);
  EXPECT_FALSE(machine->node_storage);
}

TEST(Storage, TakesWhatTheFileSays) {
  const Machine machine = read();
  ASSERT_TRUE(machine.storage && machine.node_storage);
  const StorageParameters& shared = *machine.storage;
  EXPECT_EQ(shared.mounts, (std::vector<std::string>{"/pfs", "."}));
  EXPECT_EQ(shared.detail, StorageModel::kFull);
  EXPECT_EQ(shared.ionodes, 4);
  EXPECT_EQ(shared.stripe, 65536u);
  EXPECT_EQ(shared.block, 8192u);
  EXPECT_EQ(shared.cnode_cache.size, 1u << 20);
  EXPECT_EQ(shared.cnode_cache.ways, 4);
  EXPECT_EQ(shared.ionode_cache.size, 0u);
  EXPECT_DOUBLE_EQ(shared.device.read_bandwidth, 5e6);
  EXPECT_DOUBLE_EQ(shared.device.write_bandwidth, 4e6);
  EXPECT_EQ(shared.collective.strategy, CollectiveStrategy::kTwoPhase);
  EXPECT_EQ(machine.node_storage->ionodes, 0);  // none of its own
  EXPECT_EQ(machine.node_storage->ionode_cache.size, 2u << 20);
  EXPECT_DOUBLE_EQ(machine.node_storage->analytic_bandwidth, 2e6);
}

TEST(Storage, OverridesReachEveryPart) {
  const Machine machine = read({"storage.layout=vesta",
                                "storage.vesta.bsu=32 KiB",
                                "storage.vesta.cells=6",
                                "storage.attached=[0,2,4,6]",
                                "storage.metadata.open_per_node=0.14 s",
                                "storage.metadata.journal=20 KiB",
                                "storage.cache.policy=coordinated",
                                "storage.cache.coordinated_fraction=0.5",
                                "storage.cache.coherence=update",
                                "storage.cache.cnode.write_hit=back",
                                "storage.cache.ionode.size=2 MiB",
                                "storage.cache.ionode.read_ahead=3",
                                "storage.device.kind=hp97560",
                                "storage.device.queue=c-look",
                                "storage.device.raid=raid5",
                                "storage.device.members=5",
                                "storage.device.immediate_report=true",
                                "storage.device.read_limit=16 MB/s",
                                "storage.device.write_limit=32 MB/s",
                                "storage.device.write_burst=2 MB",
                                "storage.device.limit_refill=100 ms",
                                "storage.collective.strategy=disk-directed",
                                "storage.collective.cb_read=automatic",
                                "storage.collective.cb_write=disable",
                                "storage.cache.merge_misses=false",
                                "storage.collective.sieving=false",
                                "storage.collective.io_list=literal",
                                "storage.capacity=1 GB"});
  const StorageParameters& storage = *machine.storage;
  EXPECT_EQ(storage.layout, StripingLayout::kVesta);
  EXPECT_EQ(storage.vesta_bsu, 32768u);
  EXPECT_EQ(storage.vesta_cells, 6);
  EXPECT_EQ(storage.attached, (std::vector<uint32_t>{0, 2, 4, 6}));
  EXPECT_EQ(storage.metadata.open_per_node, SimTime::from_ns(140'000'000));
  EXPECT_EQ(storage.metadata.journal, 20u << 10);
  EXPECT_EQ(storage.policy, CachePolicy::kCoordinated);
  EXPECT_DOUBLE_EQ(storage.coordinated_fraction, 0.5);
  EXPECT_EQ(storage.coherence, Coherence::kUpdate);
  EXPECT_EQ(storage.cnode_cache.write_hit, WriteHit::kBack);
  EXPECT_EQ(storage.ionode_cache.read_ahead, 3);
  EXPECT_EQ(storage.device.kind, DeviceKind::kHp97560);
  EXPECT_EQ(storage.device.queue, QueueDiscipline::kCLook);
  EXPECT_EQ(storage.device.raid, RaidLevel::k5);
  EXPECT_EQ(storage.device.members, 5);
  EXPECT_TRUE(storage.device.immediate_report);
  EXPECT_DOUBLE_EQ(storage.device.read_limit, 16e6);
  EXPECT_DOUBLE_EQ(storage.device.write_limit, 32e6);
  EXPECT_EQ(storage.device.write_burst, 2'000'000u);
  EXPECT_EQ(storage.device.limit_refill, SimTime::from_ns(100'000'000));
  EXPECT_EQ(storage.collective.strategy, CollectiveStrategy::kDiskDirected);
  EXPECT_EQ(storage.collective.cb_read, CollectiveUse::kInterleaved);
  EXPECT_EQ(storage.collective.cb_write, CollectiveUse::kNever);
  EXPECT_FALSE(storage.merges_misses);
  EXPECT_FALSE(storage.collective.sieving);
  EXPECT_TRUE(storage.collective.literal_io_list);
  EXPECT_EQ(storage.capacity, 1'000'000'000u);
}

TEST(Storage, NeedsAMount) {
  expect_starts(complaint("mount = [\"/pfs\", \".\"]\n", ""),
                "m.toml:10: missing key storage.mount, expected a list of texts");
}

TEST(Storage, UnknownWordsAreNamedWithTheKnownOnes) {
  expect_starts(complaint("\"analytic\"", "\"coarse\""),
                "m.toml:23: wrong value for node.storage.detail, expected analytic or full, got "
                "\"coarse\"");
  expect_starts(complaint_about({"storage.collective.strategy=two_phase"}),
                "override storage.collective.strategy=two_phase: wrong value for "
                "storage.collective.strategy, expected barrier, grouping, two-phase or "
                "disk-directed, got \"two_phase\"");
  expect_starts(complaint_about({"storage.cache.coordinated_fraction=1.5"}),
                "override storage.cache.coordinated_fraction=1.5: wrong value for "
                "storage.cache.coordinated_fraction, expected a number from 0 to 1, got 1.5");
  expect_starts(complaint_about({"storage.collective.sieving=1"}),
                "override storage.collective.sieving=1: wrong value for "
                "storage.collective.sieving, expected true or false, got 1");
  EXPECT_NE(complaint("ionodes = 4", "ionode = 4").find("did you mean storage.ionodes?"),
            std::string::npos);
}

TEST(Storage, BandwidthsOfZeroAreRefused) {
  expect_starts(complaint("\"5 MB/s\"", "\"0 MB/s\""),
                "m.toml:19: wrong value for storage.device.read_bandwidth, expected a bandwidth "
                "above zero");
  expect_starts(complaint("read_bandwidth = \"5 MB/s\"\n", ""),
                "m.toml:18: missing key storage.device.read_bandwidth");
  expect_starts(complaint("analytic.bandwidth = \"2 MB/s\"\n", ""),
                "m.toml:21: missing key node.storage.analytic.bandwidth");
}

TEST(Storage, StripesMustFit) {
  expect_starts(complaint("stripe = \"64 KiB\"", "stripe_factor = 5"),
                "m.toml:13: a file cannot lie on more I/O nodes than there are, expected "
                "storage.stripe_factor of at most 4, got 5\nhint: without storage.stripe_factor");
  expect_starts(complaint("stripe = \"64 KiB\"", "stripe = \"12 KiB\""),
                "m.toml:13: storage.stripe must be whole blocks, expected a multiple of 8 KiB, "
                "got 12 KiB");
  expect_starts(complaint("stripe = \"64 KiB\"", "stripe = 0"),
                "m.toml:13: storage.stripe cannot be zero");
  expect_starts(complaint("block = \"8 KiB\"", "block = 0"),
                "m.toml:14: storage.block cannot be zero");
  expect_starts(complaint_about({"storage.layout=vesta"}), "m.toml:10: missing key storage.vesta");
}

TEST(Storage, BuffersOfCollectiveFileAccessHaveALongestSize) {
  for (const char* key : {"cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size"}) {
    const std::string setting = std::string("storage.collective.") + key;
    expect_starts(complaint_about({setting + "=2GiB"}),
                  ("override " + setting + "=2GiB: " + setting +
                   " is too long, expected less than 2 GiB, got \"2GiB\"")
                      .c_str());
    EXPECT_EQ(complaint_about({setting + "=2147483647"}), "");
  }
}

TEST(Storage, IonodesAreAttachedToNodesThatAreThere) {
  expect_starts(complaint_about({"storage.attached=[0,1]"}),
                "override storage.attached=[0,1]: each I/O node is attached to a node, expected 4 "
                "nodes in storage.attached, got 2");
  expect_starts(complaint_about({"storage.attached=[0,1,2,8]"}),
                "override storage.attached=[0,1,2,8]: no such node to attach an I/O node to, "
                "expected a number below 8, got 8");
}

TEST(Storage, CachesMustFitMemoryAndDivideIntoSets) {
  expect_starts(complaint("size = \"1 MiB\"", "size = \"64 MiB\""),
                "m.toml:16: a cache lies in the memory of its node, expected at most node.memory "
                "(32 MiB), got 64 MiB");
  expect_starts(complaint("cache.size = \"2 MiB\"", "cache.size = \"32 MiB\""),
                "m.toml:25: a cache lies in the memory of its node, expected at most node.memory "
                "(32 MiB) less storage.cache.cnode.size (1 MiB), got 32 MiB");
  EXPECT_EQ(complaint("memory = \"32 MiB\"", "cores = 1"), "");
  expect_starts(complaint("ways = 4", "ways = 3"),
                "m.toml:17: the blocks of a cache must fill its sets, expected "
                "storage.cache.cnode.ways to divide its 128 blocks, got 3");
  expect_starts(complaint("size = \"1 MiB\"", "size = \"1 kB\""),
                "m.toml:16: storage.cache.cnode.size must be whole blocks");
  expect_starts(complaint_about({"storage.cache.cnode.size=0", "storage.cache.policy=greedy"}),
                "override storage.cache.policy=greedy: compute nodes without caches have none to "
                "manage together");
  expect_starts(
      complaint_about({"storage.cache.policy=coordinated", "storage.cache.coordinated_fraction=1"}),
      "override storage.cache.coordinated_fraction=1: a compute node keeps a part of its "
      "cache for itself, expected storage.cache.coordinated_fraction to leave it at least "
      "one of 128 blocks, got 128 for the I/O nodes");
}

TEST(Storage, MountsAreAbsoluteAndDifferent) {
  expect_starts(complaint("\"/scratch\"", "\"scratch\""),
                "m.toml:22: wrong path in node.storage.mount, expected an absolute path below /");
  for (const char* path : {"\"/\"", "\"/a/\"", "\"/a/../b\"", "\"/a//b\"", "\"..\""})
    expect_starts(complaint("\"/scratch\"", path), "m.toml:22: wrong path in node.storage.mount");
  expect_starts(complaint("\"/scratch\"", "\"/pfs\""), "m.toml:22: \"/pfs\" is mounted twice");
  expect_starts(complaint("\"/pfs\", \".\"", "\".\", \".\""), "m.toml:11: \".\" is mounted twice");
}

TEST(Storage, HoldsAtLeastABlock) {
  expect_starts(complaint_about({"storage.capacity=4 KiB"}),
                "override storage.capacity=4 KiB: a file system holds at least a block, expected "
                "storage.capacity of at least 8 KiB, got 4 KiB");
}

TEST(Storage, ADeviceHoldsAtLeastABlock) {
  expect_starts(complaint_about({"storage.device.capacity=4 KiB"}),
                "override storage.device.capacity=4 KiB: a device holds at least a block, expected "
                "storage.device.capacity of at least 8 KiB, got 4 KiB");
}

TEST(Storage, TheMeanSeekLiesBetweenTheShortestAndTheLongest) {
  Overrides disk = {"storage.device.kind=disk",
                    "storage.device.cylinders=1000",
                    "storage.device.sectors_per_track=72",
                    "storage.device.rotations_per_minute=4000",
                    "storage.device.single_cylinder_seek=3 ms",
                    "storage.device.full_seek=20 ms",
                    "storage.device.average_seek=10 ms"};
  EXPECT_EQ(complaint_about(disk), "");
  for (const char* mean : {"2 ms", "21 ms"}) {
    disk.back() = std::string("storage.device.average_seek=") + mean;
    expect_starts(complaint_about(disk),
                  "override " + disk.back() +
                      ": the mean seek lies between the shortest and the longest, expected "
                      "storage.device.average_seek from 3.00 ms to 20.0 ms, got");
  }
}

TEST(Storage, DevicesNeedWhatTheirKindGoesBy) {
  expect_starts(complaint_about({"storage.device.kind=disk"}),
                "m.toml:18: missing key storage.device.cylinders");
  expect_starts(complaint_about({"storage.device.kind=solid-state"}),
                "m.toml:18: missing key storage.device.page_read");
  expect_starts(complaint_about({"storage.device.members=4"}),
                "override storage.device.members=4: one device has no members");
  expect_starts(complaint_about({"storage.device.raid=raid5", "storage.device.members=2"}),
                "override storage.device.members=2: too few devices for the array");
}

TEST(Storage, OfANodeHasNoIonodes) {
  expect_starts(complaint_about({"node.storage.ionodes=2"}),
                "override node.storage.ionodes=2: unknown key node.storage.ionodes");
}

}  // namespace
}  // namespace sesame::machine
