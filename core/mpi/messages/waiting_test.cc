// When strands are woken that sleep until one of their requests takes effect: not twice, and no
// later because the simulator knew more when they fell asleep.
#include "core/mpi/messages/waiting.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"
#include "core/pdes/synchronizer.h"

namespace sesame::mpi {
namespace {

// Lets all events fire. Something arrives from another worker, before the next fiber runs.
class Arrival final : public pdes::Synchronizer {
 public:
  explicit Arrival(pdes::Executive& executive) : executive_(executive) {
    executive.set_synchronizer(this);
    executive.use_time_slices();
  }
  void set(std::function<void()> effect) { effect_ = std::move(effect); }
  bool has_come() const { return !effect_; }

  bool synchronize(const SimTime& earliest) override {
    executive_.allow_until(SimTime::never());
    return earliest != SimTime::never();
  }
  bool has_arrivals() override { return !has_come(); }
  bool take_arrivals() override {
    std::exchange(effect_, nullptr)();
    return true;
  }

 private:
  pdes::Executive& executive_;
  std::function<void()> effect_;
};

TEST(Waiting, AMessageThatArrivesAfterTheWakeDoesNotWakeAgain) {
  constexpr SimTime kWake = SimTime::from_ns(100), kLater = SimTime::from_ns(500);
  testing::SimulatedJob job(1);
  Arrival arrival(job.world().executive);
  job.run([&](int) {
    Strand& strand = self();
    RequestObject first, second;
    const std::array<RequestObject*, 2> requests{&first, &second};
    arrival.set([&] { complete(second, kLater); });
    sleep_until_effect(strand, requests, kWake);
    EXPECT_TRUE(arrival.has_come());
    EXPECT_EQ(strand.wake.time(), kWake);
    EXPECT_FALSE(strand.wake.is_scheduled());
    EXPECT_TRUE(second.complete);
    EXPECT_FALSE(first.complete);
  });
}

// From the 4,097th poll on, at 409.6 us, idle polls also sleep. A message takes effect in the
// middle of that one. Without shared cards the simulator knows this before the poll.
TEST(Waiting, AMessageThatTakesEffectDuringAPollEndsItsSleep) {
  const std::string alone = testing::kCrossbar;
  constexpr SimTime kEffect = SimTime::from_ns(409'650), kFlight = SimTime::from_ns(1600);
  for (const std::string& network :
       {alone, "[network]\nsharing = \"interface\"" + alone.substr(9)}) {
    for (const int sender : {0, 1}) {
      testing::SimulatedJob job(2, network);
      job.run([&](int rank) {
        if (rank == sender) {
          self().now += elapsed(kFlight, kEffect);
          EXPECT_EQ(Send(nullptr, 0, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD), MPI_SUCCESS);
          return;
        }
        Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(Irecv(nullptr, 0, MPI_BYTE, sender, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
        int polls = 0;
        for (int flag = 0; flag == 0; ++polls) mpi::Test(&request, &flag, MPI_STATUS_IGNORE);
        EXPECT_EQ(polls, 4098) << network << sender;
        EXPECT_EQ(self().now, SimTime::from_ns(409'700 + 400)) << network << sender;
      });
    }
  }
}

}  // namespace
}  // namespace sesame::mpi
