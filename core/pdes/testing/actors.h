// For tests of the executive: fibers with a name and a function, which write into a common log.
//
// Use: derive a fixture from ExecutiveTest, spawn() actors, run world_.executive, and look at
// world_.log. One thread.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "core/pdes/executive.h"
#include "core/pdes/fiber.h"

namespace sesame::pdes {

struct World {
  Executive executive;
  StackPool stacks{64 * 1024};
  std::string log;
  int finished = 0;
};
inline World* world = nullptr;

struct Actor : Fiber {
  void (*body)(Actor&) = nullptr;
  char name = '?';
};

inline void run_actor(Fiber* fiber) {
  auto* actor = static_cast<Actor*>(fiber);
  actor->body(*actor);
  world->executive.finish([](Fiber* finished) {
    world->stacks.give_back(finished->stack());
    ++world->finished;
  });
}

class ExecutiveTest : public ::testing::Test {
 protected:
  void SetUp() override { world = &world_; }
  Actor& spawn(char name, void (*body)(Actor&)) {
    Actor& actor = actors_.emplace_back();
    actor.name = name;
    actor.body = body;
    actor.prepare(*world_.stacks.take(), run_actor);
    world_.executive.make_ready(actor);
    return actor;
  }
  // Two that wake each other until `stop` has set is_over, or a million times; then each writes
  // whether it is.
  void spawn_two_that_wake_each_other(void (*stop)(Actor&)) {
    is_over = false;
    pair[0] = &spawn('a', wake_the_other);
    pair[1] = &spawn('b', wake_the_other);
    spawn('c', stop);
  }
  static inline bool is_over;

  World world_;
  std::deque<Actor> actors_;

 private:
  static void wake_the_other(Actor& actor) {
    Actor& other = *pair[actor.name == 'a'];
    for (int i = 0; i < 1'000'000 && !is_over; ++i) {
      if (i > 0 || actor.name == 'b') world->executive.make_ready(other);
      world->executive.block();
    }
    world->log += is_over ? 'y' : 'n';
    if (world->log.size() == 1) world->executive.make_ready(other);
  }
  static inline Actor* pair[2];
};

inline void append_name(Actor& actor) { world->log += actor.name; }

}  // namespace sesame::pdes
