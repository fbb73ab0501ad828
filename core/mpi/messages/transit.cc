#include "core/mpi/messages/transit.h"

#include <optional>

#include "core/base/pool.h"
#include "core/base/prefetch.h"
#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

void OrderedTransit::arrives(SimTime time) {
  has_arrived_ = true;
  arrival_ = time;
  if (!is_first_) return;
  OrderedTransit* first = this;
  do {
    OrderedTransit* next = first->next_;
    if (next != nullptr) {
      next->is_first_ = true;
    } else {
      first->end_order();
    }
    first->reach_target(first->arrival_);
    first = next;
  } while (first != nullptr && first->has_arrived_);
}

namespace {

class MessageTransit final : public OrderedTransit, public Pooled<MessageTransit> {
 public:
  MessageTransit(World& world, int target, QueuedMessage* message)
      : world_(world),
        target_(target),
        context_(message->context),
        source_(message->source),
        message_(message) {
    message->in_transit = 1;
    OrderedTransit*& last = last_of_channel();
    stay_behind(last);
    last = this;
  }
  // For a message that shares nothing: it arrives after those before it.
  void arrive_next() { arrives(message_->arrival); }

  void load_ahead() const override {
    if (!is_at_last_stage()) return;
    world_.matching_of(target_).prefetch_in_transit(context_, source_);
    prefetch_bytes(message_, sizeof *message_);
  }

 protected:
  bool hand_over(const network::Passage& passage) override {
    if (world_.is_here(target_)) return false;
    passage_ = passage;
    arrives(passage.head());
    return true;
  }

 private:
  OrderedTransit*& last_of_channel() {
    return world_.matching_of(target_).last_in_transit(context_, source_);
  }
  void end_order() override { last_of_channel() = nullptr; }
  void reach_target(SimTime arrival) override;
  void send_away();

  World& world_;
  const int target_;
  const uint32_t context_;
  const int source_;
  QueuedMessage* const message_;
  std::optional<network::Passage> passage_;  // if another worker continues it and it shares cards
};

void MessageTransit::send_away() {
  RequestObject* send = message_->sender();
  if (send != nullptr) send->queued = nullptr;
  world_.remote->send(target_, *message_, {message_->payload, send},
                      passage_ ? &*passage_ : nullptr);
  delete message_;
  delete this;
}

void MessageTransit::reach_target(SimTime arrival) {
  if (!world_.is_here(target_)) return send_away();
  QueuedMessage* message = message_;
  World& world = world_;
  const int target = target_;
  delete this;
  if (message->withdrawn) {
    delete message;
    return;
  }
  message->in_transit = 0;
  message->arrival = arrival;
  reach_queue(world, target, message);
}

}  // namespace

void send_shared_message(Rank& sender, int target, QueuedMessage* message,
                         const network::MessageCost& cost, SimTime start) {
  auto* transit = new MessageTransit(sender.world, target, message);
  sender.world.traffic->start(*transit, {.from = sender.id,
                                         .to = target,
                                         .bytes = message->bytes,
                                         .start = start,
                                         .number = sender.interface.injections(),
                                         .cost = cost});
}

bool is_behind_others(World& world, int target, const MessageEnvelope& message) {
  return world.matching_of(target).last_in_transit(message.context, message.source) != nullptr;
}

void send_shared_request(World& world, int target, QueuedMessage* message) {
  (new MessageTransit(world, target, message))->arrive_next();
}

void continue_shared_message(World& world, int target, QueuedMessage* message,
                             const network::Passage& passage) {
  auto* transit = new MessageTransit(world, target, message);
  world.traffic->continue_at_receiver(*transit, message->source_world, target, message->bytes,
                                      passage);
}

}  // namespace sesame::mpi
