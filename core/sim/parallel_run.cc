#include "core/sim/parallel_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/check.h"
#include "core/base/spelling.h"
#include "core/loader/loader.h"
#include "core/sim/recording.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

constexpr size_t kVerdictBytes = 1 << 14;

// The worker of each rank: whole nodes, in the order of their first ranks, and numbers of ranks as
// equal as that allows. Empty if there are fewer nodes than workers.
std::vector<int> divide(const network::Network& network, int ranks, int workers) {
  std::map<int, int> order;  // by node: its number in the order of first ranks
  std::vector<int> sizes;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [node, is_new] =
        order.emplace(network.node_of(rank), static_cast<int>(order.size()));
    if (is_new) sizes.push_back(0);
    ++sizes[static_cast<size_t>(node->second)];
  }
  const int nodes = static_cast<int>(sizes.size());
  if (nodes < workers) return {};
  std::vector<int> of_node;
  int before = 0;
  for (int node = 0; node < nodes; ++node) {
    const auto share = static_cast<int>(int64_t{before} * workers / ranks);
    const int last = of_node.empty() ? 0 : of_node.back();
    // Each worker gets a node, also where the first ones are large.
    const int least = std::max(last, workers - (nodes - node));
    of_node.push_back(std::clamp(share, least, of_node.empty() ? 0 : last + 1));
    before += sizes[static_cast<size_t>(node)];
  }
  std::vector<int> of_rank;
  for (int rank = 0; rank < ranks; ++rank)
    of_rank.push_back(of_node[static_cast<size_t>(order[network.node_of(rank)])]);
  return of_rank;
}

// A file without a name in this directory; null: there is no space.
std::FILE* unnamed_file(const std::string& directory) {
  std::string name = directory + "/worker-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  unlink(name.c_str());
  return fdopen(descriptor, "w+b");
}

int64_t peak_bytes() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return 0;
  char line[256];
  int64_t kib = 0;
  while (std::fgets(line, sizeof line, status) != nullptr)
    if (std::strncmp(line, "VmHWM:", 6) == 0) kib = std::strtoll(line + 6, nullptr, 10);
  std::fclose(status);
  return kib * 1024;
}

Json state_of(const mpi::Rank& rank) {
  Json json{{"rank", rank.id},
            {"now", rank.main.now.ps()},
            {"waited", rank.main.waited.ps()},
            {"computed", rank.computed.ps()},
            {"before", rank.compute_before_call.ps()},
            {"status", rank.exit_status},
            {"initialized", rank.initialized},
            {"finalized", rank.finalized},
            {"ended", rank.main.ended},
            {"calls", Json::array()},
            {"channels", Json::array()}};
  rank.profile.visit(rank.world.call_slots, [&](uint16_t call, const auto& entry) {
    json["calls"].push_back({call, entry.count, entry.bytes, entry.time.ps()});
  });
  rank.matching.visit_channels([&](const mpi::Channel& channel) {
    if (channel.messages > 0)
      json["channels"].push_back(
          {channel.key, channel.messages, channel.bytes, int{channel.source_world}});
  });
  if (const auto blocked = describe_blocked(rank))
    json["blocked"] = {blocked->wait, blocked->waited_for, blocked->helper};
  return json;
}

void take_in_rank(const Json& json, mpi::Rank& rank) {
  const auto time = [&](const char* key) { return SimTime::from_ps(json.at(key).get<int64_t>()); };
  rank.main.now = time("now");
  rank.main.waited = time("waited");
  rank.main.ended = json.at("ended");
  rank.computed = time("computed");
  rank.compute_before_call = time("before");
  rank.exit_status = json.at("status");
  rank.initialized = json.at("initialized");
  rank.finalized = json.at("finalized");
  for (const Json& call : json.at("calls")) {
    mpi::CallProfile::Entry& entry =
        rank.profile.at(rank.world.call_slots.of(call.at(0).get<uint16_t>()));
    entry = {call.at(1), call.at(2), SimTime::from_ps(call.at(3).get<int64_t>())};
  }
  for (const Json& from : json.at("channels")) {
    const auto key = from.at(0).get<uint64_t>();
    mpi::Channel& channel =
        rank.matching.channel(mpi::ChannelTable::context_of(key), static_cast<int>(key));
    channel.messages = from.at(1);
    channel.bytes = from.at(2);
    channel.source_world = from.at(3).get<int>();
  }
}

}  // namespace

struct ParallelRun::Shared {
  std::atomic<bool> has_verdict;
  int status;
  char text[kVerdictBytes];
};

Result<> check_workers(const Scenario& scenario, const machine::Machine& machine,
                       const mpi::World& world) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    return error(what + " is not simulated with several workers yet", hint);
  };
  const std::string one = std::string("use ") + spelled("--workers 1", "workers=1");
  if (scenario.workers > pdes::kMostWorkers)
    return error(std::to_string(scenario.workers) + " workers: expected at most " +
                 std::to_string(pdes::kMostWorkers));
  if (scenario.compute == mpi::ComputeMode::kMeasured)
    return refuse("measured computation",
                  one + ", or " + spelled("--compute none", "compute=\"none\""));
  if (machine.sharing.mode != machine::SharingMode::kNone)
    return refuse(
        "a network that messages share",
        one + ", or " +
            spelled("--set network.sharing=none", "settings={\"network.sharing\": \"none\"}"));
  if (machine.collective_tables.hardware_latency > SimTime::zero())
    return refuse("a machine whose network does collectives itself", one);
  if (divide(world.network, world.size(), scenario.workers).empty())
    return error(std::to_string(scenario.workers) +
                     " workers: a worker has whole nodes, and the ranks are on fewer nodes",
                 "use fewer workers");
  if (world.network.least_latency() <= SimTime::zero())
    return error("messages between nodes of this machine may take no time: workers need a latency",
                 one);
  return {};
}

ParallelRun::ParallelRun(mpi::World& world, std::vector<int> workers)
    : world_(world), workers_(std::move(workers)) {}

Result<std::unique_ptr<ParallelRun>> ParallelRun::fork(const Scenario& scenario,
                                                       mpi::World& world) {
  std::unique_ptr<ParallelRun> run(
      new ParallelRun(world, divide(world.network, world.size(), scenario.workers)));
  auto memory = pdes::SharedMemory::create(scenario.workers);
  if (!memory) return std::unexpected(memory.error());
  run->memory_ = *std::move(memory);
  void* shared =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED);
  run->shared_ = static_cast<Shared*>(shared);
  for (int i = 0; i < scenario.workers; ++i) {
    run->records_.push_back(unnamed_file(scenario.output_directory));
    run->states_.push_back(unnamed_file(scenario.output_directory));
    if (run->records_.back() == nullptr || run->states_.back() == nullptr)
      return error_at(scenario.output_directory, 0,
                      std::string("cannot make a temporary file: ") + std::strerror(errno));
  }
  std::fflush(nullptr);
  const pid_t supervisor = getpid();
  for (int i = 0; i < scenario.workers; ++i) {
    const pid_t process = ::fork();
    if (process < 0) {
      const int error_number = errno;
      run->end_workers();
      return error(std::string("cannot start a worker: ") + std::strerror(error_number));
    }
    run->processes_.push_back(process);
    if (process > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(2);
    run->number_ = i;
    loader::continue_in_this_process();
    run->processes_.resize(static_cast<size_t>(scenario.workers));
    break;
  }
  return run;
}

void ParallelRun::join(const Scenario& scenario) {
  worker_ = std::make_unique<pdes::Worker>(*memory_, number_);
  messages_ = std::make_unique<mpi::WorkerMessages>(world_, *worker_, workers_);
  protocol_ = std::make_unique<pdes::QuantumProtocol>(
      *worker_, world_.executive, world_.network.least_latency(),
      [this](std::span<const char> frame) { messages_->take(frame); });
  if (scenario.worker_delays)
    protocol_->delay_at_random(*scenario.worker_delays + static_cast<uint64_t>(number_));
  if (world_.mounts != nullptr)
    world_.mounts->refuse_with([this] { messages_->refuse("a simulated file system"); });
  world_.remote = messages_.get();
  world_.executive.set_synchronizer(protocol_.get());
  if (world_.recorder == nullptr) return;
  recorder_ =
      std::make_unique<WorkerRecorder>(records_[static_cast<size_t>(number_)], world_.size());
  world_.recorder = recorder_.get();
}

void ParallelRun::end_job(int status, const std::string& why) {
  if (!shared_->has_verdict.exchange(true)) {
    shared_->status = status;
    why.copy(shared_->text, kVerdictBytes - 1);
  }
  memory_->state().stopped = true;
}

std::string ParallelRun::state() const {
  Json json{{"messages", world_.messages},
            {"bytes", world_.message_bytes},
            {"switches", world_.executive.switches()},
            {"peak", peak_bytes()},
            {"host_files", world_.host_files},
            {"libraries", loader::libraries_opened_for_all_ranks()},
            {"sizes", Json::array()},
            {"ranks", Json::array()}};
  for (const mpi::SizeClass& size : world_.sizes) json["sizes"].push_back({size.count, size.bytes});
  for (const auto& rank : world_.ranks)
    if (has(rank->id)) json["ranks"].push_back(state_of(*rank));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void ParallelRun::leave() {
  if (recorder_ != nullptr && !recorder_->flush()) end_job(2, "the run cannot be recorded");
  const std::string text = state();
  std::FILE* file = states_[static_cast<size_t>(number_)];
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    std::fprintf(stderr, "error: cannot write the state of worker %d: %s\n", number_,
                 std::strerror(errno));
    _exit(2);
  }
  std::fflush(nullptr);
  _exit(0);
}

std::string ParallelRun::name_of(int worker) const {
  const auto first = std::ranges::find(workers_, worker);
  const auto last = std::find(workers_.rbegin(), workers_.rend(), worker);
  return "worker " + std::to_string(worker) + " (ranks " +
         std::to_string(first - workers_.begin()) + " to " +
         std::to_string(workers_.rend() - last - 1) + ")";
}

void ParallelRun::end_workers() {
  for (pid_t& process : processes_) {
    if (process == 0) continue;
    kill(process, SIGKILL);
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
    process = 0;
  }
}

Result<std::optional<ParallelRun::Verdict>> ParallelRun::supervise() {
  for (size_t left = processes_.size(); left > 0; --left) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(-1, &status, 0)) < 0 && errno == EINTR) {
    }
    const auto place = std::ranges::find(processes_, ended);
    CHECK(place != processes_.end());
    *place = 0;
    if (status == 0) continue;
    end_workers();
    // It has said why.
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    return error(name_of(static_cast<int>(place - processes_.begin())) + " was ended by signal " +
                 std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) +
                 "): the other workers were stopped, and no result is written");
  }
  if (!shared_->has_verdict) return std::optional<Verdict>();
  return Verdict{shared_->status, shared_->text};
}

Result<> ParallelRun::take_in_state(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return error("cannot read the state of a worker");
  world_.messages += json.at("messages").get<uint64_t>();
  world_.message_bytes += json.at("bytes").get<uint64_t>();
  switches_ += json.at("switches").get<uint64_t>();
  peak_memory_bytes_ += json.at("peak").get<int64_t>();
  for (const std::string name : json.at("host_files")) world_.host_files.insert(name);
  for (const std::string name : json.at("libraries")) libraries_.push_back(name);
  for (size_t i = 0; i < world_.sizes.size(); ++i) {
    world_.sizes[i].count += json.at("sizes").at(i).at(0).get<uint64_t>();
    world_.sizes[i].bytes += json.at("sizes").at(i).at(1).get<uint64_t>();
  }
  for (const Json& rank : json.at("ranks")) {
    const int id = rank.at("rank");
    take_in_rank(rank, *world_.ranks[static_cast<size_t>(id)]);
    if (!rank.contains("blocked")) continue;
    const Json& blocked = rank.at("blocked");
    blocked_.push_back({id, blocked.at(0), blocked.at(1), blocked.at(2)});
  }
  return {};
}

Result<> ParallelRun::take_in(Recording* recording) {
  for (int i = 0; i < workers(); ++i) {
    std::FILE* file = states_[static_cast<size_t>(i)];
    std::string text;
    std::rewind(file);
    char part[1 << 16];
    for (size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
    if (auto taken = take_in_state(text); !taken) return taken;
    if (recording == nullptr) continue;
    if (auto replayed = replay_records(records_[static_cast<size_t>(i)], *recording); !replayed)
      return replayed;
  }
  std::ranges::sort(blocked_, {}, &BlockedRank::rank);
  std::ranges::sort(libraries_);
  const auto same = std::ranges::unique(libraries_);
  libraries_.erase(same.begin(), same.end());
  return {};
}

uint64_t ParallelRun::frames() const {
  uint64_t frames = 0;
  for (int i = 0; i < workers(); ++i) frames += memory_->state().workers[i].frames;
  return frames;
}

}  // namespace sesame::sim
