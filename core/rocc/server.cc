#include "core/rocc/server.h"

namespace sesame::rocc {

Server::Server(pdes::EventQueue& events, uint32_t channels) : events_(events), channels_(channels) {
  for (Channel& channel : channels_) {
    channel.server = this;
    free_.push_back(&channel);
  }
}

void Server::request(SimTime now, SimTime length, Client& client, uint64_t tag) {
  const Request request{length, &client, tag};
  if (free_.empty()) {
    waiting_.push_back(request);
    return;
  }
  Channel& channel = *free_.back();
  free_.pop_back();
  start(now, channel, request);
}

SimTime Server::busy(SimTime now) const {
  SimTime sum = busy_;
  for (const Channel& channel : channels_) {
    if (channel.is_scheduled()) sum += now - channel.begin;
  }
  return sum;
}

void Server::reset(SimTime now) {
  busy_ = SimTime::zero();
  for (Channel& channel : channels_) channel.begin = now;
}

void Server::start(SimTime now, Channel& channel, const Request& request) {
  channel.begin = now;
  channel.request = request;
  events_.schedule(channel, now + request.length);
}

void Server::end(Channel& channel) {
  const SimTime now = channel.time();
  const Request done = channel.request;
  busy_ += now - channel.begin;
  if (waiting_.empty()) {
    free_.push_back(&channel);
  } else {
    const Request next = waiting_.front();
    waiting_.pop_front();
    start(now, channel, next);
  }
  done.client->served(now, done.tag);
}

}  // namespace sesame::rocc
