#include "core/pdes/bridge.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/time_stamp.h"

namespace sesame::pdes {
namespace {

using Kind = BridgeMessage::Kind;

// Longer than any message of a program, so that an invalid length does not take all memory.
constexpr uint64_t kMostFrameBytes = uint64_t{1} << 36;
constexpr size_t kReceived = 4 * (kMostMessageBytes + sizeof(BridgeMessage));

template <typename T>
T read(std::span<const char> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::unexpected<Error> invalid(const std::string& what) { return error("it sent " + what); }

}  // namespace

Bridge::Bridge(SharedMemory& memory, std::vector<Peer> peers, bool is_first, SimTime quantum,
               Take take)
    : memory_(memory),
      is_first_(is_first),
      quantum_(quantum),
      take_(std::move(take)),
      rings_(static_cast<size_t>(memory.workers()) * static_cast<size_t>(memory.workers())) {
  for (Peer& peer : peers) {
    Connection& connection = connections_.emplace_back();
    connection.peer = std::move(peer);
    connection.in.resize(kReceived);
  }
}

bool Bridge::is_of(const Peer& peer, int worker) const {
  if (worker >= memory_.workers() || memory_.is_here(worker)) return false;
  return !is_first_ || (worker >= peer.first && worker < peer.first + peer.workers);
}

size_t Bridge::peer_of(int worker) const {
  const auto place = std::ranges::find_if(
      connections_, [&](const Connection& one) { return is_of(one.peer, worker); });
  CHECK(place != connections_.end());
  return static_cast<size_t>(place - connections_.begin());
}

size_t Bridge::unsent() const {
  size_t most = 0;
  for (const Connection& one : connections_)
    if (!one.has_ended) most = std::max(most, one.out.size() - one.sent);
  return most;
}

Result<bool> Bridge::step() {
  bool any = send_frames();
  any |= report_taken();
  for (size_t peer = 0; peer < connections_.size(); ++peer) {
    const auto received = receive(peer);
    if (!received) return received;
    any |= *received;
  }
  any |= is_first_ ? end_round() : report_idle();
  for (Connection& connection : connections_) {
    const auto sent = send(connection);
    if (!sent) return sent;
    any |= *sent;
  }
  if (any) moved_at_ = read_time_stamp();
  return any;
}

void Bridge::pause() {
  constexpr uint64_t kYieldingTicks = 150'000;  // 50 us at 3 GHz
  constexpr timespec kPause{0, 50'000};
  // Each pause is a wait.
  if (read_time_stamp() - moved_at_ < kYieldingTicks && yielding_.begin_wait()) {
    yielding_.yield();
    return;
  }
  std::vector<pollfd> descriptors;
  for (const Connection& one : connections_) {
    if (one.has_ended) continue;
    const bool has_unsent = one.sent < one.out.size();
    descriptors.push_back(
        {one.peer.descriptor, static_cast<short>(has_unsent ? POLLIN | POLLOUT : POLLIN), 0});
  }
  ppoll(descriptors.data(), descriptors.size(), &kPause, nullptr);
}

void Bridge::post(size_t peer, BridgeMessage message, std::span<const char> bytes) {
  CHECK(bytes.size() <= kMostMessageBytes);
  Connection& connection = connections_[peer];
  message.bytes = static_cast<uint32_t>(bytes.size());
  const auto head = bytes_of(message);
  connection.out.append(head.data(), head.size());
  connection.out.append(bytes.data(), bytes.size());
  if (message.kind == Kind::kBytes) connection.frame_bytes_sent += bytes.size();
}

Result<bool> Bridge::end(Connection& connection, const std::string& why) {
  if (!connection.may_end) return error(connection.peer.name + ": the connection broke: " + why);
  connection.has_ended = true;
  return true;
}

Result<bool> Bridge::send(Connection& connection) {
  if (connection.has_ended || connection.sent == connection.out.size()) return false;
  const ssize_t count =
      ::send(connection.peer.descriptor, connection.out.data() + connection.sent,
             connection.out.size() - connection.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    return end(connection, std::strerror(errno));
  }
  connection.sent += static_cast<size_t>(count);
  if (connection.sent == connection.out.size() || connection.sent >= kMostUnsent) {
    connection.out.erase(0, connection.sent);
    connection.sent = 0;
  }
  return true;
}

// Of this host's workers to those of others. A frame is no longer pending here when it has left: it
// is then pending where it arrives.
bool Bridge::send_frames() {
  bool any = false;
  while (unsent() < kMostUnsent && (outgoing_ || find_outgoing())) {
    const uint64_t left = outgoing_->left;
    send_part(*outgoing_);
    if (outgoing_->left == left) break;  // the worker still writes it
    any = true;
    if (outgoing_->left > 0) continue;
    outgoing_.reset();
    ++frames_sent_;
    memory_.state().pending.fetch_sub(1);
  }
  return any;
}

// The frame that was sent first of those that have not left.
bool Bridge::find_outgoing() {
  if (memory_.state().outgoing_frames.load(std::memory_order_relaxed) == frames_sent_) return false;
  const SharedState& state = memory_.state();
  for (int from = state.first_here; from < state.first_here + state.count_here; ++from) {
    for (int to = 0; to < memory_.workers(); ++to) {
      if (memory_.is_here(to)) continue;
      const uint64_t copied = bridged(from, to).copied;
      FramePrefix prefix;
      if (memory_.ring(from, to).written.load(std::memory_order_acquire) - copied < sizeof prefix)
        continue;
      copy_out(from, to, copied, {reinterpret_cast<char*>(&prefix), sizeof prefix});
      if (prefix.number != frames_sent_) continue;
      outgoing_ = {from, to, sizeof prefix + prefix.bytes, true};
      return true;
    }
  }
  return false;
}

void Bridge::send_part(OutgoingFrame& frame) {
  const auto [from, to, left, begins] = frame;
  uint64_t& copied = bridged(from, to).copied;
  const uint64_t written = memory_.ring(from, to).written.load(std::memory_order_acquire);
  const uint64_t count = std::min({written - copied, left, uint64_t{kMostMessageBytes}});
  if (count == 0) return;
  char part[kMostMessageBytes];
  copy_out(from, to, copied, {part, count});
  BridgeMessage message;
  message.from = static_cast<uint8_t>(from);
  message.to = static_cast<uint8_t>(to);
  message.number = begins ? 1 : 0;
  post(peer_of(to), message, {part, count});
  copied += count;
  frame.left -= count;
  frame.begins = false;
}

void Bridge::copy_out(int from, int to, uint64_t at, std::span<char> bytes) {
  while (!bytes.empty()) {
    const std::span<char> data = memory_.data_of(from, to, at);
    const size_t count = std::min(data.size(), bytes.size());
    std::memcpy(bytes.data(), data.data(), count);
    bytes = bytes.subspan(count);
    at += count;
  }
}

// Says how much space the rings have again, a quarter of a ring at a time: a sender that waits for
// space has more than this on its way.
bool Bridge::report_taken() {
  bool any = false;
  for (int from = 0; from < memory_.workers(); ++from) {
    if (memory_.is_here(from)) continue;
    for (int to = 0; to < memory_.workers(); ++to) {
      if (!memory_.is_here(to)) continue;
      const uint64_t taken = memory_.ring(from, to).taken.load(std::memory_order_acquire);
      uint64_t& reported = bridged(from, to).reported;
      if (taken - reported < memory_.ring_bytes() / 4) continue;
      reported = taken;
      post(peer_of(from),
           {.kind = Kind::kTaken,
            .from = static_cast<uint8_t>(from),
            .to = static_cast<uint8_t>(to),
            .number = taken},
           {});
      any = true;
    }
  }
  return any;
}

// Once nothing happens here: only a frame that the bridge takes in can change that.
bool Bridge::report_idle() {
  if (has_reported_idle_ || memory_.state().pending != 0) return false;
  has_reported_idle_ = true;
  const EventKey first = first_event(memory_);
  post(0, {.kind = Kind::kIdle, .number = frame_bytes_received_}, bytes_of(first));
  return true;
}

bool Bridge::end_round() {
  if (memory_.state().pending != 0) return false;
  EventKey first = first_event(memory_);
  for (const Connection& one : connections_) {
    if (one.idle_after != one.frame_bytes_sent) return false;
    first = std::min(first, one.first_event);
  }
  const Round round = next_round(first, EventKey::never(), quantum_);
  // Before any frame of the next round.
  for (size_t peer = 0; peer < connections_.size(); ++peer) {
    post(peer, {.kind = Kind::kRound}, bytes_of(round));
    connections_[peer].idle_after.reset();
  }
  begin_round(memory_, round);
  return true;
}

Result<bool> Bridge::receive(size_t peer) {
  Connection& from = connections_[peer];
  if (from.has_ended) return false;
  const ssize_t count = recv(from.peer.descriptor, from.in.data() + from.received,
                             from.in.size() - from.received, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) return end(from, count == 0 ? "it was closed" : std::strerror(errno));
  from.received += static_cast<size_t>(count);
  auto taken = take_messages(peer);
  if (!taken) taken.error().message = from.peer.name + ": " + taken.error().message;
  return taken;
}

Result<bool> Bridge::take_messages(size_t peer) {
  Connection& from = connections_[peer];
  for (;;) {
    const std::span<const char> rest(from.in.data() + from.taken, from.received - from.taken);
    if (rest.size() < sizeof(BridgeMessage)) break;
    const auto message = read<BridgeMessage>(rest);
    if (message.bytes > kMostMessageBytes) return invalid("a message that is too long");
    if (rest.size() < sizeof message + message.bytes) break;
    from.taken += sizeof message + message.bytes;
    if (auto taken = take(peer, message, rest.subspan(sizeof message, message.bytes)); !taken)
      return std::unexpected(taken.error());
  }
  std::memmove(from.in.data(), from.in.data() + from.taken, from.received - from.taken);
  from.received -= from.taken;
  from.taken = 0;
  return true;
}

Result<> Bridge::take(size_t peer, const BridgeMessage& message, std::span<const char> bytes) {
  Connection& from = connections_[peer];
  switch (message.kind) {
    case Kind::kBytes:
      return take_bytes(peer, message, bytes);
    case Kind::kTaken:
      return take_taken(message);
    case Kind::kIdle:
      if (!is_first_ || bytes.size() != sizeof from.first_event) break;
      from.idle_after = message.number;
      from.first_event = read<EventKey>(bytes);
      return {};
    case Kind::kRound:
      if (is_first_ || bytes.size() != sizeof(Round) || !has_reported_idle_) break;
      has_reported_idle_ = false;
      begin_round(memory_, read<Round>(bytes));
      return {};
    default:
      return take_(peer, message, bytes);
  }
  return invalid("a message about rounds that does not belong there");
}

Result<> Bridge::take_bytes(size_t peer, const BridgeMessage& message,
                            std::span<const char> bytes) {
  const int to = message.to;
  if (!is_of(connections_[peer].peer, message.from) || to >= memory_.workers())
    return invalid("a frame of a worker that it has not");
  if (memory_.is_here(to)) return copy_in(message, bytes);
  if (!is_first_ || peer_of(to) == peer) return invalid("a frame to a worker that is not here");
  post(peer_of(to), message, bytes);
  return {};
}

Result<> Bridge::copy_in(const BridgeMessage& message, std::span<const char> bytes) {
  BridgedRing& arriving = bridged(message.from, message.to);
  Ring& ring = memory_.ring(message.from, message.to);
  const bool begins = message.number == 1;
  if (begins != (arriving.frame_left == 0) || (begins && bytes.size() < sizeof(FramePrefix)))
    return invalid("a frame that begins in another one");
  if (begins) {
    const uint64_t frame = read<FramePrefix>(bytes).bytes;
    if (frame > kMostFrameBytes) return invalid("a frame that is too long");
    arriving.frame_left = sizeof(FramePrefix) + frame;
  }
  uint64_t at = ring.written.load(std::memory_order_relaxed);
  const uint64_t space = memory_.ring_bytes() - (at - ring.taken.load(std::memory_order_acquire));
  if (bytes.size() > std::min(space, arriving.frame_left))
    return invalid("more of a frame than there is space");
  arriving.frame_left -= bytes.size();
  frame_bytes_received_ += bytes.size();
  has_reported_idle_ = false;
  if (begins) memory_.state().pending.fetch_add(1);  // before a worker sees it
  for (; !bytes.empty();) {
    const std::span<char> data = memory_.data_of(message.from, message.to, at);
    const size_t count = std::min(data.size(), bytes.size());
    std::memcpy(data.data(), bytes.data(), count);
    bytes = bytes.subspan(count);
    at += count;
  }
  ring.written.store(at);
  ring_if_asleep(memory_.bell(message.to));
  return {};
}

Result<> Bridge::take_taken(const BridgeMessage& message) {
  const int from = message.from, to = message.to;
  if (from >= memory_.workers() || to >= memory_.workers() || memory_.is_here(to))
    return invalid("how much is taken of a ring that it has not");
  if (!memory_.is_here(from)) {
    if (!is_first_) return invalid("how much is taken of another host's ring");
    post(peer_of(from), message, {});
    return {};
  }
  Ring& ring = memory_.ring(from, to);
  if (message.number > bridged(from, to).copied || message.number < ring.taken.load())
    return invalid("that it took more than it got");
  ring.taken.store(message.number);
  if (ring.sender_waits.load()) ring_if_asleep(memory_.bell(from));
  return {};
}

}  // namespace sesame::pdes
