// Tables of a simulation: memory is bounded, and the files do not depend on the order of execution.
#include "core/sim/record_tables.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "core/mpi/call_ids.h"
#include "core/trace/record_types.h"

namespace sesame::sim {
namespace {

using trace::parquet::Column;
using trace::parquet::ColumnType;

Column column_of(const trace::FieldType& field) {
  ColumnType type = ColumnType::kUint16;
  if (field.size_bytes == 8) type = field.is_signed ? ColumnType::kInt64 : ColumnType::kUint64;
  if (field.size_bytes == 4) type = field.is_signed ? ColumnType::kInt32 : ColumnType::kUint32;
  if (!field.names.empty()) type = ColumnType::kName;
  return {std::string(field.name), type, std::string(field.unit), std::string(field.meaning)};
}

std::vector<trace::parquet::Table> tables() {
  std::vector<trace::parquet::Table> tables;
  for (const uint8_t id : {SESAME_RECORD_call, SESAME_RECORD_message}) {
    const trace::RecordType& type = *trace::find_record_type(id);
    auto& table = tables.emplace_back(std::string(type.name), "", true, std::vector<Column>());
    for (const trace::FieldType& field : type.fields) table.columns.push_back(column_of(field));
  }
  tables.push_back({"io", "", true, {{"begin_ns", ColumnType::kInt64, "ns", ""}}});
  return tables;
}

class RecordTablesTest : public ::testing::Test {
 protected:
  RecordTablesTest() {
    std::string pattern = ::testing::TempDir() + "/sesame_sim_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~RecordTablesTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<RecordTables> open(int ranks) const {
    return RecordTables::open(tables(), directory_, ranks).value();
  }
  // The contents of call.parquet and message.parquet.
  std::string close(RecordTables& tables) const {
    std::vector<std::string> names;
    for (uint16_t call = 0; call < mpi::kCallIds; ++call) names.push_back(std::to_string(call));
    EXPECT_TRUE(tables.close(names).has_value());
    std::string contents;
    for (const char* name : {"/call.parquet", "/message.parquet"}) {
      std::ifstream file(directory_ + name, std::ios::binary);
      contents.append(std::istreambuf_iterator<char>(file), {});
    }
    return contents;
  }

  std::string directory_;
};

sesame_message_record message(int64_t received_ps, int32_t source) {
  return {received_ps - 20, received_ps - 10, received_ps, 64, source, 0, 7, 1, 0, 2};
}

sesame_call_record call(int64_t end_ps) { return {end_ps - 5, end_ps, 1, 64, -1, -1, 0, 3, 0}; }

TEST_F(RecordTablesTest, ReceivedMessagesFillARank) {
  auto tables = open(2);
  int64_t now = 100;
  size_t waiting = 0;
  for (int collective = 0; collective < 50; ++collective) {
    for (int source = 0; source < 1023; ++source) tables->add(0, message(now, source));
    tables->add(0, call(++now));
    waiting += 1023;
    if (!tables->is_full(0)) continue;
    tables->write_until(0, SimTime::from_ps(now));
    EXPECT_FALSE(tables->is_full(0));
    waiting = 0;
  }
  EXPECT_LE(waiting, 3 * 1023u);
  EXPECT_FALSE(tables->is_full(1));
}

// Messages become known in the order of execution, calls in the program's order.
TEST_F(RecordTablesTest, FilesDoNotDependOnTheOrderOfExecution) {
  constexpr int kMessages = 5000;
  std::string expected;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    auto tables = open(1);
    std::vector<int> known;  // not yet received: to be added in any order
    int added_until = 0;
    for (int now = 1; now <= kMessages; ++now) {
      // All messages before `now` are known, and some later ones.
      const int until =
          seed == 0 ? now : std::min<int>(kMessages, now + static_cast<int>(random() % 900));
      for (; added_until < until; ++added_until) known.push_back(added_until);
      std::ranges::shuffle(known, random);
      for (const int received : known) tables->add(0, message(received, received % 7));
      known.clear();
      if (now % 5 == 0) tables->add(0, call(now));
      const bool early = seed > 0 && random() % 300 == 0;
      if (tables->is_full(0) || early) tables->write_until(0, SimTime::from_ps(now));
    }
    const std::string contents = close(*tables);
    if (seed == 0) expected = contents;
    EXPECT_GT(contents.size(), 1000u);
    EXPECT_TRUE(contents == expected) << "seed " << seed;
  }
}

TEST_F(RecordTablesTest, RefusesAColumnThatIsNotRecorded) {
  auto wrong = tables();
  wrong[0].columns.push_back({"colour", ColumnType::kInt32, "", ""});
  const auto opened = RecordTables::open(wrong, directory_, 1);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message.find("table call: column colour"), std::string::npos);
}

}  // namespace
}  // namespace sesame::sim
