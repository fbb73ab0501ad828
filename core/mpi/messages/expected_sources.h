// In what order messages are expected to arrive at one rank of a parallel simulation, so that a
// receive from any source need not wait until no earlier message can come: the second kind of the
// deterministic shortcut (docs/models/parallel.md). What is expected may be wrong; then a message
// contradicts it, and the run has to end.
//
// Use: make one with what is expected, and give it to Matching::expect(). Matching reports each
// message that arrives with arrive(), asks early_arrivals() before it matches one early, and
// reports the match with match(). contradicts() says for each further message whether it should
// have been matched before. Messages with different tags or contexts are independent of each other.
//
// Posted receives that name their source are reported with post() and remove(). A message that
// comes later may be for one of them, although it arrives before one that was matched early. That
// is no contradiction only if this receive was posted earlier than the one that matched early. So
// none may match early then: Matching asks is_first().
//
// Nothing here fails. Times are simulated. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/mpi/messages/message.h"

namespace sesame::mpi {

class ExpectedSources {
 public:
  // All messages of a tag come from one source. (Of a tag with several, none is matched early.)
  static ExpectedSources one_source_per_tag() { return ExpectedSources(true); }
  // Messages come in the order of those that are added.
  static ExpectedSources ordered() { return ExpectedSources(false); }

  // The next `count` messages of this context and tag come from the rank `source` of the run.
  // `is_tied`: in any order with those of the calls before, back to the last one without it. These
  // calls have different sources.
  void add(uint32_t context, int tag, int source, uint64_t count, bool is_tied = false);

  // The message has arrived: no other of its channel did later.
  void arrive(const MessageEnvelope& message);
  // How many of the messages of this one's source and tag, those that arrived last, are expected
  // behind a message that has not arrived, or tied with one. kUnknown: nothing is expected of this
  // tag.
  uint64_t early_arrivals(const MessageEnvelope& message) const;
  static constexpr uint64_t kUnknown = UINT64_MAX;
  // The message was matched early.
  void match(const MessageEnvelope& message);
  // Whether the message, which arrives, comes before one that was matched early.
  bool contradicts(const MessageEnvelope& message) const;

  // A receive that names its source is posted, or is matched or cancelled. `tag` may be
  // MPI_ANY_TAG, `order` is that of the RequestObject.
  void post(uint32_t context, int tag, uint64_t order);
  void remove(uint32_t context, int tag, uint64_t order);
  // Whether a receive with this order was posted before all those that take messages of this tag.
  bool is_first(uint32_t context, int tag, uint64_t order) const;

 private:
  struct Run {
    int source;
    uint64_t left;  // that have not arrived
    bool is_tied;   // with the run before
  };
  // Messages of one context and tag.
  struct Flow {
    bool is_tied(size_t run) const { return run < runs.size() && runs[run].is_tied; }
    uint64_t early_of(int source) const;
    void take_early(int source, uint64_t count);

    std::vector<Run> runs;
    size_t next = 0;                          // the first run of which some have not arrived
    size_t tied_end = 0;                      // of those that are tied with it and have arrived
    std::unordered_map<int, uint64_t> early;  // that arrived before their turn, by source
    int only_source = -1;                     // of all that have arrived
    bool has_several = false;
    // The last message that was matched early.
    bool has_match = false;
    SimTime last_arrival;
    int last_source = 0;
  };

  explicit ExpectedSources(bool has_one_source) : has_one_source_(has_one_source) {}
  static uint64_t key_of(uint32_t context, int tag) {
    return uint64_t{context} << 32 | static_cast<uint32_t>(tag);
  }
  static void advance(Flow& flow);
  static bool take_run(Flow& flow);
  static bool take_tied_runs(Flow& flow);
  bool has_before(uint64_t key, uint64_t order) const;

  bool has_one_source_;  // each tag
  std::unordered_map<uint64_t, Flow> flows_;
  std::unordered_map<uint64_t, std::set<uint64_t>> posted_;  // orders of receives
};

}  // namespace sesame::mpi
