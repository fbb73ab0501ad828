#include "core/pdes/executive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/pdes/testing/actors.h"

namespace sesame::pdes {
namespace {

TEST_F(ExecutiveTest, RunsFibersInTheOrderInWhichTheyBecameReady) {
  spawn('a', append_name);
  spawn('b', append_name);
  spawn('c', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "abc");
}

TEST_F(ExecutiveTest, RunsWhatAFiberWakesBeforeThoseThatWereReady) {
  static Actor* sleeper = nullptr;
  sleeper = &spawn('s', [](Actor& actor) {
    world->executive.block();
    append_name(actor);
  });
  spawn('a', [](Actor& actor) {
    world->executive.make_ready(*sleeper);
    append_name(actor);
  });
  spawn('b', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "asb");
}

TEST_F(ExecutiveTest, FibersThatWakeEachOtherDoNotKeepOthersWaiting) {
  spawn_two_that_wake_each_other([](Actor&) { is_over = true; });
  world_.executive.run();
  EXPECT_EQ(world_.log, "yy");
}

TEST_F(ExecutiveTest, RunsFibersThatTheOutsideWakesInTheirOrder) {
  static std::vector<Actor*> waiting;
  waiting.clear();
  const auto wait_once = [](Actor& actor) {
    world->executive.block();
    append_name(actor);
  };
  for (const char name : {'a', 'b', 'c'}) waiting.push_back(&spawn(name, wait_once));
  const auto wake_all = [](void*, SimTime) {
    for (Actor* actor : waiting) world->executive.make_ready(*actor);
    return !std::exchange(waiting, {}).empty();
  };
  world_.executive.set_outside_hook(wake_all, nullptr, nullptr);
  world_.executive.run();
  EXPECT_EQ(world_.log, "abc");
}

TEST_F(ExecutiveTest, RunsFibersThatHaveSentToOthersFirstForAWhile) {
  static Actor* sleepers[2];
  static int rounds = 0;
  rounds = 10;
  const auto sleep_often = [](Actor& actor) {
    if (actor.name == 's') world->executive.prefer_current();
    for (int i = 0; i < 10; ++i) {
      world->executive.block();
      append_name(actor);
    }
  };
  sleepers[0] = &spawn('a', sleep_often);
  sleepers[1] = &spawn('s', sleep_often);
  const auto wake_both = [](void*, SimTime) {
    for (Actor* sleeper : sleepers)
      if (rounds > 0) world->executive.make_ready(*sleeper);
    return rounds-- > 0;
  };
  world_.executive.set_outside_hook(wake_both, nullptr, nullptr);
  world_.executive.run();
  EXPECT_EQ(world_.log, "sasasasasasasasaasas");
}

TEST_F(ExecutiveTest, HasReadyFibersInAShuffledRunToo) {
  world_.executive.shuffle(1);
  EXPECT_FALSE(world_.executive.has_ready());
  spawn('a', append_name);
  EXPECT_TRUE(world_.executive.has_ready());
  world_.executive.run();
  EXPECT_FALSE(world_.executive.has_ready());
}

TEST_F(ExecutiveTest, FreesEveryFiberThatEndsOnAnotherStack) {
  for (int i = 0; i < 100; ++i) spawn('x', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.finished, 100);
}

TEST_F(ExecutiveTest, ReturnsWhenAllOthersAreBlockedForEver) {
  spawn('a', [](Actor&) {
    world->executive.block();
    world->log += "never";
  });
  spawn('b', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "b");
}

struct Wake : ConditionalEvent {
  void fire() override {
    world->log += label;
    world->executive.make_ready(*target);
  }
  Fiber* target = nullptr;
  char label = '?';
};

TEST_F(ExecutiveTest, TakesEventsOnlyWhenNoFiberIsReadyAndInTimeOrder) {
  static Wake first, second;
  first.label = '1';
  second.label = '2';
  second.target = &spawn('a', [](Actor& actor) {
    world->executive.events().schedule(second, SimTime::from_ns(20));
    world->executive.block();
    world->log += actor.name;
  });
  first.target = &spawn('b', [](Actor& actor) {
    world->executive.events().schedule(first, SimTime::from_ns(10));
    world->executive.block();
    world->log += actor.name;
  });
  spawn('c', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "c1b2a");
}

// Events fire before fibers that resume later than they.
TEST_F(ExecutiveTest, TakesEventsBeforeFibersThatResumeLater) {
  static struct : ConditionalEvent {
    void fire() override {
      world->log += label;
      world->executive.make_ready_at(*target, resumes);
    }
    Fiber* target = nullptr;
    SimTime resumes;
    char label = '?';
  } events[3];
  const SimTime resumes[] = {SimTime::from_ns(25), SimTime::from_ns(30), SimTime::from_ns(99)};
  for (int i = 0; i < 3; ++i) {
    events[i].label = static_cast<char>('1' + i);
    events[i].resumes = resumes[i];
    events[i].target = &spawn(static_cast<char>('a' + i), [](Actor& actor) {
      const int number = actor.name - 'a';
      world->executive.events().schedule(events[number], SimTime::from_ns(10 * (number + 1)));
      world->executive.block();
      world->log += actor.name;
    });
  }
  world_.executive.run();
  EXPECT_EQ(world_.log, "12ab3c");  // the third event is at 30 ns, after the first fiber resumes
}

TEST_F(ExecutiveTest, FiresNoEventWhileAFiberWaitsForTheOutside) {
  static Wake event;
  static Fiber* outside = nullptr;
  event.label = '1';
  outside = &spawn('a', [](Actor& actor) {
    world->executive.block();
    world->log += actor.name;
  });
  event.target = &spawn('b', [](Actor& actor) {
    world->executive.events().schedule(event, SimTime::from_ns(10));
    world->executive.block();
    world->log += actor.name;
  });
  world_.executive.set_outside_hook(
      [](void*, SimTime next) {
        if (outside == nullptr) return false;
        EXPECT_EQ(next, SimTime::from_ns(10));
        world->log += 'o';
        world->executive.make_ready(*std::exchange(outside, nullptr));
        return true;
      },
      nullptr, nullptr);
  world_.executive.run();
  EXPECT_EQ(world_.log, "oa1b");
}

TEST_F(ExecutiveTest, FiresWhatTheOutsideCannotPrecede) {
  static Wake events[2];
  static Fiber* outside = nullptr;
  outside = &spawn('a', [](Actor& actor) {
    world->executive.block();
    world->log += actor.name;
  });
  for (int i = 0; i < 2; ++i) {
    events[i].label = static_cast<char>('1' + i);
    events[i].target = &spawn(static_cast<char>('b' + i), [](Actor& actor) {
      const int number = actor.name - 'b';
      world->executive.events().schedule(events[number], SimTime::from_ns(10 * (number + 1)));
      world->executive.block();
      world->log += actor.name;
    });
  }
  world_.executive.set_outside_hook(
      [](void*, SimTime next) {
        if (outside == nullptr || next < SimTime::from_ns(15)) return false;
        world->executive.make_ready(*std::exchange(outside, nullptr));
        return true;
      },
      nullptr, nullptr);
  world_.executive.run();
  EXPECT_EQ(world_.log, "1ba2c");
}

// Allows one thing after the other, and logs '|' before each.
struct Steps : Synchronizer {
  bool synchronize(const SimTime&) override {
    world->log += '|';
    if (next == steps.size()) return false;
    steps[next++]();
    return true;
  }
  bool is_awaited() const override { return awaited; }
  bool has_arrivals() override { return arrival != nullptr; }
  bool take_arrivals() override {
    std::exchange(arrival, nullptr)();
    return true;
  }
  void catch_up(const SimTime&) override { world->log += 'c'; }
  std::vector<std::function<void()>> steps;
  size_t next = 0;
  bool awaited = false;
  std::function<void()> arrival;
};

struct NamedEvent : ConditionalEvent {
  explicit NamedEvent(char of_log) : name(of_log) {}
  void fire() override {
    world->log += name;
    if (world->executive.has_turn()) world->log += '!';
  }
  char name;
};

TEST_F(ExecutiveTest, EventsOfModelsAndExclusiveOnesTakeTurns) {
  Executive& executive = world_.executive;
  NamedEvent ordinary('o');
  NamedEvent exclusive('x');
  NamedEvent model('m');
  NamedEvent later_model('n');
  Steps steps;
  executive.set_synchronizer(&steps);
  executive.events().schedule(ordinary, SimTime::from_ns(5), {EventClass::kWake, 0, 0});
  executive.events().schedule(exclusive, SimTime::from_ns(10), {EventClass::kWake, 1, 0}, true);
  executive.model_events().schedule(model, SimTime::from_ns(7));
  executive.model_events().schedule(later_model, SimTime::from_ns(10));
  const EventKey of_exclusive{SimTime::from_ns(10).ps(), EventOrder{EventClass::kWake, 1, 0}.key()};
  steps.steps = {[&] { executive.allow_until(SimTime::from_ns(5)); },
                 [&] { executive.allow_until(SimTime::from_ns(100)); },
                 [&] {
                   executive.allow_turn({SimTime::from_ns(8).ps(), 0});
                 },
                 [&] { executive.allow_turn(of_exclusive); },
                 [&] { executive.allow_turn(EventKey::never()); }};
  executive.run();
  // The exclusive event is last of its time, and ends the turn.
  EXPECT_EQ(world_.log, "||o|m|nx!||");
}

TEST_F(ExecutiveTest, OwnEventsWaitForTheirTurnWhileAFiberWaitsForAModel) {
  Executive& executive = world_.executive;
  NamedEvent ordinary('o');
  Steps steps;
  executive.set_synchronizer(&steps);
  executive.events().schedule(ordinary, SimTime::from_ns(5), {EventClass::kWake, 0, 0});
  executive.add_model_waits(1);
  steps.steps = {[&] { executive.allow_until(SimTime::from_ns(100)); },
                 [&] { executive.allow_turn(executive.events().first()); }};
  executive.run();
  EXPECT_EQ(world_.log, "||o|");
}

template <int us>
void compute_twice(Actor& actor) {
  using Clock = std::chrono::steady_clock;
  world->executive.yield_after_slice();  // begins
  for (int i = 0; i < 2; ++i) {
    world->log += actor.name;
    const auto end = Clock::now() + std::chrono::microseconds(us);
    while (Clock::now() < end) {
    }
    world->executive.yield_after_slice();
  }
}

struct Slices : Steps {
  explicit Slices(Executive& executive) {
    executive.set_synchronizer(this);
    executive.use_time_slices();
  }
};

TEST_F(ExecutiveTest, LetsReadyFibersRunAfterASlice) {
  Slices steps(world_.executive);
  world_.executive.set_yield_hook([](void*) { world->log += ','; }, nullptr);
  spawn('a', compute_twice<2'000>);
  spawn('b', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "a,b,a,|");
}

TEST_F(ExecutiveTest, YieldsSoonerWhileAnotherExecutiveWaits) {
  Slices steps(world_.executive);
  steps.awaited = true;
  spawn('a', compute_twice<60>);
  spawn('b', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "aba|");
}

void log_arrival() {
  EXPECT_TRUE(world->executive.is_firing());
  world->log += '+';
}

// What has arrived wakes the sleeper, as messages do.
struct ArrivalTest : ExecutiveTest {
  void SetUp() override {
    ExecutiveTest::SetUp();
    steps = &slices;
    sleeper = &spawn('s', [](Actor& actor) {
      world->executive.block();
      append_name(actor);
    });
  }
  static void wake_sleeper() {
    log_arrival();
    world->executive.make_ready_at(*sleeper, SimTime::from_ns(5));
  }
  static inline Steps* steps = nullptr;
  static inline Actor* sleeper = nullptr;
  Slices slices{world_.executive};
};

TEST_F(ArrivalTest, IsTakenWhenAFiberYieldsWhichRunsBehindThoseThatItWakes) {
  slices.awaited = true;
  spawn('a', [](Actor& actor) {
    steps->arrival = wake_sleeper;
    compute_twice<60>(actor);
  });
  world_.executive.run();
  EXPECT_EQ(world_.log, "a+sa|");
}

TEST_F(ArrivalTest, IsTakenBeforeAFiberRuns) {
  spawn('a', [](Actor& actor) {
    append_name(actor);
    steps->arrival = wake_sleeper;
  });
  spawn('b', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "a+bs|");
}

TEST_F(ArrivalTest, KeepsNoFiberWaitingForOneThatNeverBlocks) {
  slices.awaited = true;
  spawn('a', [](Actor& actor) {
    append_name(actor);
    steps->arrival = wake_sleeper;
  });
  spawn('b', [](Actor& actor) {
    for (int i = 0; i < 3; ++i) compute_twice<60>(actor);
  });
  world_.executive.run();
  EXPECT_EQ(world_.log, "a+bsbbbbb|");
}

TEST_F(ExecutiveTest, WhatArrivesWhileAFiberYieldsEndsTheTurn) {
  Executive& executive = world_.executive;
  Slices steps(executive);
  steps.awaited = true;
  static Wake exclusive;
  static Steps* arrivals = nullptr;
  arrivals = &steps;
  exclusive.label = 'x';
  exclusive.target = &spawn('a', [](Actor& actor) {
    world->executive.block();
    for (int i = 0; i < 2; ++i) {
      if (i == 0) arrivals->arrival = log_arrival;
      world->log += world->executive.has_turn() ? '!' : '.';
      compute_twice<60>(actor);
    }
  });
  executive.events().schedule(exclusive, SimTime::from_ns(10), {EventClass::kWake, 0, 0}, true);
  steps.steps = {[&] { executive.allow_turn(EventKey::never()); }};
  executive.run();
  EXPECT_EQ(world_.log, "|x!a+a.aa|");
}

TEST_F(ExecutiveTest, WhatHasArrivedWaitsUntilAFiberHasUsedItsTurn) {
  struct Exclusive : Wake {
    void fire() override {
      arrivals->arrival = log_arrival;
      Wake::fire();
    }
    Steps* arrivals = nullptr;
  };
  Executive& executive = world_.executive;
  Slices steps(executive);
  Exclusive exclusive;
  exclusive.arrivals = &steps;
  exclusive.label = 'x';
  exclusive.target = &spawn('a', [](Actor& actor) {
    world->executive.block();
    world->log += world->executive.has_turn() ? '!' : '.';
    append_name(actor);
  });
  executive.events().schedule(exclusive, SimTime::from_ns(10), {EventClass::kWake, 0, 0}, true);
  steps.steps = {[&] { executive.allow_turn(EventKey::never()); }};
  executive.run();
  EXPECT_EQ(world_.log, "|x!a|");
}

TEST_F(ExecutiveTest, WithoutSlicesRunsAFiberUntilItBlocks) {
  Steps steps;
  steps.awaited = true;
  steps.arrival = log_arrival;  // not taken
  world_.executive.set_synchronizer(&steps);
  spawn('a', compute_twice<2'000>);
  spawn('b', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, "aab|");
}

// The event fires every nanosecond until its time.
struct IndependentEvent : NamedEvent {
  using NamedEvent::NamedEvent;
  void fire() override {
    NamedEvent::fire();
    if (time() < end)
      world->executive.events().schedule(*this, time() + SimTime::from_ns(1),
                                         {EventClass::kMatch, 0, 0});
  }
  bool is_independent() override { return time() > of_others; }
  SimTime end;
  SimTime of_others;
};

TEST_F(ExecutiveTest, IndependentEventsNeedNoBound) {
  Executive& executive = world_.executive;
  IndependentEvent event('i');
  event.end = SimTime::from_ns(5);
  event.of_others = SimTime::from_ns(3);
  Steps steps;
  executive.set_synchronizer(&steps);
  executive.fire_independent_events();
  executive.events().schedule(event, SimTime::from_ns(1), {EventClass::kMatch, 0, 0});
  steps.steps = {[&] { executive.allow_until(SimTime::from_ns(3)); },
                 [&] { executive.allow_until(SimTime::from_ns(4)); }};
  executive.run();
  EXPECT_EQ(world_.log, "|ii|iii|");
}

TEST_F(ExecutiveTest, IndependentEventsWaitUnlessTheyAreAllowed) {
  IndependentEvent event('i');
  Steps steps;
  world_.executive.set_synchronizer(&steps);
  world_.executive.events().schedule(event, SimTime::from_ns(1), {EventClass::kMatch, 0, 0});
  world_.executive.run();
  EXPECT_EQ(world_.log, "|");
}

TEST_F(ExecutiveTest, NoEventIsIndependentWhileModelsHaveEvents) {
  Executive& executive = world_.executive;
  IndependentEvent event('i');
  NamedEvent model('m');
  Steps steps;
  executive.set_synchronizer(&steps);
  executive.fire_independent_events();
  executive.events().schedule(event, SimTime::from_ns(1), {EventClass::kMatch, 0, 0});
  executive.model_events().schedule(model, SimTime::from_ns(2));
  steps.steps = {[&] { executive.allow_turn(EventKey::never()); }};
  executive.run();
  EXPECT_EQ(world_.log, "||");
}

TEST_F(ExecutiveTest, TakesWhatArrivesNowAndThenWhileEventsNeedNoBound) {
  Executive& executive = world_.executive;
  IndependentEvent event('i');
  event.end = SimTime::from_ns(200);
  Steps steps;
  executive.set_synchronizer(&steps);
  executive.fire_independent_events();
  executive.events().schedule(event, SimTime::from_ns(1), {EventClass::kMatch, 0, 0});
  executive.run();
  EXPECT_EQ(std::ranges::count(world_.log, 'c'), 3);  // after 64, 128 and 192 events
  const std::string until_first = world_.log.substr(0, world_.log.find('c'));
  EXPECT_EQ(std::ranges::count(until_first, 'i'), 64);
  EXPECT_EQ(std::ranges::count(world_.log, 'i'), 200);
}

TEST_F(ExecutiveTest, KeepsFloatingPointControlPerFiber) {
  spawn('a', [](Actor&) {
    unsigned flush_to_zero = 0x9fc0;
    asm volatile("ldmxcsr %0" : : "m"(flush_to_zero));
    world->executive.make_ready(*current_fiber);
    world->executive.block();
    unsigned now = 0;
    asm volatile("stmxcsr %0" : "=m"(now));
    world->log += (now & 0x8040) == 0x8040 ? "kept " : "lost ";
  });
  spawn('b', [](Actor&) {
    unsigned now = 0;
    asm volatile("stmxcsr %0" : "=m"(now));
    world->log += (now & 0x8040) == 0 ? "clean " : "leaked ";
  });
  world_.executive.run();
  EXPECT_EQ(world_.log, "clean kept ");
}

}  // namespace
}  // namespace sesame::pdes
