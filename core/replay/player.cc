#include "core/replay/player.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"
#include "core/base/processors.h"

namespace sesame::replay {
namespace {

constexpr size_t kStackSize = 256 << 10;
constexpr int64_t kHeadStart = 3'000'000;  // until all threads have woken up
constexpr uint32_t kStopToken = UINT32_MAX;
constexpr int kPrintTrials = 2000;
constexpr int kPrintedBytes = 40;

// Processors beyond one for each thread of the replay.
int64_t processors_left(const Plan& plan) {
  // Threads of a trace that neither did I/O nor waited only sleep.
  const auto busy = std::ranges::count_if(plan.streams, [](const auto& s) { return s.count > 0; });
  return usable_processors() - busy * plan.header().processes;
}

bool processor_for_each_thread(const Plan& plan) { return processors_left(plan) >= 0; }

// Each of several processes has a thread that carries tokens; it must not wait for a processor.
bool may_keep_processors(const Plan& plan) {
  const uint32_t processes = plan.header().processes;
  return processors_left(plan) >= (processes > 1 ? processes : 0);
}

size_t largest_operation(const Plan& plan) {
  int64_t largest = 0;
  for (const PlanStream& stream : plan.streams) largest = std::max(largest, stream.largest);
  return static_cast<size_t>(largest);
}

int64_t measure_print_cost(const PayloadData& source) {
  FILE* file = std::fopen("/dev/null", "w");
  if (file == nullptr) return 0;
  const int64_t begin = now_ns();
  for (int i = 0; i < kPrintTrials; ++i) {
    std::fprintf(file, "%.*s", kPrintedBytes, source.text());
  }
  const int64_t cost = (now_ns() - begin) / kPrintTrials;
  std::fclose(file);
  return cost;
}

// Errors after which a run cannot continue as recorded: caused by the target, not by the program.
bool ends_replay(int error, int expected) {
  static constexpr int kErrors[] = {ENOSPC, EDQUOT, EACCES, EPERM,  EROFS, EIO,
                                    EMFILE, ENFILE, EFBIG,  ENOMEM, ESTALE};
  return expected == 0 && std::ranges::find(kErrors, error) != std::end(kErrors);
}

void raise_limit_of_open_files() {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

struct Player::Thread {
  IssueContext context;
  bool keeps_processor = false;  // while it waits
  int64_t schedule_ns = 0;       // where the recorded program would be now
  int64_t computing_ns = 0;  // length of the schedule's last part: computation still to wait for
  int64_t preempted_ns = 0;  // time in the schedule in which others had the processor
  int64_t now_ns = 0;        // the clock when it was last read
};

Player::Player(const Plan& plan, Transport& transport)
    : plan_(plan),
      transport_(transport),
      waiter_(Waiter::measured(processor_for_each_thread(plan))),
      may_keep_processors_(replay::may_keep_processors(plan)),
      events_(plan, processor_for_each_thread(plan),
              [this](uint32_t process, uint32_t event, int64_t time_ns) {
                transport_.send({event, process, time_ns});
              }),
      source_(plan.header().payload, std::max<size_t>(largest_operation(plan), 4096)),
      print_cost_ns_(measure_print_cost(source_)) {
  std::memcpy(result_.header.magic, "SESRESLT", sizeof result_.header.magic);
  result_.header.version = 2;
  result_.header.failed_operation = -1;
  result_.header.wake_up_median_ns = waiter_.wake_up().median_ns;
  result_.header.wake_up_latest_ns = waiter_.wake_up().latest_ns;
  result_.header.spin_ns = waiter_.spin_ns();
  // Writes every page now, so that no page fault makes an operation late.
  result_.operations.assign(plan.operations.size(), OperationResult{-1, 0, 0, 0, 0, 0});
  result_.streams.assign(plan.streams.size(), StreamResult{0, 0, 0});
}

Result<> Player::prepare() {
  raise_limit_of_open_files();
  std::vector<uint32_t> slots(plan_.header().tables, 0);
  for (const PlanStream& stream : plan_.streams) {
    slots[stream.table] = std::max(slots[stream.table], stream.slots);
  }
  for (uint32_t count : slots) tables_.push_back(std::make_unique<OpenFiles>(count));
  for (const PlanOpened& opened : plan_.opened) {
    const IssueContext context{&plan_, &source_, tables_[opened.table].get(), nullptr,
                               &not_aligned_};
    if (const int error_number = open_before(opened, context); error_number != 0) {
      return error_at(plan_.path(opened.file), 0,
                      std::string("cannot open it: ") + std::strerror(error_number));
    }
  }
  return {};
}

Result<ReplayResult> Player::play() {
  auto prepared = prepare();
  const bool all_ready = transport_.agree(prepared.has_value());
  if (!prepared) return std::unexpected(prepared.error());
  if (!all_ready) return error("another process of the replay could not begin");
  start_threads();
  transport_.end();
  result_.header.operations = result_.operations.size();
  result_.header.streams = result_.streams.size();
  result_.header.not_aligned = not_aligned_.load();
  return std::move(result_);
}

void Player::start_threads() {
  struct Start {
    Player* player;
    size_t stream;
    pthread_t thread;
  };
  std::vector<Start> starts(plan_.streams.size());
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackSize);
  for (size_t i = 0; i < starts.size(); ++i) {
    starts[i] = {this, i, {}};
    auto run = [](void* data) -> void* {
      auto* start = static_cast<Start*>(data);
      start->player->play_stream(start->stream);
      return nullptr;
    };
    CHECK(pthread_create(&starts[i].thread, &attributes, run, &starts[i]) == 0);
  }
  pthread_attr_destroy(&attributes);
  for (uint32_t ready; (ready = ready_.load()) < starts.size();) ready_.wait(ready);
  transport_.agree(true);
  transport_.begin([this](const Token& token) {
    if (token.event == kStopToken) {
      stop_.store(true);
    } else {
      events_.take_token(token.event, token.time_ns);
    }
  });
  origin_ns_.store(now_ns() + kHeadStart);
  origin_ns_.notify_all();
  for (const Start& start : starts) pthread_join(start.thread, nullptr);
}

void Player::play_stream(size_t number) {
  ask_for_exact_timers();
  const PlanStream& stream = plan_.streams[number];
  const Buffer sink = make_buffer(static_cast<size_t>(stream.largest));
  Thread thread{{&plan_, &source_, tables_[stream.table].get(), sink.get(), &not_aligned_}};
  thread.keeps_processor = may_keep_processors_ && (stream.flags & kKeepsProcessor) != 0;
  ready_.fetch_add(1);
  ready_.notify_all();
  origin_ns_.wait(0);
  const int64_t origin = origin_ns_.load();
  thread.now_ns = now_ns() - origin;
  uint64_t operation = stream.first;
  const uint64_t end = stream.first + stream.count;
  while (operation < end && play_operation(operation, thread)) ++operation;
  if (!stop_.load()) {
    thread.schedule_ns += stream.tail_ns;
    thread.computing_ns += stream.tail_ns;
    compute(thread);
  }
  result_.streams[number] = {thread.schedule_ns, thread.now_ns, thread.preempted_ns};
}

// Communication is not done in real time: it only advances the schedule. A thread waits until the
// clock reaches its schedule only before I/O, so late wake-ups do not delay a chain of messages.
bool Player::play_operation(uint64_t number, Thread& thread) {
  const PlanOperation& operation = plan_.operations[number];
  OperationResult& result = result_.operations[number];
  const auto links = plan_.links.subspan(operation.first_link);
  const int64_t begin = thread.schedule_ns += operation.gap_ns;
  thread.computing_ns += operation.gap_ns;
  for (uint32_t event : links.first(operation.arrive)) events_.arrive(event, begin);
  if (operation.wait > 0) await(operation, thread);
  if (stop_.load(std::memory_order_relaxed)) return false;
  if (operation.call == Call::none) {
    thread.schedule_ns += operation.transfer_ns;
    thread.computing_ns += operation.transfer_ns;
    result = {begin, thread.schedule_ns - begin, 0, 0, 0, 0};
  } else {
    const int64_t origin = origin_ns_.load(std::memory_order_relaxed);
    if (thread.now_ns < thread.schedule_ns) compute(thread);
    thread.computing_ns = 0;
    const Outcome outcome = issue(operation, number, thread.context);
    const int64_t ended = now_ns() - origin;
    const int64_t duration = ended - thread.now_ns;
    result = {thread.now_ns, duration,      thread.now_ns - thread.schedule_ns,
              outcome.bytes, outcome.error, 0};
    thread.schedule_ns += duration;
    if ((operation.flags & kFormatted) != 0) {
      thread.computing_ns = std::max<int64_t>(operation.transfer_ns - print_cost_ns_, 0);
      thread.schedule_ns += thread.computing_ns;
    }
    thread.now_ns = ended;
    if (ends_replay(outcome.error, operation.expected_error)) fail(number, outcome.error);
  }
  const auto after = links.subspan(operation.arrive + operation.wait, operation.arrive_after);
  for (uint32_t event : after) events_.arrive(event, thread.schedule_ns);
  return true;
}

// Waits until the clock reaches the schedule.
void Player::compute(Thread& thread) const {
  const int64_t origin = origin_ns_.load(std::memory_order_relaxed);
  const int64_t when = origin + thread.schedule_ns;
  if (thread.keeps_processor) {
    const auto [now, lost] = waiter_.compute(when - thread.computing_ns, when, stop_);
    thread.now_ns = now - origin;
    thread.schedule_ns += lost;
    thread.preempted_ns += lost;
  } else {
    thread.now_ns = waiter_.wait_until(when, stop_) - origin;
  }
}

// A thread that keeps its processor sees an event at once, unless it was preempted.
void Player::await(const PlanOperation& operation, Thread& thread) {
  const int64_t origin = origin_ns_.load(std::memory_order_relaxed);
  const auto links = plan_.links.subspan(operation.first_link + operation.arrive, operation.wait);
  for (uint32_t event : links) {
    const Events::Happened happened = events_.wait(event, thread.keeps_processor, stop_);
    thread.now_ns = now_ns() - origin;
    if (happened.time_ns <= thread.schedule_ns) continue;
    thread.schedule_ns = happened.time_ns;
    thread.computing_ns = 0;
    if (!thread.keeps_processor || !happened.is_waited_for) continue;
    const int64_t lost = thread.now_ns - std::max(happened.time_ns, happened.at_ns - origin);
    if (lost <= kLeastLost) continue;
    thread.schedule_ns += lost;
    thread.preempted_ns += lost;
  }
}

void Player::fail(uint64_t operation, int error) {
  if (failed_.exchange(true)) return;
  result_.header.failed_operation = static_cast<int64_t>(operation);
  result_.header.failed_error = static_cast<uint32_t>(error);
  stop_.store(true);
  for (uint32_t process = 0; process < plan_.header().processes; ++process) {
    if (process != plan_.header().process) transport_.send({kStopToken, process, 0});
  }
}

}  // namespace sesame::replay
