#include "core/machine/collective_table.h"

#include <gtest/gtest.h>

#include "core/machine/machine.h"

namespace sesame::machine {
namespace {

constexpr char kMachine[] =
    "name = \"test\"\n"           // 1
    "nodes = 4\n"                 // 2
    "[network]\n"                 // 3
    "latency = \"1 us\"\n"        // 4
    "bandwidth = \"1 GB/s\"\n"    // 5
    "[topology]\n"                // 6
    "kind = \"crossbar\"\n"       // 7
    "[[collectives.bcast]]\n"     // 8
    "up_to = \"4 KiB\"\n"         // 9
    "ranks_up_to = 16\n"          // 10
    "algorithm = \"binomial\"\n"  // 11
    "[[collectives.bcast]]\n"     // 12
    "algorithm = \"chain\"\n";    // 13

Result<Machine> parsed(const std::string& more, const std::vector<std::string>& overrides = {}) {
  return parse_machine(kMachine + more, "m.toml", overrides);
}

std::string complaint(const std::string& more, const std::vector<std::string>& overrides = {}) {
  const auto machine = parsed(more, overrides);
  return machine ? "" : machine.error().to_string();
}

void expect_starts(const std::string& text, const std::string& start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << "in full: " << text;
}

const std::vector<CollectiveRule>& rules_of(const Machine& machine, Collective collective) {
  return machine.collective_tables.rules[static_cast<size_t>(collective)];
}

std::string word_of(Collective collective, const CollectiveRule& rule) {
  return algorithm_words(collective)[static_cast<size_t>(rule.algorithm)];
}

TEST(CollectiveTables, AreReadInTheirOrder) {
  const auto machine = parsed("");
  ASSERT_TRUE(machine) << machine.error().to_string();
  const auto& rules = rules_of(*machine, Collective::kBcast);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(word_of(Collective::kBcast, rules[0]), "binomial");
  EXPECT_EQ(rules[0].up_to, 4096u);
  EXPECT_EQ(rules[0].ranks_up_to, 16);
  EXPECT_EQ(word_of(Collective::kBcast, rules[1]), "chain");
  EXPECT_EQ(rules[1].up_to, std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(rules_of(*machine, Collective::kBarrier).empty());
}

TEST(CollectiveTables, TakeRulesFromTheCommandLine) {
  const auto machine =
      parsed("", {"collectives.bcast.1.algorithm=linear", "collectives.gather.0.algorithm=linear"});
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_EQ(word_of(Collective::kBcast, rules_of(*machine, Collective::kBcast)[1]), "linear");
  EXPECT_EQ(word_of(Collective::kGather, rules_of(*machine, Collective::kGather)[0]), "linear");
  expect_starts(complaint("", {"collectives.bcast.5.algorithm=linear"}),
                "override collectives.bcast.5.algorithm=linear: no such rule, expected a number up "
                "to 2, got 5");
}

TEST(CollectiveTables, HaveRulesForTheLevelsAfterTwoLevel) {
  const std::string both =
      "[[collectives.reduce]]\nalgorithm = \"two-level\"\n"
      "[[collectives.reduce]]\nalgorithm = \"chain\"\n";
  EXPECT_EQ(complaint(both), "");
  expect_starts(complaint(both + "[[collectives.reduce]]\nalgorithm = \"linear\"\n"),
                "m.toml:19: collectives.reduce.2 can never hold");
}

TEST(CollectiveTables, TellPowersOfTwoApart) {
  const std::string powers =
      "[[collectives.reduce]]\nranks = \"power-of-two\"\nalgorithm = \"chain\"\n";
  const std::string other = "[[collectives.reduce]]\nalgorithm = \"linear\"\n";
  const auto machine = parsed(powers + other);
  ASSERT_TRUE(machine) << machine.error().to_string();
  const auto& rules = rules_of(*machine, Collective::kReduce);
  EXPECT_TRUE(rules[0].holds_for(64, 1, true));
  EXPECT_FALSE(rules[0].holds_for(63, 1, true));
  EXPECT_TRUE(rules[1].holds_for(63, 1, true));
  expect_starts(complaint(other + powers), "m.toml:18: collectives.reduce.1 can never hold");
}

TEST(CollectiveTables, TellFormsOfACollectiveApart) {
  const std::string blocking =
      "[[collectives.reduce]]\nforms = \"blocking\"\nalgorithm = \"chain\"\n";
  const std::string other = "[[collectives.reduce]]\nalgorithm = \"linear\"\n";
  const auto machine = parsed(blocking + other);
  ASSERT_TRUE(machine) << machine.error().to_string();
  const auto& rules = rules_of(*machine, Collective::kReduce);
  EXPECT_TRUE(rules[0].holds_for(2, 1, true));
  EXPECT_FALSE(rules[0].holds_for(2, 1, false));
  EXPECT_TRUE(rules[1].holds_for(2, 1, true));
  EXPECT_TRUE(rules[1].holds_for(2, 1, false));
  EXPECT_EQ(complaint(blocking, {"collectives.reduce.0.forms=non-blocking"}), "");
  expect_starts(complaint(other + blocking), "m.toml:18: collectives.reduce.1 can never hold");
  expect_starts(complaint(blocking, {"collectives.reduce.0.forms=persistent"}),
                "override collectives.reduce.0.forms=persistent: wrong value for "
                "collectives.reduce.0.forms, expected all, blocking or non-blocking");
}

TEST(CollectiveTables, RefuseWhatIsNotAnAlgorithmOfTheCollective) {
  expect_starts(complaint("[[collectives.barrier]]\nalgorithm = \"ring\"\n"),
                "m.toml:15: wrong value for collectives.barrier.0.algorithm, expected linear, "
                "doubling, dissemination, tree, hardware or two-level, got \"ring\"");
  expect_starts(complaint("[[collectives.barrier]]\nranks_up_to = 4\n"),
                "m.toml:14: missing key collectives.barrier.0.algorithm");
  expect_starts(complaint("[[collectives.scan]]\nalgorithm = \"ring\"\n"),
                "m.toml:14: unknown table collectives.scan");
}

TEST(CollectiveTables, RefuseARuleThatCanNeverHold) {
  expect_starts(complaint("[[collectives.bcast]]\nup_to = \"1 KiB\"\nalgorithm = \"linear\"\n"),
                "m.toml:15: collectives.bcast.2 can never hold, expected more ranks or bytes than "
                "in rule 1, which holds before it");
  EXPECT_EQ(complaint("", {"collectives.bcast.1.up_to=1KiB"}), "");  // more ranks
}

TEST(CollectiveTables, NeedTheTimeOfTheHardwareAndItsUse) {
  const std::string barrier = "[[collectives.barrier]]\nalgorithm = \"hardware\"\n";
  const std::string hardware = "[collectives.hardware]\nlatency = \"3 us\"\n";
  expect_starts(complaint(barrier), "m.toml:15: the time of the hardware is missing");
  expect_starts(complaint(hardware), "m.toml:15: no collective uses the hardware");
  const auto machine = parsed(barrier + hardware);
  ASSERT_TRUE(machine) << machine.error().to_string();
  EXPECT_EQ(machine->collective_tables.hardware_latency, SimTime::from_ns(3000));
}

}  // namespace
}  // namespace sesame::machine
