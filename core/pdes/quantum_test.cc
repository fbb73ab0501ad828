// Random programs of events on several executives under the quantum protocol, against the same
// programs on one executive.
#include "core/pdes/quantum.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace sesame::pdes {
namespace {

constexpr int kActors = 6;
constexpr SimTime kLookAhead = SimTime::from_ps(100);

// What happens at an actor. It causes more, drawn from all that happened there before: at this
// actor soon, at others after the look-ahead.
struct Happening {
  int64_t time_ps;
  uint64_t cause;
  int actor;
  int generation;
};

uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15ULL;
  return value ^ (value >> 29);
}

// One executive with some of the actors. `send` gets happenings at others.
class Simulator {
 public:
  using Send = std::function<void(const Happening&)>;
  Simulator(std::vector<bool> has, Send send) : has_(std::move(has)), send_(std::move(send)) {}

  Executive executive;
  std::map<int, std::string> logs;  // by actor: what happened, in order

  void add(const Happening& happening) {
    if (!has_[static_cast<size_t>(happening.actor)]) return send_(happening);
    Event& event = events_.emplace_back(*this, happening);
    const EventOrder order{EventClass::kModel, static_cast<uint32_t>(happening.actor),
                           static_cast<uint32_t>(happening.cause)};
    executive.events().schedule(event, SimTime::from_ps(happening.time_ps), order);
  }

 private:
  struct Event final : ConditionalEvent {
    Event(Simulator& simulator, const Happening& happening)
        : simulator(simulator), happening(happening) {}
    void fire() override { simulator.happen(happening); }
    Simulator& simulator;
    const Happening happening;
  };

  void happen(const Happening& now) {
    logs[now.actor] += std::to_string(now.time_ps) + ":" + std::to_string(now.cause) + " ";
    uint64_t& state = states_[now.actor];
    state = mixed(state + now.cause);
    if (now.generation == 0) return;
    for (uint64_t i = 0, draw = state; i <= state % 3; ++i) {
      draw = mixed(draw + 1);
      const auto actor = static_cast<int>(draw % kActors);
      const int64_t least = actor == now.actor ? 1 : kLookAhead.ps();
      const auto delay = static_cast<int64_t>(draw / kActors % 1'000);
      add({now.time_ps + least + delay, draw, actor, now.generation - 1});
    }
  }

  std::vector<bool> has_;
  Send send_;
  std::deque<Event> events_;
  std::map<int, uint64_t> states_;
};

constexpr Happening kFirst{0, 1, 0, 8};
using ActorLogs = std::map<int, std::string>;

ActorLogs sequential(uint64_t seed) {
  Simulator all(std::vector<bool>(kActors, true), nullptr);
  Happening first = kFirst;
  first.cause = seed;
  all.add(first);
  all.executive.run();
  return all.logs;
}

// One of the workers to which the actors are dealt out.
struct Participant {
  Participant(SharedMemory& memory, int number)
      : worker(memory, number),
        simulator(own_actors(number, memory.workers()),
                  [this, &memory](const Happening& happening) {
                    worker.send(happening.actor % memory.workers(),
                                {reinterpret_cast<const char*>(&happening), sizeof happening}, {});
                  }),
        protocol(worker, simulator.executive, kLookAhead, [this](std::span<const char> frame) {
          Happening happening;
          std::memcpy(&happening, frame.data(), sizeof happening);
          simulator.add(happening);
        }) {
    simulator.executive.set_synchronizer(&protocol);
  }
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  static std::vector<bool> own_actors(int number, int workers) {
    std::vector<bool> has;
    for (int actor = 0; actor < kActors; ++actor) has.push_back(actor % workers == number);
    return has;
  }

  Worker worker;
  Simulator simulator;
  QuantumProtocol protocol;
};

// Each worker is a thread.
ActorLogs parallel(uint64_t seed, int workers, bool with_delays) {
  const auto memory = SharedMemory::create(workers).value();
  std::vector<ActorLogs> logs(static_cast<size_t>(workers));
  const auto run = [&](int number) {
    Participant own(*memory, number);
    if (with_delays) own.worker.delay_at_random(seed + static_cast<uint64_t>(number));
    Happening first = kFirst;
    first.cause = seed;
    if (number == 0) own.simulator.add(first);
    own.simulator.executive.run();
    logs[static_cast<size_t>(number)] = own.simulator.logs;
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < workers; ++number) threads.emplace_back(run, number);
  for (std::thread& thread : threads) thread.join();
  ActorLogs all;
  for (ActorLogs& some : logs) all.merge(some);
  EXPECT_EQ(memory->state().pending, workers) << "a frame was lost";
  return all;
}

TEST(QuantumProtocol, GivesWhatOneExecutiveGives) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ActorLogs expected = sequential(seed);
    for (const int workers : {2, 3, 4})
      ASSERT_EQ(parallel(seed, workers, false), expected) << seed << ", workers: " << workers;
  }
}

TEST(QuantumProtocol, GivesItWhereWorkersAreDelayed) {
  for (uint64_t seed = 1; seed <= 3; ++seed)
    ASSERT_EQ(parallel(seed, 3, true), sequential(seed)) << seed;
}

TEST(QuantumProtocol, EndsAtOnceWhereNothingHappens) {
  const auto memory = SharedMemory::create(2).value();
  const auto run = [&](int number) {
    Worker worker(*memory, number);
    Executive executive;
    QuantumProtocol protocol(worker, executive, kLookAhead, [](std::span<const char>) {});
    executive.set_synchronizer(&protocol);
    executive.run();
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  EXPECT_TRUE(memory->state().finished);
  EXPECT_EQ(memory->state().round, 1U);
}

// What fibers wait for outside the simulation: calls, each of which makes something happen at an
// actor. The last ones come when nothing else is left to do.
struct Calls {
  explicit Calls(Simulator& of, Doorbell& at) : simulator(of), bell(at) {}

  static bool look(void* context) {
    auto& calls = *static_cast<Calls*>(context);
    if (calls.served == calls.made.load()) return false;
    // Meanwhile the round may end.
    for (uint64_t left = calls.random() % 1'000; left > 0; --left) __builtin_ia32_pause();
    return true;
  }
  static bool wait(void* context, SimTime) {
    auto& calls = *static_cast<Calls*>(context);
    Executive& executive = calls.simulator.executive;
    if (executive.is_stuck()) {
      sleep_until(calls.bell, [&] {
        return look(context) || calls.served == kAll || executive.has_arrivals();
      });
    }
    if (!look(context)) return executive.take_arrivals();
    ++calls.served;
    calls.simulator.add({1'000'000'000'000LL + calls.served, 77, calls.served % 2, 3});
    return true;
  }

  static constexpr int kAll = 500;
  Simulator& simulator;
  Doorbell& bell;
  std::atomic<int> made = 0;
  int served = 0;
  std::mt19937_64 random;
};

// They come while the worker fires events, while it waits for the other one, and while rounds end.
TEST(QuantumProtocol, TakesCallsFromOutsideAtAnyTime) {
  const auto memory = SharedMemory::create(2).value();
  memory->state().has_outside = true;
  std::atomic<Calls*> calls = nullptr;
  const auto run = [&](int number) {
    Participant own(*memory, number);
    if (number == 1) own.worker.delay_at_random(1);
    Calls outside(own.simulator, memory->bell(0));
    if (number == 0) {
      own.simulator.executive.set_outside_hook(Calls::wait, Calls::look, &outside);
      own.simulator.add(kFirst);
      calls = &outside;
    }
    own.simulator.executive.run();
    if (number == 0) {
      EXPECT_EQ(outside.served, Calls::kAll);
    }
  };
  std::thread first([&] { run(0); }), second([&] { run(1); });
  while (calls == nullptr) std::this_thread::yield();
  std::mt19937_64 random(1);
  for (int i = 0; i < Calls::kAll; ++i) {
    for (uint64_t left = random() % 8'000; left > 0; --left) __builtin_ia32_pause();
    if (i > Calls::kAll - 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++calls.load()->made;
    ring_if_asleep(memory->bell(0));
  }
  first.join();
  second.join();
  EXPECT_EQ(memory->state().pending, 2);
}

// Calls that come while the other worker computes. This one is idle since round 0.
TEST(QuantumProtocol, ACallMakesAWorkerBusyOnce) {
  const auto memory = SharedMemory::create(2).value();
  Worker worker(*memory, 0);
  Executive executive;
  QuantumProtocol protocol(worker, executive, kLookAhead, [](std::span<const char>) {});
  executive.set_outside_hook([](void*, SimTime) { return false; }, [](void*) { return true; },
                             nullptr);
  EXPECT_TRUE(protocol.synchronize(SimTime::never()));
  EXPECT_EQ(memory->state().pending, 2);
  EXPECT_EQ(memory->state().round, 0U);
}

TEST(QuantumProtocol, ACallMakesNoWorkerBusyWhileARoundEnds) {
  const auto memory = SharedMemory::create(2).value();
  memory->state().pending = 0;
  EXPECT_FALSE(become_busy(memory->state(), 0));
  EXPECT_EQ(memory->state().pending, 0);
}

TEST(QuantumProtocol, ACallMakesNoWorkerBusyTwiceIfTheNextRoundHasStarted) {
  const auto memory = SharedMemory::create(2).value();
  memory->state().pending = 0;
  begin_round(*memory, {.bound_ps = 7, .turn = {}});
  EXPECT_FALSE(become_busy(memory->state(), 0));
  EXPECT_EQ(memory->state().pending, 2);
}

}  // namespace
}  // namespace sesame::pdes
