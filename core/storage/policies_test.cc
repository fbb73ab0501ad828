// Compares the cache policies with a slow model of their descriptions, and with what the SESAME
// report, 8.2.4, says about them.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <tuple>

#include "core/storage/testing.h"

namespace sesame::storage {
namespace {

using machine::CachePolicy;
using machine::StorageParameters;

constexpr CachePolicy kPolicies[] = {CachePolicy::kBase, CachePolicy::kGreedy,
                                     CachePolicy::kCoordinated, CachePolicy::kGlobal};

StorageParameters with_policy(CachePolicy policy, int ionodes, uint64_t cnode_blocks,
                              uint64_t ionode_blocks) {
  StorageParameters parameters = cached(cnode_blocks, ionode_blocks);
  parameters.policy = policy;
  parameters.ionodes = ionodes;
  parameters.stripe = kBlock;
  return parameters;
}

// Fully associative, newest first.
struct Lru {
  bool has(uint64_t block) const { return std::ranges::find(blocks, block) != blocks.end(); }
  bool touch(uint64_t block) {
    if (!has(block)) return false;
    blocks.remove(block);
    blocks.push_front(block);
    return true;
  }
  // Returns the evicted block, if any.
  std::optional<uint64_t> insert(uint64_t block) {
    blocks.push_front(block);
    if (blocks.size() <= capacity) return {};
    const uint64_t gone = blocks.back();
    blocks.pop_back();
    return gone;
  }
  uint64_t capacity = 0;
  std::list<uint64_t> blocks;
};

// Write-through and write-around; requests one after the other.
class SlowModel {
 public:
  explicit SlowModel(const StorageParameters& parameters, int cnodes) : parameters_(parameters) {
    uint64_t own = parameters.cnode_cache.size / kBlock;
    const auto ionodes = static_cast<size_t>(parameters.ionodes);
    uint64_t given = 0;
    if (parameters.policy == CachePolicy::kCoordinated) given = own * 8 / 10;
    cnodes_.assign(static_cast<size_t>(cnodes), {own - given, {}});
    ionodes_.assign(ionodes, {parameters.ionode_cache.size / kBlock, {}});
    shares_.assign(ionodes, {given * static_cast<uint64_t>(cnodes) / ionodes, {}});
  }

  void read(size_t cnode, uint64_t first, uint64_t count) {
    std::vector<uint64_t> missing;
    std::vector<uint64_t> victims;
    for (uint64_t block = first; block < first + count; ++block) {
      if (cnodes_[cnode].touch(block)) {
        ++hits;
        continue;
      }
      missing.push_back(block);
      if (const auto victim = cnodes_[cnode].insert(block)) victims.push_back(*victim);
    }
    for (const uint64_t block : missing) find(cnode, block);
    if (parameters_.policy != CachePolicy::kGlobal) return;
    for (const uint64_t block : victims) {
      const auto has = [&](const Lru& cache) { return cache.has(block); };
      if (std::ranges::none_of(cnodes_, has)) ionode_of(ionodes_, block).insert(block);
    }
  }

  void write(size_t cnode, uint64_t first, uint64_t count) {
    for (uint64_t block = first; block < first + count; ++block) {
      for (size_t i = 0; i < cnodes_.size(); ++i)
        i == cnode ? void(cnodes_[i].touch(block)) : void(cnodes_[i].blocks.remove(block));
      ionode_of(shares_, block).blocks.remove(block);
      ionode_of(ionodes_, block).touch(block);
    }
  }

  uint64_t hits = 0;
  uint64_t ionode_hits = 0;
  uint64_t forwarded = 0;
  uint64_t device_reads = 0;

 private:
  Lru& ionode_of(std::vector<Lru>& caches, uint64_t block) { return caches[block % caches.size()]; }

  void find(size_t cnode, uint64_t block) {
    Lru& ionode = ionode_of(ionodes_, block);
    if (ionode.touch(block)) {
      ++ionode_hits;
      if (parameters_.policy == CachePolicy::kGlobal) ionode.blocks.remove(block);
    } else if (ionode_of(shares_, block).touch(block) || has_other(cnode, block)) {
      ++forwarded;
    } else {
      ++device_reads;
      if (parameters_.policy == CachePolicy::kGlobal) return;
      const auto victim = ionode.insert(block);
      if (victim && ionode_of(shares_, *victim).capacity > 0)
        ionode_of(shares_, *victim).insert(*victim);
    }
  }

  bool has_other(size_t cnode, uint64_t block) {
    if (parameters_.policy == CachePolicy::kBase) return false;
    for (size_t i = 0; i < cnodes_.size(); ++i) {
      if (i == cnode || !cnodes_[i].has(block)) continue;
      if (parameters_.policy == CachePolicy::kGlobal) cnodes_[i].blocks.remove(block);
      return true;
    }
    return false;
  }

  StorageParameters parameters_;
  std::vector<Lru> cnodes_;
  std::vector<Lru> ionodes_;
  std::vector<Lru> shares_;
};

TEST(CachePolicies, DoWhatASlowModelOfThemDoes) {
  for (const CachePolicy policy : kPolicies) {
    const StorageParameters parameters = with_policy(policy, 2, 10, 12);
    TestFileSystem rig(parameters);
    SlowModel slow(parameters, 4);
    std::mt19937 random(7);
    for (int i = 0; i < 5000; ++i) {
      const auto cnode = random() % 4;
      const uint64_t first = random() % 90;
      const uint64_t count = 1 + random() % 4;
      if (random() % 5 == 0) {
        rig.write_blocks(static_cast<int>(cnode), first, count);
        slow.write(cnode, first, count);
      } else {
        rig.read_blocks(static_cast<int>(cnode), first, count);
        slow.read(cnode, first, count);
      }
    }
    uint64_t hits = 0;
    for (size_t node = 0; node < 4; ++node) hits += rig.cnode(node).read_hits;
    const uint64_t ionode_hits = rig.ionode(0).cache.read_hits + rig.ionode(1).cache.read_hits;
    const uint64_t forwarded = rig.ionode(0).cache.forwarded + rig.ionode(1).cache.forwarded;
    EXPECT_EQ(hits, slow.hits) << static_cast<int>(policy);
    EXPECT_EQ(ionode_hits, slow.ionode_hits) << static_cast<int>(policy);
    EXPECT_EQ(forwarded, slow.forwarded) << static_cast<int>(policy);
    EXPECT_EQ(rig.blocks_read(), slow.device_reads) << static_cast<int>(policy);
  }
}

// Reads and writes of parts of blocks; all ranks at the same time.
struct Busy : Completion {
  void done(SimTime at) override {
    last = at;
    if (--left == 0) return;
    const uint64_t chance = random();
    extents = {{chance % 60 * kBlock + (chance >> 8) % 2 * 100, 1 + (chance >> 16) % 20'000}};
    const auto direction = chance >> 12 & 1 ? Direction::kRead : Direction::kWrite;
    rig->system().access(at, {direction, rig->file, client, extents}, *this);
  }
  TestFileSystem* rig = nullptr;
  Client client;
  std::mt19937 random;
  std::vector<Extent> extents;
  int left = 300;
  SimTime last;
};

// When the last rank was done, and the bytes that went to and from devices.
std::tuple<int64_t, uint64_t, uint64_t> stress(const StorageParameters& parameters) {
  TestFileSystem rig(parameters, 6);
  std::vector<Busy> ranks(6);
  for (int i = 0; i < 6; ++i) {
    Busy& rank = ranks[static_cast<size_t>(i)];
    rank.rig = &rig;
    rank.client = rig.client(i);
    if (i >= 4) rank.client.node = rig.client(0).node;  // three ranks share a node
    rank.random.seed(static_cast<unsigned>(i));
    rank.done(SimTime());
  }
  rig.run_all();
  SimTime last;
  for (const Busy& rank : ranks) {
    EXPECT_EQ(rank.left, 0);
    last = later(last, rank.last);
  }
  rig.flush(0);
  const uint64_t written = rig.blocks_written();
  rig.flush(1);
  EXPECT_EQ(rig.blocks_written(), written);
  return {last.ps(), rig.blocks_read(), written};
}

TEST(CachePolicies, EveryCombinationFinishesAndAlwaysTheSame) {
  for (const CachePolicy policy : kPolicies) {
    for (int bits = 0; bits < 32; ++bits) {
      StorageParameters parameters = with_policy(policy, 3, 6, bits & 16 ? 8 : 0);
      const auto hit = bits & 1 ? machine::WriteHit::kBack : machine::WriteHit::kThrough;
      const auto miss = bits & 2 ? machine::WriteMiss::kAllocate : machine::WriteMiss::kAround;
      parameters.cnode_cache.write_hit = parameters.ionode_cache.write_hit = hit;
      parameters.cnode_cache.write_miss = parameters.ionode_cache.write_miss = miss;
      parameters.coherence =
          bits & 4 ? machine::Coherence::kUpdate : machine::Coherence::kInvalidate;
      parameters.ionode_cache.read_ahead = bits & 8 ? 2 : 0;
      EXPECT_EQ(stress(parameters), stress(parameters)) << static_cast<int>(policy) << ' ' << bits;
    }
  }
}

// Random requests of 1 to 4 blocks, write-through and write-around; warm-up not counted.
uint64_t synthetic_reads(CachePolicy policy, uint64_t file_blocks = 1500, unsigned writes = 20) {
  TestFileSystem rig(with_policy(policy, 4, 128, 128));
  std::mt19937 random(1);
  uint64_t warm = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (i == 5000) warm = rig.blocks_read();
    const auto cnode = static_cast<int>(random() % 4);
    const uint64_t first = random() % file_blocks;
    const uint64_t count = 1 + random() % 4;
    random() % 100 < writes ? rig.write_blocks(cnode, first, count)
                            : rig.read_blocks(cnode, first, count);
  }
  return rig.blocks_read() - warm;
}

TEST(CachePolicies, MoreCooperationReadsLessFromDisksOnRandomRequests) {
  const uint64_t base = synthetic_reads(CachePolicy::kBase);
  const uint64_t greedy = synthetic_reads(CachePolicy::kGreedy);
  const uint64_t coordinated = synthetic_reads(CachePolicy::kCoordinated);
  const uint64_t global = synthetic_reads(CachePolicy::kGlobal);
  EXPECT_GT(base, greedy);
  EXPECT_GT(greedy, coordinated);
  EXPECT_GT(coordinated, global);
}

// If the caches hold the whole file, only blocks that a write has invalidated are read again. These
// are more if the only copy of a block is at a compute node. Here the I/O nodes' caches hold the
// file.
TEST(CachePolicies, AFileThatFitsIsReadAgainForWritesOnly) {
  constexpr uint64_t kFits = 400;
  EXPECT_EQ(synthetic_reads(CachePolicy::kCoordinated, kFits), 0u);
  EXPECT_GT(synthetic_reads(CachePolicy::kGlobal, kFits), 0u);
  for (const CachePolicy policy : kPolicies)
    EXPECT_EQ(synthetic_reads(policy, kFits, 0), 0u) << static_cast<int>(policy);
}

// All compute nodes read the same blocks in the same order, again and again.
uint64_t shared_sequence_reads(CachePolicy policy, uint64_t blocks) {
  TestFileSystem rig(with_policy(policy, 1, 64, 32));
  for (int round = 0; round < 4; ++round)
    for (uint64_t block = 0; block < blocks; ++block)
      for (int cnode = 0; cnode < 4; ++cnode) rig.read_blocks(cnode, block);
  return rig.blocks_read();
}

TEST(CachePolicies, CoordinationHoldsWhatOneCacheDoesNot) {
  for (const CachePolicy policy : kPolicies)
    EXPECT_EQ(shared_sequence_reads(policy, 10), 10u) << static_cast<int>(policy);
  constexpr uint64_t kMore = 150;  // than a compute node's cache and the I/O node's together
  EXPECT_EQ(shared_sequence_reads(CachePolicy::kCoordinated, kMore), kMore);
  EXPECT_EQ(shared_sequence_reads(CachePolicy::kBase, kMore), 4 * kMore);
  EXPECT_EQ(shared_sequence_reads(CachePolicy::kGreedy, kMore), 4 * kMore);
  // Blocks are only in the caches of the last reader and of the I/O node, which hold 96 together;
  // the other caches are empty.
  EXPECT_EQ(shared_sequence_reads(CachePolicy::kGlobal, 90), 90u);
  EXPECT_EQ(shared_sequence_reads(CachePolicy::kGlobal, kMore), 4 * kMore);
}

}  // namespace
}  // namespace sesame::storage
