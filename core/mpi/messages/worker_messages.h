// Messages between the ranks of two workers of a parallel simulation, as frames in the workers'
// rings (core/pdes/workers.h). See remote_ranks.h for the protocol of a rendezvous.
//
// Use: make one for each worker, set World::remote to it, and pass each frame that arrives to
// take(). Pointers in frames (to a send, to a receive) are only used by the worker that put them
// in. One thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/mpi/messages/remote_ranks.h"
#include "core/pdes/workers.h"

namespace sesame::mpi {

struct World;

class WorkerMessages final : public RemoteRanks {
 public:
  // Ends the run, in a fiber, for the reason in words. `hint`: what to do; empty: one worker
  // simulates it. Must not return.
  using Refuse = std::function<void(const std::string& why, const std::string& hint)>;

  // `workers`: by rank, the number of its worker. `end_run` is as Refuse, but may be called outside
  // fibers. `take_any` takes a frame of any subject.
  WorkerMessages(World& world, pdes::Worker& worker, std::vector<int> workers, Refuse refuse,
                 Refuse end_run, pdes::Worker::Take take_any);

  void take(std::span<const char> frame);
  // A time before which no rank of this worker sends anything, whatever it receives: a lower bound
  // of what null messages announce. Takes time that grows with the ranks and their channels.
  SimTime next_send() const;
  // For null messages: from now on what other modules send, and threads that call, end the run,
  // since next_send() does not know of them.
  void announce_sends() { announces_sends_ = true; }
  // From now on threads that call end the run: in which order they post receives is not known.
  void refuse_threads() { refuses_threads_ = true; }

  void send(int target, const MessageEnvelope& message, const Data& data,
            const network::Passage* passage) override;
  void acknowledge(const MessageEnvelope& message, const SimTime& time) override;
  void release_buffer(const MessageEnvelope& message, const SimTime& time) override;
  void clear_to_send(RequestObject& receive, const MessageEnvelope& message,
                     const MessageRecord& record, const SimTime& ready) override;
  void send_data(int target, uint64_t receive, const SimTime& arrival) override;
  void send_data(int target, uint64_t receive, const network::Passage& passage) override;
  void post(Module module, int target, std::span<const char> head,
            std::span<const char> data) override;
  void catch_up() override;
  void tell_files(std::span<const char> change) override;
  void interface_reserved(int rank, const SimTime& free) override;
  void check_call(uint16_t call) const override;
  void check_thread() const override;
  [[noreturn]] void refuse(const std::string& what) const override;
  [[noreturn]] void end_run(const std::string& why, const std::string& hint) const override;
  bool are_on_several_hosts() const override { return worker_.memory().is_on_several_hosts(); }
  [[noreturn]] void refuse_on_several_hosts(const std::string& what) const override;

 private:
  struct Frame;
  struct Expected;
  class ExpectedTransit;
  void divide_traffic();
  void send_walk(int worker, const network::Walk& walk);
  void post(int target, const Frame& frame, std::span<const char> data = {});
  void post_with_data(int target, Frame& frame, const Data& data);
  void finish(std::unique_ptr<Expected> expected, const SimTime& arrival);
  void take_message(const Frame& frame, std::span<const char> data);
  void take_clearance(const Frame& frame);
  void take_data(const Frame& frame);

  World& world_;
  pdes::Worker& worker_;
  Refuse refuse_;
  Refuse end_run_;
  pdes::Worker::Take take_any_;
  bool announces_sends_ = false;
  bool refuses_threads_ = false;
};

}  // namespace sesame::mpi
