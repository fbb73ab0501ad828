// What another worker's rank sends to a rank of this one in a window (remote_windows.h): events at
// the times at which they reach the target, in the order that they have in a run with one
// executive. They delete themselves.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/pool.h"
#include "core/mpi/objects/pack.h"
#include "core/mpi/rma/operation.h"
#include "core/mpi/rma/remote_windows.h"
#include "core/pdes/event_queue.h"

namespace sesame::mpi {

// Whose receivers schedule these events, and give answers to the operations and windows of this
// worker.
std::shared_ptr<RemoteWindows> make_remote_windows(World& world);

class ArrivingOperation final : public pdes::ConditionalEvent, public Pooled<ArrivingOperation> {
 public:
  // `content`: the ranges of the target's memory, then the data.
  static void schedule(World& world, std::shared_ptr<SharedWindow> window,
                       const OperationFrame& frame, std::span<const char> content);
  void fire() override;

 private:
  class RequestTransit;
  class ReplyTransit;

  ArrivingOperation(World& world, std::shared_ptr<SharedWindow> window, const OperationFrame& frame,
                    std::span<const char> content);
  pdes::EventOrder order() const;
  int world_rank(int rank) const { return (*window_->members)[rank]; }
  std::vector<char> gather() const;
  void scatter(const char* data, Count bytes) const;
  void take_effect(std::vector<char>& before) const;
  void accumulate(std::vector<char>& before) const;
  void record() const;
  void send_reply(std::vector<char> before);

  World& world_;
  std::shared_ptr<SharedWindow> window_;
  const OperationFrame frame_;
  std::vector<ByteRange> ranges_;
  std::vector<char> data_;
};

class ArrivingLock final : public pdes::ConditionalEvent, public Pooled<ArrivingLock> {
 public:
  static void schedule(World& world, std::shared_ptr<SharedWindow> window,
                       const LockDelivery& delivery, uint32_t order);
  void fire() override;

 private:
  ArrivingLock(World& world, std::shared_ptr<SharedWindow> window, const LockDelivery& delivery)
      : world_(world), window_(std::move(window)), delivery_(delivery) {}

  World& world_;
  std::shared_ptr<SharedWindow> window_;
  const LockDelivery delivery_;
};

}  // namespace sesame::mpi
