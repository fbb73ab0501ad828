#include "core/sim/run_hosts.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"

namespace sesame::sim {
namespace {

using Kind = pdes::BridgeMessage::Kind;
using pdes::BridgeMessage;
using pdes::bytes_of;

constexpr auto kind_after(int number) {
  return static_cast<Kind>(static_cast<int>(Kind::kFirstOther) + number);
}
constexpr Kind kVerdict = kind_after(0);
constexpr Kind kProgress = kind_after(1);  // from: the worker
constexpr Kind kState = kind_after(2);     // a part of its state
constexpr Kind kRecords = kind_after(3);   // and of its records
constexpr Kind kEnd = kind_after(4);       // of what its host has of it
constexpr Kind kComplete = kind_after(5);  // the first host has all results

struct Progress {
  int64_t latest_ps = 0;
  uint64_t messages = 0;
  int64_t ended_ranks = 0;
};

struct End {
  int64_t record_error = 0;
  uint64_t frames = 0;
  double waited_seconds = 0;
};

// What precedes the text and the hint.
struct VerdictHead {
  int32_t status = 0;
  uint32_t is_failure = 0;
  uint32_t text_bytes = 0;
  uint32_t hint_bytes = 0;
};

std::string verdict_of(int status, bool is_failure, const std::string& text,
                       const std::string& hint) {
  constexpr size_t kMost = SharedRun::kVerdictBytes - 1;
  const std::string said = text.substr(0, kMost) + hint.substr(0, kMost);
  const VerdictHead head{status, is_failure ? 1U : 0U,
                         static_cast<uint32_t>(std::min(text.size(), kMost)),
                         static_cast<uint32_t>(std::min(hint.size(), kMost))};
  const auto bytes = bytes_of(head);
  return std::string(bytes.data(), bytes.size()) + said;
}

std::string failure_of(const Error& error, const std::string& before = {}) {
  const Error without_hint{error.message, {}, error.path, error.line};
  return verdict_of(2, true, before + without_hint.to_string(), error.hint);
}

std::unexpected<Error> invalid_message() { return error("it sent what is no message"); }

}  // namespace

void tell_first_host(const HostScenario& hosts, const Error& error) {
  const std::string place = "host " + hosts.names[static_cast<size_t>(hosts.here)] + ": ";
  const std::string verdict = failure_of(error, place);
  BridgeMessage message{.kind = kVerdict};
  message.bytes = static_cast<uint32_t>(verdict.size());
  const std::string whole =
      std::string(reinterpret_cast<const char*>(&message), sizeof message) + verdict;
  // Nothing was sent before, so there is space; if the first host has ended, no process reads it.
  send(hosts.descriptors[0], whole.data(), whole.size(), MSG_NOSIGNAL);
}

RunHosts::RunHosts(const Scenario& scenario, SimTime quantum, pdes::SharedMemory& memory,
                   SharedRun& run, const std::vector<std::FILE*>& states,
                   const std::vector<std::FILE*>& records)
    : hosts_(scenario.hosts),
      workers_(scenario.workers),
      memory_(memory),
      run_(run),
      states_(states),
      records_(records),
      waited_seconds_(static_cast<size_t>(workers_)) {
  std::vector<pdes::Bridge::Peer> peers;
  for (int host = 0; host < hosts_.count(); ++host) {
    if (is_first() ? host == 0 : host > 0) continue;
    const int first = hosts_.first_worker(host, workers_);
    const int next = hosts_.first_worker(host + 1, workers_);
    peers.push_back({"host " + hosts_.names[static_cast<size_t>(host)],
                     hosts_.descriptors[peers.size()], first, next - first});
  }
  bridge_ = std::make_unique<pdes::Bridge>(
      memory, std::move(peers), is_first(), quantum,
      [this](size_t peer, const BridgeMessage& message, std::span<const char> bytes) {
        return take(peer, message, bytes);
      });
}

std::string RunHosts::place_of(int worker) const {
  return " on host " + hosts_.names[static_cast<size_t>(hosts_.host_of(worker, workers_))];
}

void RunHosts::close_connections() {
  for (const int descriptor : hosts_.descriptors) close(descriptor);
}

Result<bool> RunHosts::step() {
  tell_verdict();
  auto moved = bridge_->step();
  // It says more than a connection that broke meanwhile.
  if (failure_) return std::unexpected(*failure_);
  return moved;
}

// A worker of this host, or another host, has decided how the run ends. The first host tells all.
void RunHosts::tell_verdict() {
  if (has_reported_verdict_ || !memory_.state().stopped) return;
  has_reported_verdict_ = true;
  const std::string verdict = verdict_of(run_.status, run_.is_failure(), run_.text, run_.hint);
  const size_t peers = is_first() ? static_cast<size_t>(hosts_.count() - 1) : 1;
  for (size_t peer = 0; peer < peers; ++peer) bridge_->post(peer, {.kind = kVerdict}, verdict);
}

Result<> RunHosts::take(size_t peer, const BridgeMessage& message, std::span<const char> bytes) {
  if (message.kind == kVerdict) return take_verdict(bytes);
  if (message.kind == kComplete && !is_first()) {
    has_arrived_ = true;
    return {};
  }
  const int worker = message.from;
  const auto index = static_cast<size_t>(worker);
  if (!is_first() || worker >= workers_ ||
      hosts_.host_of(worker, workers_) != static_cast<int>(peer) + 1)
    return invalid_message();
  if (message.kind == kProgress) return take_progress(worker, bytes);
  if (message.kind == kEnd) return take_end(peer, worker, bytes);
  if (message.kind != kState && message.kind != kRecords) return invalid_message();
  std::FILE* const file = message.kind == kState ? states_[index] : records_[index];
  int& failed = run_.workers[worker].record_error;
  if (failed == 0 && std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    failed = errno;
  return {};
}

Result<> RunHosts::take_verdict(std::span<const char> bytes) {
  VerdictHead head;
  if (bytes.size() < sizeof head) return invalid_message();
  std::memcpy(&head, bytes.data(), sizeof head);
  const auto said = bytes.subspan(sizeof head);
  if (head.is_failure > 1 || head.text_bytes >= SharedRun::kVerdictBytes ||
      head.hint_bytes >= SharedRun::kVerdictBytes ||
      said.size() != size_t{head.text_bytes} + head.hint_bytes)
    return invalid_message();
  const std::string text(said.data(), head.text_bytes);
  const std::string hint(said.data() + head.text_bytes, head.hint_bytes);
  if (run_.decide(head.status, text, head.is_failure == 1, hint)) memory_.stop();
  // Also if the run had another reason to end: the results of that host will not come.
  if (is_first() && head.is_failure == 1 && !failure_) failure_ = Error{text, hint, {}, 0};
  return {};
}

Result<> RunHosts::take_progress(int worker, std::span<const char> bytes) {
  Progress progress;
  if (bytes.size() != sizeof progress) return invalid_message();
  std::memcpy(&progress, bytes.data(), sizeof progress);
  SharedRun::OfWorker& shown = run_.workers[worker];
  shown.latest_ps = progress.latest_ps;
  shown.messages = progress.messages;
  shown.ended_ranks = static_cast<int>(progress.ended_ranks);
  return {};
}

Result<> RunHosts::take_end(size_t peer, int worker, std::span<const char> bytes) {
  End end;
  if (bytes.size() != sizeof end) return invalid_message();
  std::memcpy(&end, bytes.data(), sizeof end);
  SharedRun::OfWorker& ended = run_.workers[worker];
  if (ended.has_left) return invalid_message();
  ended.has_left = true;
  if (ended.record_error == 0) ended.record_error = static_cast<int>(end.record_error);
  const auto index = static_cast<size_t>(worker);
  for (std::FILE* const file : {states_[index], records_[index]})  // the disk may be full
    if (std::fflush(file) != 0 && ended.record_error == 0) ended.record_error = errno;
  memory_.state().workers[worker].frames = end.frames;
  waited_seconds_[index] = end.waited_seconds;
  if (worker + 1 < hosts_.first_worker(static_cast<int>(peer) + 2, workers_)) return {};
  ++complete_;
  bridge_->post(peer, {.kind = kComplete}, {});
  bridge_->expect_end(peer);
  return {};
}

void RunHosts::tell_progress() {
  for (int worker = 0; worker < workers_; ++worker) {
    if (!memory_.is_here(worker)) continue;
    const SharedRun::OfWorker& one = run_.workers[worker];
    const Progress progress{one.latest_ps, one.messages, one.ended_ranks};
    bridge_->post(0, {.kind = kProgress, .from = static_cast<uint8_t>(worker)}, bytes_of(progress));
  }
}

Result<> RunHosts::send_results(double seconds_per_tick) {
  for (int worker = 0; worker < workers_; ++worker) {
    if (!memory_.is_here(worker)) continue;
    const auto index = static_cast<size_t>(worker);
    if (auto sent = send_file(worker, kState, states_[index]); !sent) return sent;
    if (auto sent = send_file(worker, kRecords, records_[index]); !sent) return sent;
    const pdes::SharedState::OfWorker& counts = memory_.state().workers[worker];
    const End end{run_.workers[worker].record_error, counts.frames,
                  static_cast<double>(counts.waited_ticks) * seconds_per_tick};
    bridge_->post(0, {.kind = kEnd, .from = static_cast<uint8_t>(worker)}, bytes_of(end));
  }
  while (!has_arrived_) {
    const auto moved = step();
    if (!moved) return std::unexpected(moved.error());
    if (!*moved) pause();
  }
  return {};
}

Result<> RunHosts::send_file(int worker, Kind kind, std::FILE* file) {
  std::vector<char> part(pdes::kMostMessageBytes);
  std::rewind(file);
  for (size_t got; (got = std::fread(part.data(), 1, part.size(), file)) > 0;) {
    bridge_->post(0, {.kind = kind, .from = static_cast<uint8_t>(worker)}, {part.data(), got});
    if (auto sent = send_rest(pdes::kMostUnsent); !sent) return sent;
  }
  int& failed = run_.workers[worker].record_error;
  if (failed == 0 && std::ferror(file) != 0) failed = EIO;
  return {};
}

Result<> RunHosts::send_rest(size_t most_unsent) {
  while (bridge_->unsent() > most_unsent) {
    const auto moved = step();
    if (!moved) return std::unexpected(moved.error());
    if (!*moved) pause();
  }
  return {};
}

void RunHosts::fail(const Error& error) {
  // In any case: another verdict may be on its way, or decided by a worker that was then killed.
  bridge_->post(0, {.kind = kVerdict}, failure_of(error));
  memory_.stop();
  has_reported_verdict_ = true;
  // Until the first host breaks off, which it does when it has the reason.
  for (;;) {
    const auto moved = step();
    if (!moved) return;
    if (!*moved) pause();
  }
}

}  // namespace sesame::sim
