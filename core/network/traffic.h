// Messages that share cards, links and the memory of nodes: each waits in turn at everything that
// it shares, first come, first served in simulated time (docs/models/sharing.md).
//
// Use: derive a class from Transit, implement arrives(), and start() an object of it for each
// message for which is_shared() is true. The transit is an event of the simulation. At each thing
// on its way it fires when the head of the message gets there, so that requests are served in the
// order of time whatever the order in which ranks run. When the last one has started to serve it,
// its arrival is certain and arrives() is called. The code that starts a transit owns it; arrives()
// may delete it.
//
// The processes of a parallel simulation (docs/models/parallel.md) divide cards and links among
// them (divide_among_processes()). A transit then belongs to the process of its receiver from
// hand_over() on. A walk carries it over the links of others, and brings it back behind the last
// one.
//
// Sizes are bytes, times simulated. Nothing here fails. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/machine/machine.h"
#include "core/network/cards.h"
#include "core/network/fabric.h"
#include "core/network/network.h"
#include "core/pdes/event_queue.h"

namespace sesame::network {

class Traffic;

// A message from a rank to a rank.
struct RankMessage {
  int from = 0;  // ranks
  int to = 0;
  uint64_t bytes = 0;
  SimTime start;        // when the sender's own interface begins to inject it
  uint32_t number = 0;  // orders transits of one sender that are equally early
  const MessageCost& cost;
};

// A message of a file system: its sender, its receiver or both are nodes, not ranks. It shares
// cards, but neither links nor memory.
struct FileMessage {
  Card* from = nullptr;  // null: it leaves through no shared card
  Card* to = nullptr;    // null: it arrives through none
  uint64_t bytes = 0;
  SimTime start;  // when the sender's own interface begins to inject it
  const MessageCost& cost;
};

// Where a message is between the card of its sender and that of its receiver. It goes into frames.
struct Passage {
  static constexpr uint32_t kNoLink = UINT32_MAX;

  int64_t head_ps = 0;      // when the head of the message is at the next link or receiver's card
  int64_t tail_ps = 0;      // when its end would be there
  int64_t latency_ps = 0;   // behind the last link
  int64_t hop_ps = 0;       // between links
  uint32_t number = 0;      // RankMessage::number
  uint32_t link = kNoLink;  // the next one; none: the receiver's card is next
  Route route;              // behind that link

  SimTime head() const { return SimTime::from_ps(head_ps); }
};

// A message on its way over the links of other processes than its receiver's.
struct Walk {
  Passage passage;
  int from = 0;  // ranks
  int to = 0;
  uint64_t bytes = 0;
  uint64_t transit = 0;  // of the receiver's process, where it waits for the walk
};

class Transit : public pdes::ConditionalEvent {
 public:
  void fire() final;

 protected:
  // The sender's card has started to send it, where the first link does not begin at the node, or
  // it has left a link. True: another process, that of the receiver, continues it
  // (continue_at_receiver()). Then the transit is not used any more and may be deleted. False if
  // the receiver is here, always so after continue_at_receiver(). Messages that use the same card
  // and link first are handed over in their order.
  virtual bool hand_over(const Passage& passage) {
    static_cast<void>(passage);
    return false;
  }
  // The sender's card will have read the message at `end`.
  virtual void leaves(SimTime end) { static_cast<void>(end); }
  // The last byte will arrive at `time`, which is not before the simulated time now.
  virtual void arrives(SimTime time) = 0;
  // Whether arrives() is called when it fires next.
  bool is_at_last_stage() const { return stage_ == Stage::kReceive || stage_ == Stage::kMemory; }

 private:
  friend class Traffic;
  bool is_of_file() const { return from_ == kNoRank; }
  enum class Stage : uint8_t { kSend, kEnter, kLink, kReceive, kMemory };

  Traffic* traffic_ = nullptr;
  Card* send_card_ = nullptr;
  Card* receive_card_ = nullptr;  // null: it arrives through none
  int from_ = kNoRank;
  int to_ = kNoRank;
  uint64_t bytes_ = 0;
  SimTime head_;     // when the head of the message is at the next stage
  SimTime tail_;     // when its end would be there
  SimTime latency_;  // from card to card; with links: behind the last of them
  SimTime injection_;
  SimTime hop_;           // latency of a hop between links
  Link* link_ = nullptr;  // that it comes to next
  Route route_;
  uint32_t number_ = 0;
  Stage stage_ = Stage::kSend;
};

class Traffic {
 public:
  // Whether a core of the rank computes at `now`, which is that of the event that fires.
  using IsBusy = bool (*)(void* context, int rank, SimTime now);

  // `network` must outlive it and have the ranks that exist.
  Traffic(const machine::Machine& machine, const Network& network, pdes::EventQueue& events);

  void set_busy_cores(IsBusy is_busy, void* context) {
    is_busy_ = is_busy;
    busy_context_ = context;
  }
  // To be called after Network::add_ranks().
  void add_ranks(const std::vector<int>& nodes);

  // Whether messages between the two ranks share anything with others.
  bool is_shared(int from, int to) const {
    return memory_ps_per_byte_ > 0 || network_.node_of(from) != network_.node_of(to);
  }
  // Any strand may call this at any time not after message.start.
  void start(Transit& transit, const RankMessage& message);
  // Only an event that fires may call this, not after message.start. Of messages that reach a card
  // at the same time those of files are served first, in the order of calls, then those of ranks.
  void start(Transit& transit, const FileMessage& message);

  // Divides cards and links: `process_of_node` has the process of each node's ranks (of a node
  // without ranks any, but see nodes_choosing_together()), `here` is this one. `send` brings a walk
  // to take_walk() of another process. From now on a transit may be handed over.
  using SendWalk = std::function<void(int process, const Walk& walk)>;
  void divide_among_processes(std::vector<int> process_of_node, int here, SendWalk send);
  void take_walk(const Walk& walk);
  // So many consecutive nodes, 0 to n - 1 and so on, must belong to one process (routes.h).
  int nodes_choosing_together() const {
    return fabric_ == nullptr ? 1 : static_cast<int>(fabric_->nodes_choosing_together());
  }
  // The least time between two events of a message at cards or links of different processes.
  // `shortest`: the least latency between two nodes.
  SimTime least_step(SimTime shortest) const;

  // Continues a transit between the two ranks that another process has handed over.
  // hand_over(), which must return false, and arrives() will be called.
  void continue_at_receiver(Transit& transit, int from, int to, uint64_t bytes,
                            const Passage& passage);

  // Keeps the history of cards and links (server.h) from now on.
  void keep_history() { keeps_history_ = true; }

  Cards& cards() { return cards_; }
  const Cards& cards() const { return cards_; }
  const Fabric* fabric() const { return fabric_.get(); }
  Fabric* fabric() { return fabric_.get(); }

 private:
  class Walker;
  friend class Transit;
  void prepare(Transit& transit, uint64_t bytes, SimTime start, const MessageCost& cost);
  void advance(Transit& transit);
  void schedule(Transit& transit);
  void send(Transit& transit);
  void enter_fabric(Transit& transit);
  void pass_link(Transit& transit);
  void approach_next(Transit& transit, SimTime hop);
  static void approach_receiver(Transit& transit);
  Passage passage_of(const Transit& transit) const;
  void set_passage(Transit& transit, const Passage& passage);
  int process_of(const Walk& walk) const;
  // Whether what it comes to next is known, and not on the sender's node.
  bool may_be_handed_over(const Transit& transit) const {
    return transit.stage_ != Transit::Stage::kEnter &&
           (fabric_ == nullptr || !fabric_->begins_at_node());
  }
  bool pass_to_other_process(Transit& transit);
  bool send_walk(Transit& transit);
  void receive(Transit& transit);
  void copy(Transit& transit);
  void count(Server& server, const Transit& transit, SimTime begin, SimTime time) const;
  int busy_cores(uint32_t node, SimTime now) const;

  const Network& network_;
  pdes::EventQueue& events_;
  Cards cards_;
  std::unique_ptr<Fabric> fabric_;  // null: messages share no links
  SimTime hop_latency_;
  int diameter_ = 0;  // the most hops between two nodes; if they share links
  // Of several processes:
  SendWalk send_walk_;  // empty: there is only this one
  int here_ = 0;
  std::vector<int> process_of_node_;
  bool keeps_history_ = false;
  double memory_ps_per_byte_ = 0;  // of all copies inside a node; 0: they share nothing
  [[no_unique_address]] Parameter memory_key_;
  std::vector<Server> memories_;                 // by node; empty if they share nothing
  std::vector<std::vector<int>> ranks_of_node_;  // if the cards depend on busy cores
  IsBusy is_busy_ = nullptr;
  void* busy_context_ = nullptr;
};

// `traffic` if messages between the two ranks share anything with others, else null. It may be
// null.
inline Traffic* shared_between(Traffic* traffic, int from, int to) {
  return traffic != nullptr && traffic->is_shared(from, to) ? traffic : nullptr;
}

}  // namespace sesame::network
