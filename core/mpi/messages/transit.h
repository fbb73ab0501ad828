// Eager messages that share cards, links or memory with others on their way
// (core/network/traffic.h). Such a message is in its sender's and receiver's channel as soon as it
// is sent, but reaches the receiver's queue when the simulator knows its arrival. Its send is
// complete long before, or, for a synchronous one, completes on matching like any other.
//
// Messages of a channel must reach the queue in the order sent, although a small one may catch up
// with a large one: it then waits for it. So must one-sided operations on one target, which use the
// same base class.
//
// In a parallel simulation a message to a rank of another worker is in transit twice: here until it
// has left the sender's card, and there until it arrives. Both keep the order of the channel.
//
// Use: send_shared_message() sends an eager message whose injection starts at `start`;
// send_shared_request() sends the request to send of a rendezvous message, which shares nothing,
// behind messages that are still on their way. Transits own themselves and their messages. Nothing
// here fails. One thread.
#pragma once

#include "core/mpi/messages/message.h"
#include "core/mpi/messages/rank.h"
#include "core/network/traffic.h"

namespace sesame::mpi {

// A transit that stays behind those that started before it in the same order.
class OrderedTransit : public network::Transit {
 protected:
  // `last`: the last one of the order that has not arrived, or null.
  void stay_behind(OrderedTransit* last) {
    if (last == nullptr) return;
    last->next_ = this;
    is_first_ = false;
  }
  void arrives(SimTime time) final;

 private:
  // All earlier ones have arrived, too. Deletes the transit.
  virtual void reach_target(SimTime arrival) = 0;
  // Sets the last one of the order to null.
  virtual void end_order() = 0;

  OrderedTransit* next_ = nullptr;
  bool is_first_ = true;
  bool has_arrived_ = false;
  SimTime arrival_;
};

// Takes ownership of a message of `sender` to the rank `target` of the run. The interface of
// `sender` has reserved `start` for it.
void send_shared_message(Rank& sender, int target, QueuedMessage* message,
                         const network::MessageCost& cost, SimTime start);
// The same for a request to send, whose arrival is known. False, and nothing is done, if no earlier
// message of its channel is on its way: it must be delivered at once then.
bool is_behind_others(World& world, int target, const MessageEnvelope& message);
void send_shared_request(World& world, int target, QueuedMessage* message);
// Takes ownership of a message of another worker to a rank of this one.
void continue_shared_message(World& world, int target, QueuedMessage* message,
                             const network::Passage& passage);

}  // namespace sesame::mpi
