// The writer and the reader against each other: the identity, and what damage does.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/trace/reader.h"
#include "core/trace/writer.h"

namespace sesame::trace {
namespace {

class RawTrace : public ::testing::Test {
 protected:
  RawTrace() {
    std::string pattern = ::testing::TempDir() + "/sesame_trace_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~RawTrace() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Writer> open_writer(WriterOptions options) {
    options.directory = directory_;
    auto writer = Writer::open(std::move(options));
    EXPECT_TRUE(writer.has_value());
    return *std::move(writer);
  }
  std::string stream_path(uint32_t rank) { return directory_ + "/" + stream_file_name(rank); }

  std::string directory_;
};

sesame_call_record call(int64_t end_ps) { return {end_ps - 10, end_ps, 5, 64, 1, 7, 0, 3, 0}; }

sesame_message_record message(int64_t end_ps) {
  return {end_ps - 30, end_ps - 20, end_ps, 64, 0, 1, 7, 0, SESAME_PROTOCOL_RENDEZVOUS, 0};
}

struct Contents {
  std::vector<sesame_call_record> calls;
  std::vector<sesame_message_record> messages;
  std::string error;
  uint64_t discarded = 0;
};

template <typename Record>
void append_records(const RecordBatch& batch, std::vector<Record>& records) {
  if (batch.bytes.empty()) return;
  size_t count = batch.bytes.size() / sizeof(Record);
  size_t had = records.size();
  records.resize(had + count);
  std::memcpy(records.data() + had, batch.bytes.data(), count * sizeof(Record));
}

Contents read_all(const std::string& path, size_t step = 4096) {
  Contents contents;
  auto reader = StreamReader::open(path);
  if (!reader) return contents.error = reader.error().message, contents;
  while (true) {
    auto batch = (*reader)->read(step);
    if (!batch) {
      contents.error = batch.error().to_string();
      return contents;
    }
    append_records(batch->records[0], contents.calls);
    append_records(batch->records[1], contents.messages);
    contents.discarded = (*reader)->discarded();
    if (batch->at_end) return contents;
  }
}

template <typename Record>
bool same(const std::vector<Record>& a, const std::vector<Record>& b) {
  return a.size() == b.size() && !a.empty() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(Record)) == 0;
}

TEST_F(RawTrace, GivesBackWhatWasWritten) {
  auto writer = open_writer({.ranks = 3, .packet_bytes = 512});
  Contents expected;
  for (int64_t i = 1; i <= 1000; ++i) {
    expected.calls.push_back(call(i * 100));
    writer->append(1, expected.calls.back());
    if (i % 3 == 0) {
      expected.messages.push_back(message(i * 100));
      writer->append(1, expected.messages.back());
    }
  }
  ASSERT_TRUE(writer->close().has_value());
  Contents found = read_all(stream_path(1));
  EXPECT_EQ(found.error, "");
  EXPECT_TRUE(same(found.calls, expected.calls));
  EXPECT_TRUE(same(found.messages, expected.messages));
  EXPECT_EQ(found.discarded, 0u);
}

TEST_F(RawTrace, KeepsTheCallNames) {
  open_writer({.ranks = 1, .metadata = {{"MPI_Init", "MPI_Send"}, {}}})->close().value();
  auto metadata = read_metadata(directory_);
  ASSERT_TRUE(metadata.has_value());
  EXPECT_EQ(metadata->call_names, (std::vector<std::string>{"MPI_Init", "MPI_Send"}));
}

TEST_F(RawTrace, HasNoFileForARankThatDidNothing) {
  auto writer = open_writer({.ranks = 100});
  writer->append(42, call(1));
  ASSERT_TRUE(writer->close().has_value());
  auto files = stream_files(directory_);
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(*files, std::vector<std::string>{stream_path(42)});
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_F(RawTrace, KeepsFewFilesOpenForManyRanks) {
  auto writer = open_writer({.ranks = 4096, .packet_bytes = 256, .open_files = 10});
  size_t before = open_descriptors();
  for (int round = 0; round < 20; round += 10) {
    for (uint32_t rank = 0; rank < 4096; ++rank) {
      for (int i = 1; i <= 10; ++i) writer->append(rank, call(round + i));
    }
  }
  EXPECT_LE(open_descriptors(), before + 10);
  ASSERT_TRUE(writer->close().has_value());
  EXPECT_EQ(stream_files(directory_)->size(), 4096u);
  EXPECT_EQ(stream_files(directory_)->at(4095), stream_path(4095));
  EXPECT_EQ(read_all(stream_path(5)).calls.size(), 20u);
  EXPECT_EQ(read_all(stream_path(4000)).calls.size(), 20u);
}

TEST_F(RawTrace, KeepsTheRecordsOfRanksThatTakeTurns) {
  auto writer = open_writer({.ranks = 3});
  for (int64_t i = 1; i <= 100; ++i) {
    for (uint32_t rank = 0; rank < 3; ++rank) writer->append(rank, call(i * (rank + 1)));
  }
  ASSERT_TRUE(writer->close().has_value());
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const Contents found = read_all(stream_path(rank));
    ASSERT_EQ(found.calls.size(), 100u);
    for (size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(found.calls[i].end_ps, static_cast<int64_t>((i + 1) * (rank + 1)));
    }
  }
}

TEST_F(RawTrace, ReportsAFullDiskAndCountsWhatItDiscards) {
  auto writer = open_writer({.ranks = 2, .packet_bytes = 256});
  std::filesystem::create_symlink("/dev/full", stream_path(0));
  uint64_t appended = 0;
  for (; !writer->failure() && appended < 1000; ++appended) writer->append(0, call(1));
  ASSERT_TRUE(writer->failure().has_value());
  for (int i = 0; i < 100; ++i) writer->append(0, call(2));
  EXPECT_EQ(writer->discarded(), 100u);
  auto closed = writer->close();
  ASSERT_FALSE(closed.has_value());
  EXPECT_EQ(closed.error().path, stream_path(0));
  EXPECT_NE(closed.error().message.find("No space left"), std::string::npos);
  EXPECT_NE(closed.error().hint.find("disk is full"), std::string::npos);
}

TEST_F(RawTrace, SaysBeforeTheRunThatADirectoryCannotBeWritten) {
  auto writer = Writer::open({.directory = directory_ + "/missing", .ranks = 1, .metadata = {}});
  ASSERT_FALSE(writer.has_value());
  EXPECT_NE(writer.error().message.find("cannot write"), std::string::npos);
}

TEST_F(RawTrace, GivesTheRecordsInFrontOfACut) {
  auto writer = open_writer({.ranks = 1, .packet_bytes = 512});
  for (int64_t i = 1; i <= 100; ++i) writer->append(0, call(i));
  ASSERT_TRUE(writer->close().has_value());
  size_t size = std::filesystem::file_size(stream_path(0));
  size_t previous = 100;
  size_t unnoticed = 0;
  for (size_t length = size - 1; length > 0; --length) {
    std::filesystem::resize_file(stream_path(0), length);
    Contents found = read_all(stream_path(0), 1 << 20);
    ASSERT_LE(found.calls.size(), previous);
    for (size_t i = 0; i < found.calls.size(); ++i) {
      ASSERT_EQ(found.calls[i].end_ps, static_cast<int64_t>(i + 1));
    }
    if (found.error.empty())
      ++unnoticed;
    else
      ASSERT_NE(found.error.find("cut off"), std::string::npos) << length;
    previous = found.calls.size();
  }
  EXPECT_EQ(previous, 0u);
  EXPECT_LE(unnoticed, size / 450);  // a cut between two packets leaves a whole stream
}

TEST_F(RawTrace, SurvivesRandomDamage) {
  auto writer = open_writer({.ranks = 1, .packet_bytes = 512});
  for (int64_t i = 1; i <= 60; ++i) {
    writer->append(0, call(i));
    writer->append(0, message(i));
  }
  ASSERT_TRUE(writer->close().has_value());
  std::ifstream in(stream_path(0), std::ios::binary);
  std::string good(std::istreambuf_iterator<char>(in), {});
  std::mt19937 random(20261121);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 1 + round % 8; ++i)
      bad[random() % bad.size()] = static_cast<char>(random());
    std::ofstream(stream_path(0), std::ios::binary | std::ios::trunc) << bad;
    Contents found = read_all(stream_path(0));
    EXPECT_LE(found.calls.size() + found.messages.size(), good.size() / 50);
    refused += found.error.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace sesame::trace
