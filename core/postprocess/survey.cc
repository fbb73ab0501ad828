#include "core/postprocess/survey.h"

#include <algorithm>

namespace sesame::postprocess {
namespace {

using namespace trace;

// No machine has more. A record with more is damaged, and lists of that length would fill memory.
constexpr int32_t kMostRanks = 1 << 24;

class Channels {
 public:
  explicit Channels(std::vector<Channel>& channels) : channels_(channels) {}

  uint32_t find(const ChannelKey& key) {
    if (last_ < channels_.size() && channels_[last_].key == key) return last_;
    auto [entry, added] = numbers_.try_emplace(key, static_cast<uint32_t>(channels_.size()));
    if (added) channels_.push_back({key, 0, {}, {}});
    return last_ = entry->second;
  }

 private:
  std::vector<Channel>& channels_;
  std::unordered_map<ChannelKey, uint32_t, ChannelKeyHash> numbers_;
  uint32_t last_ = 0;
};

class Surveyor {
 public:
  Surveyor(const CallTraits& traits, const SurveyOptions& options, ProcessSurvey& result)
      : traits_(traits),
        options_(options),
        result_(result),
        comms_(traits),
        sends_(result.sends),
        receives_(result.receives) {}

  // --- The process ---

  void on(const process_record& record, uint64_t time) {
    Identity& who = result_.identity;
    who.pid = record.pid;
    who.parent = record.parent;
    who.realtime_offset = record.realtime_offset;
    who.host = record.host;
    who.kernel = record.kernel;
    who.pid_namespace = record.pid_namespace;
    who.directory = record.directory;
    who.command = record.command;
    const auto loaded = static_cast<uint64_t>(record.loaded);
    note(loaded > 0 && loaded < time ? time - loaded : 0, time);
  }
  void on(const counted_record& record, uint64_t time) {
    result_.counted = MovedBytes{record.read - std::min(record.read, record.stream_read),
                                 record.written - std::min(record.written, record.stream_written)};
    result_.unseen_operations = record.operations;
    note(0, time);
  }
  void on(const joined_record& record, uint64_t time) {
    if (record.rank >= kMostRanks || record.size > kMostRanks) {
      impossible_ = "rank " + std::to_string(record.rank) + " of " + std::to_string(record.size);
      return;
    }
    result_.identity.rank = record.rank;
    result_.identity.size = record.size;
    result_.identity.interface = record.interface;
    result_.identity.job = record.job;
    comms_.set_world_size(record.size);
    note(0, time);
  }
  void on(const ended_record& record, uint64_t time) {
    result_.identity.ended = record.how;
    result_.identity.processor = static_cast<int64_t>(record.processor);
    note(0, time);
  }

  // A value of a record that is impossible; empty if there was none.
  const std::string& impossible() const { return impossible_; }

  // --- Files: only that there was I/O ---

  void on(const data_record& record, uint64_t time) { moved(record, time); }
  void on(const data_at_record& record, uint64_t time) { moved(record, time); }
  void on(const partial_record& record, uint64_t time) { moved(record, time); }
  void on(const merged_record& record, uint64_t time) { io(record.duration, time); }
  void on(const open_record& record, uint64_t time) { io(record.duration, time); }
  void on(const copy_record& record, uint64_t time) { moved(record, time); }
  void on(const request_record& record, uint64_t time) {
    io(record.duration, time);
    if (record.interface == kPosixInterface) count(record.call, record.size);
  }
  void on(const mpi_open_record& record, uint64_t time) { io(record.duration, time); }
  void on(const mpi_data_record& record, uint64_t time) {
    io(record.duration, time);
    file_request(record.request);
  }
  void on(const mpi_data_at_record& record, uint64_t time) {
    io(record.duration, time);
    file_request(record.request);
  }
  void on(const pages_record& record, uint64_t time) {
    if (record.written == SESAME_PAGES_SHARED) result_.unknown_mapped += record.size;
    note(0, time);
  }
  void on(const handle_record& record, uint64_t time) { other_io(record, time); }
  void on(const region_record& record, uint64_t time) { other_io(record, time); }
  void on(const mpi_file_record& record, uint64_t time) { other_io(record, time); }
  template <typename Record>
  void on(const Record& record, uint64_t time) {
    if constexpr (requires { record.duration; }) {
      note(record.duration, time);
    } else {
      note(0, time);
    }
  }

  // --- Messages ---

  void on(const send_record& record, uint64_t time) {
    note(record.duration, time);
    send({comms_.instance(record.comm), record.peer, record.tag}, record.bytes,
         time - record.duration);
  }
  void on(const receive_record& record, uint64_t time) {
    note(record.duration, time);
    if (record.peer == kProcNull) return;
    uint64_t number = post_receive();
    if ((record.asked & 8) == 0) {
      received(number, {comms_.instance(record.comm), record.peer, record.tag}, time);
    }
  }
  void on(const start_record& record, uint64_t time) {
    note(record.duration, time);
    Request request;
    request.kind = traits_.has(record.call, kReceives) ? RequestKind::kReceive : RequestKind::kSend;
    request.persistent = traits_.has(record.call, kPersistent);
    request.comm = comms_.instance(record.comm);
    request.peer = record.peer;
    request.tag = record.tag;
    request.bytes = static_cast<int64_t>(record.bytes);
    if (!request.persistent) start(request, time - record.duration);
    requests_.push(record.request, request);
  }
  void on(const started_record& record, uint64_t time) {
    note(record.duration, time);
    Request* request = requests_.find(record.request);
    if (request != nullptr) start(*request, time - record.duration);
  }
  void on(const completed_record& record, uint64_t time) {
    Request* request = requests_.find(record.request);
    if (request == nullptr) return;
    if (request->active && record.flags == 0) complete(*request, record, time);
    request->active = false;
    if (!request->persistent || (record.flags & 2) != 0) requests_.pop(record.request);
  }
  void on(const collective_record& record, uint64_t time) {
    note(record.duration, time);
    uint32_t comm = instance(record.comm);
    take_part(collective(comm), comm);
  }
  void on(const collective_start_record& record, uint64_t time) {
    note(record.duration, time);
    start_collective(record.request, instance(record.comm), traits_.has(record.call, kPersistent));
  }
  void on(const communicator_record& record, uint64_t time) {
    note(record.duration, time);
    int32_t parent = comms_.instance(record.parent);
    int32_t made = comms_.make(record);
    if (!traits_.has(record.call, kMpi)) return;  // found by the tracer, not created by a call
    // If not all of the parent make the call, it counts as a collective of the new communicator.
    bool over_group = parent < 0 || traits_.has(record.call, kOverGroup);
    int32_t comm = over_group ? made : parent;
    if (comm < 0) return;
    if (record.request != 0) return start_collective(record.request, comm, false);
    take_part(collective(static_cast<uint32_t>(comm)), static_cast<uint32_t>(comm));
  }
  void on(const named_record& record, uint64_t time) {
    note(record.duration, time);
    comms_.set_name(record.comm, record.name);
  }

  void on(const remote_record& record, uint64_t time) {
    note(record.duration, time);
    if (record.request != 0) {
      requests_.push(record.request, {.kind = RequestKind::kOther, .active = true});
    }
  }

  void finish() {
    result_.comms = comms_.instances();
    // Receives of a channel take its messages in the order in which they were posted.
    for (uint64_t number = 0; number < result_.receive_channels.size(); ++number) {
      uint32_t channel = result_.receive_channels[number];
      if (channel == kNoChannel) continue;
      ++result_.receives[channel].messages;
      if (options_.times) result_.receives[channel].times.push_back(receive_times_[number]);
    }
  }

 private:
  static constexpr int32_t kProcNull = -2;
  static constexpr uint8_t kPosixInterface = 1;  // of a request; the kernel counts no other

  void note(uint64_t duration, uint64_t time) {
    auto begin = static_cast<int64_t>(time - duration);
    if (!has_begin_ || begin < result_.identity.begin) result_.identity.begin = begin;
    has_begin_ = true;
    result_.identity.end = std::max(result_.identity.end, static_cast<int64_t>(time));
  }
  void count(uint16_t call, uint64_t bytes) {
    if (traits_.has(call, kKernelReads)) result_.recorded.read += bytes;
    if (traits_.has(call, kKernelWrites)) result_.recorded.written += bytes;
  }
  template <typename Record>
  void moved(const Record& record, uint64_t time) {
    io(record.duration, time);
    count(record.call, record.bytes);
  }
  void io(uint64_t duration, uint64_t time) {
    note(duration, time);
    note_io();
  }
  template <typename Record>
  void other_io(const Record& record, uint64_t time) {
    note(record.duration, time);
    if (traits_.has(record.call, kCloses | kSyncs)) note_io();
  }
  // Consecutive I/O operations count as one.
  void note_io() {
    if (!options_.operations) return;
    auto& operations = result_.operations;
    if (!operations.empty() && operations.back().kind == Operation::kIo) return;
    operations.push_back({Operation::kIo, 0, 0});
  }
  void file_request(uint64_t handle) {
    if (handle != 0) requests_.push(handle, {.kind = RequestKind::kFile, .active = true});
  }
  uint32_t instance(int32_t number) {
    return static_cast<uint32_t>(std::max(comms_.instance(number), 0));
  }

  void start(Request& request, uint64_t time) {
    request.active = true;
    if (request.kind == RequestKind::kSend) {
      send({request.comm, request.peer, request.tag}, static_cast<uint64_t>(request.bytes), time);
    } else if (request.kind == RequestKind::kReceive) {
      if (request.peer != kProcNull) request.operation = post_receive();
    } else if (request.kind == RequestKind::kCollective) {
      request.operation = collective(static_cast<uint32_t>(request.comm));
    }
  }
  void complete(const Request& request, const completed_record& record, uint64_t time) {
    if (request.kind == RequestKind::kReceive && request.peer != kProcNull) {
      received(request.operation, {request.comm, record.peer, record.tag}, time);
    } else if (request.kind == RequestKind::kCollective) {
      take_part(request.operation, static_cast<uint32_t>(request.comm));
    }
  }
  void send(const ChannelKey& key, uint64_t bytes, uint64_t time) {
    if (key.peer == kProcNull) return;
    uint32_t number = sends_.find(key);
    Channel& channel = result_.sends[number];
    ++channel.messages;
    auto size = static_cast<int64_t>(bytes);
    if (channel.sizes.empty() || channel.sizes.back().bytes != size) {
      channel.sizes.push_back({size, 0});
    }
    ++channel.sizes.back().count;
    if (options_.times) channel.times.push_back(static_cast<int64_t>(time));
    if (options_.operations) {
      result_.operations.push_back({Operation::kSend, number, result_.send_count});
    }
    ++result_.send_count;
  }
  uint64_t post_receive() {
    result_.receive_channels.push_back(kNoChannel);
    if (options_.times) receive_times_.push_back(0);
    return result_.receive_channels.size() - 1;
  }
  void received(uint64_t number, const ChannelKey& key, uint64_t time) {
    uint32_t channel = receives_.find(key);
    result_.receive_channels[number] = channel;
    if (options_.times) receive_times_[number] = static_cast<int64_t>(time);
    if (options_.operations) result_.operations.push_back({Operation::kReceived, channel, number});
  }
  uint64_t collective(uint32_t comm) {
    if (options_.operations) result_.collective_comms.push_back(comm);
    return collectives_++;
  }
  void take_part(uint64_t number, uint32_t comm) {
    if (options_.operations) result_.operations.push_back({Operation::kCollective, comm, number});
  }
  void start_collective(uint64_t handle, uint32_t comm, bool persistent) {
    Request request;
    request.kind = RequestKind::kCollective;
    request.persistent = persistent;
    request.comm = static_cast<int32_t>(comm);
    if (!persistent) start(request, 0);
    requests_.push(handle, request);
  }

  const CallTraits& traits_;
  SurveyOptions options_;
  ProcessSurvey& result_;
  std::string impossible_;
  CommTable comms_;
  Channels sends_;
  Channels receives_;
  RequestTable requests_;
  std::vector<int64_t> receive_times_;
  uint64_t collectives_ = 0;
  bool has_begin_ = false;
};

// Sets `calls` for the functions that were called, and passes each record on.
class CallNoter {
 public:
  CallNoter(Surveyor& surveyor, std::vector<uint8_t>& calls) : surveyor_(surveyor), calls_(calls) {
    calls_.assign(size_t{UINT16_MAX} + 1, 0);
  }
  void set_thread(uint32_t) {}
  template <typename Record>
  void on(const Record& record, uint64_t time) {
    if constexpr (requires { record.call; }) calls_[record.call] = 1;
    surveyor_.on(record, time);
  }

 private:
  Surveyor& surveyor_;
  std::vector<uint8_t>& calls_;
};

// For a process whose first record is lost: host and process id from the names of its files,
// HOST.PID.N.
void name_by_files(const TracedFiles& files, ProcessSurvey& result) {
  std::string host = files.name;
  for (int i = 0; i < 2; ++i) host.resize(std::min(host.rfind('.'), host.size()));
  result.identity.host = host;
  result.identity.pid = static_cast<int32_t>(result.state ? result.state->pid : result.walked.pid);
}

}  // namespace

MovedBytes ProcessSurvey::unseen() const {
  if (!counted || lost() > 0) return {};
  return {counted->read - std::min(counted->read, recorded.read),
          counted->written - std::min(counted->written, recorded.written)};
}

uint64_t ProcessSurvey::lost() const {
  if (!state) return walked.discarded;
  return state->records > walked.records ? state->records - walked.records : 0;
}

ProcessSurvey survey(const TracedFiles& files, const CallTraits& traits,
                     const SurveyOptions& options) {
  ProcessSurvey result;
  Surveyor surveyor(traits, options, result);
  CallNoter noter(surveyor, result.calls);
  result.walked = walk(files, noter);
  surveyor.finish();
  if (!files.state.empty()) {
    auto state = read_traced_state(files.state);
    if (state) {
      result.state = *state;
      if (result.identity.ended == 0) result.identity.ended = static_cast<uint8_t>(state->ended);
    } else {
      result.walked.damage.push_back(state.error().to_string());
    }
  }
  if (!surveyor.impossible().empty()) {
    result.walked.damage.push_back(files.name + ": a record says " + surveyor.impossible());
  }
  if (result.identity.pid < 0) name_by_files(files, result);
  return result;
}

}  // namespace sesame::postprocess
