// Which events need no synchronisation. All ranks run in this process, but the last one counts as a
// rank of another worker; it only sends, so no message has to leave.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/mpi/api.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::kCrossbarWithRendezvous;
using testing::SimulatedJob;

constexpr int kRanks = 4;
constexpr int kElsewhere = kRanks - 1;
constexpr int kTag = 5;

class OtherWorker final : public RemoteRanks {
 public:
  OtherWorker() : RemoteRanks({0, 0, 0, 1}, 0) {}

  void send(int, const MessageEnvelope&, const Data&, const network::Passage*) override { no(); }
  void acknowledge(const MessageEnvelope&, const SimTime&) override { no(); }
  void release_buffer(const MessageEnvelope&, const SimTime&) override { no(); }
  void clear_to_send(RequestObject&, const MessageEnvelope&, const MessageRecord&,
                     const SimTime&) override {
    no();
  }
  void send_data(int, uint64_t, const SimTime&) override { no(); }
  void send_data(int, uint64_t, const network::Passage&) override { no(); }
  void post(Module, int, std::span<const char>, std::span<const char>) override { no(); }
  void catch_up() override {}
  void tell_files(std::span<const char>) override { no(); }
  void interface_reserved(int, const SimTime&) override { no(); }
  void check_call(uint16_t) const override {}
  void refuse(const std::string&) const override { no(); }
  bool are_on_several_hosts() const override { return false; }
  void refuse_on_several_hosts(const std::string&) const override { no(); }
  void check_thread() const override {}
  void end_run(const std::string&, const std::string&) const override { no(); }

 private:
  [[noreturn]] static void no() {
    CHECK(false);
    __builtin_unreachable();
  }
};

// Lets each event fire for which it is asked.
class CountingSynchronizer final : public pdes::Synchronizer {
 public:
  explicit CountingSynchronizer(pdes::Executive& executive) : executive_(executive) {}
  bool synchronize(const SimTime& earliest) override {
    if (earliest == SimTime::never()) return false;
    ++queries;
    executive_.allow_until(earliest + SimTime::from_ps(1));
    return true;
  }
  int queries = 0;

 private:
  pdes::Executive& executive_;
};

// How many events had to wait for other workers. `team`: a communicator of these ranks.
int queries(const std::vector<int>& members, const std::function<void(int rank, Comm team)>& body,
            const std::string& network = kCrossbarWithRendezvous) {
  SimulatedJob job(kRanks, network);
  std::vector<Comm> teams(kRanks, MPI_COMM_NULL);
  job.run([&](int rank) {
    const bool is_member = std::ranges::find(members, rank) != members.end();
    Comm_split(MPI_COMM_WORLD, is_member ? 1 : MPI_UNDEFINED, rank,
               &teams[static_cast<size_t>(rank)]);
  });
  OtherWorker other;
  CountingSynchronizer synchronizer(job.world().executive);
  job.world().remote = &other;
  job.world().executive.set_synchronizer(&synchronizer);
  job.world().executive.fire_independent_events();
  job.run([&](int rank) {
    body(rank, teams[static_cast<size_t>(rank)]);
    self().ended = true;
  });
  job.world().remote = nullptr;
  job.world().executive.set_synchronizer(nullptr);
  return synchronizer.queries;
}

// Computes so long, and lets everything that is earlier happen. Costs a query.
void yield_after(SimTime duration) {
  self().now += duration;
  yield_until_now(self());
}

void send(int to, Comm comm, int bytes = 4) {
  const std::vector<char> data(static_cast<size_t>(bytes));
  Send(data.data(), bytes, MPI_CHAR, to, kTag, comm);
}

void receive(int from, Comm comm) {
  char data[2000];
  Recv(data, sizeof data, MPI_CHAR, from, kTag, comm, MPI_STATUS_IGNORE);
}

// Rank 0 answers the others, who have different work to do.
void share_work(int rank, Comm comm, int others, int bytes = 4) {
  for (int i = 0; i < 3 * (rank == 0 ? others : 1); ++i) {
    if (rank == 0) {
      char data[2000];
      Status status;
      Recv(data, sizeof data, MPI_CHAR, MPI_ANY_SOURCE, kTag, comm, &status);
      send(status.MPI_SOURCE, comm);
    } else {
      self().now += SimTime::from_ns(1000 * rank);
      send(0, comm, bytes);
      receive(0, comm);
    }
  }
}

TEST(Independence, ReceivesFromAnySourceOfOneWorkerDoNotWait) {
  EXPECT_EQ(queries({0, 1, 2},
                    [](int rank, Comm team) {
                      if (rank != kElsewhere) share_work(rank, team, 2);
                    }),
            0);
}

TEST(Independence, ReceivesFromAnySourceOfTheWorldWait) {
  EXPECT_GT(queries({0, 1, 2},
                    [](int rank, Comm) {
                      if (rank != kElsewhere) share_work(rank, MPI_COMM_WORLD, 2);
                    }),
            3);
}

// A rendezvous ends when the sender's interface has injected the data, which other messages delay.
TEST(Independence, AnnouncedMessagesOfOtherSourcesWait) {
  EXPECT_GT(queries({0, 1, 2},
                    [](int rank, Comm team) {
                      if (rank != kElsewhere) share_work(rank, team, 2, 1500);
                    }),
            0);
}

TEST(Independence, TheOnlySourceMayBeElsewhere) {
  const auto body = [](int rank, Comm team) {
    if (rank == 0) receive(MPI_ANY_SOURCE, team);
    if (rank == kElsewhere) send(0, team);
  };
  EXPECT_EQ(queries({0, kElsewhere}, body), 0);
}

// Rank 2 sends early, but rank 1, when it hears from elsewhere, could send earlier.
TEST(Independence, ASourceThatWaitsForAnotherWorkerCounts) {
  const auto body = [](bool waits, SimTime early) {
    return [waits, early](int rank, Comm team) {
      if (rank == kElsewhere && waits) {
        yield_after(SimTime::from_ns(1000 * 500));
        send(1, MPI_COMM_WORLD);
      }
      if (rank == 0) {
        for (int i = 0; i < 2; ++i) receive(MPI_ANY_SOURCE, team);
      }
      if (rank == 1) {
        self().now += early;
        if (waits) receive(kElsewhere, MPI_COMM_WORLD);
        send(0, team);
      }
      if (rank == 2) {
        self().now += SimTime::from_ns(1000 * 20);
        send(0, team);
      }
    };
  };
  EXPECT_EQ(queries({0, 1, 2}, body(false, SimTime::zero())), 0);
  EXPECT_GT(queries({0, 1, 2}, body(true, SimTime::zero())), 1);
  // Its clock is past that.
  EXPECT_EQ(queries({0, 1, 2}, body(true, SimTime::from_ns(1000 * 300))), 1);
}

TEST(Independence, AProbeWaitsOnlyForSourcesThatItMayFind) {
  const auto body = [](int sender, int source) {
    return [sender, source](int rank, Comm team) {
      if (rank == sender) send(0, team);
      if (rank != 0) return;
      Status status;
      Probe(source, kTag, team, &status);
      receive(status.MPI_SOURCE, team);
    };
  };
  EXPECT_EQ(queries({0, 1, kElsewhere}, body(kElsewhere, 2)), 0);
  EXPECT_EQ(queries({0, 1, kElsewhere}, body(kElsewhere, MPI_ANY_SOURCE)), 0);
  EXPECT_GT(queries({0, 1, kElsewhere}, body(1, MPI_ANY_SOURCE)), 0);
}

// Rank 1 waits for a message of another worker, and for one of rank 0 that depends on its own.
TEST(Independence, OfSeveralRequestsOneIsEnoughIfAllMustComplete) {
  const auto body = [](bool waits_for_any) {
    return [waits_for_any](int rank, Comm team) {
      if (rank == kElsewhere) {
        yield_after(SimTime::from_ns(1000 * 400));
        send(1, MPI_COMM_WORLD);
      }
      if (rank == 2) send(0, team);
      if (rank == 0) {
        self().now += SimTime::from_ns(1000 * 10);
        receive(MPI_ANY_SOURCE, team);
        send(1, team);
      }
      if (rank != 1) return;
      char data[2][4];
      Request requests[2];
      Irecv(data[0], 4, MPI_CHAR, kElsewhere, kTag, MPI_COMM_WORLD, &requests[0]);
      Irecv(data[1], 4, MPI_CHAR, 0, kTag, team, &requests[1]);
      int index = 0;
      if (waits_for_any) Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      Waitall(2, requests, MPI_STATUSES_IGNORE);
    };
  };
  EXPECT_EQ(queries({0, 1, 2}, body(false)), 1);
  EXPECT_GT(queries({0, 1, 2}, body(true)), 1);
}

// What a program polls for may change without a message.
TEST(Independence, PollsWait) {
  const auto body = [](int rank, Comm team) {
    if (rank == 1) {
      self().now += SimTime::from_ns(1000 * 30);
      send(0, team);
    }
    if (rank != 0) return;
    for (int found = 0; found == 0;) Iprobe(1, kTag, team, &found, MPI_STATUS_IGNORE);
    receive(1, team);
  };
  EXPECT_GT(queries({0, 1}, body), 10);
}

// Memory in windows changes without a message.
TEST(Independence, NothingIsIndependentOnceThereAreWindows) {
  const auto body = [](int rank, Comm team) {
    if (rank == kElsewhere) return;
    Win window = MPI_WIN_NULL;
    char memory[8];
    Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, team, &window);
    Win_free(&window);
    share_work(rank, team, 2);
  };
  EXPECT_GT(queries({0, 1, 2}, body), 3);
}

// Messages may be on cards or links.
TEST(Independence, NothingIsIndependentWhereMessagesShareCards) {
  const auto body = [](int rank, Comm team) {
    if (rank != kElsewhere) share_work(rank, team, 2);
  };
  std::string network = kCrossbarWithRendezvous;
  const std::string table = "[network]\n";
  ASSERT_TRUE(network.starts_with(table));
  network.insert(table.size(), "sharing = \"interface\"\n");
  EXPECT_GT(queries({0, 1, 2}, body, network), 3);
}

}  // namespace
}  // namespace sesame::mpi
