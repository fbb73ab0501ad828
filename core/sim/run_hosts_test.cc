// Two hosts that are objects of one process, connected by a socket pair, with a worker each.
#include "core/sim/run_hosts.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sesame::sim {
namespace {

struct TestHost {
  // `records`: the path of the files of records.
  TestHost(int here, int descriptor, const char* records)
      : descriptor(descriptor),
        memory(pdes::SharedMemory::create(2, 1 << 16).value()),
        run(std::make_unique<SharedRun>()) {
    memory->set_here(here, 1);
    scenario.workers = 2;
    scenario.hosts = {{"a", "b"}, here, {descriptor}, 0};
    for (int worker = 0; worker < 2; ++worker) {
      states.push_back(std::tmpfile());
      this->records.push_back(std::fopen(records, "w+"));
    }
    hosts = std::make_unique<RunHosts>(scenario, SimTime::from_ps(100), *memory, *run, states,
                                       this->records);
  }
  ~TestHost() {
    close(descriptor);
    for (const auto& files : {states, records})
      for (std::FILE* file : files) std::fclose(file);
  }

  int descriptor;
  Scenario scenario;
  std::unique_ptr<pdes::SharedMemory> memory;
  std::unique_ptr<SharedRun> run;
  std::vector<std::FILE*> states, records;
  std::unique_ptr<RunHosts> hosts;
};

class RunHostsTest : public testing::Test {
 protected:
  void connect(const char* records_of_first) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    first = std::make_unique<TestHost>(0, ends[0], records_of_first);
    further = std::make_unique<TestHost>(1, ends[1], "/dev/null");
  }

  // What the first host learns while the further one fails.
  std::string failure_of_further() {
    std::thread other([this] { further->hosts->fail({"its disk is gone", "replace it", {}, 0}); });
    std::string learned = "nothing";
    const auto latest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < latest) {
      if (auto moved = first->hosts->step(); !moved) {
        learned = moved.error().message + ", " + moved.error().hint;
        break;
      }
      first->hosts->pause();
    }
    shutdown(first->descriptor, SHUT_RDWR);
    other.join();
    return learned;
  }

  std::unique_ptr<TestHost> first, further;
};

TEST_F(RunHostsTest, AFailureAfterAnotherReasonToEndIsGiven) {
  connect("/dev/null");
  ASSERT_TRUE(first->run->decide(3, "a rank has ended", false, ""));
  first->memory->state().stopped = true;
  while (!further->memory->state().stopped) {
    ASSERT_TRUE(first->hosts->step());
    ASSERT_TRUE(further->hosts->step());
  }
  EXPECT_EQ(std::string(further->run->text), "a rank has ended");
  EXPECT_EQ(failure_of_further(), "its disk is gone, replace it");
}

TEST_F(RunHostsTest, AFailureIsGivenIfAWorkerWasKilledWhileItDecided) {
  connect("/dev/null");
  further->run->verdict = Verdict::kEnds;  // and `stopped` is not set
  EXPECT_EQ(failure_of_further(), "its disk is gone, replace it");
}

TEST(SharedRun, TheFirstVerdictHolds) {
  const auto again = std::make_unique<SharedRun>(), ends = std::make_unique<SharedRun>();
  EXPECT_TRUE(again->begin_again());
  EXPECT_TRUE(again->begin_again()) << "a second worker asks for it";
  EXPECT_FALSE(again->decide(3, "a rank has ended", false, ""));
  EXPECT_TRUE(again->begins_again());
  EXPECT_TRUE(ends->decide(3, "a rank has ended", false, ""));
  EXPECT_FALSE(ends->begin_again());
  EXPECT_FALSE(ends->begins_again());
  EXPECT_FALSE(ends->is_failure());
  EXPECT_EQ(ends->status, 3);
}

TEST_F(RunHostsTest, ALongReasonIsCut) {
  connect("/dev/null");
  ASSERT_TRUE(further->run->decide(4, std::string(1 << 20, 'x'), false, ""));
  further->memory->state().stopped = true;
  while (!first->memory->state().stopped) {
    ASSERT_TRUE(further->hosts->step());
    ASSERT_TRUE(first->hosts->step());
  }
  EXPECT_EQ(first->run->status, 4);
  EXPECT_EQ(std::string(first->run->text), std::string(SharedRun::kVerdictBytes - 1, 'x'));
}

TEST_F(RunHostsTest, OtherBytesInPlaceOfAVerdictAreRefused) {
  struct Message {
    pdes::BridgeMessage head;
    uint32_t verdict[4];
  };
  for (const uint32_t bytes : {1U << 31, 1U, uint32_t{SharedRun::kVerdictBytes}}) {
    connect("/dev/null");
    const Message message{{.bytes = 16, .kind = pdes::BridgeMessage::Kind::kFirstOther},
                          {0, 1, bytes, 0}};
    ASSERT_EQ(send(further->descriptor, &message, sizeof message, 0), ssize_t{sizeof message});
    const auto moved = first->hosts->step();
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().message, "host b: it sent what is no message");
  }
}

// The records are fewer than a buffer, so that only its end tells that the disk is full.
TEST_F(RunHostsTest, AFullDiskAtTheFirstHostIsAnErrorOfTheRecords) {
  connect("/dev/full");
  std::fclose(further->records[1]);
  further->records[1] = std::tmpfile();
  std::fputs("a record", further->records[1]);
  std::thread other([this] { EXPECT_TRUE(further->hosts->send_results(1e-9)); });
  while (!first->hosts->is_complete()) {
    ASSERT_TRUE(first->hosts->step());
    first->hosts->pause();
  }
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(first->hosts->step());
  other.join();
  EXPECT_EQ(first->run->workers[1].record_error, ENOSPC);
}

}  // namespace
}  // namespace sesame::sim
