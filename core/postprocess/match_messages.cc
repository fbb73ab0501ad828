// Matches sent with received messages. Between two processes, on one communicator and with one tag,
// messages are received in the order in which they were sent.
#include <algorithm>
#include <unordered_map>

#include "core/postprocess/job.h"

namespace sesame::postprocess {
namespace {

struct Key {
  int32_t comm;
  int32_t source;
  int32_t destination;
  int32_t tag;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = ChannelKeyHash{}({key.comm, key.source, key.tag});
    return (hash ^ static_cast<uint32_t>(key.destination)) * 0xD6E8FEB86659FD93u >> 7;
  }
};

CommView view_of(const JobProcess& process, int32_t instance) {
  if (instance < 0) return {};
  return process.comms[static_cast<size_t>(instance)];
}

void add_unmatched(Job& job, const JobProcess& process, const Channel& channel, uint64_t messages,
                   bool sent) {
  CommView view = view_of(process, channel.key.comm);
  job.unmatched.push_back(
      {process.number, view.peer(channel.key.peer), channel.key.tag, view.index, messages, sent});
}

void find_unmatched(Job& job, const std::vector<size_t>& positions) {
  for (const JobProcess& process : job.processes) {
    const ProcessSurvey& survey = job.survey_of(process);
    auto messages_at = [&](const ChannelEnd& end, bool sent) -> uint64_t {
      if (end.process < 0) return 0;
      const JobProcess& other = job.processes[positions[static_cast<size_t>(end.process)]];
      const ProcessSurvey& found = job.survey_of(other);
      return (sent ? found.sends : found.receives)[end.channel].messages;
    };
    for (size_t i = 0; i < survey.sends.size(); ++i) {
      uint64_t received = messages_at(process.receivers[i], false);
      uint64_t sent = survey.sends[i].messages;
      if (sent > received) add_unmatched(job, process, survey.sends[i], sent - received, true);
    }
    for (size_t i = 0; i < survey.receives.size(); ++i) {
      uint64_t sent = messages_at(process.senders[i], true);
      uint64_t received = survey.receives[i].messages;
      if (received > sent) {
        add_unmatched(job, process, survey.receives[i], received - sent, false);
      }
    }
  }
}

}  // namespace

void match_messages(Job& job) {
  std::unordered_map<Key, ChannelEnd, KeyHash> sent;
  int32_t most = 0;
  for (const JobProcess& process : job.processes) most = std::max(most, process.number);
  std::vector<size_t> positions(static_cast<size_t>(most) + 1);
  for (size_t i = 0; i < job.processes.size(); ++i) {
    JobProcess& process = job.processes[i];
    positions[static_cast<size_t>(process.number)] = i;
    const auto& sends = job.survey_of(process).sends;
    process.receivers.resize(sends.size());
    for (uint32_t channel = 0; channel < sends.size(); ++channel) {
      const ChannelKey& key = sends[channel].key;
      CommView view = view_of(process, key.comm);
      sent[{view.index, process.number, view.peer(key.peer), key.tag}] = {process.number, channel};
    }
  }
  for (JobProcess& process : job.processes) {
    const auto& receives = job.survey_of(process).receives;
    process.senders.resize(receives.size());
    for (uint32_t channel = 0; channel < receives.size(); ++channel) {
      const ChannelKey& key = receives[channel].key;
      CommView view = view_of(process, key.comm);
      auto found = sent.find({view.index, view.peer(key.peer), process.number, key.tag});
      if (found == sent.end() || view.index < 0) continue;
      process.senders[channel] = found->second;
      JobProcess& sender = job.processes[positions[static_cast<size_t>(found->second.process)]];
      sender.receivers[found->second.channel] = {process.number, channel};
    }
  }
  find_unmatched(job, positions);
}

}  // namespace sesame::postprocess
