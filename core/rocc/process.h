// A process that repeats: processor, network, disk, pause. An instrumented one writes the samples
// and records that are due into its pipe when it has completed a processor request: a signal or
// timer is noticed there, periods that passed before are merged into one sample.
#pragma once

#include <cstdint>

#include "core/pdes/event_queue.h"
#include "core/rocc/node_resources.h"
#include "core/rocc/random_stream.h"

namespace sesame::rocc {

class Process;

// Where an instrumented process writes.
class Pipe {
 public:
  virtual ~Pipe() = default;
  // Accepts a sample of the process, or returns false if its pipe is full; then calls
  // Process::resume_writing() when there is space.
  virtual bool write(Process& process, SimTime now) = 0;
};

class Process : public Task, public Client {
 public:
  // `pipe` is null for a process that is not instrumented; `stream` names its random streams, which
  // use sources from stream.source on.
  Process(NodeResources& node, const ProcessClass& kind, const Instrumentation& instrumentation,
          Pipe* pipe, StreamName stream);
  static constexpr uint64_t kSources = 2;

  void start(SimTime now) { begin_cycle(now); }
  void resume_writing(SimTime now);

  SimTime next_demand(SimTime now) override;
  void served(SimTime now, uint64_t stage) override;

  // Up to date after Processors::charge().
  ClassStatistics statistics(SimTime now) const;
  void reset(SimTime now);

  uint32_t in_pipe = 0;  // samples in its pipe; kept by the Pipe

 private:
  enum class State : uint8_t { kIdle, kComputing, kWriting, kBlocked };
  enum Stage : uint64_t { kNetwork, kDisk, kPause };
  struct Pause : pdes::ConditionalEvent {
    explicit Pause(Process* owner) : process(owner) {}
    void fire() override { process->begin_cycle(time()); }
    Process* process;
  };

  void begin_cycle(SimTime now);
  SimTime begin_request();
  void count_due(SimTime now);
  SimTime write_all(SimTime now);
  // Continues with the stages after the processor. Returns the demand of the next request if there
  // is none of them.
  SimTime leave_processor(SimTime now);
  bool begin_stage(SimTime now, uint64_t first);

  NodeResources& node_;
  const ProcessClass& kind_;
  const Instrumentation& instrumentation_;
  Pipe* pipe_;
  RandomStream work_;
  RandomStream writing_;
  Pause pause_{this};
  State state_ = State::kIdle;
  SimTime next_sample_ = SimTime::never();
  double records_due_ = 0;
  uint32_t due_ = 0;
  SimTime ready_since_;
  SimTime blocked_since_;
  ClassStatistics sums_;
};

}  // namespace sesame::rocc
