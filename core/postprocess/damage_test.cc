// Collation ends and reports damage, whatever bytes a raw trace has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "core/postprocess/collation.h"

namespace sesame::postprocess {
namespace {

// Writes records of all types, with values that make sense and some that do not.
class Bytes {
 public:
  template <typename T>
  void put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_s40(int64_t value) { text_.append(reinterpret_cast<const char*>(&value), 5); }
  void put_text(std::string_view text) { text_.append(text).push_back('\0'); }
  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

using Random = std::mt19937_64;

int64_t small(Random& random) { return static_cast<int64_t>(random() % 8); }

#define PUT_u8(v) bytes.put(static_cast<uint8_t>(v));
#define PUT_u16(v) bytes.put(static_cast<uint16_t>(v));
#define PUT_call(v) bytes.put(static_cast<uint16_t>(v));
#define PUT_u32(v) bytes.put(static_cast<uint32_t>(v));
#define PUT_u64(v) bytes.put(static_cast<uint64_t>(v));
#define PUT_s16(v) bytes.put(static_cast<int16_t>(v));
#define PUT_s32(v) bytes.put(static_cast<int32_t>(v));
#define PUT_s40(v) bytes.put_s40(v);
#define PUT_s64(v) bytes.put(static_cast<int64_t>(v));

// One function for each type, wide or narrow.
#define SESAME_TRACED_BEGIN(type, id, meaning)                         \
  void put_##type(Bytes& bytes, Random& random, uint32_t time) {       \
    const bool wide = random() % 4 == 0;                               \
    bytes.put(static_cast<uint8_t>(wide ? (id) | SESAME_WIDE : (id))); \
    bytes.put(time);
#define SESAME_TRACED_FIELD(type, field, narrow, wide_type, meaning) \
  if (wide) {                                                        \
    PUT_##wide_type(small(random))                                   \
  } else {                                                           \
    PUT_##narrow(small(random))                                      \
  }
#define SESAME_TRACED_TEXT(type, field, meaning) bytes.put_text("a/b");
#define SESAME_TRACED_LIST(type, field, meaning) \
  bytes.put(uint32_t{3});                        \
  for (int32_t value : {0, 4, 1}) bytes.put(value);
#define SESAME_TRACED_END(type) }
#include "core/trace/traced_records.def"

using Put = void (*)(Bytes&, Random&, uint32_t);
constexpr Put kPuts[] = {
#define SESAME_TRACED_BEGIN(type, id, meaning) &put_##type,
#include "core/trace/traced_records.def"
};

std::string stream(Random& random, uint32_t pid) {
  Bytes bytes;
  uint64_t time = 1000;
  for (uint64_t number = 0; number < 4; ++number) {
    Bytes records;
    SesamePacketStart start = {
        SESAME_PACKET_MAGIC, SESAME_TRACED_STREAM, pid, 0, time, 0, 0, 0, number, 0};
    for (int i = 0; i < 60; ++i) {
      time += random() % 50;
      size_t which = number == 0 && i < 2 ? static_cast<size_t>(i) : random() % std::size(kPuts);
      kPuts[which](records, random, static_cast<uint32_t>(time));
    }
    start.timestamp_end = time;
    start.content_bits = start.packet_bits = 8 * (sizeof start + records.size());
    bytes.put(start);
    for (char c : records.text()) bytes.put(c);
  }
  return bytes.text();
}

class DamagedTrace : public ::testing::Test {
 protected:
  DamagedTrace() {
    std::string pattern = ::testing::TempDir() + "/sesame_damage_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::ofstream(directory_ + "/metadata")
        << "/* CTF 1.8 */ env { sesame_traced_format = " << SESAME_TRACED_FORMAT
        << "; };\n"
           "typealias enum : call_number_t { \"unknown\", \"open\", \"write\", \"close\", "
           "\"MPI_Send\", \"MPI_Irecv\", \"MPI_Recv_init\", \"MPI_Startall\" } := call_t;\n";
  }
  ~DamagedTrace() override { std::filesystem::remove_all(directory_); }

  void write(uint32_t pid, const std::string& bytes) {
    std::string path = directory_ + "/node." + std::to_string(pid) + ".0.0.stream";
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // (rows, damage)
  std::pair<size_t, size_t> collate(Pruning pruning) {
    auto collation = Collation::open(
        directory_, {.pruning = pruning, .threads = 2, .batch_rows = 64, .spill_directory = {}});
    EXPECT_TRUE(collation.has_value());
    size_t rows = 0;
    while (true) {
      Collation::Batch batch = (*collation)->next();
      if (auto* io = std::get_if<std::unique_ptr<IoColumns>>(&batch)) {
        rows += (*io)->rows;
      } else if (auto* mpi = std::get_if<std::unique_ptr<MpiColumns>>(&batch)) {
        rows += (*mpi)->rows;
      } else {
        break;
      }
    }
    size_t damage = 0;
    for (const ProcessSurvey& survey : (*collation)->job().surveys) {
      damage += survey.walked.damage.size();
    }
    return {rows, damage};
  }

  std::string directory_;
};

TEST_F(DamagedTrace, ReadsRecordsOfAllTypes) {
  Random random(1);
  write(1, stream(random, 1));
  auto [rows, damage] = collate(Pruning::kNone);
  EXPECT_GT(rows, 150u);
  EXPECT_EQ(damage, 0u);
}

TEST_F(DamagedTrace, SurvivesAnyFlippedBytes) {
  size_t damaged = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::string bytes = stream(random, 1);
    for (uint64_t flips = 1 + random() % 8; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    write(1, bytes);
    write(2, stream(random, 2));
    damaged += collate(static_cast<Pruning>(seed % 3)).second > 0;
  }
  EXPECT_GT(damaged, 40u);
}

TEST_F(DamagedTrace, GivesTheRowsBeforeACut) {
  Random random(7);
  std::string bytes = stream(random, 1);
  write(1, bytes);
  size_t previous = collate(Pruning::kNone).first;
  size_t unnoticed = 0;
  for (size_t length = bytes.size() - 1; length > 0; length -= std::min<size_t>(length, 37)) {
    write(1, bytes.substr(0, length));
    auto [rows, damage] = collate(Pruning::kCausal);
    // Pruning drops some rows, so the number of rows is only bounded.
    EXPECT_LE(rows, previous) << length;
    unnoticed += damage == 0;
  }
  EXPECT_LE(unnoticed, 4u);  // a cut between two packets cannot be noticed
}

}  // namespace
}  // namespace sesame::postprocess
