#include "core/pdes/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(EventQueue, BreaksTiesByPriorityThenBySequence) {
  Numbered a, b, c;
  EventQueue queue;
  queue.schedule(a, SimTime::from_ns(5));
  queue.schedule(b, SimTime::from_ns(5));
  queue.schedule(c, SimTime::from_ns(5), /*priority=*/1);
  EXPECT_EQ(&queue.take_earliest(), &c);
  EXPECT_EQ(&queue.take_earliest(), &a);
  EXPECT_EQ(&queue.take_earliest(), &b);
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
