// A daemon of a node: collects samples from the pipes of its processes, or makes them when its own
// timer expires, and sends them to the main process, one by one or in batches. It changes the
// instrumentation of its processes on request; they are stopped meanwhile.
//
// Order: add_process() for all of its processes, start(), then start the processes, which call
// write(). From then on its events and the node's processors and network call it. It owns no
// processes; they, the node and the model must outlive it. A full pipe is no error: write() returns
// false, and the daemon calls Process::resume_writing() when there is space. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/pdes/event_queue.h"
#include "core/rocc/messages.h"
#include "core/rocc/node_resources.h"
#include "core/rocc/process.h"
#include "core/rocc/random_stream.h"

namespace sesame::rocc {

// Sums since the last reset.
struct DaemonStatistics {
  uint64_t collected = 0;
  uint64_t forwarded_samples = 0;  // sent by the node's network
  uint64_t forwarded_messages = 0;
  uint64_t lost = 0;  // samples of the daemon's timer while its buffer was full
};

class Daemon : public Task, public Client, public Pipe {
 public:
  // Messages that leave the node are added to `sent`. `stream` names its random streams, which use
  // sources from stream.source on.
  Daemon(NodeResources& node, const Model& model, MessageList& sent, StreamName stream);
  static constexpr uint64_t kSources = 3;

  void add_process(Process& process) { processes_.push_back(&process); }
  // Starts the daemon's timer if it has one.
  void start(SimTime now);
  // Requests a change of the instrumentation of each of its processes.
  void change_instrumentation(SimTime now);

  bool write(Process& process, SimTime now) override;
  SimTime next_demand(SimTime now) override;
  void served(SimTime now, uint64_t message) override;

  const DaemonStatistics& statistics() const { return sums_; }
  void reset();

 private:
  enum class Action : uint8_t { kNone, kCollect, kForward, kChange };
  struct Sample {
    Process* process;  // null: made by the timer
    SimTime made;
  };
  struct Timer : pdes::ConditionalEvent {
    explicit Timer(Daemon* owner) : daemon(owner) {}
    void fire() override { daemon->make_sample(time()); }
    Daemon* daemon;
  };
  struct AgeLimit : pdes::ConditionalEvent {
    explicit AgeLimit(Daemon* owner) : daemon(owner) {}
    void fire() override { daemon->node_.processors.make_ready(*daemon, time()); }
    Daemon* daemon;
  };

  struct Release : pdes::ConditionalEvent {
    explicit Release(Daemon* owner) : daemon(owner) {}
    void fire() override { daemon->release_processes(time()); }
    Daemon* daemon;
  };

  void make_sample(SimTime now);
  void finish(SimTime now);
  // Chooses what to do next and its processor time; kNone if there is nothing.
  Action choose(SimTime now, SimTime* demand);
  SimTime collect_demand();
  void collect(SimTime now);
  void forward(SimTime now);
  void finish_change(SimTime now);
  void release_processes(SimTime now);
  SimTime begin_change(SimTime now);
  bool batch_is_due(SimTime now) const;
  void deliver(SimTime now, const std::vector<SimTime>& made);

  NodeResources& node_;
  const Model& model_;
  const DaemonClass& kind_;
  MessageList& sent_;
  RandomStream work_;     // collecting and forwarding
  RandomStream network_;  // messages
  RandomStream changes_;  // and the phase of the timer
  Timer timer_{this};
  AgeLimit age_limit_{this};
  Release release_{this};
  std::vector<Process*> processes_;
  std::deque<Sample> samples_;  // in the order of writing
  std::vector<SimTime> batch_;  // when its samples were made
  std::vector<std::vector<SimTime>> messages_;
  std::vector<uint64_t> free_messages_;
  std::vector<SimTime> ages_;  // of a message, to avoid allocation
  Action action_ = Action::kNone;
  uint64_t changes_left_ = 0;
  bool holds_processes_ = false;
  bool is_sending_ = false;
  DaemonStatistics sums_;
};

}  // namespace sesame::rocc
