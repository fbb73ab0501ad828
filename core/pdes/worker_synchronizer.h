// What the protocols have in common: a Synchronizer for the executive of one worker (workers.h).
#pragma once

#include <utility>

#include "core/pdes/executive.h"
#include "core/pdes/synchronizer.h"
#include "core/pdes/workers.h"

namespace sesame::pdes {

class WorkerSynchronizer : public Synchronizer {
 public:
  bool is_awaited() const final { return worker_.state().idle > 0; }
  bool has_arrivals() final { return worker_.has_arrivals(); }
  bool take_arrivals() final { return worker_.take_frames(take_); }
  bool is_stopped() const final { return worker_.state().stopped.load(); }
  bool is_stuck() const final { return worker_.state().is_stuck.load(); }

 protected:
  WorkerSynchronizer(Worker& worker, Executive& executive, Worker::Take take)
      : worker_(worker), executive_(executive), take_(std::move(take)) {}

  // Waits for a frame of which at least a part has arrived, and takes it. False: the run is being
  // stopped.
  bool take_next_frame() {
    bool any = false;
    worker_.wait_until([&] { return (any = worker_.take_frames(take_)) || is_stopped(); });
    return any;
  }

  Worker& worker_;
  Executive& executive_;
  Worker::Take take_;
};

}  // namespace sesame::pdes
