// The contents of caches after small sequences of accesses, under every write policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

#include "core/storage/block_cache.h"
#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

using machine::Coherence;
using machine::StorageParameters;
using machine::WriteHit;
using machine::WriteMiss;

// One list for each set, newest first.
class SlowCache {
 public:
  SlowCache(uint64_t blocks, uint64_t ways) : ways_(ways), sets_(blocks / ways) {}
  bool use(uint64_t block) {
    std::list<uint64_t>& set = sets_[block % sets_.size()];
    const auto found = std::ranges::find(set, block);
    const bool hit = found != set.end();
    if (hit) set.erase(found);
    set.push_front(block);
    if (set.size() > ways_) set.pop_back();
    return hit;
  }
  void erase(uint64_t block) { sets_[block % sets_.size()].remove(block); }

 private:
  uint64_t ways_;
  std::vector<std::list<uint64_t>> sets_;
};

void compare(int ways, uint64_t slow_ways) {
  constexpr uint64_t kBlocks = 24;
  BlockCache cache(kBlocks, ways);
  SlowCache slow(kBlocks, slow_ways);
  std::mt19937 random(static_cast<unsigned>(ways));
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t block = random() % 40;
    const BlockKey key = block_key(FileId{0}, block);
    BlockCache::Slot* slot = cache.find(key);
    if (random() % 10 == 0) {
      slow.erase(block);
      if (slot != nullptr) cache.erase(*slot);
      continue;
    }
    ASSERT_EQ(slot != nullptr, slow.use(block)) << i;
    BlockCache::Slot victim;
    if (slot != nullptr) {
      cache.touch(*slot);
    } else {
      cache.insert(key, block, victim);
    }
  }
}

TEST(BlockCache, AgreesWithASimpleModel) {
  compare(0, 24);
  compare(1, 1);
  compare(4, 4);
  compare(24, 24);
}

TEST(Caches, SecondReadOfANodeNeedsOnlyItsCache) {
  StorageParameters parameters = cached(4, 0);
  parameters.cnode_cache.hit_time = SimTime::from_ns(700);
  parameters.cnode_cache.copy_bandwidth = 1e9;
  TestFileSystem rig(parameters);
  rig.read_blocks(0, 0, 2);
  EXPECT_EQ(rig.read_blocks(0, 0, 2), parameters.client_overhead + SimTime::from_ns(2 * 700) +
                                          SimTime::from_seconds(2 * kBlock / 1e9));
  EXPECT_EQ(rig.cnode(0).read_misses, 2u);
  EXPECT_EQ(rig.cnode(0).read_hits, 2u);
  EXPECT_EQ(rig.blocks_read(), 2u);
}

TEST(Caches, DirectMappedBlocksCollideWhereFullyAssociativeOnesDoNot) {
  for (const int ways : {0, 1, 2}) {
    StorageParameters parameters = cached(4, 0);
    parameters.cnode_cache.ways = ways;
    TestFileSystem rig(parameters);
    for (int round = 0; round < 2; ++round)
      for (const uint64_t block : {0, 4, 8}) rig.read_blocks(0, block);
    EXPECT_EQ(rig.cnode(0).read_hits, ways == 0 ? 3u : 0u) << ways;
    EXPECT_EQ(rig.cnode(0).evictions, ways == 0 ? 0u : ways == 1 ? 5u : 4u) << ways;
  }
}

TEST(Caches, AnotherNodeFindsTheBlockAtTheIonode) {
  TestFileSystem rig(cached(4, 8));
  rig.read_blocks(0, 0);
  rig.read_blocks(1, 0);
  EXPECT_EQ(rig.blocks_read(), 1u);
  EXPECT_EQ(rig.ionode().cache.read_hits, 1u);
  EXPECT_EQ(rig.ionode().cache.read_misses, 1u);
}

TEST(Caches, WriteAroundKeepsNothingAndWriteAllocateDoes) {
  for (const WriteMiss miss : {WriteMiss::kAround, WriteMiss::kAllocate}) {
    StorageParameters parameters = cached(4, 0);
    parameters.cnode_cache.write_miss = miss;
    TestFileSystem rig(parameters);
    rig.write_blocks(0, 0);
    rig.read_blocks(0, 0);
    EXPECT_EQ(rig.cnode(0).write_misses, 1u);
    EXPECT_EQ(rig.cnode(0).read_hits, miss == WriteMiss::kAllocate ? 1u : 0u);
    EXPECT_EQ(rig.blocks_written(), 1u);
  }
}

TEST(Caches, APartialWriteThatAllocatesReadsTheRestOfTheBlock) {
  StorageParameters parameters = cached(4, 0);
  parameters.cnode_cache.write_miss = WriteMiss::kAllocate;
  TestFileSystem rig(parameters);
  rig.write(0, {{100, 200}});
  EXPECT_EQ(rig.blocks_read(), 1u);
  EXPECT_EQ(rig.ionode().device.bytes_written, 200u);
  parameters.cnode_cache.write_hit = WriteHit::kBack;
  TestFileSystem back(parameters);
  back.write(0, {{100, 200}});
  EXPECT_EQ(back.blocks_read(), 1u);
  EXPECT_EQ(back.ionode().device.bytes_written, 0u);
}

TEST(Caches, WriteBackWritesAtEvictionOrFlush) {
  StorageParameters parameters = cached(2, 0);
  parameters.cnode_cache.write_miss = WriteMiss::kAllocate;
  parameters.cnode_cache.write_hit = WriteHit::kBack;
  TestFileSystem rig(parameters);
  rig.write_blocks(0, 0);
  const SimTime again = rig.write_blocks(0, 0);
  EXPECT_EQ(again, parameters.client_overhead);
  EXPECT_EQ(rig.blocks_written(), 0u);
  rig.write_blocks(0, 1);
  rig.write_blocks(0, 2);  // evicts block 0
  EXPECT_EQ(rig.blocks_written(), 1u);
  EXPECT_EQ(rig.cnode(0).written_back, 1u);
  const SimTime flush = rig.flush(1);
  EXPECT_EQ(rig.blocks_written(), 3u);
  EXPECT_GE(flush, rig.device_write(kBlock) * 2);
  rig.flush(0);
  EXPECT_EQ(rig.blocks_written(), 3u);
}

// The header of directed.h: dirty blocks are flushed before a write drops them.
TEST(Caches, ADirectedWriteFlushesDirtyBlocksBeforeItDropsThem) {
  for (const bool is_at_cnode : {true, false}) {
    StorageParameters parameters = is_at_cnode ? cached(4, 0) : cached(0, 4);
    auto& cache = is_at_cnode ? parameters.cnode_cache : parameters.ionode_cache;
    cache.write_miss = WriteMiss::kAllocate;
    cache.write_hit = WriteHit::kBack;
    TestFileSystem rig(parameters);
    const FileId other = rig.system().find_file("/other");
    rig.system().resize(other, kBlock);
    rig.write_blocks(0, 0);
    rig.write_blocks(0, 1);
    ASSERT_EQ(rig.blocks_written(), 0u);
    const std::vector<Extent> extents = {{100, 200}};  // a part of block 0
    const Access accesses[] = {{Direction::kWrite, other, rig.client(1), extents},
                               {Direction::kWrite, rig.file, rig.client(2), extents}};
    CompletionRecord completion;
    rig.system().access_directed(rig.now(), accesses, completion);
    rig.finish(completion);
    EXPECT_EQ(rig.ionode().device.bytes_written, 2 * kBlock + 2 * 200);
    rig.read_blocks(0, 0);
    EXPECT_EQ(rig.blocks_read(), 1u) << "the copy was not dropped";
  }
}

TEST(Caches, WriteBehindAtTheIonodeAnswersBeforeTheDevice) {
  StorageParameters parameters = cached(0, 4);
  parameters.ionode_cache.write_miss = WriteMiss::kAllocate;
  parameters.ionode_cache.write_hit = WriteHit::kBack;
  TestFileSystem rig(parameters);
  EXPECT_EQ(rig.write_blocks(0, 0, 2),
            parameters.client_overhead + TestFileSystem::message(64 + 2 * kBlock) +
                parameters.server_overhead + TestFileSystem::message(64));
  EXPECT_EQ(rig.blocks_written(), 0u);
  EXPECT_EQ(rig.flush(0), parameters.client_overhead + TestFileSystem::message(64) +
                              parameters.server_overhead + rig.device_write(2 * kBlock) +
                              TestFileSystem::message(64));
  EXPECT_EQ(rig.ionode().device.writes, 1u);
  EXPECT_EQ(rig.ionode().cache.written_back, 2u);
}

TEST(Caches, DirtyNeighboursAreWrittenTogether) {
  StorageParameters parameters = cached(0, 4);
  parameters.ionode_cache.write_miss = WriteMiss::kAllocate;
  parameters.ionode_cache.write_hit = WriteHit::kBack;
  TestFileSystem rig(parameters);
  rig.write_blocks(0, 0, 3);
  rig.write_blocks(0, 100);
  rig.read_blocks(0, 200);  // evicts block 0, which is written together with 1 and 2
  EXPECT_EQ(rig.ionode().device.writes, 1u);
  EXPECT_EQ(rig.blocks_written(), 3u);
  rig.flush(0);
  EXPECT_EQ(rig.blocks_written(), 4u);
}

TEST(Caches, AWriteInvalidatesOrUpdatesOtherCopies) {
  for (const Coherence coherence : {Coherence::kInvalidate, Coherence::kUpdate}) {
    StorageParameters parameters = cached(4, 0);
    parameters.coherence = coherence;
    parameters.device.write_latency = SimTime();  // or the device takes longer than the other nodes
    parameters.device.write_bandwidth = 1e12;
    TestFileSystem rig(parameters);
    TestFileSystem alone(parameters);
    rig.read_blocks(0, 0);
    rig.read_blocks(1, 0);
    EXPECT_GT(rig.write_blocks(0, 0), alone.write_blocks(0, 0));
    rig.read_blocks(1, 0);
    const bool updates = coherence == Coherence::kUpdate;
    EXPECT_EQ(rig.cnode(1).invalidations, updates ? 0u : 1u);
    EXPECT_EQ(rig.cnode(1).read_hits, updates ? 1u : 0u);
    rig.read_blocks(0, 0);
    EXPECT_EQ(rig.cnode(0).read_hits, 1u);  // the writer keeps its own
  }
}

TEST(Caches, DirtyDataComesFromTheNodeThatHasIt) {
  StorageParameters parameters = cached(4, 0);
  parameters.cnode_cache.write_miss = WriteMiss::kAllocate;
  parameters.cnode_cache.write_hit = WriteHit::kBack;
  TestFileSystem rig(parameters);
  rig.write_blocks(0, 0);
  rig.read_blocks(1, 0);
  EXPECT_EQ(rig.blocks_read(), 0u);
  EXPECT_EQ(rig.blocks_written(), 1u);
  EXPECT_EQ(rig.cnode(1).forwarded, 1u);
  rig.write_blocks(1, 0);
  EXPECT_EQ(rig.cnode(0).invalidations, 1u);
}

TEST(Caches, ReadAheadFollowsASequentialMiss) {
  StorageParameters parameters = cached(0, 16);
  parameters.ionode_cache.read_ahead = 3;
  TestFileSystem rig(parameters);
  rig.read_blocks(0, 0);
  EXPECT_EQ(rig.blocks_read(), 4u);
  for (uint64_t block = 1; block < 4; ++block) rig.read_blocks(0, block);
  EXPECT_EQ(rig.ionode().cache.read_hits, 3u);
  EXPECT_EQ(rig.blocks_read(), 4u);
  rig.read_blocks(0, 100);  // not sequential
  EXPECT_EQ(rig.blocks_read(), 5u);
  EXPECT_EQ(rig.ionode().cache.read_ahead, 3u);
}

TEST(Caches, BlocksOfRemovedFilesAreDropped) {
  StorageParameters parameters = cached(4, 4);
  parameters.cnode_cache.write_miss = parameters.ionode_cache.write_miss = WriteMiss::kAllocate;
  parameters.cnode_cache.write_hit = parameters.ionode_cache.write_hit = WriteHit::kBack;
  TestFileSystem rig(parameters);
  rig.write_blocks(0, 0);
  rig.system().remove(rig.file);
  rig.flush(0);
  EXPECT_EQ(rig.blocks_written(), 0u);
  rig.read_blocks(0, 0);
  EXPECT_EQ(rig.blocks_read(), 1u);
}

// Two ranks that read the same block at the same time: the device reads it once.
TEST(Caches, ABlockInFlightIsWaitedFor) {
  for (const bool at_cnode : {true, false}) {
    TestFileSystem rig(at_cnode ? cached(4, 0) : cached(0, 4), 4);
    const std::vector<Extent> extents = {{0, kBlock}};
    const Client first = rig.client(0);
    Client second = rig.client(1);
    if (at_cnode) second.node = first.node;
    CompletionRecord completion[2];
    rig.system().access(SimTime(), {Direction::kRead, rig.file, first, extents}, completion[0]);
    rig.system().access(SimTime(), {Direction::kRead, rig.file, second, extents}, completion[1]);
    rig.finish(completion[0]);
    EXPECT_TRUE(completion[1].is_done);
    EXPECT_GE(completion[1].at, completion[0].at);
    EXPECT_EQ(rig.blocks_read(), 1u);
  }
}

// The same without merging of misses: once for each compute node. Later it is in the cache.
TEST(Caches, UnmergedMissesEachReadTheDevice) {
  StorageParameters parameters = cached(0, 4);
  parameters.merges_misses = false;
  TestFileSystem rig(parameters, 4);
  const std::vector<Extent> extents = {{0, kBlock}};
  CompletionRecord completion[2];
  rig.system().access(SimTime(), {Direction::kRead, rig.file, rig.client(0), extents},
                      completion[0]);
  rig.system().access(SimTime(), {Direction::kRead, rig.file, rig.client(1), extents},
                      completion[1]);
  rig.finish(completion[0]);
  rig.finish(completion[1]);
  EXPECT_EQ(rig.blocks_read(), 2u);
  rig.read_blocks(2, 0, 1);
  EXPECT_EQ(rig.blocks_read(), 2u);
}

}  // namespace
}  // namespace sesame::storage
