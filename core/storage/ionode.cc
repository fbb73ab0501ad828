#include "core/storage/ionode.h"

#include <algorithm>
#include <utility>

#include "core/storage/clients.h"

namespace sesame::storage {

void Subrequest::fire() {
  switch (state) {
    case State::kLeaving:
      return system->clients->transmit(*this, time());
    case State::kToIonode:
      return system->ionodes[ionode]->arrive(*this, time());
    case State::kAtCpu:
      return system->ionodes[ionode]->serve(*this, time());
    case State::kToClient:
      return system->clients->receive_reply(*this, time(), transfer, receive_overhead);
  }
}
void Subrequest::done(SimTime at) { system->ionodes[ionode]->complete_one(*this, at); }

void DeviceRun::done(SimTime at) { ionode->run_done(*this, at); }

SimTime Ionode::use_cpu(SimTime ready, SimTime time) {
  totals_.busy += time;
  return cpu_free_ = later(ready, cpu_free_) + time;
}

SimTime Ionode::cpu_time(const Subrequest& subrequest) const {
  SimTime time = subrequest.receive_overhead + context_.parameters.server_overhead;
  const bool has_data = subrequest.kind != SubrequestKind::kInvalidateCopies &&
                        subrequest.kind != SubrequestKind::kFlush;
  if (context_.caches.at_ionodes() && has_data) {
    const uint64_t block = context_.parameters.block;
    const uint64_t end = subrequest.range.begin + subrequest.range.bytes;
    const uint64_t blocks = (end - 1) / block - subrequest.range.begin / block + 1;
    const bool reads =
        subrequest.kind == SubrequestKind::kRead || subrequest.kind == SubrequestKind::kReadToWrite;
    time += context_.parameters.ionode_cache.hit_time * static_cast<int64_t>(blocks) +
            copy_time(context_.parameters.ionode_cache, subrequest.range.bytes,
                      reads ? Direction::kRead : Direction::kWrite);
  }
  return time;
}

void Ionode::arrive(Subrequest& subrequest, SimTime now) {
  const SimTime taken = context_.links.receive_at_ionode(now, number_, subrequest.transfer);
  totals_.longest_queue = std::max(totals_.longest_queue, ++queue_);
  subrequest.state = Subrequest::State::kAtCpu;
  context_.events.schedule(subrequest, use_cpu(taken, cpu_time(subrequest)));
}

void Ionode::serve(Subrequest& subrequest, SimTime now) {
  --queue_;
  subrequest.ionode_outstanding = 1;  // until everything is started
  last_control_to_ = Directory::kNoNode;
  switch (subrequest.kind) {
    case SubrequestKind::kRead:
    case SubrequestKind::kReadToWrite:
      read(subrequest, now);
      break;
    case SubrequestKind::kWrite:
      write(subrequest, now);
      break;
    case SubrequestKind::kInvalidateCopies:
      invalidate_for_client_write(subrequest, now);
      break;
    case SubrequestKind::kWriteBack:
    case SubrequestKind::kDemote:
      store_evicted(subrequest, now);
      break;
    case SubrequestKind::kFlush:
      flush(subrequest, now);
      break;
  }
  complete_one(subrequest, now);
}

void Ionode::complete_one(Subrequest& subrequest, SimTime at) {
  if (--subrequest.ionode_outstanding > 0) return;
  if (subrequest.request == nullptr) {
    delete &subrequest;
  } else if (std::exchange(subrequest.has_commit, false)) {
    ++subrequest.ionode_outstanding;
    journal_.data_is_written(at, subrequest.transaction);
  } else if (subrequest.has_reply) {
    reply(subrequest, at);
  }
}

void Ionode::reply(Subrequest& subrequest, SimTime ready) {
  const MessageTimes message = context_.links.send_from_ionode(
      ready, number_, subrequest.client(),
      context_.parameters.message_header + subrequest.reply_bytes, &subrequest);
  use_cpu(ready, message.send_overhead);
  subrequest.state = Subrequest::State::kToClient;
  subrequest.transfer = message.transfer;
  subrequest.receive_overhead = message.receive_overhead;
}

void Ionode::access_device(SimTime now, Direction direction, FileId file, const CellRange& range,
                           Subrequest* subrequest, uint64_t fetch) {
  if (range.bytes == 0) return;
  const uint64_t block = context_.parameters.block;
  auto* run = new DeviceRun;
  run->ionode = this;
  run->subrequest = subrequest;
  run->fetch = fetch;
  run->is_background_write = subrequest == nullptr && direction == Direction::kWrite;
  if (subrequest != nullptr) ++subrequest->ionode_outstanding;
  if (run->is_background_write) ++background_writes_;
  const uint64_t end = range.begin + range.bytes;
  for (uint64_t at = range.begin; at < end;) {
    const Allocation::Run found = context_.space.find(file, range.cell, at / block);
    const uint64_t skipped = at % block;
    const uint64_t bytes = std::min(end - at, found.blocks * block - skipped);
    ++run->outstanding;
    submit(now, {direction, found.address * block + skipped, bytes, run});
    at += bytes;
  }
}

// A device adds the time of a request to its busy time when it starts the request: at its
// submission, or when the previous one is complete.
void Ionode::record_device_time(SimTime now) {
  const SimTime busy = device_->statistics().busy;
  const SimTime begin = later(now, busy_end_);
  busy_end_ = begin + (busy - busy_seen_);
  utilisation_.add(begin, busy_end_);
  busy_seen_ = busy;
}

void Ionode::run_done(DeviceRun& run, SimTime at) {
  record_device_time(at);
  if (--run.outstanding > 0) return;
  Subrequest* subrequest = run.subrequest;
  const uint64_t fetch = run.fetch;
  if (run.is_background_write) ++background_done_;
  delete &run;
  if (subrequest != nullptr)
    complete_one(*subrequest, at);  // before requests that wait for the fetch
  if (fetch != 0) context_.caches.fetches.complete(fetch, at);
  while (!flush_waits_.empty() && flush_waits_.front().writes <= background_done_) {
    Subrequest& waiting = *flush_waits_.front().subrequest;
    flush_waits_.pop_front();
    complete_one(waiting, at);
  }
}

void Ionode::count(Direction direction, uint64_t bytes) {
  ++totals_.requests;
  (direction == Direction::kRead ? totals_.bytes_read : totals_.bytes_written) += bytes;
}

IonodeStatistics Ionode::statistics() const {
  IonodeStatistics all = totals_;
  all.cache = context_.caches.ionode_totals(number_);
  all.device = device_->statistics();
  all.slice = utilisation_.slice();
  all.busy_by_slice = utilisation_.busy();
  return all;
}

}  // namespace sesame::storage
