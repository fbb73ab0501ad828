#include "core/storage/journal.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

constexpr uint64_t kBlocks = 5;  // of a commit, its record included

// A node-local file system whose files are in a write-back cache until they are flushed.
machine::StorageParameters local() {
  machine::StorageParameters parameters = plain();
  parameters.ionodes = 0;
  parameters.client_overhead = parameters.server_overhead = SimTime();
  parameters.ionode_cache.size = 64 * kBlock;
  parameters.ionode_cache.write_hit = machine::WriteHit::kBack;
  parameters.ionode_cache.write_miss = machine::WriteMiss::kAllocate;
  parameters.metadata.sync = SimTime::from_ns(3'000'000);
  parameters.metadata.journal = kBlocks * kBlock;
  return parameters;
}

// Each rank has written a block to its own file and flushes it, `apart` later than the previous
// rank. Returns the duration of each flush.
std::vector<SimTime> flushes(TestFileSystem& rig, size_t ranks, SimTime apart = SimTime()) {
  std::vector<FileId> files;
  const Extent extent{0, kBlock};
  for (size_t i = 0; i < ranks; ++i) {
    files.push_back(rig.system().find_file("/of " + std::to_string(i)));
    rig.system().resize(files[i], kBlock);
    CompletionRecord completion;
    rig.system().access(rig.now(), {Direction::kWrite, files[i], rig.client(0), {&extent, 1}},
                        completion);
    rig.finish(completion);
  }
  const SimTime began = rig.now();
  const auto begin = [&](size_t i) { return began + apart * static_cast<int64_t>(i); };
  std::vector<CompletionRecord> completion(ranks);
  for (size_t i = 0; i < ranks; ++i) {
    rig.run_until(begin(i));
    rig.system().flush(begin(i), files[i], rig.client(static_cast<int>(i)), completion[i]);
  }
  rig.run_all();
  std::vector<SimTime> times;
  for (size_t i = 0; i < ranks; ++i) {
    EXPECT_TRUE(completion[i].is_done);
    times.push_back(completion[i].at - begin(i));
  }
  return times;
}

SimTime commit(const TestFileSystem& rig) {
  return rig.device_write((kBlocks - 1) * kBlock) + rig.device_write(kBlock) +
         local().metadata.sync;
}

TEST(Journal, ACommitIsItsBlocksThenItsRecordThenTheSyncTime) {
  TestFileSystem rig(local());
  EXPECT_EQ(flushes(rig, 1)[0], rig.device_write(kBlock) + commit(rig));
  EXPECT_EQ(rig.blocks_written(), 1 + kBlocks);
}

TEST(Journal, ARecordAloneIsOneWrite) {
  machine::StorageParameters parameters = local();
  parameters.metadata.journal = kBlock;
  TestFileSystem rig(parameters);
  EXPECT_EQ(flushes(rig, 1)[0],
            rig.device_write(kBlock) + rig.device_write(kBlock) + parameters.metadata.sync);
}

TEST(Journal, SimultaneousFlushesShareACommitAfterTheDataOfAll) {
  for (const size_t ranks : {2, 3, 4}) {
    TestFileSystem rig(local());
    const SimTime data = rig.device_write(kBlock) * static_cast<int64_t>(ranks);
    for (const SimTime time : flushes(rig, ranks)) EXPECT_EQ(time, data + commit(rig));
    EXPECT_EQ(rig.blocks_written(), ranks + kBlocks);
  }
}

// The first rank's data is on the device when the others flush: its commit is in progress.
TEST(Journal, FlushesDuringACommitShareTheNextOne) {
  machine::StorageParameters parameters = local();
  parameters.metadata.journal = 0;
  parameters.metadata.sync = SimTime::from_ns(900'000'000);
  for (const size_t ranks : {2, 3, 4}) {
    TestFileSystem rig(parameters);
    const SimTime apart = rig.device_write(kBlock) + SimTime::from_ns(1000);
    const std::vector<SimTime> times = flushes(rig, ranks, apart);
    const SimTime first = rig.device_write(kBlock) + parameters.metadata.sync;
    EXPECT_EQ(times[0], first);
    for (size_t i = 1; i < ranks; ++i) {
      EXPECT_EQ(times[i] + apart * static_cast<int64_t>(i), first + parameters.metadata.sync);
    }
  }
}

TEST(Journal, AFlushWhoseDataArrivesAfterACommitWaitsForItsOwnOnly) {
  TestFileSystem rig(local());
  const SimTime apart = rig.device_write(kBlock) + commit(rig) - SimTime::from_ns(1000);
  const SimTime alone = rig.device_write(kBlock) + commit(rig);
  for (const SimTime time : flushes(rig, 3, apart)) EXPECT_EQ(time, alone);
}

TEST(Journal, ACommitWritesAfterTheRequestsInTheQueue) {
  TestFileSystem rig(local());
  rig.write_blocks(0, 0);
  CompletionRecord flushed, read;
  const SimTime began = rig.now();
  const Extent extent{1 << 20, kBlock};
  rig.system().flush(began, rig.file, rig.client(0), flushed);
  rig.system().access(began, {Direction::kRead, rig.file, rig.client(1), {&extent, 1}}, read);
  rig.run_all();
  EXPECT_EQ(read.at - began, rig.device_write(kBlock) + rig.device_read(kBlock));
  EXPECT_EQ(flushed.at - began, rig.device_write(kBlock) + rig.device_read(kBlock) + commit(rig));
}

}  // namespace
}  // namespace sesame::storage
