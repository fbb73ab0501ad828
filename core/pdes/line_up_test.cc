#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/pdes/testing/actors.h"

namespace sesame::pdes {
namespace {

using LineUpTest = ExecutiveTest;

// Each comes when the one before it blocks, in the order 'd' to 'a', and wakes a sleeper.
TEST_F(LineUpTest, RunsThoseInLineAfterAllOthersInTheOrderOfTheirPlaces) {
  static std::vector<Actor*> sleepers;
  sleepers.clear();
  for (const char name : {'1', '2', '3', '4'}) {
    sleepers.push_back(&spawn(name, [](Actor& actor) {
      world->executive.block();
      append_name(actor);
    }));
  }
  for (const char name : {'d', 'c', 'b', 'a'}) {
    spawn(name, [](Actor& actor) {
      world->executive.make_ready(*sleepers[static_cast<size_t>(actor.name - 'a')]);
      world->executive.line_up(static_cast<uint64_t>(actor.name));
      append_name(actor);
      world->executive.line_up(static_cast<uint64_t>(1000 - actor.name));
      append_name(actor);
    });
  }
  world_.executive.run();
  EXPECT_EQ(world_.log, "4321abcddcba");
}

TEST_F(LineUpTest, RunsAFiberThatIsAloneInLine) {
  spawn('a', [](Actor& actor) {
    world->executive.line_up(7);
    append_name(actor);
    EXPECT_FALSE(world->executive.has_ready());
  });
  world_.executive.run();
  EXPECT_EQ(world_.log, "a");
}

TEST_F(LineUpTest, HasReadyFibersWhenOneIsInLine) {
  spawn('a', [](Actor&) { world->executive.line_up(1); });
  spawn('b', [](Actor& actor) {
    EXPECT_TRUE(world->executive.has_ready());
    append_name(actor);
  });
  world_.executive.run();
  EXPECT_EQ(world_.log, "b");
}

TEST_F(LineUpTest, FibersThatWakeEachOtherDoNotKeepThoseInLineWaiting) {
  spawn_two_that_wake_each_other([](Actor&) {
    world->executive.line_up(0);
    is_over = true;
  });
  world_.executive.run();
  EXPECT_EQ(world_.log, "yy");
}

TEST_F(LineUpTest, FinishesWhatTheFiberDeferredBeforeOthersRun) {
  world_.executive.set_yield_hook([](void*) { world->log += ','; }, nullptr);
  spawn('a', [](Actor& actor) {
    world->executive.line_up(0);
    append_name(actor);
  });
  spawn('b', append_name);
  world_.executive.run();
  EXPECT_EQ(world_.log, ",b,a,");
}

// Fibers that do not yield would write their letters in pairs.
TEST_F(LineUpTest, AFiberThatLinesUpInAShuffledRunYields) {
  world_.executive.shuffle(1);
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    spawn(name, [](Actor& actor) {
      append_name(actor);
      world->executive.line_up(0);
      append_name(actor);
    });
  }
  world_.executive.run();
  std::string in_pairs;
  for (size_t i = 0; i < world_.log.size(); i += 2) in_pairs += std::string(2, world_.log[i]);
  EXPECT_EQ(world_.log.size(), 12);
  EXPECT_NE(world_.log, in_pairs);
}

}  // namespace
}  // namespace sesame::pdes
