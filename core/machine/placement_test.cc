#include "core/machine/placement.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace sesame::machine {
namespace {

Machine four_nodes_of_two() {
  Machine machine;
  machine.name = "test";
  machine.nodes = 4;
  machine.cores = 2;
  return machine;
}

// A placement file that is gone with the test.
class PlacementFile {
 public:
  explicit PlacementFile(const std::string& text) {
    char path[] = "/tmp/placement_XXXXXX";
    close(mkstemp(path));
    path_ = path;
    std::ofstream(path_) << text;
  }
  ~PlacementFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string complaint(int ranks, const std::string& text) {
  const PlacementFile file(text);
  const auto nodes = place_ranks(four_nodes_of_two(), ranks, file.path());
  if (nodes) return "";
  EXPECT_EQ(nodes.error().path, file.path());
  return std::to_string(nodes.error().line) + ": " + nodes.error().message;
}

TEST(Placement, MoreRanksTakeFreeCores) {
  const Machine machine = four_nodes_of_two();
  EXPECT_EQ(place_more(machine, 4, "block", {2, 1, 0, 1}), (std::vector<int>{1, 2, 2, 3}));
  EXPECT_EQ(place_more(machine, 3, "cyclic", {2, 1, 0, 1}), (std::vector<int>{2, 1, 2}));
  EXPECT_EQ(place_more(machine, 9, "block", {1, 0, 2, 2}), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(place_more(machine, 9, "cyclic", {0, 0, 0, 0}, {1, 3}), (std::vector<int>{1, 3, 1, 3}));
}

TEST(Placement, BlockFillsANodeFirst) {
  EXPECT_EQ(*place_ranks(four_nodes_of_two(), 5), (std::vector<int>{0, 0, 1, 1, 2}));
}

TEST(Placement, CyclicGoesRoundTheNodes) {
  EXPECT_EQ(*place_ranks(four_nodes_of_two(), 6, "cyclic"), (std::vector<int>{0, 1, 2, 3, 0, 1}));
}

TEST(Placement, FileGivesOneNodePerLine) {
  const PlacementFile file("# rank 0 first\n3\n\n 0 # alone\n3\r\n1\n");
  EXPECT_EQ(*place_ranks(four_nodes_of_two(), 4, file.path()), (std::vector<int>{3, 0, 3, 1}));
  EXPECT_EQ(*place_ranks(four_nodes_of_two(), 2, file.path()), (std::vector<int>{3, 0}));
}

TEST(Placement, FileErrorsHaveTheirLine) {
  EXPECT_EQ(complaint(2, "0\n4\n"),
            "2: no such node, expected a whole number from 0 to 3, got \"4\"");
  EXPECT_EQ(complaint(2, "0\n-1\n"),
            "2: no such node, expected a whole number from 0 to 3, got \"-1\"");
  EXPECT_EQ(complaint(2, "one\n"),
            "1: no such node, expected a whole number from 0 to 3, got \"one\"");
  EXPECT_EQ(complaint(3, "1\n1\n1\n"), "3: rank 2 does not fit: node 1 has 2 cores, all taken");
  EXPECT_EQ(complaint(3, "1\n"),
            "1: the placement ends too early, expected a node for each of 3 ranks, got 1");
}

TEST(Placement, UnknownWordIsTakenForAFile) {
  const auto nodes = place_ranks(four_nodes_of_two(), 2, "blok");
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().path, "blok");
  EXPECT_NE(nodes.error().hint.find("\"cyclic\""), std::string::npos);
}

TEST(Placement, TooManyRanksAreCounted) {
  for (const char* placement : {"block", "cyclic", "/nowhere"}) {
    EXPECT_TRUE(place_ranks(four_nodes_of_two(), 8, "block"));
    const auto nodes = place_ranks(four_nodes_of_two(), 9, placement);
    ASSERT_FALSE(nodes);
    EXPECT_EQ(nodes.error().message,
              "9 ranks do not fit on test: it has 4 nodes of 2 cores, enough for 8 ranks");
  }
  EXPECT_FALSE(place_ranks(four_nodes_of_two(), 0));
}

}  // namespace
}  // namespace sesame::machine
