#include <gtest/gtest.h>

#include "core/machine/machine.h"

namespace sesame::machine {
namespace {

constexpr char kMesh[] =
    "name = \"test\"\n"                 // 1
    "description = \"a small mesh\"\n"  // 2
    "sources = [\"nowhere\"]\n"         // 3
    "nodes = 12\n"                      // 4
    "\n"                                // 5
    "[node]\n"                          // 6
    "cores = 2\n"                       // 7
    "compute_ratio = 2.5\n"             // 8
    "\n"                                // 9
    "[node.network]\n"                  // 10
    "latency = \"1 us\"\n"              // 11
    "bandwidth = \"5 GB/s\"\n"          // 12
    "\n"                                // 13
    "[network]\n"                       // 14
    "latency = \"10 us\"\n"             // 15
    "bandwidth = \"100 MB/s\"\n"        // 16
    "send_overhead = \"2 us\"\n"        // 17
    "receive_overhead = \"3 us\"\n"     // 18
    "gap = \"1 us\"\n"                  // 19
    "hop_latency = \"40 ns\"\n"         // 20
    "eager_limit = \"16 KiB\"\n"        // 21
    "\n"                                // 22
    "[topology]\n"                      // 23
    "kind = \"mesh\"\n"                 // 24
    "dims = [3, 4]\n"                   // 25
    "\n"                                // 26
    "[[network.segment]]\n"             // 27
    "up_to = \"1 KiB\"\n"               // 28
    "bandwidth = \"50 MB/s\"\n"         // 29
    "\n"                                // 30
    "[[network.segment]]\n"             // 31
    "latency = \"12 us\"\n"             // 32
    "bandwidth = \"100 MB/s\"\n";       // 33

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kMesh;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The message for a file in which `from` stands as `to`; "" if it is read without complaint.
std::string complaint(const std::string& from, const std::string& to) {
  const auto machine = parse_machine(replaced(from, to), "m.toml");
  return machine ? "" : machine.error().to_string();
}

std::string complaint_about(const std::vector<std::string>& overrides) {
  const auto machine = parse_machine(kMesh, "m.toml", overrides);
  return machine ? "" : machine.error().to_string();
}

void expect_starts(const std::string& text, const std::string& start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << "in full: " << text;
}

TEST(ReadMachine, TakesEveryKeyInSiUnits) {
  const auto machine = parse_machine(kMesh, "m.toml");
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_EQ(machine->name, "test");
  EXPECT_EQ(machine->description, "a small mesh");
  EXPECT_EQ(machine->sources, std::vector<std::string>{"nowhere"});
  EXPECT_EQ(machine->path, "m.toml");
  EXPECT_EQ(machine->nodes, 12);
  EXPECT_EQ(machine->cores, 2);
  EXPECT_EQ(machine->capacity(), 24);
  EXPECT_DOUBLE_EQ(machine->compute_ratio, 2.5);
  EXPECT_EQ(machine->intranode.latency, SimTime::from_ns(1000));
  EXPECT_DOUBLE_EQ(machine->intranode.bandwidth, 5e9);
  EXPECT_EQ(machine->network.latency, SimTime::from_ns(10'000));
  EXPECT_DOUBLE_EQ(machine->network.bandwidth, 100e6);
  EXPECT_EQ(machine->network.send_overhead, SimTime::from_ns(2000));
  EXPECT_EQ(machine->network.receive_overhead, SimTime::from_ns(3000));
  EXPECT_EQ(machine->network.gap, SimTime::from_ns(1000));
  EXPECT_EQ(machine->network.hop_latency, SimTime::from_ns(40));
  EXPECT_EQ(machine->network.eager_limit, 16384u);
  EXPECT_EQ(machine->topology.kind, TopologyKind::kMesh);
  EXPECT_EQ(machine->topology.dims, (std::vector<uint32_t>{3, 4}));
}

TEST(ReadMachine, NamesTheConstantsWithoutASource) {
  const std::string text =
      replaced("sources = [\"nowhere\"]\n",
               "assumed = [\"network.gap\", \"node.network\", \"network.segment.1.latency\"]\n");
  const auto assumed = [&](std::vector<std::string> overrides) {
    const auto machine = parse_machine(text, "m.toml", overrides);
    EXPECT_TRUE(machine) << machine.error().to_string();
    return machine->assumed;
  };
  EXPECT_EQ(assumed({}),
            (std::vector<std::string>{"network.gap", "node.network", "network.segment.1.latency"}));
  // A value from the command line is the user's.
  EXPECT_EQ(assumed({"network.gap=2us"}),
            (std::vector<std::string>{"node.network", "network.segment.1.latency"}));
  EXPECT_EQ(assumed({"network.segment="}),
            (std::vector<std::string>{"network.gap", "node.network"}));
}

TEST(ReadMachine, AssumesTheLinksBetweenGroupsIfTheyAreSimulatedWithoutANumber) {
  const auto assumed = [](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = {"nodes=",
                                          "topology=",
                                          "topology.kind=dragonfly",
                                          "topology.groups=3",
                                          "topology.routers=2",
                                          "topology.nodes_per_router=2"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    const auto machine = parse_machine(kMesh, "m.toml", overrides);
    EXPECT_TRUE(machine) << machine.error().to_string();
    return machine->assumed;
  };
  EXPECT_EQ(assumed({"network.sharing=links"}), std::vector<std::string>{"topology.global_links"});
  EXPECT_TRUE(assumed({}).empty());
  EXPECT_TRUE(assumed({"network.sharing=links", "topology.global_links=1"}).empty());
}

TEST(ReadMachine, RefusesAnAssumedKeyThatIsNotSet) {
  expect_starts(
      complaint("sources = [\"nowhere\"]\n", "assumed = [\"network.gap\",\n  \"network.gab\"]\n"),
      "m.toml:4: assumed names a key that is not set, expected a key or table of this "
      "file, got \"network.gab\"");
  expect_starts(complaint("sources = [\"nowhere\"]\n", "assumed = [\"storage\"]\n"),
                "m.toml:3: assumed names a key that is not set");
}

TEST(ReadMachine, ReadsTheBandwidthOfStreams) {
  const auto stream = [](const std::vector<std::string>& overrides) {
    const auto machine = parse_machine(
        replaced("gap = \"1 us\"\n", "gap = \"1 us\"\nstream_bandwidth = \"200 MB/s\"\n"), "m.toml",
        overrides);
    EXPECT_TRUE(machine) << machine.error().to_string();
    return machine->network.stream_bandwidth;
  };
  EXPECT_DOUBLE_EQ(stream({}), 200e6);
  EXPECT_DOUBLE_EQ(stream({"network.bandwidth=300 MB/s"}), 600e6);  // moves with it
  EXPECT_DOUBLE_EQ(stream({"network.stream_bandwidth=300 MB/s"}), 300e6);
  expect_starts(complaint("gap = \"1 us\"", "stream_bandwidth = \"99 MB/s\""),
                "m.toml:19: network.stream_bandwidth is below the bandwidth of large messages, "
                "expected at least ");
}

TEST(ReadMachine, RefusesAFallingTableOfSlowdown) {
  expect_starts(complaint("compute_ratio = 2.5", "slowdown = [1.0, 1.5, 1.2]"),
                "m.toml:8: node.slowdown falls, expected factors that rise with the number of "
                "ranks, got 1.2 after 1.5");
}

TEST(ReadMachine, RefusesAFallingTableOfACard) {
  expect_starts(
      complaint("gap = \"1 us\"", "card.slowdown = [1.0, 3.1, 2.4]"),
      "m.toml:19: network.card.slowdown falls, expected factors that rise with the number "
      "of ranks, got 2.4 after 3.1");
}

TEST(ReadMachine, ChoosesWhoseAlgorithmsCollectivesUse) {
  const auto chosen = [](std::vector<std::string> overrides) {
    return parse_machine(kMesh, "m.toml", overrides)->collectives;
  };
  EXPECT_EQ(chosen({}), CollectiveRules::kProgram);
  EXPECT_EQ(chosen({"network.collectives=openmpi"}), CollectiveRules::kOpenMpi);
  EXPECT_EQ(chosen({"network.collectives=mpich"}), CollectiveRules::kMpich);
}

TEST(ReadMachine, FillsSegmentsFromTheTable) {
  const auto machine = parse_machine(kMesh, "m.toml");
  ASSERT_TRUE(machine);
  const auto& segments = machine->network.segments;
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].up_to, 1024u);
  EXPECT_EQ(segments[0].latency, SimTime::from_ns(10'000));  // the table's
  EXPECT_DOUBLE_EQ(segments[0].bandwidth, 50e6);
  EXPECT_EQ(segments[1].up_to, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(segments[1].latency, SimTime::from_ns(12'000));
  ASSERT_EQ(machine->intranode.segments.size(), 1u);  // none given: one for every size
  EXPECT_DOUBLE_EQ(machine->intranode.segments[0].bandwidth, 5e9);
}

TEST(ReadMachine, SizesAboveTheLastSegmentTakeTheTablesConstants) {
  const auto machine = parse_machine(
      replaced("latency = \"12 us\"\n", "latency = \"12 us\"\nup_to = 4096\n"), "m.toml");
  ASSERT_TRUE(machine) << machine.error().to_string();
  ASSERT_EQ(machine->network.segments.size(), 3u);
  EXPECT_EQ(machine->network.segments[1].up_to, 4096u);
  EXPECT_EQ(machine->network.segments[2].latency, SimTime::from_ns(10'000));
  EXPECT_DOUBLE_EQ(machine->network.segments[2].bandwidth, 100e6);
}

TEST(ReadMachine, NodesFollowFromTheTopology) {
  EXPECT_EQ(parse_machine(replaced("nodes = 12\n", ""), "m.toml")->nodes, 12);
  const std::string rest = replaced("nodes = 12\n", "");
  const auto nodes = [&](std::vector<std::string> overrides) {
    const auto machine = parse_machine(rest, "m.toml", overrides);
    return machine ? std::to_string(machine->nodes) : machine.error().to_string();
  };
  EXPECT_EQ(nodes({"topology.kind=torus", "topology.dims=[2,3,4]"}), "24");
  EXPECT_EQ(nodes({"topology.kind=fat_tree", "topology.dims=", "topology.arity=[8,4]"}), "32");
  EXPECT_EQ(nodes({"topology.kind=dragonfly", "topology.dims=", "topology.groups=9",
                   "topology.routers=4", "topology.nodes_per_router=2"}),
            "72");
  EXPECT_EQ(nodes({"topology.kind=hyperx", "topology.nodes_per_router=3"}), "36");
  EXPECT_EQ(nodes({"topology.kind=crossbar", "topology.dims=", "nodes=5"}), "5");
  expect_starts(nodes({"topology.kind=crossbar", "topology.dims="}),
                "m.toml: missing key nodes, expected a whole number");
}

TEST(ReadMachine, ATreeMayBePartlyFilledAMeshMayNot) {
  EXPECT_EQ(complaint_about({"topology.kind=fat_tree", "topology.dims=", "topology.arity=[8,4]"}),
            "");
  expect_starts(complaint("nodes = 12", "nodes = 13"),
                "m.toml:4: nodes and topology disagree, expected 12 nodes for this mesh, got 13");
  expect_starts(
      complaint_about({"topology.kind=fat_tree", "topology.dims=", "topology.arity=[2,4]"}),
      "override topology.arity=[2,4]: nodes and topology disagree, expected at most 8 nodes");
}

TEST(ReadMachine, WrongUnitsAreNamedWithTheirLine) {
  expect_starts(complaint("\"10 us\"", "\"10 MB\""),
                "m.toml:15: wrong value for network.latency, expected a duration such as "
                "\"1.5 us\" (units: s, ms, us, ns or ps), got \"10 MB\"");
  expect_starts(complaint("\"10 us\"", "10"),
                "m.toml:15: wrong value for network.latency, expected a duration such as "
                "\"1.5 us\", got 10\nhint: write the unit too, in quotes");
  expect_starts(complaint("\"5 GB/s\"", "\"5 Gb/s\""),
                "m.toml:12: wrong value for node.network.bandwidth, expected a bandwidth");
  expect_starts(complaint("\"16 KiB\"", "\"16 us\""),
                "m.toml:21: wrong value for network.eager_limit, expected a size");
}

TEST(ReadMachine, BandwidthMustBeAboveZero) {
  expect_starts(complaint("\"100 MB/s\"", "\"0 MB/s\""),
                "m.toml:16: wrong value for network.bandwidth, expected a bandwidth above zero, "
                "got \"0 MB/s\"");
  expect_starts(complaint("\"100 MB/s\"", "\"-100 MB/s\""),
                "m.toml:16: wrong value for network.bandwidth, expected a bandwidth");
}

TEST(ReadMachine, UnknownKeysGetTheNearestName) {
  const std::string text = complaint("latency = \"10 us\"", "latencie = \"10 us\"");
  expect_starts(text,
                "m.toml:15: unknown key network.latencie\nhint: did you mean network.latency?");
  expect_starts(complaint("[topology]", "[topologie]"),
                "m.toml:23: unknown table topologie\nhint: did you mean topology?");
  expect_starts(complaint("[topology]", "[printers]\n[topology]"),
                "m.toml:23: unknown table printers");
  EXPECT_EQ(complaint("[topology]", "[printers]\n[topology]").find("hint"), std::string::npos);
  EXPECT_NE(complaint("up_to", "upto").find("did you mean network.segment.N.up_to?"),
            std::string::npos);
  EXPECT_NE(complaint("nodes = 12", "cores = 12").find("did you mean node.cores?"),
            std::string::npos);
}

TEST(ReadMachine, WrongTypesAreNamed) {
  expect_starts(complaint("cores = 2", "cores = \"two\""),
                "m.toml:7: wrong value for node.cores, expected a whole number from 1 to "
                "2147483647, got \"two\"");
  expect_starts(complaint("cores = 2", "cores = 0"), "m.toml:7: wrong value for node.cores");
  expect_starts(complaint("cores = 2", "cores = 2.5"), "m.toml:7: wrong value for node.cores");
  expect_starts(
      complaint("2.5", "-1.0"),
      "m.toml:8: wrong value for node.compute_ratio, expected a number above zero, got -1");
  expect_starts(complaint("2.5", "inf"), "m.toml:8: wrong value for node.compute_ratio");
  expect_starts(complaint("2.5", "true"), "m.toml:8: wrong value for node.compute_ratio");
  expect_starts(complaint("\"test\"", "1979-05-27"),
                "m.toml:1: wrong value for name, expected text in quotes, got a date or time");
  expect_starts(complaint("[3, 4]", "[3, -4]"),
                "m.toml:25: wrong value for topology.dims, expected a list of whole numbers above "
                "zero such as [16, 64], got [");
  expect_starts(complaint("[3, 4]", "[]"), "m.toml:25: wrong value for topology.dims");
  expect_starts(complaint("[3, 4]", "12"), "m.toml:25: wrong value for topology.dims");
  expect_starts(complaint("\"mesh\"", "\"ring\""),
                "m.toml:24: unknown topology.kind, expected crossbar, mesh, torus, fat_tree, "
                "hyperx or dragonfly, got \"ring\"");
}

TEST(ReadMachine, TheSlowdownOfANodeEndsWithItsLastFactor) {
  const std::vector<std::string> given = {"node.slowdown=[1, 1.25]"};
  const auto machine = parse_machine(kMesh, "m.toml", given);
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_DOUBLE_EQ(machine->slowdown_of(1), 1);
  EXPECT_DOUBLE_EQ(machine->slowdown_of(2), 1.25);
  EXPECT_DOUBLE_EQ(machine->slowdown_of(64), 1.25);
  EXPECT_DOUBLE_EQ(parse_machine(kMesh, "m.toml")->slowdown_of(2), 1);
}

TEST(ReadMachine, ASlowdownBelowOneIsRefused) {
  for (const char* wrong : {"[1, 0.9]", "[]", "1.5", "[1, \"2\"]", "[1, inf]"}) {
    const std::vector<std::string> given = {std::string("node.slowdown=") + wrong};
    const auto machine = parse_machine(kMesh, "m.toml", given);
    ASSERT_FALSE(machine) << wrong;
    EXPECT_NE(machine.error().to_string().find(
                  "node.slowdown, expected a list of numbers from 1 on such as [1.0, 1.19]"),
              std::string::npos)
        << machine.error().to_string();
  }
}

TEST(ReadMachine, MissingKeysAreNamedWithTheirTable) {
  expect_starts(complaint("latency = \"10 us\"\n", ""),
                "m.toml:14: missing key network.latency, expected a duration");
  expect_starts(complaint("latency = \"1 us\"\n", ""),
                "m.toml:10: missing key node.network.latency");
  expect_starts(complaint("dims = [3, 4]\n", ""), "m.toml:23: missing key topology.dims");
  expect_starts(complaint("name = \"test\"\n", ""), "m.toml: missing key name");
  expect_starts(complaint("up_to = \"1 KiB\"\n", ""),
                "m.toml:27: missing key network.segment.0.up_to, expected a size");
}

TEST(ReadMachine, SeveralCoresNeedANodeNetwork) {
  const std::string table =
      "[node.network]\n"
      "latency = \"1 us\"\n"
      "bandwidth = \"5 GB/s\"\n";
  expect_starts(complaint(table, ""), "m.toml:6: missing key node.network.latency");
  std::string text = replaced(table, "");
  text.replace(text.find("cores = 2"), 9, "cores = 1");
  const auto machine = parse_machine(text, "m.toml");
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_EQ(machine->intranode.latency, machine->network.latency);
  EXPECT_EQ(machine->intranode.hop_latency, SimTime::zero());
}

TEST(ReadMachine, SegmentsMustRiseAndStartAtTheLatency) {
  expect_starts(complaint("latency = \"12 us\"", "up_to = 1000"),
                "m.toml:32: segments must rise, expected network.segment.1.up_to above 1 KiB");
  expect_starts(complaint("up_to = \"1 KiB\"", "latency = \"9 us\"\nup_to = \"1 KiB\""),
                "m.toml:28: network.segment.0.latency is the time of the zero-byte message, "
                "expected network.latency (10.0 us), got 9.00 us");
}

TEST(ReadMachine, OverheadsMustFitInTheLatency) {
  expect_starts(complaint("\"2 us\"", "\"8 us\""),
                "m.toml:17: network.send_overhead and receive_overhead are part of the latency, "
                "expected at most 10.0 us together, got 11.0 us");
  EXPECT_TRUE(
      complaint("\"2 us\"", "\"8 us\"").ends_with("lower the overheads, or raise the latency"));
  expect_starts(complaint_about({"network.latency=4us", "network.segment.1.latency=12us"}),
                "override network.latency=4us: network.send_overhead and receive_overhead");
}

TEST(ReadMachine, SyntaxErrorsHaveTheirLine) {
  expect_starts(complaint("\"10 us\"", "10 us"), "m.toml:15: not valid TOML: ");
  expect_starts(complaint("[node]", "[node"), "m.toml:6: not valid TOML: ");
  expect_starts(complaint("cores = 2", "cores = 2\ncores = 3"), "m.toml:8: not valid TOML: ");
}

TEST(ReadMachine, KeysOfAnotherTopologyAreRefused) {
  expect_starts(complaint("dims = [3, 4]", "dims = [3, 4]\narity = [3, 4]"),
                "m.toml:26: topology.arity has no meaning for a mesh, expected topology.dims");
}

TEST(Override, ReplacesBeforeAnythingIsChecked) {
  const std::vector<std::string> overrides = {"network.bandwidth = 1 GB/s", "node.cores=4",
                                              "topology.dims=[6,4]", "nodes=24", "name=other"};
  const auto machine = parse_machine(replaced("\"100 MB/s\"", "\"wrong\""), "m.toml", overrides);
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_DOUBLE_EQ(machine->network.bandwidth, 1e9);
  EXPECT_EQ(machine->cores, 4);
  EXPECT_EQ(machine->nodes, 24);
  EXPECT_EQ(machine->name, "other");
}

TEST(Override, MovesTheSegmentsWithTheTable) {
  const std::vector<std::string> overrides = {"network.latency=20us", "network.bandwidth=50MB/s"};
  const auto machine = parse_machine(kMesh, "m.toml", overrides);
  ASSERT_TRUE(machine) << machine.error().to_string();
  const auto& segments = machine->network.segments;
  EXPECT_EQ(segments[0].latency, SimTime::from_ns(20'000));
  EXPECT_EQ(segments[1].latency, SimTime::from_ns(22'000));
  EXPECT_DOUBLE_EQ(segments[0].bandwidth, 25e6);
  EXPECT_DOUBLE_EQ(segments[1].bandwidth, 50e6);
}

TEST(Override, OfTheLatencyLeavesEachSegmentItsOverheads) {
  const std::vector<std::string> overrides = {"network.latency=8us"};
  const auto machine = parse_machine(replaced("\"12 us\"", "\"6 us\""), "m.toml", overrides);
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_EQ(machine->network.segments[0].latency, SimTime::from_ns(8'000));
  EXPECT_EQ(machine->network.segments[1].latency, SimTime::from_ns(5'000));
}

TEST(Override, CanChangeASegmentButNotAddOne) {
  const std::vector<std::string> overrides = {"network.segment.1.bandwidth=200 MB/s"};
  const auto machine = parse_machine(kMesh, "m.toml", overrides);
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_DOUBLE_EQ(machine->network.segments[1].bandwidth, 200e6);
  expect_starts(complaint_about({"network.segment.2.bandwidth=200 MB/s"}),
                "override network.segment.2.bandwidth=200 MB/s: no such segment, expected a "
                "number below 2, got 2");
}

TEST(Override, IsNamedInMessages) {
  expect_starts(complaint_about({"network.latency=5"}),
                "override network.latency=5: wrong value for network.latency");
  expect_starts(complaint_about({"network.latency=fast"}),
                "override network.latency=fast: wrong value for network.latency");
  expect_starts(complaint_about({"network.latncy=5us"}),
                "override network.latncy=5us: unknown key network.latncy");
  expect_starts(complaint_about({"latency=5us"}),
                "override latency=5us: unknown key latency\nhint: did you mean network.latency?");
  expect_starts(complaint_about({"network=5"}), "override network=5: network is a table");
  expect_starts(complaint_about({"nodes=64"}),
                "override nodes=64: nodes and topology disagree, expected 12 nodes");
  expect_starts(complaint_about({"topology.dims=[8,8]"}),
                "override topology.dims=[8,8]: nodes and topology disagree, expected 64 nodes");
  expect_starts(complaint_about({"nonsense"}), "override nonsense: expected dotted.key=value");
  expect_starts(complaint_about({"=5"}), "override =5: expected dotted.key=value");
  expect_starts(complaint_about({"network.latency=1us\nx=2"}),
                "override network.latency=1us\nx=2: wrong value for network.latency");
}

TEST(Override, LastOneOfAKeyWins) {
  const std::vector<std::string> overrides = {"network.latency=20us", "network.latency=30us"};
  const auto machine = parse_machine(kMesh, "m.toml", overrides);
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_EQ(machine->network.latency, SimTime::from_ns(30'000));
  EXPECT_EQ(machine->network.segments[1].latency, SimTime::from_ns(32'000));
}

TEST(MachineFile, ThatIsNotThereIsNamed) {
  const auto machine = read_machine("/nowhere/m.toml");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().path, "/nowhere/m.toml");
  EXPECT_NE(machine.error().message.find("No such file"), std::string::npos);
}

TEST(MachineFile, HugeSizesAreRefusedNotOverflown) {
  expect_starts(complaint("nodes = 12\n", "nodes = 2000000000\n"), "m.toml:4: too many nodes");
  EXPECT_NE(complaint_about({"nodes=", "topology.dims=[2000000000,2000000000,2000000000]"})
                .find("too many nodes"),
            std::string::npos);
}

TEST(MachineFile, DamagedAnywhereIsReadOrRefusedWithAReason) {
  const std::string text = kMesh;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char* damage : {"", "0", "-", "\"", "[", "]", "\n", "=", ".", "\x80", "\x01"}) {
      std::string damaged = text;
      damaged.replace(at, 1, damage);
      const auto machine = parse_machine(damaged, "m.toml");
      if (machine) {
        EXPECT_GT(machine->nodes, 0);
        EXPECT_GT(machine->network.bandwidth, 0);
      } else {
        EXPECT_FALSE(machine.error().message.empty());
      }
    }
    const auto machine = parse_machine(text.substr(0, at), "m.toml");
    if (!machine) {
      EXPECT_EQ(machine.error().path, "m.toml");
    }
  }
}

TEST(MachineKeys, AreAllReadable) {
  size_t required = 0;
  for (const KeyInfo& info : machine_keys()) {
    EXPECT_FALSE(info.meaning.empty()) << info.key;
    if (info.required) ++required;
    if (info.key.find(".N.") != std::string::npos || info.kind == "text") continue;
    // A value that fits nothing is complained about by name, so the key is known.
    const std::string text = complaint_about({info.key + "=\"?\""});
    EXPECT_NE(text.find(info.key), std::string::npos) << text;
    EXPECT_EQ(text.find("unknown key"), std::string::npos) << text;
  }
  EXPECT_EQ(required, 4u);  // name, network.latency, network.bandwidth, topology.kind
}

}  // namespace
}  // namespace sesame::machine
