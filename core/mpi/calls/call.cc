#include "core/mpi/calls/call.h"

#include <utility>

#include "core/mpi/calls/charge.h"
#include "core/mpi/io/file_errors.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errhandler.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/session.h"
#include "core/mpi/rma/window.h"

namespace sesame::mpi {
bool is_polling(CallId id) {
  switch (id) {
    case CallId::Test:
    case CallId::Testall:
    case CallId::Testany:
    case CallId::Testsome:
    case CallId::Iprobe:
    case CallId::Improbe:
    case CallId::Request_get_status:
    case CallId::Request_get_status_all:
    case CallId::Request_get_status_any:
    case CallId::Request_get_status_some:
    case CallId::Win_test:
      return true;
    default:
      return false;
  }
}

// Polls, and calls that programs repeat while they wait for other ranks to change a window's
// memory.
static bool may_be_repeated(CallId id) {
  switch (id) {
    case CallId::Win_flush:
    case CallId::Win_flush_all:
    case CallId::Win_flush_local:
    case CallId::Win_flush_local_all:
    case CallId::Win_sync:
      return true;
    default:
      return is_polling(id);
  }
}

// Calls for messages that may wait, with which a rank can run ahead of others if they do not. To
// ask after every call whether a slice is over would make simulations of small messages 10 %
// slower.
static bool may_wait(CallId id) {
  switch (id) {
    case CallId::Send:
    case CallId::Ssend:
    case CallId::Rsend:
    case CallId::Bsend:
    case CallId::Recv:
    case CallId::Mrecv:
    case CallId::Sendrecv:
    case CallId::Sendrecv_replace:
    case CallId::Wait:
    case CallId::Waitall:
    case CallId::Waitany:
    case CallId::Waitsome:
      return true;
    default:
      return false;
  }
}

Strand& CallScope::enter(CallId id, const void* caller) {
  Strand& strand = self();
  if (strand.call_depth++ != 0) [[unlikely]]
    return strand;
  strand.caller = caller;
  const bool polling = is_polling(id);
  const SimTime computed = charge_compute(strand, polling ? ComputeEnd::kPoll : ComputeEnd::kCall);
  if (!may_be_repeated(id) || computed > kIdleWork) strand.idle_polls = 0;
  if (id != CallId::Wtime) strand.clock_reads = 0;
  strand.call = static_cast<uint16_t>(id);
  strand.now.pass(strand.place(PathKind::kComputation));
  strand.call_begin = plain(strand.now);
  Rank& rank = *strand.rank;
  if (rank.world.remote != nullptr) [[unlikely]]
    rank.world.remote->check_call(strand.call);
  rank.call_bytes = 0;
  rank.call_peer = -1;
  rank.call_tag = 0;
  rank.call_context = 0;
  return strand;
}

void CallScope::leave() {
  if (--strand_.call_depth != 0) [[unlikely]]
    return;
  Rank& rank = *strand_.rank;
  const size_t slot = rank.world.call_slots.of(static_cast<uint16_t>(id_));
  CallProfile::Entry& entry = rank.profile.at(slot);
  ++entry.count;
  strand_.now.pass(strand_.place());
  entry.time += elapsed(strand_.call_begin, strand_.now);
  entry.bytes += rank.call_bytes;
  if (rank.world.recorder != nullptr) {
    rank.world.recorder->record(CallRecord{rank.id, static_cast<uint16_t>(id_), strand_.call_begin,
                                           strand_.now, rank.compute_before_call, rank.call_peer,
                                           rank.call_tag, rank.call_context, rank.call_bytes,
                                           is_polling(id_)});
    if (rank.file_record != nullptr) record_file_call();
    if (rank.world.recorder->is_full(rank.id)) {
      yield_until_now(strand_);
      rank.world.recorder->write_until(rank.id, strand_.now);
    }
  }
  if (rank.measured != nullptr) {
    rank.measured->add(strand_.caller, rank.compute_before_call, is_polling(id_));
  }
  rank.compute_before_call = SimTime::zero();
  strand_.call = 0;
  if (may_wait(id_)) rank.world.executive.yield_after_slice();
  rank.world.meter.resume();
}

void CallScope::record_file_call() {
  Rank& rank = *strand_.rank;
  const std::unique_ptr<storage::FileCallRecord> record = std::move(rank.file_record);
  record->name = call_name(id_);
  record->begin_ps = strand_.call_begin.ps();
  record->end_ps = strand_.now.ps();
  rank.world.recorder->record(rank.id, *record);
}

int CallScope::raise(int error, CommObject* comm) {
  // An error of a file operation that MPI_Wait or another completion call returns goes to the
  // file's handler.
  if (File file = std::exchange(strand_.rank->failed_file, nullptr)) {
    return raise_on_file(error, file);
  }
  return raise_error(comm, error, call_name(id_));
}

int CallScope::raise_on_comm(int error, Comm comm) {
  return raise(error, find_comm(*strand_.rank, comm));
}

int CallScope::raise_on_win(int error, Win win) {
  const WindowObject* window = find_window(*strand_.rank, win);
  if (window == nullptr) return raise(error, nullptr);
  return raise_with(window->errhandler, win, error, call_name(id_));
}

int CallScope::raise_on_file(int error, File file) {
  return raise_file_error(file, error, call_name(id_));
}

int CallScope::raise_on_session(int error, Session session) {
  return raise_session_error(session, error, call_name(id_));
}

void CallScope::not_implemented() {
  const Rank& rank = *strand_.rank;
  rank.world.hooks.abort_job(
      1, rank.name() + " called " + call_name(id_) + ", which the simulated MPI does not have yet");
  __builtin_unreachable();
}

}  // namespace sesame::mpi
