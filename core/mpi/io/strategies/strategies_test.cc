// Compares the results of all strategies with a simple model of the file in memory, and the
// accesses that each strategy makes with closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "core/mpi/io/file_time.h"
#include "core/mpi/io/strategies/file_domains.h"
#include "core/mpi/io/transfer_file.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using machine::CollectiveStrategy;
using storage::Access;
using storage::Direction;
using storage::Extent;
using storage::PositionalFile;
using testing::SimulatedJob;

// One disk that serves one extent at a time: a seek of 10 ms unless the extent continues the last
// one, then 100 MB/s. It sorts disk-directed accesses, and records what it served.
class SlowDisk : public storage::FileSystem {
 public:
  struct Served {
    Direction direction;
    int rank;
    Extent extent;
    SimTime start;
    SimTime end;
  };

  explicit SlowDisk(pdes::EventQueue& events) : events_(events) {}

  storage::FileId find_file(const std::string&) override { return {}; }
  void release_name(const std::string&) override {}
  void access(SimTime now, const Access& access, storage::Completion& completion) override {
    EXPECT_GE(now, latest_) << "accesses must come in the order of simulated time";
    latest_ = now;
    for (const Extent& extent : access.extents) serve(now, access, extent);
    schedule_completion(free_, completion);
  }
  void access_directed(SimTime now, std::span<const Access> accesses,
                       storage::Completion& completion) override {
    ++directed_calls;
    std::multimap<uint64_t, std::pair<const Access*, Extent>> sorted;
    for (const Access& access : accesses) {
      for (const Extent& extent : access.extents) {
        sorted.emplace(extent.offset, std::pair(&access, extent));
      }
    }
    for (const auto& [offset, entry] : sorted) serve(now, *entry.first, entry.second);
    schedule_completion(free_, completion);
  }
  void metadata(SimTime now, storage::MetadataCall, storage::FileId, const storage::Client&,
                storage::Completion& completion) override {
    schedule_completion(now, completion);
  }
  void flush(SimTime now, storage::FileId, const storage::Client&,
             storage::Completion& completion) override {
    schedule_completion(now, completion);
  }
  bool resize(storage::FileId, uint64_t bytes) override { return bytes <= capacity; }
  void remove(storage::FileId) override {}
  void mark_existing_contents(storage::FileId) override {}
  void drop(storage::FileId, int, uint64_t, uint64_t) override {}
  void set_striping(storage::FileId, const storage::Striping&) override {}
  std::optional<storage::Striping> striping(storage::FileId) const override { return {}; }
  storage::Statistics statistics() const override { return {}; }

  size_t count(Direction direction) const {
    return static_cast<size_t>(
        std::ranges::count(served, direction, [](const Served& n) { return n.direction; }));
  }

  std::vector<Served> served;
  int directed_calls = 0;
  uint64_t capacity = UINT64_MAX;

 private:
  struct CompletionEvent : pdes::ConditionalEvent {
    void fire() override {
      storage::Completion& waiter = *completion;
      const SimTime at = time();
      delete this;
      waiter.done(at);
    }
    storage::Completion* completion = nullptr;
  };

  void serve(SimTime now, const Access& access, Extent extent) {
    const SimTime start = later(now, free_);
    const SimTime seek = extent.offset == head_ ? SimTime::zero() : SimTime::from_ns(10'000'000);
    free_ = start + seek + SimTime::from_ns(static_cast<int64_t>(10 * extent.bytes));
    head_ = extent.offset + extent.bytes;
    served.push_back({access.direction, access.client.rank, extent, start, free_});
  }
  void schedule_completion(SimTime at, storage::Completion& completion) {
    auto* event = new CompletionEvent;
    event->completion = &completion;
    events_.schedule(*event, at);
  }

  pdes::EventQueue& events_;
  SimTime free_;
  SimTime latest_;
  uint64_t head_ = UINT64_MAX;
};

// A file that all ranks of a job have open.
class TestFile {
 public:
  TestFile(SimulatedJob& job, machine::CollectiveParameters parameters)
      : disk(job.world().executive.events()), shared_(std::make_shared<SharedFile>()) {
    static int number = 0;
    path_ = ::testing::TempDir() + "/strategies-" + std::to_string(getpid()) + "-" +
            std::to_string(number++);
    storage::ResolvedPath path;
    path.system = &disk;
    path.host_path = path_;
    EXPECT_EQ(PositionalFile::open(nullptr, path, {.writes = true, .create = true}, &open_), 0);
    shared_->collective = parameters;
    shared_->stored_in.assign(static_cast<size_t>(job.world().size()), path_);
  }
  ~TestFile() { std::filesystem::remove(path_); }

  int access(FileRequest& request, bool collective) {
    FileObject file;
    EXPECT_EQ(check_comm(MPI_COMM_WORLD, &file.comm), MPI_SUCCESS);
    file.shared = shared_;
    retain(file.comm);
    file.open = open_;
    file.collective = shared_->collective;
    if (!collective) return access_independent(self(), file, request);
    return run_collective(*file.comm, [&](Transfer& transfer) {
      return access_collective(self(), transfer, file, request);
    });
  }

  void set(const std::vector<std::byte>& bytes) {
    open_->resize(0);
    const Extent all{0, bytes.size()};
    open_->write({&all, 1}, bytes.data());
  }
  std::vector<std::byte> contents() const {
    uint64_t size = 0;
    EXPECT_EQ(open_->size(&size), 0);
    std::vector<std::byte> bytes(size);
    const Extent all{0, size};
    EXPECT_EQ(open_->read({&all, 1}, bytes.data(), &size), 0);
    return bytes;
  }

  SlowDisk disk;

 private:
  std::string path_;
  std::shared_ptr<SharedFile> shared_;
  std::shared_ptr<PositionalFile> open_;
};

struct RankData {
  std::vector<Extent> extents;
  std::vector<std::byte> data;
  uint64_t moved = 0;
};
using Pattern = std::vector<RankData>;  // by rank

std::byte pattern_byte(size_t rank, uint64_t i) {
  return static_cast<std::byte>((rank * 67 + i * 31 + i / 256 * 7 + 1) & 0xff);
}

void fill(Pattern& pattern) {
  for (size_t rank = 0; rank < pattern.size(); ++rank) {
    uint64_t bytes = 0;
    for (const Extent& extent : pattern[rank].extents) bytes += extent.bytes;
    pattern[rank].data.resize(bytes);
    for (uint64_t i = 0; i < bytes; ++i) pattern[rank].data[i] = pattern_byte(rank, i);
  }
}

SimTime run(SimulatedJob& job, TestFile& file, Direction direction, Pattern& pattern,
            bool collective = true) {
  return job.run([&](int rank) {
    RankData& mine = pattern[static_cast<size_t>(rank)];
    FileRequest request{direction, mine.extents, mine.data.data(), 0};
    EXPECT_EQ(file.access(request, collective), MPI_SUCCESS);
    mine.moved = request.moved;
  });
}

// The model of the file. Ranks write in rank order.
void apply_writes(std::vector<std::byte>& file, const Pattern& pattern) {
  for (const RankData& mine : pattern) {
    size_t at = 0;
    for (const Extent& extent : mine.extents) {
      if (extent.bytes == 0) continue;
      if (file.size() < extent.offset + extent.bytes) file.resize(extent.offset + extent.bytes);
      std::copy_n(mine.data.begin() + static_cast<long>(at), extent.bytes,
                  file.begin() + static_cast<long>(extent.offset));
      at += extent.bytes;
    }
  }
}

void apply_reads(const std::vector<std::byte>& file, Pattern& pattern) {
  for (RankData& mine : pattern) {
    size_t at = 0;
    bool ended = false;
    mine.moved = 0;
    for (const Extent& extent : mine.extents) {
      for (uint64_t i = 0; i < extent.bytes; ++i, ++at) {
        const bool is_there = extent.offset + i < file.size();
        ended = ended || !is_there;
        if (is_there) mine.data[at] = file[extent.offset + i];
        mine.moved += !ended;
      }
    }
  }
}

std::vector<machine::CollectiveParameters> all_parameters() {
  std::vector<machine::CollectiveParameters> all;
  for (const bool sieving : {false, true}) {
    machine::CollectiveParameters parameters;
    parameters.sieving = sieving;
    parameters.cb_buffer_size = 1000;
    parameters.ind_rd_buffer_size = 700;
    parameters.ind_wr_buffer_size = 300;
    parameters.group_size = 3;
    for (const CollectiveStrategy strategy :
         {CollectiveStrategy::kBarrier, CollectiveStrategy::kGrouping,
          CollectiveStrategy::kDiskDirected, CollectiveStrategy::kTwoPhase}) {
      parameters.strategy = strategy;
      all.push_back(parameters);
    }
    parameters.cb_align = 256;
    parameters.cb_nodes = 2;
    all.push_back(parameters);
    parameters.cb_buffer_size = 1 << 20;
    parameters.cb_nodes = 1;
    all.push_back(parameters);
    parameters.cb_write = parameters.cb_read = machine::CollectiveUse::kInterleaved;
    parameters.cb_nodes = 0;
    all.push_back(parameters);
    parameters.cb_write = parameters.cb_read = machine::CollectiveUse::kNever;
    all.push_back(parameters);
  }
  return all;
}

// Gives blocks of the file to ranks at random: each to one rank or to none; if `shared`, perhaps to
// two. If `jumps`, the extents of a rank are in random order.
Pattern random_pattern(std::mt19937& random, int ranks, bool shared, bool jumps) {
  Pattern pattern(static_cast<size_t>(ranks));
  const int blocks = static_cast<int>(random() % 60);
  const uint64_t longest = random() % 2 == 0 ? 5 : 400;
  const unsigned idle = random() % 3 == 0 ? 1 : 0;  // 1: the last rank requests nothing
  uint64_t offset = random() % 100;
  for (int block = 0; block < blocks; ++block) {
    const uint64_t bytes = random() % longest;
    for (unsigned copies = shared ? random() % 3 : random() % 5 != 0; copies > 0; --copies) {
      const size_t rank = random() % (pattern.size() - (pattern.size() > 1 ? idle : 0));
      pattern[rank].extents.push_back({offset, bytes});
    }
    offset += bytes + (random() % 4 == 0 ? random() % 300 : 0);
    if (shared && random() % 4 == 0) offset -= std::min(offset, bytes / 2);
  }
  for (RankData& mine : pattern) {
    if (jumps) {
      std::ranges::shuffle(mine.extents, random);
    } else {
      std::ranges::sort(mine.extents, {}, &Extent::offset);
    }
  }
  fill(pattern);
  return pattern;
}

TEST(Strategies, WriteTheSameFileWhateverThePattern) {
  std::mt19937 random(4711);
  for (int trial = 0; trial < 15; ++trial) {
    const int ranks = 1 + static_cast<int>(random() % 9);
    Pattern pattern = random_pattern(random, ranks, false, trial % 5 == 4);
    std::vector<std::byte> before(random() % 2 == 0 ? 0 : random() % 4000, std::byte{0x55});
    std::vector<std::byte> expected = before;
    apply_writes(expected, pattern);
    for (const machine::CollectiveParameters& parameters : all_parameters()) {
      SimulatedJob job(ranks, testing::kCrossbar, 2);
      TestFile file(job, parameters);
      file.set(before);
      run(job, file, Direction::kWrite, pattern);
      EXPECT_TRUE(file.contents() == expected)
          << "trial " << trial << ", strategy " << static_cast<int>(parameters.strategy);
      for (const RankData& mine : pattern) EXPECT_EQ(mine.moved, mine.data.size());
    }
  }
}

TEST(Strategies, ReadTheSameBytesUpToTheEndOfTheFile) {
  std::mt19937 random(815);
  for (int trial = 0; trial < 15; ++trial) {
    const int ranks = 1 + static_cast<int>(random() % 9);
    Pattern pattern = random_pattern(random, ranks, true, trial % 5 == 4);
    std::vector<std::byte> bytes(random() % 6000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random());
    Pattern expected = pattern;
    apply_reads(bytes, expected);
    for (const machine::CollectiveParameters& parameters : all_parameters()) {
      SimulatedJob job(ranks, testing::kCrossbar, 2);
      TestFile file(job, parameters);
      file.set(bytes);
      Pattern got = pattern;
      run(job, file, Direction::kRead, got);
      for (size_t rank = 0; rank < got.size(); ++rank) {
        EXPECT_TRUE(got[rank].data == expected[rank].data)
            << "trial " << trial << ", strategy " << static_cast<int>(parameters.strategy);
        EXPECT_EQ(got[rank].moved, expected[rank].moved);
      }
    }
  }
}

TEST(Strategies, LetTheHighestRankWinWhereAllWriteTheSameWithTwoPhases) {
  SimulatedJob job(5);
  TestFile file(job, {});
  Pattern pattern(5);
  for (RankData& mine : pattern) mine.extents = {{10, 300}, {400, 10}};
  fill(pattern);
  std::vector<std::byte> expected;
  apply_writes(expected, pattern);
  run(job, file, Direction::kWrite, pattern);
  EXPECT_TRUE(file.contents() == expected);
}

// Rank r of n has every n-th block.
Pattern interleave(size_t ranks, uint64_t blocks_each, uint64_t block) {
  Pattern pattern(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (uint64_t i = 0; i < blocks_each; ++i) {
      pattern[rank].extents.push_back({(i * ranks + rank) * block, block});
    }
  }
  fill(pattern);
  return pattern;
}

TEST(TwoPhase, WritesOncePerAggregatorAndCall) {
  for (const int ranks : {4, 9, 16}) {
    SimulatedJob job(ranks);
    machine::CollectiveParameters parameters;
    TestFile file(job, parameters);
    Pattern pattern = interleave(static_cast<size_t>(ranks), 36, 40);
    for (int call = 0; call < 12; ++call) run(job, file, Direction::kWrite, pattern);
    EXPECT_EQ(file.disk.count(Direction::kWrite), static_cast<size_t>(12 * ranks));
    EXPECT_EQ(file.disk.count(Direction::kRead), 0U);
    for (const auto& served : file.disk.served) {
      EXPECT_EQ(served.extent.bytes, 36U * 40);
      EXPECT_EQ(served.extent.offset, static_cast<uint64_t>(served.rank) * 36 * 40);
    }
  }
}

TEST(TwoPhase, GoesInRoundsOfTheBufferOnTheFirstRankOfEachNode) {
  SimulatedJob job(8, testing::kCrossbar, 4);
  machine::CollectiveParameters parameters;
  parameters.cb_buffer_size = 3000;
  TestFile file(job, parameters);
  Pattern pattern = interleave(8, 100, 20);  // 16,000 bytes: two domains of 8,000
  run(job, file, Direction::kWrite, pattern);
  EXPECT_EQ(file.disk.count(Direction::kWrite), 6U);
  std::set<int> writers;
  for (const auto& served : file.disk.served) writers.insert(served.rank);
  EXPECT_EQ(writers, (std::set<int>{0, 4}));
}

TEST(TwoPhase, ReadsWhatAllWantOnce) {
  SimulatedJob job(6);
  machine::CollectiveParameters parameters;
  parameters.cb_nodes = 3;
  TestFile file(job, parameters);
  file.set(std::vector<std::byte>(9000, std::byte{7}));
  Pattern pattern(6);
  for (RankData& mine : pattern) mine.extents = {{0, 9000}};
  fill(pattern);
  run(job, file, Direction::kRead, pattern);
  EXPECT_EQ(file.disk.count(Direction::kRead), 3U);
  uint64_t bytes = 0;
  for (const auto& served : file.disk.served) bytes += served.extent.bytes;
  EXPECT_EQ(bytes, 9000U);
  for (const RankData& mine : pattern) {
    EXPECT_EQ(std::ranges::count(mine.data, std::byte{7}), 9000);
  }
}

TEST(TwoPhase, ReadsBeforeItWritesWhereThereAreHoles) {
  SimulatedJob job(4);
  machine::CollectiveParameters parameters;
  parameters.cb_nodes = 1;
  for (const bool sieving : {true, false}) {
    parameters.sieving = sieving;
    TestFile file(job, parameters);
    file.set(std::vector<std::byte>(5000, std::byte{7}));
    Pattern pattern(4);
    for (size_t rank = 0; rank < 4; ++rank) pattern[rank].extents = {{1000 * rank, 500}};
    fill(pattern);
    run(job, file, Direction::kWrite, pattern);
    EXPECT_EQ(file.disk.count(Direction::kRead), sieving ? 1U : 0U);
    EXPECT_EQ(file.disk.count(Direction::kWrite), sieving ? 1U : 4U);
    EXPECT_EQ(file.disk.served.back().extent.bytes, sieving ? 3500U : 500U);
  }
}

TEST(TwoPhase, AllRanksLearnThatTheFileSystemIsFull) {
  SimulatedJob job(4);
  TestFile file(job, {});
  file.disk.capacity = 3999;
  Pattern pattern = interleave(4, 10, 100);
  job.run([&](int rank) {
    RankData& mine = pattern[static_cast<size_t>(rank)];
    FileRequest request{Direction::kWrite, mine.extents, mine.data.data(), 0};
    EXPECT_EQ(file.access(request, true), MPI_ERR_NO_SPACE);
  });
}

TEST(Barrier, AccessesEachElementAndSoDoesGrouping) {
  for (const CollectiveStrategy strategy :
       {CollectiveStrategy::kBarrier, CollectiveStrategy::kGrouping}) {
    SimulatedJob job(4);
    machine::CollectiveParameters parameters;
    parameters.strategy = strategy;
    TestFile file(job, parameters);
    Pattern pattern = interleave(4, 36, 40);
    run(job, file, Direction::kWrite, pattern);
    EXPECT_EQ(file.disk.count(Direction::kWrite), 4U * 36);
  }
}

TEST(Grouping, LetsOneGroupInAtATime) {
  SimulatedJob job(10);
  machine::CollectiveParameters parameters;
  parameters.strategy = CollectiveStrategy::kGrouping;
  parameters.group_size = 4;
  TestFile file(job, parameters);
  Pattern pattern = interleave(10, 5, 100);
  run(job, file, Direction::kWrite, pattern);
  ASSERT_EQ(file.disk.served.size(), 50U);
  for (size_t i = 1; i < file.disk.served.size(); ++i) {
    EXPECT_GE(file.disk.served[i].rank / 4, file.disk.served[i - 1].rank / 4);
  }
}

TEST(DiskDirected, IsOneCallForAllRanksInTheOrderOfTheDisk) {
  SimulatedJob job(7);
  machine::CollectiveParameters parameters;
  parameters.strategy = CollectiveStrategy::kDiskDirected;
  TestFile file(job, parameters);
  Pattern pattern = interleave(7, 5, 100);
  const SimTime end = run(job, file, Direction::kWrite, pattern);
  EXPECT_EQ(file.disk.directed_calls, 1);
  EXPECT_EQ(file.disk.served.size(), 35U);
  // One seek, 3,500 bytes; the rest is the barrier.
  EXPECT_LT(end, SimTime::from_ns(10'000'000 + 35'000 + 50'000));
}

TEST(Sieving, ReadsAWindowAtATime) {
  SimulatedJob job(1);
  machine::CollectiveParameters parameters;
  parameters.ind_rd_buffer_size = 1000;
  TestFile file(job, parameters);
  file.set(std::vector<std::byte>(10000, std::byte{7}));
  Pattern pattern(1);
  for (uint64_t i = 0; i < 40; ++i) pattern[0].extents.push_back({100 * i, 10});
  fill(pattern);
  run(job, file, Direction::kRead, pattern, false);
  ASSERT_EQ(file.disk.served.size(), 4U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(file.disk.served[i].extent.bytes, 1000U);
  EXPECT_EQ(file.disk.served[3].extent.bytes, 910U);
}

TEST(Sieving, WritesUnderALockThatKeepsOthersOut) {
  SimulatedJob job(4);
  machine::CollectiveParameters parameters;
  parameters.ind_wr_buffer_size = 1 << 20;
  TestFile file(job, parameters);
  Pattern pattern = interleave(4, 25, 100);
  std::vector<std::byte> expected(20000, std::byte{3});
  file.set(expected);
  apply_writes(expected, pattern);
  run(job, file, Direction::kWrite, pattern, false);
  EXPECT_TRUE(file.contents() == expected);
  // Each rank reads and writes its window before the next one may.
  ASSERT_EQ(file.disk.served.size(), 8U);
  for (size_t i = 0; i < 8; i += 2) {
    EXPECT_EQ(file.disk.served[i].direction, Direction::kRead);
    EXPECT_EQ(file.disk.served[i + 1].direction, Direction::kWrite);
    EXPECT_EQ(file.disk.served[i].rank, file.disk.served[i + 1].rank);
  }
}

TEST(Strategies, DifferInTimeAsTheyShouldOnADiskThatSeeks) {
  std::map<CollectiveStrategy, SimTime> times;
  for (const CollectiveStrategy strategy :
       {CollectiveStrategy::kBarrier, CollectiveStrategy::kGrouping, CollectiveStrategy::kTwoPhase,
        CollectiveStrategy::kDiskDirected}) {
    SimulatedJob job(16);
    machine::CollectiveParameters parameters;
    parameters.strategy = strategy;
    TestFile file(job, parameters);
    Pattern pattern = interleave(16, 20, 100);
    times[strategy] = run(job, file, Direction::kWrite, pattern);
  }
  // Seeks of 10 ms each: 320 with barrier; 80 with grouping, where four adjacent blocks follow each
  // other; at most 16 with two-phase; one with disk-directed.
  EXPECT_GT(times[CollectiveStrategy::kBarrier].seconds(),
            10 * times[CollectiveStrategy::kTwoPhase].seconds());
  EXPECT_GT(times[CollectiveStrategy::kGrouping].seconds(),
            4 * times[CollectiveStrategy::kTwoPhase].seconds());
  EXPECT_LT(times[CollectiveStrategy::kDiskDirected].seconds(),
            times[CollectiveStrategy::kTwoPhase].seconds());
}

TEST(FileDomains, CoverTheRangeAndEndAtMultiples) {
  const FileDomains equal({100, 1000}, 4, 0);
  EXPECT_EQ(equal.end(0), 350U);
  EXPECT_EQ(equal.end(3), 1100U);
  EXPECT_EQ(equal.domain_of(349), 0);
  EXPECT_EQ(equal.domain_of(350), 1);
  const FileDomains aligned({100, 1000}, 4, 200);
  EXPECT_EQ(aligned.end(0), 400U);
  EXPECT_EQ(aligned.end(1), 600U);
  EXPECT_EQ(aligned.end(2), 800U);
  EXPECT_EQ(aligned.end(3), 1100U);
  // A range smaller than the alignment belongs to one domain.
  const FileDomains small({100, 50}, 3, 4096);
  for (uint64_t offset = 100; offset < 150; ++offset) {
    EXPECT_EQ(small.domain_of(offset), small.domain_of(100));
  }
}

}  // namespace
}  // namespace sesame::mpi
