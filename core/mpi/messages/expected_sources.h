// In what order messages are expected to arrive at one rank of a parallel simulation, so that a
// receive from any source need not wait until no earlier message can come: the second kind of the
// deterministic shortcut (docs/models/parallel.md). What is expected may be wrong; then a message
// contradicts it, and the run has to end.
//
// Use: make one with what is expected, and give it to Matching::expect(). Matching reports each
// message that arrives with arrive(), asks too_soon() before it matches one early, and reports the
// match with match(). contradicts() says for each further message whether it should have been
// matched before. Messages with different tags or contexts are independent of each other.
//
// Nothing here fails. Times are simulated. One thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/mpi/messages/message.h"

namespace sesame::mpi {

class ExpectedSources {
 public:
  // All messages of a tag come from one source. (Of a tag with several, none is matched early.)
  static ExpectedSources single() { return ExpectedSources(true); }
  // Messages come in the order of those that are added.
  static ExpectedSources ordered() { return ExpectedSources(false); }

  // The next `count` messages of this context and tag come from the rank `source` of the run.
  void add(uint32_t context, int tag, int source, uint64_t count);

  // The message has arrived: no other of its channel did later.
  void arrive(const MessageEnvelope& message);
  // How many of the messages of this one's source and tag, those that arrived last, are expected
  // behind a message that has not arrived. kUnknown: nothing is expected of this tag.
  uint64_t too_soon(const MessageEnvelope& message) const;
  static constexpr uint64_t kUnknown = UINT64_MAX;
  // The message was matched early by the receive with this RequestObject::order.
  void match(const MessageEnvelope& message, uint64_t order);
  // Whether the message, which arrives, comes before one that was matched early. `order`: that of
  // the receive that names its source and takes it; 0: none does.
  bool contradicts(const MessageEnvelope& message, uint64_t order) const;

 private:
  struct Run {
    int source;
    uint64_t left;  // that have not arrived
  };
  // Messages of one context and tag.
  struct Flow {
    std::vector<Run> runs;
    size_t next = 0;                             // the first run of which some have not arrived
    std::unordered_map<int, uint64_t> too_soon;  // that arrived before their turn, by source
    int only_source = -1;                        // of all that have arrived
    bool has_several = false;
    // The last message that was matched early.
    SimTime last_arrival;
    int last_source = 0;
    uint64_t last_order = 0;  // of its receive; 0: there is none
  };

  explicit ExpectedSources(bool is_single) : is_single_(is_single) {}
  static uint64_t key_of(uint32_t context, int tag) {
    return uint64_t{context} << 32 | static_cast<uint32_t>(tag);
  }
  static void pass(Flow& flow);

  bool is_single_;
  std::unordered_map<uint64_t, Flow> flows_;
};

}  // namespace sesame::mpi
