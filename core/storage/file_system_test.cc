// Times of single accesses without contention, against the closed forms of docs/models/storage.md.
#include "core/storage/file_system.h"

#include <gtest/gtest.h>

#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

using machine::StorageParameters;

constexpr uint64_t kHeader = 64;

TEST(FileSystem, AReadTravelsToTheDeviceAndBack) {
  const StorageParameters parameters = plain();
  TestFileSystem rig(parameters);
  EXPECT_EQ(rig.read_blocks(0, 0), parameters.client_overhead + TestFileSystem::message(kHeader) +
                                       parameters.server_overhead + rig.device_read(kBlock) +
                                       TestFileSystem::message(kHeader + kBlock));
}

TEST(FileSystem, AWriteSendsItsData) {
  const StorageParameters parameters = plain();
  TestFileSystem rig(parameters);
  EXPECT_EQ(rig.write_blocks(0, 0), parameters.client_overhead +
                                        TestFileSystem::message(kHeader + kBlock) +
                                        parameters.server_overhead + rig.device_write(kBlock) +
                                        TestFileSystem::message(kHeader));
}

TEST(FileSystem, ElementsOfOneAccessFollowEachOther) {
  TestFileSystem one(plain());
  const SimTime single = one.read_blocks(0, 0);
  TestFileSystem rig(plain());
  EXPECT_EQ(rig.read(0, {{0, kBlock}, {8 * kBlock, kBlock}, {4 * kBlock, kBlock}}), single * 3);
  const FileStatistics file = rig.system().statistics().files[0];
  EXPECT_EQ(file.reads, 3u);
  EXPECT_EQ(file.read_seeks + file.write_seeks, 3u);
  EXPECT_EQ(file.bytes_read, 3 * kBlock);
}

// So a message of MPI that is ready earlier does not wait for that of the access.
TEST(FileSystem, AnAccessOccupiesTheInterfaceWhenItsMessageIsReady) {
  const StorageParameters parameters = plain();
  TestFileSystem rig(parameters);
  const Extent block{0, kBlock};
  SimTime interface;
  CompletionRecord completion;
  rig.system().access({}, {Direction::kWrite, rig.file, {0, 0, &interface}, {&block, 1}},
                      completion);
  const SimTime ready = parameters.client_overhead + SimTime::from_ns(2'000);  // and overhead
  rig.run_until(ready - SimTime::from_ps(1));
  EXPECT_EQ(interface, SimTime());
  rig.run_until(ready);
  EXPECT_GT(interface, ready);
  rig.finish(completion);
}

// Two stripes on two I/O nodes: the rank sends two requests, and its interface receives one reply
// after the other.
TEST(FileSystem, StripesAreServedAtTheSameTime) {
  StorageParameters parameters = plain();
  parameters.ionodes = 2;
  TestFileSystem rig(parameters);
  const uint64_t stripe = parameters.stripe;
  const SimTime first = parameters.client_overhead + TestFileSystem::message(kHeader) +
                        parameters.server_overhead + rig.device_read(stripe) +
                        TestFileSystem::message(kHeader + stripe);
  const SimTime took = rig.read(0, {{0, 2 * stripe}});
  const SimTime transfer = SimTime::from_seconds(static_cast<double>(kHeader + stripe) / 100e6);
  EXPECT_EQ(took, first + transfer);
  EXPECT_EQ(rig.ionode(0).bytes_read, stripe);
  EXPECT_EQ(rig.ionode(1).bytes_read, stripe);
}

// Two ranks write a stripe each at the same time, to two I/O nodes: how much later the second is.
SimTime second_writer_is_later(int node_of_second) {
  StorageParameters parameters = plain();
  parameters.ionodes = 2;
  TestFileSystem rig(parameters);
  const uint64_t stripe = parameters.stripe;
  const Extent of_first{0, stripe};
  const Extent of_second{stripe, stripe};
  SimTime interface;
  const Client second_client{1, node_of_second, &interface};
  CompletionRecord first;
  CompletionRecord second;
  rig.system().access(rig.now(), {Direction::kWrite, rig.file, rig.client(0), {&of_first, 1}},
                      first);
  rig.system().access(rig.now(), {Direction::kWrite, rig.file, second_client, {&of_second, 1}},
                      second);
  return rig.finish(second) - first.at;
}

TEST(FileSystem, RanksOfANodeShareItsInterface) {
  const uint64_t stripe = plain().stripe;
  EXPECT_EQ(second_writer_is_later(0),
            SimTime::from_seconds(static_cast<double>(kHeader + stripe) / 100e6));
  EXPECT_EQ(second_writer_is_later(1), SimTime::zero());
}

TEST(FileSystem, StripesOfOneIonodeAreOneRequestOfItsDevice) {
  StorageParameters parameters = plain();
  parameters.ionodes = 2;
  TestFileSystem rig(parameters);
  rig.read(0, {{0, 8 * parameters.stripe}});
  EXPECT_EQ(rig.ionode(0).requests, 1u);
  EXPECT_EQ(rig.ionode(0).device.reads, 1u);
  EXPECT_EQ(rig.ionode(0).device.bytes_read, 4 * parameters.stripe);
}

TEST(FileSystem, ANodeLocalFileSystemNeedsNoNetwork) {
  StorageParameters parameters = plain();
  parameters.ionodes = 0;
  TestFileSystem rig(parameters);
  EXPECT_EQ(rig.read_blocks(0, 0),
            parameters.client_overhead + parameters.server_overhead + rig.device_read(kBlock));
}

TEST(FileSystem, FilesThatHadTheSameNameAreOneInTheStatistics) {
  TestFileSystem rig(plain());
  rig.read_blocks(0, 0);
  rig.system().release_name("/file");
  rig.file = rig.system().find_file("/file");
  EXPECT_EQ(static_cast<int>(rig.file), 1);
  rig.system().resize(rig.file, kBlock);
  rig.read_blocks(0, 0);
  const std::vector<FileStatistics> files = rig.system().statistics().files;
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].reads, 2u);
  EXPECT_EQ(files[0].bytes_read, 2 * kBlock);
}

TEST(FileSystem, SharedOpenCostsEveryNode) {
  StorageParameters parameters = plain();
  parameters.ionodes = 0;  // no messages
  parameters.client_overhead = SimTime();
  parameters.metadata.open = SimTime::from_ns(1000);
  parameters.metadata.open_per_node = SimTime::from_ns(140'000'000);
  TestFileSystem rig(parameters);
  std::vector<CompletionRecord> completion(3);
  for (int rank = 0; rank < 3; ++rank) {
    rig.system().metadata(SimTime(), MetadataCall::kOpen, rig.file, rig.client(rank),
                          completion[static_cast<size_t>(rank)]);
  }
  rig.finish(completion[2]);
  EXPECT_EQ(completion[0].at, parameters.metadata.open);
  EXPECT_EQ(completion[2].at, (parameters.metadata.open + parameters.metadata.open_per_node) * 3);
}

TEST(FileSystem, FileSystemAndDevicesEnforceTheirCapacity) {
  StorageParameters parameters = plain();
  parameters.ionodes = 2;
  parameters.device.capacity = UINT64_C(1) << 30;
  TestFileSystem rig(parameters);  // has made a file of 1 GiB: half of each device
  const FileId other = rig.system().find_file("/other");
  EXPECT_TRUE(rig.system().resize(other, UINT64_C(1) << 30));
  EXPECT_FALSE(rig.system().resize(other, (UINT64_C(1) << 30) + 1));
  rig.system().remove(rig.file);
  EXPECT_TRUE(rig.system().resize(other, UINT64_C(2) << 30));

  parameters.capacity = UINT64_C(1) << 30;
  TestFileSystem small(parameters);
  EXPECT_FALSE(small.system().resize(small.system().find_file("/other"), 1));
}

TEST(FileSystem, BusySlicesAddUpToTheBusyTimeOfTheDevice) {
  TestFileSystem rig(plain());
  for (uint64_t i = 0; i < 50; ++i) rig.read_blocks(0, i * 3);
  const IonodeStatistics ionode = rig.ionode();
  SimTime sum;
  for (const SimTime busy : ionode.busy_by_slice) {
    sum += busy;
    EXPECT_LE(busy, ionode.slice);
  }
  EXPECT_EQ(sum, ionode.device.busy);
  EXPECT_LE(ionode.busy_by_slice.size(), 256u);
  EXPECT_GT(ionode.busy_by_slice.size(), 127u);
}

// Two ranks read every second block each: the device gets one long read instead of many.
TEST(FileSystem, DirectedAccessGoesInTheOrderOfTheDevice) {
  TestFileSystem rig(plain(), 2);
  std::vector<Extent> extents[2];
  for (uint64_t block = 0; block < 16; ++block)
    extents[block % 2].push_back({(15 - block) * kBlock, kBlock});
  const Access accesses[] = {{Direction::kRead, rig.file, rig.client(0), extents[0]},
                             {Direction::kRead, rig.file, rig.client(1), extents[1]}};
  CompletionRecord completion;
  rig.system().access_directed(rig.now(), accesses, completion);
  rig.finish(completion);
  EXPECT_EQ(rig.ionode().device.reads, 1u);
  EXPECT_EQ(rig.ionode().device.bytes_read, 16 * kBlock);
  EXPECT_LT(completion.at, rig.device_read(16 * kBlock) * 2);
}

TEST(FileSystem, DirectedWriteIsDoneWhenTheDeviceIs) {
  TestFileSystem rig(plain(), 2);
  const std::vector<Extent> extents = {{0, 4 * kBlock}};
  const Access accesses[] = {{Direction::kWrite, rig.file, rig.client(1), extents}};
  CompletionRecord completion;
  rig.system().access_directed(rig.now(), accesses, completion);
  rig.finish(completion);
  const StorageParameters parameters = plain();
  EXPECT_EQ(completion.at, parameters.client_overhead + TestFileSystem::message(kHeader) +
                               parameters.server_overhead + TestFileSystem::message(kHeader) +
                               TestFileSystem::message(kHeader + 4 * kBlock) +
                               rig.device_write(4 * kBlock));
}

// Bytes that each device has written.
std::vector<uint64_t> written(TestFileSystem& rig) {
  std::vector<uint64_t> bytes;
  for (const IonodeStatistics& ionode : rig.system().statistics().ionodes)
    bytes.push_back(ionode.device.bytes_written);
  return bytes;
}

TEST(FileSystem, ANewFileIsStripedAsItsProgramAsks) {
  StorageParameters parameters = plain();
  parameters.ionodes = 4;
  parameters.stripe = 2 * kBlock;
  TestFileSystem rig(parameters);
  FileSystem& system = rig.system();
  rig.file = system.find_file("/striped");
  system.set_striping(rig.file, {.unit = 4 * kBlock, .factor = 2, .first = 3});
  system.resize(rig.file, 16 * kBlock);
  rig.write_blocks(0, 0, 4);
  EXPECT_EQ(written(rig), (std::vector<uint64_t>{0, 0, 0, 4 * kBlock}));
  rig.write_blocks(0, 4, 12);
  EXPECT_EQ(written(rig), (std::vector<uint64_t>{8 * kBlock, 0, 0, 8 * kBlock}));

  system.set_striping(rig.file, {.factor = 4});  // too late
  EXPECT_EQ(system.striping(rig.file)->factor, 2U);
  EXPECT_EQ(system.striping(rig.file)->unit, 4 * kBlock);
  EXPECT_EQ(system.striping(rig.file)->first, 3U);
}

TEST(FileSystem, InvalidStripingKeepsTheDefault) {
  StorageParameters parameters = plain();
  parameters.ionodes = 4;
  parameters.stripe = 2 * kBlock;
  TestFileSystem rig(parameters);
  FileSystem& system = rig.system();
  const FileId file = system.find_file("/second");  // begins on the second I/O node
  system.set_striping(file, {.unit = kBlock + 1, .factor = 9, .first = 4});
  EXPECT_EQ(system.striping(file)->unit, 2 * kBlock);
  EXPECT_EQ(system.striping(file)->factor, 4U);
  EXPECT_EQ(system.striping(file)->first, 1U);
  parameters.ionodes = 0;
  TestFileSystem local(parameters);
  EXPECT_FALSE(local.system().striping(local.file).has_value());
}

// A node-local file system with a write-back cache and a commit time.
StorageParameters local_with_sync() {
  StorageParameters parameters = plain();
  parameters.ionodes = 0;
  parameters.client_overhead = SimTime();
  parameters.server_overhead = SimTime();
  parameters.ionode_cache.size = 64 * kBlock;
  parameters.ionode_cache.write_hit = machine::WriteHit::kBack;
  parameters.ionode_cache.write_miss = machine::WriteMiss::kAllocate;
  parameters.metadata.sync = SimTime::from_ns(3'000'000);
  return parameters;
}

TEST(FileSystem, AFlushWithoutWritesCommitsNothing) {
  const StorageParameters parameters = local_with_sync();
  TestFileSystem rig(parameters);
  rig.write_blocks(0, 0);
  EXPECT_EQ(rig.flush(0), rig.device_write(kBlock) + parameters.metadata.sync);
  EXPECT_EQ(rig.flush(0), SimTime());
}

TEST(FileSystem, PartOfANewBlockIsWrittenWithoutReadingTheRest) {
  TestFileSystem rig(local_with_sync());
  const FileId fresh = rig.system().find_file("/fresh");
  rig.system().resize(fresh, kBlock);
  for (const FileId file : {fresh, rig.file}) {
    const Extent extent{100, 50};
    CompletionRecord completion;
    rig.system().access(rig.now(), {Direction::kWrite, file, rig.client(0), {&extent, 1}},
                        completion);
    rig.finish(completion);
    EXPECT_EQ(rig.ionode().device.reads, file == fresh ? 0u : 1u);
  }
}

TEST(FileSystem, WritesAreCopiedAtASpeedOfTheirOwn) {
  StorageParameters parameters = local_with_sync();
  parameters.ionode_cache.copy_bandwidth = 4e9;
  parameters.ionode_cache.write_copy_bandwidth = 1e9;
  TestFileSystem rig(parameters);
  EXPECT_EQ(rig.write_blocks(0, 0), SimTime::from_seconds(4096 / 1e9));
  EXPECT_EQ(rig.read_blocks(0, 0), SimTime::from_seconds(4096 / 4e9));
}

TEST(FileSystem, DroppedBlocksAreReadAgainAndDirtyBlocksStay) {
  TestFileSystem rig(local_with_sync());
  rig.write_blocks(0, 0, 4);
  rig.flush(0);
  rig.write_blocks(0, 1);
  rig.system().drop(rig.file, 0, kBlock / 2, 3 * kBlock);  // blocks 1 and 2; 1 is dirty
  EXPECT_EQ(rig.read_blocks(0, 0, 2), SimTime());
  EXPECT_EQ(rig.read_blocks(0, 2), rig.device_read(kBlock));
  EXPECT_EQ(rig.read_blocks(0, 3), SimTime());
}

}  // namespace
}  // namespace sesame::storage
