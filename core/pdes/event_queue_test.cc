#include "core/pdes/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace sesame::pdes {
namespace {

struct Numbered : ConditionalEvent {
  void fire() override {}
  int number = 0;
};

TEST(EventQueue, GivesEventsInOrderOfTimeWhateverTheOrderOfScheduling) {
  std::mt19937 random(1);
  std::vector<Numbered> events(1000);
  EventQueue queue;
  for (auto& event : events) {
    queue.schedule(event, SimTime::from_ns(static_cast<int64_t>(random() % 500)));
  }
  SimTime last = SimTime::zero();
  for (size_t i = 0; i < events.size(); ++i) {
    const SimTime time = queue.take_earliest().time();
    EXPECT_GE(time, last);
    last = time;
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, EventsThatAreScheduledOnceFireAmongTheOthers) {
  std::mt19937 random(3);
  std::vector<Numbered> events(1000);
  EventQueue queue;
  for (size_t i = 0; i < events.size(); ++i) {
    const SimTime time = SimTime::from_ns(static_cast<int64_t>(random() % 500));
    const EventOrder order{EventClass::kTransit, static_cast<uint32_t>(i), 0};
    if (i % 2 == 0) {
      queue.schedule_once(events[i], time, order);
    } else {
      queue.schedule(events[i], time, order);
    }
  }
  for (size_t i = 1; i < events.size(); i += 4) queue.withdraw(events[i]);
  SimTime last = SimTime::zero();
  for (size_t i = 0; i < 750; ++i) {
    ConditionalEvent& event = queue.take_earliest();
    EXPECT_FALSE(event.is_scheduled());
    EXPECT_GE(event.time(), last);
    last = event.time();
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, LoadsTheNextEventOfManyBeforeItFires) {
  struct Loaded : ConditionalEvent {
    void fire() override {}
    void load_ahead() const override { ++loads; }
    mutable int loads = 0;
  };
  std::mt19937 random(11);
  std::vector<Loaded> events(3000);
  EventQueue queue;
  for (Loaded& event : events) {
    queue.schedule(event, SimTime::from_ns(static_cast<int64_t>(random() % 1000)));
  }
  queue.take_earliest();
  SimTime last = SimTime::zero();
  int loaded = 0;
  while (!queue.empty()) {
    const auto& event = static_cast<Loaded&>(queue.take_earliest());
    EXPECT_GE(event.time(), last);
    last = event.time();
    loaded += event.loads;
  }
  EXPECT_EQ(loaded, 3000 - 1024);  // with fewer it is not worth the time
}

TEST(EventQueue, BreaksTiesByClassThenByRankThenByNumber) {
  constexpr EventOrder kOrders[] = {{EventClass::kInterface, 9, 0}, {EventClass::kRemote, 2, 0},
                                    {EventClass::kRemote, 2, 1},    {EventClass::kRemote, 1, 7},
                                    {EventClass::kMatch, 5, 0},     {EventClass::kWake, 0, 0}};
  std::vector<size_t> scheduled = {0, 1, 2, 3, 4, 5};
  do {
    Numbered events[std::size(kOrders)];
    EventQueue queue;
    for (const size_t i : scheduled) queue.schedule(events[i], SimTime::from_ns(5), kOrders[i]);
    for (const Numbered& expected : events) EXPECT_EQ(&queue.take_earliest(), &expected);
  } while (std::ranges::next_permutation(scheduled).found);
}

TEST(EventQueue, ScattersNeighbouringRanksOfEqualTime) {
  constexpr uint32_t kRanks = 64;
  std::vector<std::pair<uint64_t, int>> order;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    order.emplace_back(EventOrder{EventClass::kWake, rank, 0}.key(), static_cast<int>(rank));
  }
  std::ranges::sort(order);
  for (size_t i = 1; i < order.size(); ++i) {
    EXPECT_NE(order[i].first, order[i - 1].first);
    EXPECT_GT(std::abs(order[i].second - order[i - 1].second), 1);
  }
}

TEST(EventQueue, TakesEventsOfModelsInTheOrderInWhichTheyWereScheduled) {
  Numbered a, b, c;
  EventQueue queue;
  queue.schedule(a, SimTime::from_ns(5));
  queue.schedule(b, SimTime::from_ns(5));
  queue.schedule(c, SimTime::from_ns(9));
  queue.schedule(a, SimTime::from_ns(9));
  queue.schedule(a, SimTime::from_ns(5));
  EXPECT_EQ(&queue.take_earliest(), &a);
  EXPECT_EQ(&queue.take_earliest(), &b);
  EXPECT_EQ(&queue.take_earliest(), &c);
}

TEST(EventQueue, MovesAndWithdrawsEventsAnywhereInTheHeap) {
  std::mt19937 random(7);
  std::vector<Numbered> events(300);
  EventQueue queue;
  for (auto& event : events) queue.schedule(event, SimTime::from_ns(100));
  std::vector<SimTime> expected;
  for (size_t i = 0; i < events.size(); ++i) {
    if (i % 3 == 0) {
      queue.withdraw(events[i]);
      continue;
    }
    const SimTime time = SimTime::from_ns(static_cast<int64_t>(random() % 1000));
    queue.schedule(events[i], time);
    expected.push_back(time);
  }
  std::sort(expected.begin(), expected.end());
  for (SimTime time : expected) EXPECT_EQ(queue.take_earliest().time(), time);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace sesame::pdes
