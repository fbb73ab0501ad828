// The supervisor gets the records that a worker made, in their order, or learns why it does not.
#include "core/sim/worker_recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>

namespace sesame::sim {
namespace {

const std::atomic<uint64_t> kRound = 3;

// Each record as a line.
class Lines final : public mpi::Recorder {
 public:
  void record(const mpi::CallRecord& call) override {
    add("call",
        {call.rank, call.call, call.begin.ps(), call.end.ps(), call.compute_before.ps(), call.peer,
         call.tag, call.context, static_cast<int64_t>(call.bytes), int64_t{call.polling}});
  }
  void record(const mpi::MessageRecord& message) override {
    add("message", {message.source, message.destination, message.tag, message.context,
                    static_cast<int64_t>(message.bytes), message.sent.ps(), message.arrived.ps(),
                    message.received.ps(), static_cast<int64_t>(message.protocol)});
  }
  void record(int rank, const storage::FileCallRecord& call) override {
    add(call.name, {rank, call.end_ps, static_cast<int64_t>(call.size)});
    text += call.path + "\n";
  }
  bool is_full(int) const override { return false; }
  void write_until(int rank, SimTime now) override { add("until", {rank, now.ps()}); }

  std::string text;

 private:
  void add(const char* kind, std::initializer_list<int64_t> values) {
    text += kind;
    for (const int64_t value : values) text += " " + std::to_string(value);
    text += "\n";
  }
};

void make_records(mpi::Recorder& recorder) {
  const auto ps = [](int64_t time) { return SimTime::from_ps(time); };
  recorder.record(mpi::CallRecord{1, 17, ps(5), ps(9), ps(3), 0, -2, 4, uint64_t{1} << 40, true});
  recorder.record(mpi::MessageRecord{0, 1, 99, 7, 123, ps(10), ps(int64_t{1} << 50), ps(12),
                                     mpi::Protocol::kGet});
  storage::FileCallRecord file_call;
  file_call.name = "read";
  file_call.path = "/data/input";
  file_call.end_ps = 11;
  file_call.size = 4096;
  recorder.record(1, file_call);
  recorder.write_until(1, ps(20));
  recorder.record(mpi::CallRecord{0, 0, ps(0), ps(0), ps(0), -1, 0, 0, 0, false});
}

TEST(WorkerRecorder, RecordsAreReplayedInTheirOrder) {
  std::FILE* file = std::tmpfile();
  WorkerRecorder recorder(file, 2, kRound);
  make_records(recorder);
  recorder.flush();
  EXPECT_EQ(recorder.error_number(), 0);
  Lines expected, replayed;
  make_records(expected);
  ASSERT_TRUE(replay_records(file, replayed).has_value());
  EXPECT_EQ(replayed.text, expected.text);
  ASSERT_EQ(recorder.first_uses().size(), 1u);
  EXPECT_EQ(recorder.first_uses()[0].path, "/data/input");
  EXPECT_EQ(recorder.first_uses()[0].round, 3u);
  EXPECT_EQ(recorder.first_uses()[0].end_ps, 11);
  std::fclose(file);
}

TEST(WorkerRecorder, ARankIsFullUntilItsRecordsAreWritten) {
  std::FILE* file = std::tmpfile();
  WorkerRecorder recorder(file, 2, kRound);
  mpi::CallRecord call{};
  call.rank = 1;
  for (int i = 0; i < 100'000 && !recorder.is_full(1); ++i) recorder.record(call);
  EXPECT_TRUE(recorder.is_full(1));
  EXPECT_FALSE(recorder.is_full(0));
  recorder.write_until(1, SimTime::zero());
  EXPECT_FALSE(recorder.is_full(1));
  std::fclose(file);
}

TEST(WorkerRecorder, KnowsThatADiskIsFull) {
  std::FILE* file = std::fopen("/dev/full", "w+");
  ASSERT_NE(file, nullptr);
  WorkerRecorder recorder(file, 2, kRound);
  make_records(recorder);
  EXPECT_EQ(recorder.error_number(), 0);
  recorder.flush();
  EXPECT_EQ(recorder.error_number(), ENOSPC);
  std::fclose(file);
}

}  // namespace
}  // namespace sesame::sim
