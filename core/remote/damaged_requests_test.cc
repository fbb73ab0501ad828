// Requests as a rank's process sends them, one of them damaged: each ends with a reply or with a
// message about the rank, never with a crash of the simulator.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/mpi/call_ids.h"
#include "core/mpi/io/file_time.h"
#include "core/mpi/messages/polling.h"
#include "core/mpi/testing/simulated_job.h"
#include "core/remote/computing.h"
#include "core/remote/file_messages.h"
#include "core/remote/files.h"
#include "core/remote/request_checks.h"
#include "core/remote/server.h"
#include "core/remote/threads.h"
#include "core/storage/make_file_system.h"

namespace sesame::remote {
namespace {

namespace fs = std::filesystem;
using mpi::testing::SimulatedJob;
using storage::ResolvedPath;

// One transfer; its time is that of an access.
struct Transfer {
  mpi::FileWait wait;
  storage::Extent extent;
};

loader::FileHooks hooks_of(storage::Mounts& mounts) {
  loader::FileHooks hooks;
  hooks.mounts = &mounts;
  hooks.node = [] { return 0; };
  hooks.begin = [](storage::FileCallRecord&) {};
  hooks.end = [](storage::FileCallRecord& record) { EXPECT_NE(record.name, nullptr); };
  hooks.await_turn = [] { mpi::yield_for_files(mpi::self()); };
  hooks.charge_metadata = [](const ResolvedPath& path, storage::MetadataCall call) {
    mpi::charge_metadata(mpi::self(), path, call);
  };
  hooks.charge_access = [](const storage::OpenFile& file, storage::Direction direction,
                           const storage::Extent& extent) {
    mpi::charge_access(mpi::self(), file.path(),
                       file.access(direction, mpi::client_of(mpi::self()), {&extent, 1}));
  };
  hooks.charge_flush = [](const storage::OpenFile& file) {
    mpi::charge_flush(mpi::self(), file.path());
  };
  hooks.start_access = [](const storage::OpenFile& file, storage::Direction direction,
                          const storage::Extent& extent) -> void* {
    mpi::Strand& strand = mpi::self();
    auto* const made = new Transfer{{*strand.rank, *file.path().system}, extent};
    file.path().system->access(strand.departure(),
                               file.access(direction, mpi::client_of(strand), {&made->extent, 1}),
                               made->wait);
    return made;
  };
  hooks.is_done = [](void* ticket) { return static_cast<Transfer*>(ticket)->wait.is_done(); };
  hooks.wait_for = [](void* ticket) { static_cast<Transfer*>(ticket)->wait.wait(mpi::self()); };
  hooks.release = [](void* ticket) { delete static_cast<Transfer*>(ticket); };
  hooks.wait_for_any = [](std::span<void* const> tickets, int64_t) {
    std::vector<mpi::FileWait*> waits;
    for (void* ticket : tickets) waits.push_back(&static_cast<Transfer*>(ticket)->wait);
    return mpi::wait_for_any(mpi::self(), waits, SimTime::never());
  };
  return hooks;
}

// A path as the simulator has given it: bytes that requests return.
using GivenPath = std::string;

// Changes a request that is in the slot, and its length.
using Damage = std::function<void(Slot& slot)>;

// The process's side, on a thread of its own.
class Program {
 public:
  // Damages the request of this number, if there is one. `paths`: of a run before, which a damaged
  // one may not give; empty: this run adds them.
  Program(Slot& slot, SlotsHead& head, int damaged, Damage damage, std::vector<GivenPath>& paths)
      : slot_(slot),
        head_(head),
        damaged_(damaged),
        damage_(std::move(damage)),
        paths_(paths),
        adds_paths_(paths.empty()) {}

  // All requests, until the simulator has ended the job; how many.
  int run() {
    Writer hello(slot_.message, kMessageBytes);
    hello.put_text("test");
    exchange(header_of(RequestKind::kHello, hello.bytes()));
    make_type();
    use_file();
    use_names();
    return sent_;
  }
  void stop() { must_stop_ = true; }

 private:
  using Put = std::function<void(Writer& writer)>;

  void exchange(const Header& header) {
    if (must_stop_) return;
    slot_.header = header;
    if (sent_++ == damaged_) damage_(slot_);
    give_turn_to_simulator(slot_, head_);
    while (slot_.turn.load() == Turn::kSimulator && !must_stop_) std::this_thread::yield();
  }
  void ask(std::initializer_list<std::pair<FileCall, Put>> calls) {
    Writer writer(slot_.message, kMessageBytes);
    for (const auto& [call, put] : calls) {
      writer.put(call);
      put(writer);
    }
    Header header = header_of(RequestKind::kFiles, writer.bytes());
    header.function = static_cast<uint16_t>(calls.size());
    exchange(header);
  }

  static void put_raw(Writer& writer, const std::string& bytes) {
    std::memcpy(writer.reserve(bytes.size()), bytes.data(), bytes.size());
  }
  static Put text(const char* text, int detail = 0) {
    return [=](Writer& writer) {
      writer.put(detail);
      writer.put_text(text);
    };
  }
  GivenPath locate(const char* name, storage::PathIntent intent) {
    ask({{FileCall::kLocate, text(name, static_cast<int>(intent))}});
    if (adds_paths_) paths_.emplace_back(slot_.message, slot_.header.bytes);
    return paths_[located_++];
  }
  Put begin(const char* name) {
    return [=](Writer& writer) { writer.put_text(name); };
  }
  Put end() {
    return [](Writer& writer) {
      writer.put_text("/pfs/file");
      for (int i = 0; i < 3; ++i) writer.put<int64_t>(0);
      writer.put<uint16_t>(0);
      writer.put<uint16_t>(0);
    };
  }
  Put metadata(const GivenPath& path, storage::MetadataCall call) {
    return [&path, call](Writer& writer) {
      put_raw(writer, path);
      writer.put(call);
    };
  }
  // The number of its file system and its own, and these values.
  Put file(const GivenPath& path, std::initializer_list<uint64_t> values = {}) {
    return [&path, values = std::vector(values)](Writer& writer) {
      put_raw(writer, path.substr(0, 16));
      for (const uint64_t value : values) writer.put(value);
    };
  }
  Put values(std::initializer_list<uint64_t> values) {
    return [values = std::vector(values)](Writer& writer) {
      for (const uint64_t value : values) writer.put(value);
    };
  }
  Put paths(std::initializer_list<const GivenPath*> paths) {
    return [paths = std::vector(paths)](Writer& writer) {
      for (const GivenPath* path : paths) put_raw(writer, *path);
    };
  }

  // A call of MPI with an array.
  void make_type() {
    constexpr mpi::Count kPlaces[] = {0, 2, 4};
    constexpr auto kCall = static_cast<uint16_t>(mpi::CallId::Type_create_indexed_block);
    const mpi::Datatype made = mpi::MPI_DATATYPE_NULL;
    Writer writer(slot_.message, kMessageBytes);
    writer.put(std::size(kPlaces));
    writer.put<mpi::Count>(1);  // block length
    writer.put(reinterpret_cast<uint64_t>(kPlaces));
    writer.put(sizeof kPlaces);
    writer.put<int64_t>(1);  // its bytes follow
    writer.put_bytes(kPlaces, sizeof kPlaces);
    writer.put(mpi::MPI_INT);
    writer.put(VariableState::kValue);
    writer.put_bytes(&made, sizeof made);
    writer.put(false);
    Header header = header_of(RequestKind::kCall, writer.bytes());
    header.function = header.scope = kCall;
    header.flags = kOpensScope | kClosesScope;
    exchange(header);
  }

  void use_file() {
    const GivenPath path = locate("/pfs/file", storage::PathIntent::kWrite);
    constexpr auto kWrite = static_cast<uint64_t>(storage::Direction::kWrite);
    ask({{FileCall::kBegin, begin("open")}});
    ask({{FileCall::kOpened, paths({&path})}});
    ask({{FileCall::kChargeMetadata, metadata(path, storage::MetadataCall::kCreate)},
         {FileCall::kEnd, end()}});
    ask({{FileCall::kResize, file(path, {300'000})}});
    ask({{FileCall::kBegin, begin("pwrite64")}});
    ask({{FileCall::kChargeAccess, file(path, {kWrite, 100'000, 200'000})},
         {FileCall::kChargeFlush, file(path)},
         {FileCall::kEnd, end()}});
    ask({{FileCall::kBegin, begin("aio_write")}});
    ask({{FileCall::kStartAccess, file(path, {kWrite, 0, 100'000})}});
    constexpr uint64_t ticket = 1;  // the first one
    ask({{FileCall::kEnd, end()}});
    ask({{FileCall::kIsDone, values({ticket})}});
    ask({{FileCall::kWaitForAny, values({uint64_t(-1), 1, ticket})}});
    ask({{FileCall::kWaitFor, values({ticket})}});
    ask({{FileCall::kDrop, file(path, {0, UINT64_MAX})}});
    ask({{FileCall::kClosed, file(path)}});
  }
  void use_names() {
    const GivenPath one = locate("/pfs/file", storage::PathIntent::kUnlink);
    const GivenPath other = locate("/other/file", storage::PathIntent::kUnlink);
    const GivenPath moved = locate("/pfs/moved", storage::PathIntent::kUnlink);
    const GivenPath directory = locate("/pfs", storage::PathIntent::kRead);
    ask({{FileCall::kLinked, paths({&one, &moved})}});
    ask({{FileCall::kExchanged, paths({&one, &moved})}});
    ask({{FileCall::kRenamed, paths({&one, &moved})}});
    ask({{FileCall::kRemoved, paths({&moved})}});
    ask({{FileCall::kRemoved, paths({&other})}});
    ask({{FileCall::kList, paths({&directory})}});
    ask({{FileCall::kMoreNames, values({})}});
    ask({{FileCall::kCopyOriginals, [&](Writer& writer) {
            put_raw(writer, one);
            writer.put(false);
          }}});
    ask({{FileCall::kResolve, text("/pfs/file", 1)}});
    ask({{FileCall::kEnterDirectory, text("/pfs")}});
    ask({{FileCall::kAwaitTurn, values({})}});
  }

  Slot& slot_;
  SlotsHead& head_;
  const int damaged_;
  const Damage damage_;
  std::vector<GivenPath>& paths_;
  const bool adds_paths_;
  size_t located_ = 0;
  std::atomic<bool> must_stop_ = false;
  int sent_ = 0;
};

// The slot of the rank's first thread, and that of a further one.
class Slots {
 public:
  Slots() : file_(std::move(*SlotsFile::create())) {
    EXPECT_TRUE(file_->grow(kSlots));
    slots_ = file_->map(0, kSlots);
    head().slots = 1;
    head().most_slots = kSlots;
    slot(0).is_first = 1;
    slot(0).owner = getpid();
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() {
    for (int i = 0; i < kSlots; ++i) SlotsFile::unmap(slots_ + i);
  }

  SlotsFile& file() { return *file_; }
  SlotsHead& head() { return file_->head(); }
  Slot& slot(int number) { return slots_[number]; }

 private:
  static constexpr int kSlots = 2;
  const std::unique_ptr<SlotsFile> file_;
  Slot* slots_;
};

class DamagedRequests : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/requests-XXXXXX";
    root_ = mkdtemp(pattern);
    fs::create_directories(root_ / "work");
  }
  void TearDown() override { fs::remove_all(root_); }

  std::unique_ptr<storage::Mounts> make_mounts(SimulatedJob& job) {
    auto mounts = std::move(*storage::Mounts::create({root_ / "backing", root_ / "work"}));
    machine::StorageParameters parameters;
    parameters.ionodes = 1;
    parameters.device.read_bandwidth = parameters.device.write_bandwidth = 10e6;
    parameters.cnode_cache.size = parameters.ionode_cache.size = 1 << 20;
    for (const char* point : {"/pfs", "/other"})
      EXPECT_TRUE(
          mounts->add({point}, storage::make_file_system(parameters, job.world().network,
                                                         job.world().executive.events(), 1)));
    return mounts;
  }

  // Why the job was aborted; empty: it was not.
  std::string run(int damaged, const Damage& damage) {
    SimulatedJob job(1);
    job.world().mounts = make_mounts(job);
    Slots slots;
    SlotsHead& head = slots.head();
    Slot& slot = slots.slot(0);
    slots_ = &slots;
    Processes processes;
    Process& process = processes.add(std::make_unique<Process>(0, slot, 0));
    const loader::FileHooks hooks = hooks_of(*job.world().mounts);
    const auto ignore = [](const Process&) {};
    start_computing({head, 0, 1, job.world().executive, ignore, killed_, ignore, INT64_MAX});
    start_serving({processes, head, [](const std::string&) { connected_(); }});
    start_threads({slots.file(), processes, job.world(), serve_thread});
    start_files(&hooks);
    Program program(slot, head, damaged, damage, paths_);
    std::thread thread([&] {
      sent_ = program.run();
      process.has_ended = true;
      slot.turn = Turn::kEnded;
      ring(head.bell);
    });
    is_over_ = false;
    const std::string why = job.run_until_abort([&](int) { serve_rank(process); });
    is_over_ = true;
    program.stop();
    thread.join();
    start_files(nullptr);
    return why;
  }

  // Why the job was aborted where a further thread begins with this request.
  std::string run_further(const Header& header) {
    return run(2, [&](Slot&) {
      Slot& further = slots_->slot(1);
      further.header = header;
      further.turn = Turn::kSimulator;
      slots_->head().slots = 2;
      ring(slots_->head().bell);
      while (further.turn.load() == Turn::kSimulator && !is_over_) std::this_thread::yield();
    });
  }

  inline static std::function<void()> connected_ = [] {};  // when kHello has been served
  fs::path root_;
  Slots* slots_ = nullptr;  // while a run lasts
  const std::atomic<const Process*> killed_ = nullptr;
  std::atomic<bool> is_over_ = false;
  int sent_ = 0;
  std::vector<GivenPath> paths_;
};

TEST_F(DamagedRequests, AreServedWhereTheyAreNot) {
  EXPECT_EQ(run(-1, {}), "");
  EXPECT_GT(sent_, 25);
}

TEST_F(DamagedRequests, AnArrayIsAsLongAsItsCallSays) {
  run(-1, {});
  static constexpr uint64_t kTooMany = 4;
  const auto damage = [](Slot& slot) { std::memcpy(slot.message, &kTooMany, sizeof kTooMany); };
  EXPECT_EQ(run(1, damage),
            "rank 0 has damaged the memory of its calls: an array is shorter than the call says");
}

TEST_F(DamagedRequests, ATextHasAnEnd) {
  run(-1, {});
  const auto damage = [](Slot& slot) {  // of kLocate, behind the call, a number and a length
    std::memset(slot.message + 24, 'x', slot.header.bytes - 24);
  };
  EXPECT_EQ(run(2, damage), "rank 0 has damaged the memory of its calls: a text has no end");
}

TEST_F(DamagedRequests, DeferredCallsAreWhole) {
  run(-1, {});
  const auto damage = [](Slot& slot) { slot.deferred_bytes = sizeof(Header) - 1; };
  EXPECT_EQ(run(2, damage),
            "rank 0 has damaged the memory of its calls: a deferred call has no end");
}

TEST_F(DamagedRequests, TimesAreInRange) {
  run(-1, {});
  const std::string expected = "rank 0 has damaged the memory of its calls: a time is out of range";
  static constexpr int64_t kTooLong = kMostPs + 1;
  EXPECT_EQ(run(2, [](Slot& slot) { slot.header.computed_ps = kTooLong; }), expected);
  EXPECT_EQ(run(2, [](Slot& slot) { slot.header.clock_ps = kTooLong; }), expected);
  const auto sleep = [](Slot& slot) {
    slot.header = header_of(RequestKind::kSleep, sizeof kTooLong);
    std::memcpy(slot.message, &kTooLong, sizeof kTooLong);
  };
  EXPECT_EQ(run(2, sleep), expected);
  Header first = header_of(RequestKind::kThreadEnd);  // and last: others wait while it computes
  EXPECT_EQ(run_further(first), "");
  for (const int64_t clock_ps : {int64_t{-1}, kTooLong, INT64_MAX}) {
    first.clock_ps = clock_ps;
    EXPECT_EQ(run_further(first), expected);
  }
}

TEST_F(DamagedRequests, AFurtherThreadBeginsNoProcess) {
  run(-1, {});
  EXPECT_EQ(run_further(header_of(RequestKind::kHello)),
            "rank 0 has damaged the memory of its calls: a further thread begins a process");
}

TEST_F(DamagedRequests, TheProcessStaysKnown) {
  bool runs = false;
  connected_ = [&] {
    slots_->slot(0).owner = 0;
    runs = any_runs(this_process());
  };
  run(-1, {});
  connected_ = [] {};
  EXPECT_TRUE(runs);
}

// Of make_type(), with the three elements of its array.
constexpr size_t kBytesBeforeType = (5 + 3) * 8;

// A value that a stray write may leave.
uint64_t random_value(std::mt19937_64& random) {
  const uint64_t values[] = {0,
                             1,
                             7,
                             63,
                             4096,
                             65536,
                             1 << 20,
                             UINT32_MAX,
                             uint64_t{1} << 40,
                             uint64_t{1} << 47,
                             INT64_MAX,
                             UINT64_MAX,
                             0x5555'5555'5555'5555,
                             reinterpret_cast<uint64_t>(&values),
                             random()};
  return values[random() % std::size(values)];
}

void damage_at_random(Slot& slot, std::mt19937_64& random) {
  Header& header = slot.header;
  switch (random() % 8) {
    case 0:
      header.bytes = static_cast<uint32_t>(random_value(random));
      break;
    case 1:
      if (header.kind == static_cast<uint16_t>(RequestKind::kCall)) break;
      header.function = static_cast<uint16_t>(random_value(random));
      break;
    case 2:  // not a call of any function of MPI, which may wait for ever
      do {
        header.kind = static_cast<uint16_t>(random() % 20);
      } while (header.kind == static_cast<uint16_t>(RequestKind::kCall) ||
               header.kind == static_cast<uint16_t>(RequestKind::kSleep));
      break;
    case 3:
      header.scope = static_cast<uint16_t>(random());
      (random() % 2 == 0 ? header.computed_ps : header.clock_ps) = -1;
      break;
    case 4:
      slot.deferred_bytes = static_cast<uint32_t>(random_value(random));
      for (char& byte : slot.deferred) byte = static_cast<char>(random());
      break;
    default:
      // Of the call of MPI: its array. A null pointer for a result is the program's own error.
      const bool is_call = header.kind == static_cast<uint16_t>(RequestKind::kCall);
      const size_t bytes = is_call ? kBytesBeforeType : header.bytes;
      for (uint64_t left = 1 + random() % 3; left > 0 && bytes > 0; --left) {
        const uint64_t value = random_value(random);
        const size_t at = random() % bytes;
        if (random() % 2 == 0) {
          std::memcpy(slot.message + at / 8 * 8, &value, 8);
        } else {
          slot.message[at] = static_cast<char>(value);
        }
      }
  }
}

TEST_F(DamagedRequests, EndWithAMessageAboutTheRank) {
  run(-1, {});
  const int requests = sent_;
  int found = 0;
  constexpr unsigned kSeeds = 500;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto damaged = static_cast<int>(random() % static_cast<uint64_t>(requests));
    const std::string why = run(damaged, [&](Slot& slot) { damage_at_random(slot, random); });
    EXPECT_TRUE(why.empty() || why.starts_with("rank 0")) << why;
    found += why.contains(" has damaged the memory of its calls: ");
  }
  EXPECT_GT(found, static_cast<int>(kSeeds) / 3);
}

}  // namespace
}  // namespace sesame::remote
