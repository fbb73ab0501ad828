#include "core/rocc/node.h"

namespace sesame::rocc {
namespace {

// Random streams of a node by what they are for: the kind, then the class, then the number in it.
// So neither the number of processes of a class nor that of daemons changes the streams of others.
constexpr uint64_t kDaemons = uint64_t{1} << 63;
constexpr int kClassBits = 40;
constexpr uint64_t kSourcesOfOne = 4;
static_assert(Process::kSources <= kSourcesOfOne && Arrivals::kSources <= kSourcesOfOne &&
              Daemon::kSources <= kSourcesOfOne);

StreamName at(StreamName stream, uint64_t first, uint64_t number) {
  stream.source = first + number * kSourcesOfOne;
  return stream;
}

}  // namespace

Node::Node(const Model& model, uint64_t seed, uint32_t replication, uint32_t number)
    : model_(model),
      resources_(model),
      processes_(model.classes.size()),
      arrivals_(model.classes.size()) {
  const StreamName stream{seed, replication, number, 0};
  add_daemons(stream);
  for (size_t i = 0; i < model.classes.size(); ++i) add_class(i, stream);
  start();
}

void Node::add_daemons(StreamName stream) {
  for (uint32_t i = 0; i < model_.daemon.count; ++i) {
    daemons_.push_back(
        std::make_unique<Daemon>(resources_, model_, messages_, at(stream, kDaemons, i)));
  }
}

void Node::add_class(size_t index, StreamName stream) {
  const ProcessClass& kind = model_.classes[index];
  const uint64_t first = static_cast<uint64_t>(index) << kClassBits;
  for (uint32_t i = 0; i < kind.count; ++i) {
    const StreamName own = at(stream, first, i);
    if (kind.interarrival) {
      arrivals_[index].push_back(std::make_unique<Arrivals>(resources_, kind, own));
      continue;
    }
    Daemon* daemon = nullptr;
    if (kind.instrumented) daemon = daemons_[dealt_++ % daemons_.size()].get();
    processes_[index].push_back(
        std::make_unique<Process>(resources_, kind, model_.instrumentation, daemon, own));
    if (daemon != nullptr) daemon->add_process(*processes_[index].back());
  }
}

void Node::start() {
  for (const auto& daemon : daemons_) daemon->start(SimTime::zero());
  for (const auto& of_class : processes_) {
    for (const auto& process : of_class) process->start(SimTime::zero());
  }
  for (const auto& of_class : arrivals_) {
    for (const auto& arrivals : of_class) arrivals->start(SimTime::zero());
  }
  const SimTime period = model_.instrumentation.change_period;
  if (period > SimTime::zero()) resources_.events.schedule(change_, period);
}

void Node::change_instrumentation(SimTime now) {
  resources_.events.schedule(change_, now + model_.instrumentation.change_period);
  for (const auto& daemon : daemons_) daemon->change_instrumentation(now);
}

void Node::advance(SimTime end) {
  pdes::EventQueue& events = resources_.events;
  while (events.earliest() <= end) {
    events.take_earliest().fire();
    ++events_;
  }
  now_ = end;
}

void Node::reset() {
  resources_.processors.charge(now_);
  resources_.processors.reset_busy();
  resources_.network.reset(now_);
  resources_.disk.reset(now_);
  for (const auto& daemon : daemons_) daemon->reset();
  for (const auto& of_class : processes_) {
    for (const auto& process : of_class) process->reset(now_);
  }
  for (const auto& of_class : arrivals_) {
    for (const auto& arrivals : of_class) arrivals->reset();
  }
}

NodeStatistics Node::statistics() {
  resources_.processors.charge(now_);
  NodeStatistics sums;
  sums.classes.resize(model_.classes.size());
  for (size_t i = 0; i < model_.classes.size(); ++i) {
    for (const auto& process : processes_[i]) sums.classes[i].add(process->statistics(now_));
    for (const auto& arrivals : arrivals_[i]) {
      sums.classes[i].add(arrivals->statistics());
      sums.waiting += arrivals->unfinished();
    }
  }
  for (const auto& daemon : daemons_) {
    sums.daemon_cpu += daemon->used();
    sums.daemons.collected += daemon->statistics().collected;
    sums.daemons.forwarded_samples += daemon->statistics().forwarded_samples;
    sums.daemons.forwarded_messages += daemon->statistics().forwarded_messages;
    sums.daemons.lost += daemon->statistics().lost;
  }
  sums.processors_busy = resources_.processors.busy();
  sums.network_busy = resources_.network.busy(now_);
  sums.disk_busy = resources_.disk.busy(now_);
  sums.waiting += resources_.network.waiting() + resources_.disk.waiting();
  sums.events = events_;
  return sums;
}

}  // namespace sesame::rocc
