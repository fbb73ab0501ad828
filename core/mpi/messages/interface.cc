#include "core/mpi/messages/interface.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/waiting.h"
#include "core/network/traffic.h"

namespace sesame::mpi {

// The other possible senders. The event is scheduled for the earliest waiting injection.
struct Interface::Contention : pdes::ConditionalEvent {
  explicit Contention(Interface& owner) : interface(owner) {}
  void fire() override {
    interface.inject_earliest();
    interface.inject_due();
  }

  Interface& interface;
  std::vector<Injection*> waiting;  // in reverse order: the earliest is the last element
  int announced = 0;                // messages whose receive is not known
  SimTime announced_from;           // the earliest time at which their data can be ready
  std::vector<Strand*> helpers;
  int file_accesses = 0;
};

namespace {

// Whether `a` is injected before `b`. Messages of the same channel keep their order.
bool is_before(const Injection& a, const Injection& b) {
  const auto key = [](const Injection& i) {
    return std::tuple(i.ready, i.record.sent, i.record.destination, i.record.context);
  };
  return key(a) < key(b);
}

// The data arrives: completes the receive.
void receive_data(Injection& injection, SimTime arrival, Recorder* recorder) {
  RequestObject& receive = *injection.receive;
  const SimTime received = later(arrival, receive.posted);
  injection.record.arrived = arrival;
  injection.record.received = received + receive.overhead();
  if (recorder != nullptr) recorder->record(injection.record);
  complete(receive, received);
}

// The data has left the sender at `time`.
void complete_send(const Injection& injection, SimTime time) {
  if (injection.send != nullptr) complete(*injection.send, time);
  if (injection.attached != nullptr)
    release_buffer(*injection.attached, static_cast<Count>(injection.record.bytes), time);
}

// Data of an announced message that shares cards or links with other messages.
class DataTransit final : public network::Transit, public Pooled<DataTransit> {
 public:
  DataTransit(std::unique_ptr<Injection> injection, const SharedInterfaces& shared)
      : injection_(std::move(injection)), shared_(shared) {}

 private:
  void leaves(SimTime end) override { complete_send(*injection_, end); }
  bool hand_over(const network::Passage& passage) override {
    if (injection_->receive != nullptr) return false;
    shared_.remote->send_data(injection_->record.destination, injection_->remote_receive, passage);
    delete this;
    return true;
  }
  void arrives(SimTime time) override {
    receive_data(*injection_, time, shared_.recorder);
    delete this;
  }

  std::unique_ptr<Injection> injection_;
  const SharedInterfaces& shared_;
};

}  // namespace

Interface::Interface(Strand& main, SharedInterfaces& shared) : main_(main), shared_(shared) {}

Interface::~Interface() = default;

Interface::Contention& Interface::contention() {
  if (contention_ == nullptr) contention_ = std::make_unique<Contention>(*this);
  return *contention_;
}

// A strand that waits for a helper strand of its rank sends nothing before the helper has ended.
bool Interface::may_send_before(const Strand& strand, SimTime time) const {
  return strand.now < time && !strand.awaits_helper && !strand.ended;
}

bool Interface::is_next(const Strand& strand) const {
  const Contention& others = *contention_;
  const SimTime after = strand.now + SimTime::from_ps(1);
  if (others.file_accesses > 0) return false;
  if (others.announced > 0 && others.announced_from <= strand.now) return false;
  if (!others.waiting.empty() && others.waiting.back()->ready <= strand.now) return false;
  if (&strand != &main_ && may_send_before(main_, after)) return false;
  return std::ranges::none_of(others.helpers, [&](const Strand* helper) {
    return helper != &strand && may_send_before(*helper, after);
  });
}

bool Interface::is_next(const Injection& injection) const {
  const Contention& others = *contention_;
  if (others.file_accesses > 0) return false;
  if (others.announced > 0 && others.announced_from <= injection.ready) return false;
  const Strand* sender = injection.send != nullptr ? injection.send->waiter : nullptr;
  if (sender != nullptr && sender->awaits_any) sender = nullptr;
  const auto contends = [&](const Strand* strand) {
    return strand != sender && may_send_before(*strand, injection.ready);
  };
  return !contends(&main_) && std::ranges::none_of(others.helpers, contends);
}

SimTime Interface::inject(Strand& strand, SimTime injection) {
  await_turn(strand);
  return reserve(strand.departure(), injection);
}

void Interface::yield_until_next(Strand& strand) {
  if (!is_next(strand)) yield_until_now(strand);
}

void Interface::announce(SimTime ready) {
  Contention& others = contention();
  others.announced_from = others.announced == 0 ? ready : std::min(others.announced_from, ready);
  ++others.announced;
  ++contenders_;
}

void Interface::withdraw_announcement() {
  --contention_->announced;
  --contenders_;
}

void Interface::request(Injection* injection) {
  std::vector<Injection*>& waiting = contention().waiting;
  const auto position = std::ranges::lower_bound(
      waiting, injection, [](const Injection* a, const Injection* b) { return is_before(*b, *a); });
  waiting.insert(position, injection);
  ++contenders_;
  // If the sender runs now, it will mostly block on this send soon, and the message can be injected
  // then without an event: try again when it yields.
  const bool sender_runs =
      !main_.executive->is_firing() && pdes::current_fiber != nullptr && self().rank == main_.rank;
  if (sender_runs && (shared_.deferred == nullptr || shared_.deferred == this)) {
    shared_.deferred = this;
  } else {
    inject_due();
  }
}

void Interface::inject_due() {
  std::vector<Injection*>& waiting = contention_->waiting;
  while (!waiting.empty() && is_next(*waiting.back())) inject_earliest();
  pdes::EventQueue& events = main_.executive->events();
  if (waiting.empty()) {
    events.withdraw(*contention_);
  } else if (!contention_->is_scheduled() || contention_->time() != waiting.back()->ready) {
    events.schedule(*contention_, waiting.back()->ready,
                    {pdes::EventClass::kInterface, main_.rank_number, 0});
  }
}

void Interface::inject_earliest() {
  std::unique_ptr<Injection> first(contention_->waiting.back());
  contention_->waiting.pop_back();
  --contenders_;
  const SimTime start = reserve(first->ready, first->cost.injection);
  if (is_shared(*first)) {
    const network::RankMessage message{.from = first->record.source,
                                       .to = first->record.destination,
                                       .bytes = first->record.bytes,
                                       .start = start,
                                       .number = injections_,
                                       .cost = first->cost};
    shared_.traffic->start(*new DataTransit(std::move(first), shared_), message);
    return;
  }
  complete_send(*first, start + first->cost.injection);
  const SimTime arrival = start + first->cost.latency + first->cost.transfer;
  if (first->receive == nullptr) {
    shared_.remote->send_data(first->record.destination, first->remote_receive, arrival);
  } else {
    receive_data(*first, arrival, shared_.recorder);
  }
}

void Interface::tell_reserved() const {
  shared_.remote->interface_reserved(static_cast<int>(main_.rank_number), free_);
}

bool Interface::is_shared(const Injection& injection) const {
  return network::shared_between(shared_.traffic, injection.record.source,
                                 injection.record.destination) != nullptr;
}

void Interface::add_helper(Strand& strand) {
  contention().helpers.push_back(&strand);
  ++contenders_;
}

void Interface::remove_helper(Strand& strand) {
  CHECK(std::erase(contention_->helpers, &strand) == 1);
  --contenders_;
}

void Interface::begin_file_access() {
  ++contention().file_accesses;
  ++contenders_;
}

void Interface::end_file_access() {
  --contention_->file_accesses;
  --contenders_;
}

}  // namespace sesame::mpi
