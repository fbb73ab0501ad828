#include "core/mpi/messages/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "core/mpi/messages/any_source.h"
#include "core/mpi/messages/delivery.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

struct Message {
  int id;
  uint32_t context;
  int source;
  int tag;
  SimTime arrival;
};

struct Receive {
  int id;
  Selector selector;
  bool is_cancellable;

  // Whether it matches its message only when that arrives.
  bool waits_for_arrival() const { return is_cancellable || selector.source == MPI_ANY_SOURCE; }
};

// A receive and its message, by number.
using Match = std::pair<int, int>;

bool accepts(const Selector& selector, const Message& message) {
  return selector.context == message.context &&
         (selector.source == MPI_ANY_SOURCE || selector.source == message.source) &&
         selector.accepts_tag(message.tag);
}

// MPI's rules of matching (MPI 4.1, section 3.5) word for word, by linear searches: a message
// matches the first posted receive that accepts it; a receive does not match a message while one
// sent before on the same channel, which it accepts too, is undecided.
class Reference {
 public:
  void arrive(const Message& message) {
    messages_.push_back(message);
    match_named();
  }

  void post(const Receive& receive) {
    receives_.push_back(receive);
    match_named();
  }

  void withdraw(int id) {
    std::erase_if(receives_, [id](const Receive& receive) { return receive.id == id; });
    match_named();
  }

  bool take_back(int id) {
    const auto message = std::find_if(messages_.begin(), messages_.end(),
                                      [id](const Message& m) { return m.id == id; });
    if (first_receive_for(*message) != receives_.end()) return false;
    messages_.erase(message);
    return true;
  }

  // The message that the next one to match of the receives that wait for arrivals gets, or null.
  const Message* next() const {
    return earliest([this](const Message& message) {
      const auto receive = first_receive_for(message);
      return receive != receives_.end() && receive->waits_for_arrival();
    });
  }

  // All that arrive by then are known: first receives that name their source match.
  void pass_next() {
    const Message message = *next();
    known_until_ = later(known_until_, message.arrival);
    if (match_named() > 0) return;
    const auto receive = first_receive_for(message);
    matches.emplace_back(receive->id, message.id);
    receives_.erase(receive);
    std::erase_if(messages_, [&](const Message& m) { return m.id == message.id; });
    match_named();
  }

  // The program will not cancel the receive.
  void settle(int id) {
    for (Receive& receive : receives_)
      if (receive.id == id) receive.is_cancellable = false;
    match_named();
  }

  // The message that a probe finds. It finds no message that a posted receive may still match. If
  // it names the source, it finds none behind such a message either, since that would overtake the
  // message if the receive matched another.
  const Message* find(const Selector& selector) const {
    if (selector.source != MPI_ANY_SOURCE) {
      const auto first =
          std::find_if(messages_.begin(), messages_.end(),
                       [&](const Message& message) { return accepts(selector, message); });
      if (first == messages_.end() || first_receive_for(*first) != receives_.end()) return nullptr;
      return &*first;
    }
    return earliest([&](const Message& message) {
      return accepts(selector, message) && first_receive_for(message) == receives_.end();
    });
  }

  const std::vector<Message>& messages() const { return messages_; }
  const std::vector<Receive>& receives() const { return receives_; }

  std::vector<Match> matches;

 private:
  std::vector<Receive>::const_iterator first_receive_for(const Message& message) const {
    return std::find_if(receives_.begin(), receives_.end(),
                        [&](const Receive& r) { return accepts(r.selector, message); });
  }

  template <typename Condition>
  const Message* earliest(Condition condition) const {
    const Message* best = nullptr;
    const auto rank = [](const Message& m) { return std::tuple(m.arrival, m.source, m.context); };
    for (const Message& message : messages_) {
      if (condition(message) && (best == nullptr || rank(message) < rank(*best))) best = &message;
    }
    return best;
  }

  bool may_match(const Receive& receive, const Message& message) const {
    return receive.selector.source != MPI_ANY_SOURCE &&
           (!receive.is_cancellable || message.arrival <= known_until_);
  }

  int match_named() {
    const size_t before = matches.size();
    for (size_t i = 0; i < messages_.size();) {
      const auto receive = first_receive_for(messages_[i]);
      if (receive == receives_.end() || !may_match(*receive, messages_[i]) ||
          std::any_of(
              messages_.begin(), messages_.begin() + static_cast<ptrdiff_t>(i),
              [&](const Message& earlier) { return accepts(receive->selector, earlier); })) {
        ++i;
        continue;
      }
      matches.emplace_back(receive->id, messages_[i].id);
      receives_.erase(receive);
      messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(i));
    }
    return static_cast<int>(matches.size() - before);
  }

  SimTime known_until_;            // what happens later may come in any order
  std::vector<Message> messages_;  // in the order of arrive()
  std::vector<Receive> receives_;  // in the order posted
};

// The same calls on rank 0 of a simulated job. A message carries its number as the time of sending.
class Simulated : public Recorder {
 public:
  explicit Simulated(int sources) : job_(sources + 1) {
    job_.world().recorder = this;
    matching().allow_cancels();
  }
  ~Simulated() override { job_.world().recorder = nullptr; }

  void expect(ExpectedSources sources) { matching().expect(std::move(sources)); }

  // Of the message with the next number, before it arrives.
  void describe(int source, int tag, uint32_t context) {
    source_of.push_back(source);
    tag_of.push_back(tag);
    context_of.push_back(context);
  }
  // Gives the message's arrival: no earlier than that of the one sent before.
  SimTime arrive(int id, uint32_t context, int source, int tag, SimTime arrival) {
    Channel& channel = matching().channel(context, source);
    channel.last_arrival = later(arrival, channel.last_arrival);
    const SimTime arrived = channel.last_arrival;
    auto* message = new QueuedMessage;
    message->context = context;
    message->source = source;
    message->source_world = source;
    message->tag = tag;
    message->sent = SimTime::from_ps(id);
    message->arrival = arrived;
    RequestObject* receive = matching().match_posted_receive(channel, tag);
    if (matching().has_expected()) receive = matching().match_expected(*message, receive);
    if (receive != nullptr) {
      deliver(job_.world(), 0, *receive, message);
    } else {
      matching().enqueue(channel, message);
      queued_.emplace_back(id, message);
    }
    record_matches();
    return arrived;
  }

  void post(const Receive& receive) {
    auto request = std::make_unique<RequestObject>();
    request->kind = RequestObject::Kind::kReceive;
    request->type = predefined_object(MPI_BYTE);
    request->context = receive.selector.context;
    request->peer = receive.selector.source;
    request->tag = receive.selector.tag;
    request->is_cancellable = receive.is_cancellable;
    RequestObject& posted = *request;
    pending_.emplace_back(receive.id, std::move(request));
    if (QueuedMessage* message = matching().match_message_or_queue(posted, deliver)) {
      deliver(job_.world(), 0, posted, message);
    }
    record_matches();
  }

  bool withdraw(int id) {
    const auto receive = std::find_if(pending_.begin(), pending_.end(),
                                      [id](const auto& entry) { return entry.first == id; });
    const bool done = matching().withdraw(*receive->second);
    record_matches();
    if (done) {
      std::erase_if(pending_, [id](const auto& entry) { return entry.first == id; });
    }
    return done;
  }

  bool take_back(int id) {
    const auto entry = std::find_if(queued_.begin(), queued_.end(),
                                    [id](const auto& queued) { return queued.first == id; });
    if (!matching().withdraw_message(entry->second)) return false;
    delete entry->second;
    queued_.erase(entry);
    return true;
  }

  void settle(int id) {
    const auto receive = std::find_if(pending_.begin(), pending_.end(),
                                      [id](const auto& entry) { return entry.first == id; });
    matching().settle(*receive->second);
    record_matches();
  }

  // The time of the next match that waits for an arrival.
  SimTime next() { return job_.world().executive.events().earliest(); }
  void pass_next() {
    job_.world().executive.events().take_earliest().fire();
    record_matches();
  }

  int find(const Selector& selector, SimTime by) {
    const QueuedMessage* message = matching().find(selector, by);
    return message == nullptr ? -1 : static_cast<int>(message->sent.ps());
  }

  void record(const CallRecord&) override {}
  void record(int, const storage::FileCallRecord&) override {}
  bool is_full(int) const override { return false; }
  void write_until(int, SimTime) override {}
  void record(const MessageRecord& message) override {
    delivered_.push_back(static_cast<int>(message.sent.ps()));
  }

  std::vector<Match> matches;

 private:
  Matching& matching() { return job_.world().matching_of(0); }

  // A call may match several pairs. Messages of one channel with one tag go to receives in order,
  // so the status of a receive tells which message it has.
  void record_matches() {
    for (const auto& [id, request] : pending_) {
      if (!request->complete) continue;
      const auto message = std::find_if(delivered_.begin(), delivered_.end(), [&](int delivered) {
        return request->status.MPI_SOURCE == source_of[static_cast<size_t>(delivered)] &&
               request->status.MPI_TAG == tag_of[static_cast<size_t>(delivered)] &&
               request->context == context_of[static_cast<size_t>(delivered)];
      });
      ASSERT_NE(message, delivered_.end());
      matches.emplace_back(id, *message);
      std::erase_if(queued_, [&](const auto& entry) { return entry.first == *message; });
      delivered_.erase(message);
    }
    EXPECT_TRUE(delivered_.empty());
    std::erase_if(pending_, [](const auto& entry) { return entry.second->complete; });
  }

  // By the number of the message.
  std::vector<int> source_of, tag_of;
  std::vector<uint32_t> context_of;
  SimulatedJob job_;
  std::vector<std::pair<int, std::unique_ptr<RequestObject>>> pending_;
  std::vector<std::pair<int, QueuedMessage*>> queued_;
  std::vector<int> delivered_;
};

// Random calls on both, with few sources, tags, contexts and times, so that they often coincide.
// Odd seeds: most receives name one of two sources, so that many wait on one channel.
class Both {
 public:
  explicit Both(unsigned seed)
      : random_(seed),
        sources_(seed % 2 == 0 ? 5 : 2),
        any_source_in_(seed % 2 == 0 ? 2 : 8),
        simulated_(sources_) {}

  void step() {
    switch (below(13)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return arrive();
      case 4:
      case 5:
      case 6:
        return post();
      case 7:
        return withdraw();
      case 8:
        return take_back();
      case 9:
        return probe();
      case 10:
        return settle();
      default:
        return pass_next();
    }
  }

  void expect_same() {
    std::sort(reference_.matches.begin(), reference_.matches.end());
    std::sort(simulated_.matches.begin(), simulated_.matches.end());
    ASSERT_EQ(simulated_.matches, reference_.matches);
    const Message* next = reference_.next();
    ASSERT_EQ(simulated_.next(), next == nullptr ? SimTime::never() : next->arrival);
  }

  size_t matched() const { return reference_.matches.size(); }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  uint32_t any_context() { return static_cast<uint32_t>(2 * below(2)); }
  Selector selector() {
    return {any_context(), below(any_source_in_) == 0 ? MPI_ANY_SOURCE : 1 + below(sources_),
            below(3) == 0 ? MPI_ANY_TAG : below(3)};
  }

  void arrive() {
    now_ += below(3);
    Message message{next_message_++, any_context(), 1 + below(sources_), below(3),
                    SimTime::from_ns(now_ + below(20))};
    simulated_.describe(message.source, message.tag, message.context);
    message.arrival = simulated_.arrive(message.id, message.context, message.source, message.tag,
                                        message.arrival);
    reference_.arrive(message);
  }

  void post() {
    const Receive receive{next_receive_++, selector(), below(2) == 0};
    simulated_.post(receive);
    reference_.post(receive);
  }

  void withdraw() {
    if (reference_.receives().empty()) return;
    const auto at = static_cast<size_t>(below(static_cast<int>(reference_.receives().size())));
    const int id = reference_.receives()[at].id;
    reference_.withdraw(id);
    EXPECT_TRUE(simulated_.withdraw(id));
  }

  void take_back() {
    if (reference_.messages().empty()) return;
    const auto at = static_cast<size_t>(below(static_cast<int>(reference_.messages().size())));
    const int id = reference_.messages()[at].id;
    EXPECT_EQ(simulated_.take_back(id), reference_.take_back(id));
  }

  void probe() {
    const Selector wanted = selector();
    const Message* found = reference_.find(wanted);
    EXPECT_EQ(simulated_.find(wanted, SimTime::never()), found == nullptr ? -1 : found->id);
    const SimTime by = SimTime::from_ns(now_ + 10);
    EXPECT_EQ(simulated_.find(wanted, by),
              found == nullptr || found->arrival > by ? -1 : found->id);
  }

  void settle() {
    if (reference_.receives().empty()) return;
    const auto at = static_cast<size_t>(below(static_cast<int>(reference_.receives().size())));
    const int id = reference_.receives()[at].id;
    reference_.settle(id);
    simulated_.settle(id);
  }

  void pass_next() {
    if (reference_.next() == nullptr) return;
    reference_.pass_next();
    simulated_.pass_next();
  }

  std::mt19937 random_;
  int sources_;
  int any_source_in_;  // one in so many receives is from any source
  Reference reference_;
  Simulated simulated_;
  int next_message_ = 0;
  int next_receive_ = 0;
  int now_ = 0;
};

TEST(AnySourceDeathTest, ReceivesArePostedInRisingOrder) {
  AnySource any_source;
  any_source.watch({.context = 0, .source = MPI_ANY_SOURCE, .tag = 5}, ChannelTable());
  RequestObject receives[2];
  for (RequestObject& receive : receives) {
    receive.kind = RequestObject::Kind::kReceive;
    receive.tag = 5;
    receive.clear_position();
  }
  EXPECT_DEATH(any_source.post(receives[0]), "order");
  receives[0].order = receives[1].order = 2;
  any_source.post(receives[0]);
  EXPECT_DEATH(any_source.post(receives[1]), "order");
}

// Two messages of a channel have receives that may be cancelled, and that of the second is posted
// first.
class PostedInTheOtherOrder : public ::testing::Test {
 protected:
  static constexpr int kSource = 1, kFirstTag = 1, kSecondTag = 2;
  static constexpr SimTime kFirst = SimTime::from_ns(10), kSecond = SimTime::from_ns(20);

  PostedInTheOtherOrder() {
    arrive(0, kFirstTag, kFirst);
    arrive(1, kSecondTag, kSecond);
    simulated_.post({0, {0, kSource, kSecondTag}, true});
    EXPECT_EQ(simulated_.next(), kSecond);
    simulated_.post({1, {0, kSource, kFirstTag}, true});
  }

  Simulated simulated_{1};

 private:
  void arrive(int id, int tag, SimTime arrival) {
    simulated_.describe(kSource, tag, 0);
    simulated_.arrive(id, 0, kSource, tag, arrival);
  }
};

TEST_F(PostedInTheOtherOrder, EachReceiveMatchesWhenItsMessageArrives) {
  ASSERT_EQ(simulated_.next(), kFirst);
  simulated_.pass_next();
  EXPECT_EQ(simulated_.matches, (std::vector<Match>{{1, 0}}));
  EXPECT_EQ(simulated_.next(), kSecond);
  simulated_.pass_next();
  EXPECT_EQ(simulated_.matches, (std::vector<Match>{{1, 0}, {0, 1}}));
  EXPECT_EQ(simulated_.next(), SimTime::never());
}

TEST_F(PostedInTheOtherOrder, ALaterReceiveFromAnySourceDoesNotGetTheFirstMessage) {
  simulated_.post({2, {0, MPI_ANY_SOURCE, kFirstTag}, true});
  ASSERT_EQ(simulated_.next(), kFirst);
  simulated_.pass_next();
  EXPECT_EQ(simulated_.matches, (std::vector<Match>{{1, 0}}));
  EXPECT_EQ(simulated_.next(), kSecond);
}

// The receive of the first message may be cancelled. Behind it another message is expected.
TEST(Matching, AnExpectedMessageMatchesWhenTheReceiveBeforeItDoes) {
  constexpr int kTag = 1;
  for (const bool is_settled : {false, true}) {
    Simulated simulated(2);
    ExpectedSources sources = ExpectedSources::ordered();
    sources.add(0, kTag, 1, 1);
    sources.add(0, kTag, 2, 1);
    simulated.expect(std::move(sources));
    simulated.post({0, {0, 1, kTag}, true});
    simulated.post({1, {0, MPI_ANY_SOURCE, kTag}, false});
    for (const int source : {1, 2}) {
      simulated.describe(source, kTag, 0);
      simulated.arrive(source - 1, 0, source, kTag, SimTime::from_ns(10 * source));
    }
    EXPECT_EQ(simulated.matches, std::vector<Match>());
    if (is_settled) {
      simulated.settle(0);
    } else {
      simulated.pass_next();
    }
    std::sort(simulated.matches.begin(), simulated.matches.end());
    EXPECT_EQ(simulated.matches, (std::vector<Match>{{0, 0}, {1, 1}}));
    EXPECT_EQ(simulated.next(), SimTime::never());
  }
}

TEST(Matching, EqualsAReferenceThatSearchesLinearly) {
  size_t matched = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Both both(seed);
    for (int step = 0; step < 300; ++step) {
      both.step();
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      ASSERT_NO_FATAL_FAILURE(both.expect_same());
    }
    matched += both.matched();
  }
  EXPECT_GT(matched, 2'500u);
}

}  // namespace
}  // namespace sesame::mpi
