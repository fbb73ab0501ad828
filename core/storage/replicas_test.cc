// Two workers in one process: what one does with a file system, the other's copy does, too.
#include "core/storage/replicas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

constexpr int kRanks = 4;

class Worker {
 public:
  Worker(const machine::StorageParameters& parameters, const network::Network& network)
      : interfaces(kRanks) {
    system = replicas.replicate(make_file_system(parameters, network, executive.model_events(), 1));
    mounts = *Mounts::create({.directory = ::testing::TempDir() + "/replicas",
                              .working_directory = ::testing::TempDir()});
  }
  void connect(Worker& other) {
    replicas.connect(
        *mounts, [this](int rank) { return &interfaces[static_cast<size_t>(rank)]; },
        [&other](std::span<const char> frame) { other.replicas.take(frame); });
  }
  // The times of the file system's events until there is none.
  std::vector<SimTime> run() {
    std::vector<SimTime> times;
    while (!executive.model_events().empty()) {
      times.push_back(executive.model_events().earliest());
      executive.model_events().take_earliest().fire();
    }
    return times;
  }

  pdes::Executive executive;
  Replicas replicas{executive};
  std::vector<SimTime> interfaces;
  std::unique_ptr<FileSystem> system;
  std::unique_ptr<Mounts> mounts;
};

class ReplicasTest : public ::testing::Test {
 protected:
  explicit ReplicasTest(machine::StorageParameters parameters = cached(8, 4))
      : machine_(small_machine(kRanks)),
        network_(*network::Network::create(machine_, kRanks, "cyclic")),
        one_(parameters, network_),
        other_(parameters, network_) {
    one_.connect(other_);
    other_.connect(one_);
  }
  static void expect_same(const Statistics& a, const Statistics& b) {
    ASSERT_EQ(a.files.size(), b.files.size());
    for (size_t i = 0; i < a.files.size(); ++i) {
      EXPECT_EQ(a.files[i].name, b.files[i].name);
      EXPECT_EQ(a.files[i].bytes_written, b.files[i].bytes_written);
      EXPECT_EQ(a.files[i].write_time, b.files[i].write_time);
      EXPECT_EQ(a.files[i].metadata_time, b.files[i].metadata_time);
    }
    EXPECT_EQ(a.ionodes[0].busy, b.ionodes[0].busy);
    EXPECT_EQ(a.refused, b.refused);
  }

  machine::Machine machine_;
  network::Network network_;
  Worker one_;
  Worker other_;
};

TEST_F(ReplicasTest, ACopyHasTheSameEventsAsTheFileSystem) {
  const FileId file = one_.system->find_file("/file");
  one_.system->resize(file, 1 << 20);
  CompletionRecord written;
  CompletionRecord opened;
  const Extent extents[] = {{0, kBlock}, {5 * kBlock, 3 * kBlock}};
  const Client client{2, 2, &one_.interfaces[2]};
  one_.interfaces[2] = SimTime::from_ns(7'000);
  one_.system->metadata({}, MetadataCall::kCreate, file, client, opened);
  one_.system->access({}, {Direction::kWrite, file, client, extents}, written);
  const std::vector<SimTime> times = one_.run();
  EXPECT_TRUE(written.is_done && opened.is_done);
  EXPECT_EQ(other_.run(), times);
  EXPECT_EQ(other_.interfaces[2], one_.interfaces[2]);
  EXPECT_GT(other_.interfaces[2], SimTime::from_ns(7'000));
  expect_same(one_.system->statistics(), other_.system->statistics());
}

TEST_F(ReplicasTest, BothWorkersAccessTheSameFile) {
  const FileId file = one_.system->find_file("/file");
  EXPECT_EQ(other_.system->find_file("/file"), file);
  EXPECT_NE(other_.system->find_file("/another"), file);
  CompletionRecord first;
  CompletionRecord second;
  const Extent extent{0, 4 * kBlock};
  one_.system->access({}, {Direction::kWrite, file, {0, 0, &one_.interfaces[0]}, {&extent, 1}},
                      first);
  other_.system->access({}, {Direction::kWrite, file, {1, 1, &other_.interfaces[1]}, {&extent, 1}},
                        second);
  EXPECT_EQ(one_.run(), other_.run());
  EXPECT_TRUE(first.is_done && second.is_done);
  EXPECT_NE(first.at, second.at);
  expect_same(one_.system->statistics(), other_.system->statistics());
}

TEST_F(ReplicasTest, ACallAfterTheOthersFindsTheirSpace) {
  const FileId file = one_.system->find_file("/file");
  Striping striping;
  striping.unit = 2 * kBlock;
  one_.system->set_striping(file, striping);
  EXPECT_EQ(other_.system->striping(file)->unit, 2 * kBlock);
  EXPECT_TRUE(one_.system->resize(file, 3 * kBlock));
  other_.system->mark_existing_contents(file);
  other_.system->remove(file);
  other_.system->release_name("/file");
  EXPECT_NE(one_.system->find_file("/file"), file);
}

class FullReplicasTest : public ReplicasTest {
 protected:
  static machine::StorageParameters small() {
    machine::StorageParameters parameters = plain();
    parameters.capacity = 10 * kBlock;
    return parameters;
  }
  FullReplicasTest() : ReplicasTest(small()) {}
};

TEST_F(FullReplicasTest, SpaceThatOneUsesIsMissingForTheOther) {
  const FileId file = one_.system->find_file("/file");
  const FileId another = other_.system->find_file("/another");
  EXPECT_TRUE(one_.system->resize(file, 8 * kBlock));
  EXPECT_FALSE(other_.system->resize(another, 8 * kBlock));
  one_.system->remove(file);
  EXPECT_TRUE(other_.system->resize(another, 8 * kBlock));
  expect_same(one_.system->statistics(), other_.system->statistics());
}

}  // namespace
}  // namespace sesame::storage
