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
  World world_;
  std::deque<Actor> actors_;
};

inline void append_name(Actor& actor) { world->log += actor.name; }

}  // namespace sesame::pdes
