// Record tables: the file depends on the records alone. That its contents are right is tested with
// another reader (tests/integration/test_recorded_tables.py).
#include "core/trace/parquet/record_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace sesame::trace::parquet {
namespace {

struct Record {
  int64_t time_ns;
  uint32_t size;
  uint16_t name;
};

using Sequences = std::vector<std::vector<Record>>;  // by rank

class RecordTables : public ::testing::Test {
 protected:
  RecordTables() {
    std::string pattern = ::testing::TempDir() + "/sesame_tables_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~RecordTables() override { std::filesystem::remove_all(directory_); }

  RecordTable make_table() const {
    Table table{"test", "a test", true, {}};
    table.columns = {{"rank", ColumnType::kUint32, "rank", ""},
                     {"time_ns", ColumnType::kInt64, "ns", ""},
                     {"size", ColumnType::kUint32, "B", ""},
                     {"name", ColumnType::kName, "", ""}};
    return RecordTable(table,
                       {{},
                        {offsetof(Record, time_ns), 8, 0},
                        {offsetof(Record, size), 4, 0},
                        {offsetof(Record, name), 2, 2}},
                       sizeof(Record), directory_);
  }

  std::string write(RecordTable& table, const Sequences& records, const std::vector<size_t>& done) {
    const std::vector<std::string> names{"a", "b", "c"};
    const std::span<const std::string> list = names;
    const std::string path = directory_ + "/test.parquet";
    size_t rows = 0;
    for (const auto& sequence : records) rows += sequence.size();
    const auto written = table.write(
        path, static_cast<uint32_t>(records.size()),
        [&](uint32_t rank) { return remaining(records, rank, done[rank], records[rank].size()); },
        {&list, 1});
    EXPECT_EQ(written.value_or(0), rows);
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static RecordSpan remaining(const Sequences& records, uint32_t rank, size_t from, size_t until) {
    return {rank, reinterpret_cast<const std::byte*>(records[rank].data() + from), until - from};
  }

  std::string directory_;
};

Sequences random_records(uint32_t seed) {
  std::mt19937 random(seed);
  Sequences records;
  for (const size_t count : {0, 5, 40'000, 256, 257, 0, 258, 3'000, 12}) {
    auto& sequence = records.emplace_back();
    int64_t time = 0;
    for (size_t i = 0; i < count; ++i) {
      time += random() % 1000;
      sequence.push_back(
          {time, static_cast<uint32_t>(random()), static_cast<uint16_t>(random() % 3)});
    }
  }
  return records;
}

TEST_F(RecordTables, BytesDoNotDependOnWhenRecordsAreAppended) {
  const Sequences records = random_records(1);
  RecordTable at_once = make_table();
  std::vector<size_t> done(records.size());
  for (uint32_t rank = 0; rank < records.size(); ++rank) {
    done[rank] = at_once.append(remaining(records, rank, 0, records[rank].size()));
    EXPECT_GE(done[rank] + RecordTable::kChunkRows, records[rank].size());
  }
  const std::string expected = write(at_once, records, done);

  RecordTable in_steps = make_table();
  std::mt19937 random(2);
  std::vector<size_t> known(records.size());
  done.assign(records.size(), 0);
  for (size_t unfinished = records.size(); unfinished > 0;) {
    const auto rank = static_cast<uint32_t>(random() % records.size());
    if (known[rank] == records[rank].size() && rank + 1 != unfinished) continue;
    known[rank] = std::min(known[rank] + random() % 700, records[rank].size());
    done[rank] += in_steps.append(remaining(records, rank, done[rank], known[rank]));
    while (unfinished > 0 && known[unfinished - 1] == records[unfinished - 1].size()) --unfinished;
  }
  EXPECT_EQ(write(in_steps, records, done), expected);
}

TEST_F(RecordTables, RefusesToDropTheRecordsOfARank) {
  const Sequences records(3, std::vector<Record>(300, Record{1, 2, 0}));
  RecordTable table = make_table();
  const size_t done = table.append(remaining(records, 2, 0, 300));
  ASSERT_GT(done, 0u);
  const std::vector<std::string> names{"a"};
  const std::span<const std::string> list = names;
  const auto nothing = [&](uint32_t rank) { return remaining(records, rank, 0, 0); };
  EXPECT_DEATH((void)table.write(directory_ + "/test.parquet", 2, nothing, {&list, 1}), "chunks_");
}

TEST_F(RecordTables, LeavesNoTemporaryFile) {
  const Sequences records{std::vector<Record>(100'000, Record{1, 2, 0})};
  {
    RecordTable table = make_table();
    const size_t done = table.append(remaining(records, 0, 0, records[0].size()));
    EXPECT_TRUE(std::filesystem::is_empty(directory_));
    write(table, records, {done});
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names, std::vector<std::string>{"test.parquet"});
}

TEST_F(RecordTables, ReportsADirectoryThatCannotBeWritten) {
  const Sequences records = random_records(3);
  const std::string good = std::exchange(directory_, directory_ + "/missing");
  RecordTable table = make_table();
  directory_ = good;
  size_t done = 0;
  for (int i = 0; i < 100; ++i) done = table.append(remaining(records, 2, 0, records[2].size()));
  ASSERT_TRUE(table.failure().has_value());
  EXPECT_NE(table.failure()->message.find("cannot write"), std::string::npos);
  const auto written = table.write(good + "/test.parquet", 3,
                                   [&](uint32_t) { return remaining(records, 2, done, done); }, {});
  EXPECT_FALSE(written.has_value());
}

}  // namespace
}  // namespace sesame::trace::parquet
