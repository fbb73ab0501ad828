#include "core/postprocess/mpi_reader.h"

namespace sesame::postprocess {
namespace {

using namespace trace;

constexpr int32_t kProcNull = -2;

bool is_kept(const std::vector<uint64_t>& decisions, uint64_t number) {
  return number / 64 < decisions.size() && (decisions[number / 64] >> (number % 64) & 1) != 0;
}

// Null if the process left no trace.
const JobProcess* process_with(const Job& job, int32_t number) {
  auto found = std::ranges::lower_bound(job.processes, number, {}, &JobProcess::number);
  return found != job.processes.end() && found->number == number ? &*found : nullptr;
}

}  // namespace

MpiReader::MpiReader(ThreadSet& threads, ProcessRows& result, const Job& job,
                     const JobProcess& process, const CallTraits& traits, const OwnCalls& calls,
                     bool prune)
    : threads_(threads),
      result_(result),
      job_(job),
      process_(process),
      survey_(job.survey_of(process)),
      traits_(traits),
      calls_(calls),
      prune_(prune),
      comms_(traits),
      cursors_(survey_.receives.size()) {}

void MpiReader::keep(MpiRow& row, const std::vector<uint64_t>& decisions, uint64_t number) {
  if (!prune_) return;
  const bool kept = is_kept(decisions, number);
  row.flags |= kept ? kPrunedKept : kDropped;
  ++(kept ? result_.kept : result_.dropped);
}

void MpiReader::describe_send(MpiRow& row, int32_t instance, int32_t peer, int32_t tag,
                              uint64_t bytes) {
  CommView view = view_of(instance);
  row.comm = view.index;
  row.peer = view.peer(peer);
  row.tag = tag;
  row.bytes = static_cast<int64_t>(bytes);
  if (traits_.has(row.call, kSynchronous)) row.flags |= kSynchronousSend;
  if (peer == kProcNull) return drop(row);
  keep(row, process_.send_kept, sends_++);
}

// The survey has found which message was received, if any.
void MpiReader::describe_receive(MpiRow& row, int32_t instance, int32_t peer, int32_t tag,
                                 uint64_t buffer_bytes) {
  CommView view = view_of(instance);
  row.comm = view.index;
  row.peer = view.peer(peer);
  row.tag = tag;
  if (peer == kProcNull) return drop(row);
  uint64_t number = receives_++;
  keep(row, process_.receive_kept, number);
  uint32_t channel =
      number < survey_.receive_channels.size() ? survey_.receive_channels[number] : kNoChannel;
  if (channel == kNoChannel) return;
  const ChannelKey& key = survey_.receives[channel].key;
  row.peer = view.peer(key.peer);
  row.tag = key.tag;
  row.bytes = next_size(channel, buffer_bytes);
}

void MpiReader::describe_collective(MpiRow& row, int32_t instance) {
  row.comm = view_of(instance).index;
  keep(row, process_.collective_kept, collectives_++);
}

// Size of the next message in the channel; the receive buffer's size where the sender is unknown.
int64_t MpiReader::next_size(uint32_t channel, uint64_t buffer_bytes) {
  const ChannelEnd& end = process_.senders[channel];
  const JobProcess* sender = end.process < 0 ? nullptr : process_with(job_, end.process);
  if (sender == nullptr) return static_cast<int64_t>(buffer_bytes);
  const std::vector<SizeRun>& sizes = job_.survey_of(*sender).sends[end.channel].sizes;
  Cursor& cursor = cursors_[channel];
  if (cursor.run >= sizes.size()) return static_cast<int64_t>(buffer_bytes);
  int64_t bytes = sizes[cursor.run].bytes;
  if (++cursor.in_run == sizes[cursor.run].count) cursor = {cursor.run + 1, 0};
  return bytes;
}

void MpiReader::on(const send_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  describe_send(row, comms_.instance(record.comm), record.peer, record.tag, record.bytes);
  add(row);
}

void MpiReader::on(const receive_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  row.flags |= record.asked & (kAnySource | kAnyTag);
  if ((record.asked & 8) != 0) row.flags |= kCancelled;
  describe_receive(row, comms_.instance(record.comm), record.peer, record.tag, record.bytes);
  RowList<MpiRow>& rows = threads_.current().mpi;
  if ((record.asked & 4) != 0 && rows.size() > 0 &&
      rows.last().begin + rows.last().duration > row.begin) {
    row.call = calls_.receive;
    rows.push_inside_last(row);
  } else {
    add(row);
  }
}

// Shared by non-blocking calls and the start of persistent requests.
void MpiReader::describe(MpiRow& row, Request& request) {
  request.active = true;
  request.thread = threads_.number();
  row.flags |= kNonblocking | (request.persistent ? kPersistentRequest : 0);
  if (request.kind == RequestKind::kReceive) {
    if (request.peer == -1) row.flags |= kAnySource;
    if (request.tag == -1) row.flags |= kAnyTag;
    describe_receive(row, request.comm, request.peer, request.tag,
                     static_cast<uint64_t>(request.bytes));
  } else if (request.kind == RequestKind::kSend) {
    describe_send(row, request.comm, request.peer, request.tag,
                  static_cast<uint64_t>(request.bytes));
    if (traits_.has(request.call, kSynchronous)) row.flags |= kSynchronousSend;
  } else if (request.kind == RequestKind::kCollective) {
    describe_collective(row, request.comm);
    row.peer = root(view_of(request.comm), request.peer);
    row.bytes = request.bytes;
  }
}

void MpiReader::on(const start_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  Request request;
  request.kind = traits_.has(record.call, kReceives) ? RequestKind::kReceive : RequestKind::kSend;
  request.persistent = traits_.has(record.call, kPersistent);
  request.call = record.call;
  request.comm = comms_.instance(record.comm);
  request.peer = record.peer;
  request.tag = record.tag;
  request.bytes = static_cast<int64_t>(record.bytes);
  if (request.persistent) {
    CommView view = view_of(request.comm);
    row.comm = view.index;
    row.peer = view.peer(record.peer);
    row.tag = record.tag;
    row.bytes = request.bytes;
    row.flags |= kPersistentRequest;
    if (request.kind == RequestKind::kReceive && record.peer == -1) row.flags |= kAnySource;
    if (request.kind == RequestKind::kReceive && record.tag == -1) row.flags |= kAnyTag;
  } else {
    describe(row, request);
  }
  request.row = add(row);
  requests_.push(record.request, request);
}

// Adds the started operation as a row inside the row of the call. MPI_Startall starts several
// operations; its own record follows them.
void MpiReader::on(const started_record& record, uint64_t time) {
  Request* request = requests_.find(record.request);
  RowList<MpiRow>& rows = threads_.current().mpi;
  MpiRow outer = row_of(record, time);
  const bool first = rows.size() == 0 || rows.last().call != record.call ||
                     rows.last().begin != outer.begin || rows.last().duration != outer.duration;
  if (first) {
    drop(outer);
    add(outer);
  }
  if (request == nullptr) return;
  MpiRow row = row_of(record, time);
  row.call = traits_.started(request->call);
  describe(row, *request);
  if ((row.flags & kPrunedKept) != 0) {
    rows.last().flags = static_cast<uint16_t>((rows.last().flags & ~kDropped) | kPrunedKept);
  }
  request->row = rows.push_inside_last(row);
}

void MpiReader::on(const completed_record& record) {
  Request* request = requests_.find(record.request);
  if (request == nullptr) return;
  const bool freed = (record.flags & 2) != 0;
  bool kept = true;
  if (request->active && request->kind != RequestKind::kFile) {
    MpiRow& row = threads_.find(request->thread).mpi[request->row];
    if ((record.flags & 1) != 0) row.flags |= kCancelled;
    kept = (row.flags & kDropped) == 0;
  }
  if (request->active && !freed) {
    found_.push_back({request->kind, request->thread, request->row, kept});
  }
  request->active = false;
  if (!request->persistent || freed) requests_.pop(record.request);
}

// Adds the completion of a file access as an io row inside the row of the wait.
void MpiReader::complete_file(const Found& found, const wait_record& record, uint64_t time) {
  const IoRow start = threads_.find(found.thread).io[found.row];
  auto row = row_of_call<IoRow>(record, time);
  copy_target(row, start);
  row.flags = kIoNested;
  threads_.link_io(found.thread, found.row, threads_.current().add(row));
}

void MpiReader::on(const wait_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  const bool kept = std::ranges::any_of(found_, &Found::kept);
  if (prune_) row.flags |= kept ? kPrunedKept : kDropped;
  for (const Found& found : found_) {
    if (found.kind == RequestKind::kFile) complete_file(found, record, time);
  }
  uint64_t at = add(row);
  for (const Found& found : found_) {
    if (found.kind != RequestKind::kFile) threads_.link_mpi(found.thread, found.row, at);
  }
  found_.clear();
}

void MpiReader::on(const tests_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  row.flags |= kPoll;
  row.calls = record.calls;
  drop(row);
  add(row);
}

template <typename Record>
MpiRow MpiReader::row_of_probe(const Record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  CommView view = this->view(record.comm);
  row.comm = view.index;
  row.peer = view.peer(record.peer);
  row.tag = record.tag;
  row.flags |= record.asked & (kAnySource | kAnyTag);
  drop(row);
  return row;
}

void MpiReader::on(const probe_record& record, uint64_t time) { add(row_of_probe(record, time)); }

void MpiReader::on(const probes_record& record, uint64_t time) {
  MpiRow row = row_of_probe(record, time);
  row.flags |= kPoll;
  row.calls = record.calls;
  add(row);
}

void MpiReader::on(const collective_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  int32_t instance = std::max(comms_.instance(record.comm), 0);
  describe_collective(row, instance);
  row.peer = root(view_of(instance), record.peer);
  row.bytes = static_cast<int64_t>(record.bytes);
  add(row);
}

void MpiReader::on(const collective_start_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  Request request;
  request.kind = RequestKind::kCollective;
  request.persistent = traits_.has(record.call, kPersistent);
  request.call = record.call;
  request.comm = std::max(comms_.instance(record.comm), 0);
  request.peer = record.peer;
  request.bytes = static_cast<int64_t>(record.bytes);
  if (request.persistent) {
    row.comm = view_of(request.comm).index;
    row.peer = root(view_of(request.comm), record.peer);
    row.bytes = request.bytes;
    row.flags |= kPersistentRequest;
  } else {
    describe(row, request);
  }
  request.row = add(row);
  requests_.push(record.request, request);
}

void MpiReader::on(const communicator_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  int32_t parent = comms_.instance(record.parent);
  int32_t made = comms_.make(record);
  if (!traits_.has(record.call, kMpi)) return;  // found by the tracer, not created by a call
  const bool over_group = parent < 0 || traits_.has(record.call, kOverGroup);
  int32_t instance = over_group ? made : parent;
  row.made = view_of(made).index;
  if (instance < 0) {
    row.comm = view_of(parent).index;
    add(row);
    return;
  }
  if (record.request == 0) {
    describe_collective(row, instance);
    add(row);
    return;
  }
  Request request;
  request.kind = RequestKind::kCollective;
  request.call = record.call;
  request.comm = instance;
  describe(row, request);
  request.row = add(row);
  requests_.push(record.request, request);
}

void MpiReader::on(const named_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  row.comm = view(record.comm).index;
  add(row);
}

void MpiReader::on(const remote_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  CommView view = this->view(record.comm);
  row.comm = view.index;
  row.peer = view.peer(record.peer);
  row.bytes = static_cast<int64_t>(record.bytes);
  if (record.request == 0) {
    add(row);
    return;
  }
  row.flags |= kNonblocking;
  Request request{.kind = RequestKind::kOther, .active = true, .thread = threads_.number()};
  request.row = add(row);
  requests_.push(record.request, request);
}

void MpiReader::on(const plain_record& record, uint64_t time) {
  MpiRow row = row_of(record, time);
  RowList<MpiRow>& rows = threads_.current().mpi;
  if (record.call == calls_.start_all && record.error == 0 && rows.size() > 0 &&
      rows.last().begin == row.begin && rows.last().duration == row.duration) {
    rows.last().call = record.call;
    return;
  }
  add(row);
}

}  // namespace sesame::postprocess
