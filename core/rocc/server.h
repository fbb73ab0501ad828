// A network or disk of a node: serves requests in the order of their arrival, a number of them at a
// time. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/base/units.h"
#include "core/pdes/event_queue.h"

namespace sesame::rocc {

// What requests a service. `tag` is as given to request().
class Client {
 public:
  virtual ~Client() = default;
  virtual void served(SimTime now, uint64_t tag) = 0;
};

class Server {
 public:
  Server(pdes::EventQueue& events, uint32_t channels);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Calls client.served() when a channel has been used for `length`.
  void request(SimTime now, SimTime length, Client& client, uint64_t tag);
  // Time used by all channels since the last reset, until `now`.
  SimTime busy(SimTime now) const;
  void reset(SimTime now);
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Request {
    SimTime length;
    Client* client;
    uint64_t tag;
  };
  struct Channel : pdes::ConditionalEvent {
    void fire() override { server->end(*this); }
    Server* server = nullptr;
    SimTime begin;
    Request request{};
  };

  void start(SimTime now, Channel& channel, const Request& request);
  void end(Channel& channel);

  pdes::EventQueue& events_;
  std::vector<Channel> channels_;
  std::vector<Channel*> free_;
  std::deque<Request> waiting_;
  SimTime busy_;
};

}  // namespace sesame::rocc
