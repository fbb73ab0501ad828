// Connects the workers of one host to those of other hosts, in a parallel simulation by the quantum
// protocol. Each host has a block of shared memory with the rings of all pairs of workers. What a
// worker writes to a worker of another host, the bridge copies into the same ring there. So workers
// do not know on which host the others are.
//
// All hosts are connected to the first one, which passes on what others send to each other. It also
// ends the rounds: a further host that is idle says so, and how many bytes of frames it has
// received. If that is all that the first host has sent to it, and all are idle, nothing is on its
// way, since a connection keeps the order.
//
// The frames of a host's workers leave in the order in which they were sent. Hence a frame arrives
// after all frames that had been sent before its cause, as between workers of one host.
//
// Use: one in the process of each host that waits for its workers. Call step() until the run has
// ended, and pause() when it did nothing. `take` gets the messages that post() has sent. An Error
// names the host that broke off, or that sent what is no message: everything that comes from the
// network is checked here. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/yielding.h"
#include "core/pdes/quantum.h"
#include "core/pdes/workers.h"

namespace sesame::pdes {

// Of bytes that a host has for another one; more wait in the rings.
inline constexpr size_t kMostUnsent = 4 << 20;

// The bytes of a value that is sent as it is in memory.
template <typename T>
std::span<const char> bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Between two hosts; in the order of bytes of this processor, as frames are.
struct BridgeMessage {
  enum class Kind : uint16_t {
    kBytes,       // of the ring from `from` to `to`; number: 1 if a frame begins
    kTaken,       // number: of the bytes of this ring, in all
    kIdle,        // number: of bytes of frames received, in all; with the first event
    kRound,       // the first host ends a round
    kFirstOther,  // what post() sends has this number or a higher one
  };

  uint32_t bytes = 0;  // that follow
  Kind kind = Kind::kBytes;
  uint8_t from = 0;  // worker
  uint8_t to = 0;
  uint64_t number = 0;
};
static_assert(sizeof(BridgeMessage) == 16);

// Of what follows one message.
inline constexpr size_t kMostMessageBytes = 1 << 18;

class Bridge {
 public:
  struct Peer {
    std::string name;
    int descriptor = -1;  // a connected stream socket; not owned
    int first = 0;        // of the workers that are reached through it
    int workers = 0;
  };
  using Take = std::function<Result<>(size_t peer, const BridgeMessage& message,
                                      std::span<const char> bytes)>;

  // `peers`: of the first host all others, of a further host the first one, which then stands for
  // all workers that are not here.
  Bridge(SharedMemory& memory, std::vector<Peer> peers, bool is_first, SimTime quantum, Take take);
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // Moves what can be moved without waiting; whether there was anything.
  Result<bool> step();
  // Waits a moment, longer if step() has long done nothing, but not for what has come.
  void pause();
  // Sends a message of the user's. REQUIRES: bytes.size() <= kMostMessageBytes.
  void post(size_t peer, BridgeMessage message, std::span<const char> bytes);
  // From now on the peer may break off.
  void expect_end(size_t peer) { connections_[peer].may_end = true; }
  // What is not sent yet to the peer that has most of it, in bytes.
  size_t unsent() const;

 private:
  struct Connection {
    Peer peer;
    std::string out;  // not sent yet from `sent` on
    size_t sent = 0;
    std::vector<char> in;  // not taken yet from `taken` to `received`
    size_t taken = 0;
    size_t received = 0;
    bool may_end = false;
    bool has_ended = false;
    uint64_t frame_bytes_sent = 0;
    // Of a further host, as the first one knows it:
    std::optional<uint64_t> idle_after;  // so many bytes of frames
    EventKey first_event;
  };
  // A ring between this host and another one.
  struct BridgedRing {
    uint64_t copied = 0;      // bytes, out of the ring
    uint64_t reported = 0;    // bytes that its sender knows to be taken
    uint64_t frame_left = 0;  // bytes that are missing of the frame that arrives
  };
  // A frame of this host's workers, of which a part is sent already.
  struct OutgoingFrame {
    int from;
    int to;
    uint64_t left;  // bytes of the frame and its prefix
    bool begins;
  };

  BridgedRing& bridged(int from, int to) { return rings_[from * memory_.workers() + to]; }
  bool is_of(const Peer& peer, int worker) const;
  size_t peer_of(int worker) const;
  bool send_frames();
  bool find_outgoing();
  void send_part(OutgoingFrame& frame);
  void copy_out(int from, int to, uint64_t at, std::span<char> bytes);
  bool report_taken();
  bool end_round();
  bool report_idle();
  Result<bool> receive(size_t peer);
  Result<bool> take_messages(size_t peer);
  Result<> take(size_t peer, const BridgeMessage& message, std::span<const char> bytes);
  Result<> take_bytes(size_t peer, const BridgeMessage& message, std::span<const char> bytes);
  Result<> copy_in(const BridgeMessage& message, std::span<const char> bytes);
  Result<> take_taken(const BridgeMessage& message);
  Result<bool> send(Connection& connection);
  static Result<bool> end(Connection& connection, const std::string& why);

  SharedMemory& memory_;
  const bool is_first_;
  const SimTime quantum_;
  Take take_;
  std::vector<Connection> connections_;
  std::vector<BridgedRing> rings_;  // by pair of workers
  Yielding yielding_;
  uint64_t moved_at_ = 0;  // when step() last moved something: a time stamp
  std::optional<OutgoingFrame> outgoing_;
  uint64_t frames_sent_ = 0;
  uint64_t frame_bytes_received_ = 0;  // of a further host
  bool has_reported_idle_ = false;
};

}  // namespace sesame::pdes
