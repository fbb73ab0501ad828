#include "core/storage/ionode.h"

#include <algorithm>
#include <utility>

#include "core/storage/clients.h"

namespace sesame::storage {

void Piece::fire() {
  switch (state) {
    case State::kLeaving:
      return system->clients->leave(*this, time());
    case State::kToIonode:
      return system->ionodes[ionode]->arrive(*this, time());
    case State::kAtCpu:
      return system->ionodes[ionode]->serve(*this, time());
    case State::kToClient:
      return system->clients->receive(*this, time(), transfer, receive_overhead);
  }
}
void Piece::done(SimTime at) { system->ionodes[ionode]->part_done(*this, at); }

void DeviceRun::done(SimTime at) { ionode->run_done(*this, at); }

SimTime Ionode::use_cpu(SimTime ready, SimTime time) {
  totals_.busy += time;
  return cpu_free_ = later(ready, cpu_free_) + time;
}

SimTime Ionode::cpu_time(const Piece& piece) const {
  SimTime time = piece.receive_overhead + context_.parameters.server_overhead;
  const bool has_data = piece.kind != PieceKind::kOwn && piece.kind != PieceKind::kFlush;
  if (context_.caches.at_ionodes() && has_data) {
    const uint64_t block = context_.parameters.block;
    const uint64_t end = piece.range.begin + piece.range.bytes;
    const uint64_t blocks = (end - 1) / block - piece.range.begin / block + 1;
    const bool reads = piece.kind == PieceKind::kRead || piece.kind == PieceKind::kReadToWrite;
    time += context_.parameters.ionode_cache.hit_time * static_cast<int64_t>(blocks) +
            copy_time(context_.parameters.ionode_cache, piece.range.bytes,
                      reads ? Direction::kRead : Direction::kWrite);
  }
  return time;
}

void Ionode::arrive(Piece& piece, SimTime now) {
  const SimTime taken = context_.links.take_in_at_ionode(now, number_, piece.transfer);
  totals_.longest_queue = std::max(totals_.longest_queue, ++queue_);
  piece.state = Piece::State::kAtCpu;
  context_.events.schedule(piece, use_cpu(taken, cpu_time(piece)));
}

void Ionode::serve(Piece& piece, SimTime now) {
  --queue_;
  piece.device_parts = 1;  // this one, until all else has begun
  last_control_to_ = Directory::kNobody;
  switch (piece.kind) {
    case PieceKind::kRead:
    case PieceKind::kReadToWrite:
      read(piece, now);
      break;
    case PieceKind::kWrite:
      write(piece, now);
      break;
    case PieceKind::kOwn:
      invalidate_for_client_write(piece, now);
      break;
    case PieceKind::kWriteBack:
    case PieceKind::kDemote:
      take_back(piece, now);
      break;
    case PieceKind::kFlush:
      flush(piece, now);
      break;
  }
  part_done(piece, now);
}

void Ionode::part_done(Piece& piece, SimTime at) {
  if (--piece.device_parts > 0) return;
  if (piece.request == nullptr) {
    delete &piece;
  } else if (std::exchange(piece.has_commit, false)) {
    ++piece.device_parts;
    journal_.data_is_written(at, piece.transaction);
  } else if (piece.has_reply) {
    reply(piece, later(at, piece.not_before));
  }
}

void Ionode::reply(Piece& piece, SimTime ready) {
  const Flight flight = context_.links.from_ionode(
      ready, number_, piece.node, context_.parameters.message_header + piece.reply_bytes);
  use_cpu(ready, flight.send_overhead);
  piece.state = Piece::State::kToClient;
  piece.transfer = flight.transfer;
  piece.receive_overhead = flight.receive_overhead;
  context_.events.schedule(piece, flight.arrival);
}

void Ionode::use_device(SimTime now, Direction direction, FileId file, const CellRange& range,
                        Piece* piece, uint64_t fetch) {
  if (range.bytes == 0) return;
  const uint64_t block = context_.parameters.block;
  auto* run = new DeviceRun;
  run->ionode = this;
  run->piece = piece;
  run->fetch = fetch;
  run->is_background_write = piece == nullptr && direction == Direction::kWrite;
  if (piece != nullptr) ++piece->device_parts;
  if (run->is_background_write) ++background_writes_;
  const uint64_t end = range.begin + range.bytes;
  for (uint64_t at = range.begin; at < end;) {
    const Allocation::Run found = context_.space.find(file, range.cell, at / block);
    const uint64_t skipped = at % block;
    const uint64_t bytes = std::min(end - at, found.blocks * block - skipped);
    ++run->parts;
    submit(now, {direction, found.address * block + skipped, bytes, run});
    at += bytes;
  }
}

// A device counts the time of a request when it begins it: on submission, or when the one before
// is done.
void Ionode::note_device_time(SimTime now) {
  const SimTime busy = device_->statistics().busy;
  const SimTime begin = later(now, busy_end_);
  busy_end_ = begin + (busy - busy_seen_);
  utilisation_.add(begin, busy_end_);
  busy_seen_ = busy;
}

void Ionode::run_done(DeviceRun& run, SimTime at) {
  note_device_time(at);
  if (--run.parts > 0) return;
  Piece* piece = run.piece;
  const uint64_t fetch = run.fetch;
  if (run.is_background_write) ++background_done_;
  delete &run;
  if (piece != nullptr) part_done(*piece, at);  // before those that came later
  if (fetch != 0) context_.caches.fetches.complete(fetch, at);
  while (!flush_waits_.empty() && flush_waits_.front().writes <= background_done_) {
    Piece& waiting = *flush_waits_.front().piece;
    flush_waits_.pop_front();
    part_done(waiting, at);
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
