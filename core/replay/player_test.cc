#include "core/replay/player.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/testing/busy_processor.h"
#include "core/replay/test_plan.h"

namespace sesame::replay {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
// The lateness allowed on a busy machine; bench/ measures what an idle one reaches.
constexpr int64_t kPatience = 80 * kMillisecond;

PlanOperation computation(int64_t gap_ns) {
  PlanOperation operation = nothing();
  operation.gap_ns = gap_ns;
  return operation;
}

PlanOperation sync_after(int64_t gap_ns) {  // I/O that every machine has
  PlanOperation operation = computation(gap_ns);
  operation.call = Call::access;
  operation.file = 0;
  return operation;
}

ReplayResult play(TestPlan& made) {
  const Plan plan = made.open();
  auto transport = no_transport();
  Player player(plan, *transport);
  return *player.play();
}

TEST(Player, BeginsOperationsWhenTheyAreDue) {
  TestPlan made;
  made.add_file("/");
  made.add_stream({sync_after(5 * kMillisecond), sync_after(7 * kMillisecond)}, 3 * kMillisecond);
  const ReplayResult result = play(made);
  EXPECT_GE(result.operations[0].begin_ns, 5 * kMillisecond);
  EXPECT_LT(result.operations[0].lateness_ns, kPatience);
  EXPECT_GE(result.streams[0].end_ns, 15 * kMillisecond);
  // The schedule has computation and I/O, and nothing of the lateness.
  EXPECT_EQ(
      result.streams[0].scheduled_end_ns,
      15 * kMillisecond + result.operations[0].duration_ns + result.operations[1].duration_ns);
}

TEST(Player, CommunicationTakesTimeInTheScheduleAndNoRealTime) {
  TestPlan made;
  made.add_event(1);
  made.links = {0, 0};
  PlanOperation send = computation(40 * kMillisecond);
  send.arrive = 1;
  PlanOperation receive = computation(10 * kMillisecond);
  receive.first_link = 1;
  receive.wait = 1;
  receive.transfer_ns = 2 * kMillisecond;
  made.add_stream({send});
  made.add_stream({receive, computation(kMillisecond)});
  const ReplayResult result = play(made);
  EXPECT_EQ(result.operations[1].begin_ns, 10 * kMillisecond);
  EXPECT_EQ(result.operations[1].duration_ns, 32 * kMillisecond);
  EXPECT_EQ(result.streams[1].scheduled_end_ns, 43 * kMillisecond);
}

TEST(Player, IoWaitsForEventsAtTheEndOfOtherIo) {
  TestPlan made;
  made.add_file("/");
  made.add_event(1);
  made.links = {0, 0};
  PlanOperation first = sync_after(30 * kMillisecond);
  first.arrive_after = 1;
  PlanOperation second = sync_after(0);
  second.first_link = 1;
  second.wait = 1;
  made.add_stream({first});
  made.add_stream({second});
  const ReplayResult result = play(made);
  const OperationResult& one = result.operations[0];
  EXPECT_GE(result.operations[1].begin_ns, one.begin_ns + one.duration_ns - 1000);
}

TEST(Player, DoesWhatThePlanSaysWithFiles) {
  const std::string path = own_path("played");
  TestPlan made;
  const int32_t file = made.add_file(path);
  PlanOperation open = nothing();
  open.call = Call::open;
  open.file = file;
  open.slot = 0;
  open.size = O_CREAT | O_RDWR;
  PlanOperation write = open;
  write.call = Call::pwrite;
  write.offset = 1000;
  write.size = write.expected_bytes = 24;
  PlanOperation close = open;
  close.call = Call::close;
  made.add_stream({open, write, close});
  const ReplayResult result = play(made);
  EXPECT_EQ(result.header.failed_operation, -1);
  EXPECT_EQ(result.operations[1].bytes, 24);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 1024);
  unlink(path.c_str());
}

PlanOperation on_slot(Call call, int32_t file) {
  PlanOperation operation = nothing();
  operation.call = call;
  operation.file = file;
  operation.slot = 0;
  return operation;
}

TEST(Player, AdviceThatDataWillNotBeNeededPutsItOutOfMemory) {
  const std::string path = own_path("dropped");
  const int fd = open(path.c_str(), O_CREAT | O_RDWR, 0644);
  struct statfs system {};
  ASSERT_EQ(fstatfs(fd, &system), 0);
  if (system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "files of tmpfs are always in memory";
  constexpr size_t kBytes = 1 << 16;
  ASSERT_EQ(pwrite(fd, std::string(kBytes, 'x').c_str(), kBytes, 0), kBytes);
  fsync(fd);
  void* const mapped = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  const auto is_in_memory = [&] {
    unsigned char pages[kBytes / 4096];
    EXPECT_EQ(mincore(mapped, kBytes, pages), 0);
    return (pages[0] & 1) != 0;
  };
  for (const uint16_t flags : {uint16_t{0}, uint16_t{kDontNeed}}) {
    EXPECT_TRUE(is_in_memory());
    TestPlan made;
    const int32_t file = made.add_file(path);
    PlanOperation opened = on_slot(Call::open, file);
    PlanOperation advised = on_slot(Call::posix_fadvise, file);
    advised.flags = flags;
    made.add_stream({opened, advised, on_slot(Call::close, file)});
    EXPECT_EQ(play(made).header.failed_operation, -1);
  }
  EXPECT_FALSE(is_in_memory());
  munmap(mapped, kBytes);
  close(fd);
  unlink(path.c_str());
}

PlanOperation with_size(PlanOperation operation, int64_t size) {
  operation.size = operation.expected_bytes = size;
  return operation;
}

void expect_all_succeed(TestPlan& made) {
  const ReplayResult result = play(made);
  for (size_t i = 0; i < result.operations.size(); ++i) {
    EXPECT_EQ(result.operations[i].error, 0) << "operation " << i;
    const PlanOperation& operation = made.operations[i];
    if (operation.call == Call::open) continue;
    EXPECT_EQ(result.operations[i].bytes, operation.expected_bytes) << "operation " << i;
  }
}

TEST(Player, AStreamOnADescriptorHasItsAccessMode) {
  const std::string path = own_path("stream");
  TestPlan made;
  const int32_t file = made.add_file(path);
  made.add_stream({with_size(on_slot(Call::open, file), O_CREAT | O_RDWR),
                   on_slot(Call::fdopen, file), with_size(on_slot(Call::fwrite, file), 100),
                   on_slot(Call::fseek, file), with_size(on_slot(Call::fread, file), 100),
                   on_slot(Call::fclose, file)});
  expect_all_succeed(made);
  unlink(path.c_str());
}

TEST(Player, ADirectoryIsReadThroughItsDescriptor) {
  TestPlan made;
  const int32_t file = made.add_file("/");
  made.add_stream({with_size(on_slot(Call::open, file), O_RDONLY | O_DIRECTORY),
                   on_slot(Call::fdopendir, file), on_slot(Call::readdir, file),
                   on_slot(Call::fstat, file), on_slot(Call::closedir, file)});
  expect_all_succeed(made);
}

TEST(Player, ADirectoryIsRemovedAsAFileIs) {
  const std::string path = own_path("directory");
  TestPlan made;
  const int32_t file = made.add_file(path);
  made.add_stream({on_slot(Call::mkdir, file), on_slot(Call::unlink, file)});
  expect_all_succeed(made);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(Player, AFileThatTheRunCreatesIsOpenedAtItsFirstUse) {
  const std::string path = own_path("late");
  TestPlan made;
  const int32_t file = made.add_file(path);
  made.opened.push_back({1, 1, 0, file, O_RDWR, 1});
  made.add_event(1);
  made.links = {0, 0};
  PlanOperation create = with_size(on_slot(Call::open, file), O_CREAT | O_EXCL | O_WRONLY);
  create.arrive_after = 1;
  PlanOperation write = with_size(on_slot(Call::write, file), 10);
  write.first_link = 1;
  write.wait = 1;
  made.add_stream({create});
  made.add_stream({write});
  expect_all_succeed(made);
  unlink(path.c_str());
}

TEST(Player, MappedPagesAreReachedAfterTheFileIsClosed) {
  const std::string path = own_path("mapped");
  TestPlan made;
  const int32_t file = made.add_file(path);
  PlanOperation map = on_slot(Call::mmap, file);
  map.offset = 0;
  map.size = 100;
  PlanOperation touch = with_size(on_slot(Call::touch_read, file), 4096);
  touch.offset = 0;
  made.add_stream({with_size(on_slot(Call::open, file), O_CREAT | O_RDWR),
                   with_size(on_slot(Call::write, file), 100), map, on_slot(Call::close, file),
                   touch, on_slot(Call::munmap, file)});
  expect_all_succeed(made);
  unlink(path.c_str());
}

TEST(Player, StopsAllThreadsWhenTheTargetFails) {
  TestPlan made;
  made.add_event(1);
  made.links = {0};
  const int32_t file = made.add_file("/dev/full");
  PlanOperation open = nothing();
  open.call = Call::open;
  open.file = file;
  open.slot = 0;
  open.size = O_WRONLY;
  PlanOperation write = open;
  write.call = Call::write;
  write.size = write.expected_bytes = 10;
  PlanOperation waits = nothing();
  waits.wait = 1;  // for an event that never happens
  made.add_stream({open, write, sync_after(kMillisecond)});
  made.add_stream({waits, sync_after(kMillisecond)});
  const ReplayResult result = play(made);
  EXPECT_EQ(result.header.failed_operation, 1);
  EXPECT_EQ(result.header.failed_error, static_cast<uint32_t>(ENOSPC));
  EXPECT_EQ(result.operations[2].begin_ns, -1);
  EXPECT_EQ(result.operations[4].begin_ns, -1);
}

TEST(Player, AFailureThatWasRecordedEndsNothing) {
  TestPlan made;
  made.add_file("/nowhere/at/all");
  made.add_stream({sync_after(0), sync_after(0)});
  made.operations[0].expected_error = ENOENT;
  const ReplayResult result = play(made);
  EXPECT_EQ(result.header.failed_operation, -1);
  EXPECT_EQ(result.operations[1].error, ENOENT);
}

TEST(Player, AComputationTakesLongerWhereOthersHaveItsProcessor) {
  constexpr int64_t kComputed = 100 * kMillisecond;
  TestPlan made;
  made.add_file("/");
  made.add_stream({sync_after(kComputed)});
  const BusyProcessor shared;  // also by the threads of the replay, which inherit it
  const StreamResult asleep = play(made).streams[0];
  EXPECT_EQ(asleep.preempted_ns, 0);
  made.streams[0].flags = kKeepsProcessor;
  const ReplayResult result = play(made);
  const StreamResult& kept = result.streams[0];
  EXPECT_GT(kept.preempted_ns, kMillisecond);
  EXPECT_EQ(kept.scheduled_end_ns,
            kComputed + kept.preempted_ns + result.operations[0].duration_ns);
  EXPECT_GE(result.operations[0].begin_ns, kComputed + kept.preempted_ns);
}

TEST(Player, AThousandThreadsPassABarrier) {
  TestPlan made;
  constexpr uint32_t kThreads = 1000;
  made.add_event(kThreads);
  made.links = {0, 0};
  for (uint32_t i = 0; i < kThreads; ++i) {
    PlanOperation barrier = computation(i * 1000);
    barrier.arrive = barrier.wait = 1;
    made.add_stream({barrier});
  }
  const ReplayResult result = play(made);
  for (const StreamResult& stream : result.streams) {
    EXPECT_EQ(stream.scheduled_end_ns, (kThreads - 1) * 1000);
  }
}

}  // namespace
}  // namespace sesame::replay
