#include "core/postprocess/pruning.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

namespace sesame::postprocess {
namespace {

// A vector clock: how many I/O operations of each process precede. Shared by all processes with
// equal values and copied before a change, so equal pointers mean equal values.
using News = std::vector<uint32_t>;
using NewsPointer = std::shared_ptr<News>;

bool knows(const News& mine, const News& other) {
  bool all = true;
  for (size_t i = 0; i < mine.size(); ++i) all &= mine[i] >= other[i];
  return all;
}

void set_bit(std::vector<uint64_t>& bits, uint64_t number) {
  if (number / 64 >= bits.size()) bits.resize(number / 64 + 1);
  bits[number / 64] |= uint64_t{1} << (number % 64);
}

// A message sent and perhaps not yet received.
struct Sent {
  uint64_t number;  // which send of its process
  bool wanted;
  bool received;
  NewsPointer news;  // kCausal only
};

struct InFlight {
  std::deque<Sent> messages;
  uint64_t first = 0;  // number in the channel of the front
  size_t destination = SIZE_MAX;
};

// A collective call that some members have reached.
struct PendingCollective {
  struct Arrival {
    size_t process;
    uint64_t number;
  };
  std::vector<Arrival> arrivals;
  bool wanted = false;
};

enum class Step { kDone, kBlocked };

struct State {
  JobProcess* process = nullptr;
  const ProcessSurvey* survey = nullptr;
  size_t at = 0;                // next operation
  std::vector<uint8_t> synced;  // the thesis's node_array, by index
  NewsPointer news;
  std::unordered_map<size_t, NewsPointer> last_news;  // last received from each peer
  std::vector<InFlight> sent;                         // by channel of sends
  std::vector<uint64_t> in_channel;  // of each receive: which message of its channel
  std::vector<uint64_t> on_comm;     // of each collective: which on its communicator
  bool waits = false;
  bool arrived = false;   // at a collective call
  bool complete = false;  // all other members have arrived, too
};

class Pruner {
 public:
  Pruner(Job& job, Pruning rule) : job_(job), causal_(rule == Pruning::kCausal) {
    for (size_t i = 0; i < job.processes.size(); ++i) indices_[job.processes[i].number] = i;
    states_.resize(job.processes.size());
    for (size_t i = 0; i < states_.size(); ++i) begin(i);
  }

  void run() {
    for (size_t i = 0; i < states_.size(); ++i) ready_.push_back(i);
    while (true) {
      while (!ready_.empty()) {
        size_t index = ready_.front();
        ready_.pop_front();
        advance(index);
      }
      if (!force_one()) break;
    }
    for (State& state : states_) finish(state);
  }

 private:
  void begin(size_t index) {
    State& state = states_[index];
    state.process = &job_.processes[index];
    state.survey = &job_.survey_of(*state.process);
    state.synced.assign(states_.size(), 0);
    if (causal_) state.news = std::make_shared<News>(states_.size(), 0);
    const ProcessSurvey& survey = *state.survey;
    state.sent.resize(survey.sends.size());
    for (size_t c = 0; c < survey.sends.size(); ++c) {
      state.sent[c].destination = index_of(peer_of(*state.process, survey.sends[c].key));
    }
    std::vector<uint64_t> next(survey.receives.size(), 0);
    for (uint32_t channel : survey.receive_channels) {
      state.in_channel.push_back(channel == kNoChannel ? 0 : next[channel]++);
    }
    std::unordered_map<int32_t, uint64_t> calls;
    for (uint32_t instance : survey.collective_comms) {
      state.on_comm.push_back(calls[comm_of(state, instance)]++);
    }
  }

  static int32_t peer_of(const JobProcess& process, const ChannelKey& key) {
    if (key.comm < 0) return -1;
    return process.comms[static_cast<size_t>(key.comm)].peer(key.peer);
  }
  size_t index_of(int32_t number) const {
    auto found = indices_.find(number);
    return found == indices_.end() ? SIZE_MAX : found->second;
  }
  static int32_t comm_of(const State& state, uint32_t instance) {
    return instance < state.process->comms.size() ? state.process->comms[instance].index : -1;
  }

  void wake(size_t index) {
    if (!states_[index].waits) return;
    states_[index].waits = false;
    ready_.push_back(index);
  }

  void advance(size_t index) {
    State& state = states_[index];
    const auto& operations = state.survey->operations;
    while (state.at < operations.size()) {
      if (step(index, operations[state.at], false) == Step::kBlocked) {
        state.waits = true;
        return;
      }
      ++state.at;
    }
  }

  Step step(size_t index, const Operation& operation, bool forced) {
    switch (operation.kind) {
      case Operation::kIo:
        io(index);
        return Step::kDone;
      case Operation::kSend:
        send(index, operation);
        return Step::kDone;
      case Operation::kReceived:
        return receive(index, operation, forced);
      case Operation::kCollective:
        return collective(index, operation);
    }
    return Step::kDone;
  }

  void io(size_t index) {
    State& state = states_[index];
    std::ranges::fill(state.synced, 0);
    if (causal_) ++own_news(state)[index];
  }
  // The news of a process, for a change.
  static News& own_news(State& state) {
    if (state.news.use_count() > 1) state.news = std::make_shared<News>(*state.news);
    return *state.news;
  }
  static void learn(State& state, const News& other) {
    News& mine = own_news(state);
    for (size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], other[i]);
  }

  void send(size_t index, const Operation& operation) {
    State& state = states_[index];
    InFlight& channel = state.sent[operation.channel];
    const size_t destination = channel.destination;
    const bool wanted = destination == SIZE_MAX || state.synced[destination] == 0;
    channel.messages.push_back({operation.number, wanted, false, state.news});
    if (destination != SIZE_MAX) wake(destination);
  }

  Step receive(size_t index, const Operation& operation, bool forced) {
    State& state = states_[index];
    const ChannelEnd& end = state.process->senders[operation.channel];
    size_t source =
        index_of(peer_of(*state.process, state.survey->receives[operation.channel].key));
    bool decision = source == SIZE_MAX || state.synced[source] == 0;
    Sent* message = nullptr;
    if (end.process >= 0) {
      InFlight& channel = states_[index_of(end.process)].sent[end.channel];
      uint64_t number = state.in_channel[operation.number];
      if (number < channel.first + channel.messages.size() && number >= channel.first) {
        message = &channel.messages[number - channel.first];
      } else if (!forced) {
        return Step::kBlocked;
      }
    }
    if (message != nullptr) decision = take(state, source, *message, decision);
    if (decision) set_bit(state.process->receive_kept, operation.number);
    if (source != SIZE_MAX) state.synced[source] = 1;
    if (message != nullptr) clear_front(states_[index_of(end.process)].sent[end.channel]);
    return Step::kDone;
  }

  // Combines the decisions of both sides. If the message is kept, the receiver learns its news.
  bool take(State& state, size_t source, Sent& message, bool decision) {
    decision |= message.wanted;
    if (causal_ && state.last_news[source] != message.news) {
      decision |= !knows(*state.news, *message.news);
      if (decision) learn(state, *message.news);
      state.last_news[source] = message.news;
    }
    if (decision) set_bit(states_[source].process->send_kept, message.number);
    message.received = true;
    message.news.reset();
    return decision;
  }
  static void clear_front(InFlight& channel) {
    while (!channel.messages.empty() && channel.messages.front().received) {
      channel.messages.pop_front();
      ++channel.first;
    }
  }

  Step collective(size_t index, const Operation& operation) {
    State& state = states_[index];
    if (state.arrived) {
      if (!state.complete) return Step::kBlocked;
      state.arrived = state.complete = false;
      return Step::kDone;
    }
    int32_t comm = comm_of(state, operation.channel);
    if (comm < 0) return Step::kDone;
    std::pair key{comm, state.on_comm[operation.number]};
    PendingCollective& pending = pending_collectives_[key];
    pending.arrivals.push_back({index, operation.number});
    pending.wanted |= wants(state, comm);
    state.arrived = true;
    if (pending.arrivals.size() < expected(comm)) return Step::kBlocked;
    finish_collective(key, index);
    state.arrived = false;
    return Step::kDone;
  }

  const std::vector<size_t>& members(int32_t comm) {
    auto [entry, added] = members_.try_emplace(comm);
    if (added) {
      const Communicator& communicator = *job_.communicators[static_cast<size_t>(comm)];
      for (const auto* group : {&communicator.members, &communicator.remote}) {
        for (int32_t number : *group) {
          if (size_t index = index_of(number); index != SIZE_MAX) entry->second.push_back(index);
        }
      }
    }
    return entry->second;
  }
  size_t expected(int32_t comm) { return members(comm).size(); }
  bool wants(const State& state, int32_t comm) {
    return std::ranges::any_of(members(comm), [&](size_t p) { return state.synced[p] == 0; });
  }

  // Completes a collective call: all members decide together and resume; the caller resumes
  // `index`.
  void finish_collective(const std::pair<int32_t, uint64_t>& key, size_t index) {
    PendingCollective pending = std::move(pending_collectives_[key]);
    pending_collectives_.erase(key);
    if (causal_) pending.wanted |= differ(pending);
    if (causal_ && pending.wanted) share_news(pending);
    for (const PendingCollective::Arrival& arrival : pending.arrivals) {
      State& state = states_[arrival.process];
      if (pending.wanted) set_bit(state.process->collective_kept, arrival.number);
      for (size_t member : members(key.first)) state.synced[member] = 1;
      if (arrival.process == index) continue;
      state.complete = true;
      wake(arrival.process);
    }
  }
  bool differ(const PendingCollective& pending) const {
    const NewsPointer& first = states_[pending.arrivals.front().process].news;
    return std::ranges::any_of(pending.arrivals, [&](const PendingCollective::Arrival& arrival) {
      const NewsPointer& news = states_[arrival.process].news;
      return news != first && *news != *first;
    });
  }
  void share_news(const PendingCollective& pending) {
    auto all = std::make_shared<News>(states_.size(), 0);
    for (const PendingCollective::Arrival& arrival : pending.arrivals) {
      const News& news = *states_[arrival.process].news;
      for (size_t i = 0; i < news.size(); ++i) (*all)[i] = std::max((*all)[i], news[i]);
    }
    for (const PendingCollective::Arrival& arrival : pending.arrivals) {
      states_[arrival.process].news = all;
    }
  }

  // No process can advance: a sender or a member was not traced, or its trace is damaged. The first
  // process that waits advances without the missing message or members.
  bool force_one() {
    for (size_t index = 0; index < states_.size(); ++index) {
      State& state = states_[index];
      if (!state.waits) continue;
      const Operation& operation = state.survey->operations[state.at];
      if (operation.kind == Operation::kCollective) {
        std::pair key{comm_of(state, operation.channel), state.on_comm[operation.number]};
        finish_collective(key, SIZE_MAX);
      } else {
        state.waits = false;
        step(index, operation, true);
        ++state.at;
        ready_.push_back(index);
      }
      return true;
    }
    return false;
  }

  // A message that was never received is kept if its sender wanted it.
  static void finish(State& state) {
    for (InFlight& channel : state.sent) {
      for (const Sent& message : channel.messages) {
        if (!message.received && message.wanted) {
          set_bit(state.process->send_kept, message.number);
        }
      }
    }
  }

  Job& job_;
  const bool causal_;
  std::unordered_map<int32_t, size_t> indices_;  // by number
  std::vector<State> states_;                    // by index in Job::processes
  std::map<std::pair<int32_t, uint64_t>, PendingCollective> pending_collectives_;
  std::unordered_map<int32_t, std::vector<size_t>> members_;
  std::deque<size_t> ready_;
};

}  // namespace

void prune(Job& job, Pruning rule) {
  if (rule == Pruning::kNone) return;
  Pruner(job, rule).run();
  for (ProcessSurvey& survey : job.surveys) survey.operations = {};
}

}  // namespace sesame::postprocess
