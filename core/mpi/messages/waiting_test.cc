// A strand that sleeps until one of its requests takes effect is woken once, also by messages of
// other workers that are taken between its wake and its turn.
#include "core/mpi/messages/waiting.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <utility>

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

}  // namespace
}  // namespace sesame::mpi
