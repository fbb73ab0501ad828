#include "core/remote/program/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prefetch.h"
#include "core/base/undestroyed.h"
#include "core/mpi/objects/constants.h"
#include "core/remote/program/callers.h"
#include "core/remote/program/static_switch.h"
#include "core/remote/program/team.h"

namespace sesame::remote {
namespace {

struct Connection {
  Slot* slot = nullptr;  // of the thread that connected
  SlotsHead* head = nullptr;
  pid_t process = 0;
  const bool* is_own = nullptr;  // false in children that the process forks; null: ask the kernel
  CallbackRunner runner = nullptr;
  pthread_key_t last_call{};  // its destructor is end_thread()
  std::mutex mutex;
  std::vector<std::pair<int, Slot*>> free;  // slots of threads that have ended, by number
};
constinit Undestroyed<Connection> instance;  // threads may end while the process does
constinit Connection& connection = *instance;
ConnectionListener listener;

// Of the thread: how many children of vfork run now, which have its memory until they call exec.
thread_local int vforked = 0;

// Whether this process has connected, and is no child of the one that has.
bool is_connected() {
  if (vforked > 0) return false;
  return connection.is_own != nullptr ? *connection.is_own : connection.process == getpid();
}

// A variable that the kernel clears in children. Null where it cannot.
const bool* make_own() {
  constexpr size_t kPage = 4096;
  void* const page =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, kPage, MADV_WIPEONFORK) == 0) return new (page) bool(true);
  munmap(page, kPage);
  return nullptr;
}

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "sesame: %s\n", why);
  _exit(2);
}

}  // namespace

extern "C" void sesame_message_is_damaged(const char* what) {
  stop((std::string("the memory of the calls of a rank is damaged: ") + what).c_str());
}

namespace {

template <typename T>
T* map_shared(int file, off_t offset) {
  void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

// The simulator's file of slots, opened, and the slot that the environment names.
struct SlotFile {
  SlotFile() {
    const char* const text = getenv(kSlotVariable);
    int simulator = 0, descriptor = 0;
    if (text == nullptr || sscanf(text, "%d:%d:%d", &simulator, &descriptor, &slot) != 3) return;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", simulator, descriptor);
    file = open(path, O_RDWR | O_CLOEXEC);
  }
  ~SlotFile() {
    if (file >= 0) close(file);
  }
  SlotFile(const SlotFile&) = delete;
  SlotFile& operator=(const SlotFile&) = delete;

  int file = -1;
  int slot = 0;
};

// Maps the process's slot and the head of all slots; null: there is none.
Slot* map_slot() {
  const SlotFile slots;
  if (slots.file < 0) return nullptr;
  connection.head = map_shared<SlotsHead>(slots.file, 0);
  Slot* const slot = map_shared<Slot>(slots.file, slot_offset(slots.slot));
  return connection.head == nullptr ? nullptr : slot;
}

// Makes this process the rank's. One that used MPI before must have ended, and finalized it. It may
// be this one, which has executed another program in its place.
void claim(Slot& slot) {
  int32_t owner = slot.owner.load();
  for (;;) {
    const bool is_this = owner == getpid();
    if (is_this && slot.thread_level != kNotInitialized)
      stop("a program that uses MPI was executed in place of one that has called MPI_Init");
    const bool has_ended = owner == 0 || is_this || (kill(owner, 0) != 0 && errno == ESRCH);
    if (!has_ended) stop("two processes of one rank use MPI at the same time; expected one");
    if (slot.owner.compare_exchange_strong(owner, getpid())) return;
  }
}

void apply_writes(Slot& slot) {
  Reader writes(slot.writes, kWriteBytes);
  for (uint32_t done = 0; done < slot.header.write_bytes;) {
    auto* const to = writes.get<void*>();
    const auto bytes = writes.get<size_t>();
    std::memcpy(to, writes.get_bytes(bytes), bytes);
    done += static_cast<uint32_t>(16 + padded(bytes));
  }
}

// Prefetches do not fault: another thread of the program may have freed a part.
void load_received(const Slot& slot) {
  for (size_t i = 0; i < slot.header.received; ++i)
    prefetch_bytes(reinterpret_cast<const void*>(slot.received[i].address), slot.received[i].bytes);
}

// Keeps errno: no call of the program fails by this.
void post_and_wait(Slot& slot, const Header& header) {
  Caller& caller = *this_caller();
  const int error = errno;
  caller.waits = true;
  slot.header = header;
  give_turn_to_simulator(slot, *connection.head);
  await_turn_of_program(slot, *connection.head);
  apply_writes(slot);
  load_received(slot);
  caller.waits = false;
  errno = error;
}

void run_callback(Slot& slot) {
  // Copies, because the function may call MPI, which overwrites the slot.
  char arguments[kCallbackBytes], result[kCallbackBytes];
  std::memcpy(arguments, slot.message, sizeof arguments);
  Reader reader(arguments, sizeof arguments);
  Writer writer(result, sizeof result);
  connection.runner(reader, writer);
  std::memcpy(slot.message, result, writer.bytes());
  post_and_wait(slot, header_of(RequestKind::kCallbackDone, writer.bytes()));
}

// What the thread computed since the last reply.
SimTime computed(Caller& caller) {
  const SimTime own = caller.meter.measure() + std::exchange(caller.uncounted, SimTime::zero());
  const bool is_measured = caller.meter.options().mode == mpi::ComputeMode::kMeasured;
  return is_measured && &caller.slot == connection.slot ? team_time(own) : own;
}

// ---- Threads other than that which connected ----

std::pair<int, Slot*> take_slot() {
  {
    const std::lock_guard lock(connection.mutex);
    if (!connection.free.empty()) {
      const auto slot = connection.free.back();
      connection.free.pop_back();
      return slot;
    }
  }
  const SlotFile slots;
  const int number = connection.head->slots.fetch_add(1);
  if (const int most = connection.head->most_slots; number >= most)
    stop(("more than " + std::to_string(most) +
          " threads of all ranks call MPI, expected at most as many at once\n"
          "hint: let fewer threads of each rank call, and end those that have made their calls")
             .c_str());
  Slot* const slot = slots.file < 0 ? nullptr : map_shared<Slot>(slots.file, slot_offset(number));
  if (slot == nullptr) stop("cannot map a slot for a thread that calls MPI");
  return {number, slot};
}

void fill_slot(Slot& slot) {
  const Slot& first = *connection.slot;
  slot.owner = getpid();
  slot.rank = first.rank;
  slot.thread = gettid();
  slot.spins = first.spins;
  slot.cores = first.cores;
  slot.epoch_ns = first.epoch_ns;
  slot.target_time = first.target_time;
  slot.meter = first.meter;
}

// Ends the calls of a thread. Destructors of its thread-local objects come before and may call; one
// of another key that comes later makes it join again, and this is then called once more.
void end_thread(void*) {
  if (sesame_rank_thread_slot() == nullptr || sesame_rank_is_busy()) return;
  sesame_rank_exchange(header_of(RequestKind::kThreadEnd));
  const std::pair<int, Slot*> slot{this_caller()->slot_number, &this_caller()->slot};
  remove_caller();
  const std::lock_guard lock(connection.mutex);
  connection.free.push_back(slot);
}

Slot* join() {
  const auto [number, slot] = take_slot();
  fill_slot(*slot);
  auto* const caller = new Caller(*slot);
  caller->slot_number = number;
  caller->uncounted = leave_team();
  caller->clock_ps = first_clock();
  add_caller(*caller);
  sesame_rank_exchange(header_of(RequestKind::kJoin));
  pthread_setspecific(connection.last_call, slot);
  return slot;
}

}  // namespace

void set_listener(const ConnectionListener& given) { listener = given; }

void sesame_rank_say_goodbye() {
  if (sesame_rank_thread_slot() == nullptr || sesame_rank_is_busy()) return;
  if (listener.ends != nullptr) listener.ends();
  sesame_rank_exchange(header_of(RequestKind::kGoodbye));
}

Slot* sesame_rank_slot() { return is_connected() ? connection.slot : nullptr; }

Slot* sesame_rank_thread_slot() {
  const Caller* const caller = this_caller();
  return caller != nullptr && is_connected() ? &caller->slot : nullptr;
}

Slot* sesame_rank_join() {
  if (sesame_rank_slot() == nullptr) return nullptr;
  const Caller* const caller = this_caller();
  return caller != nullptr ? &caller->slot : join();
}

void sesame_rank_count_thread() {
  if (sesame_rank_slot() == nullptr) return;
  // The thread begins after the calls so far.
  if (connection.slot->deferred_bytes != 0) sesame_rank_exchange(header_of(RequestKind::kFlush));
  connection.slot->threads_created.fetch_add(1);
  connection.head->threads_created.fetch_add(1);
}

bool sesame_rank_may_defer() {
  const Caller* const caller = this_caller();
  return caller != nullptr && caller->depth == 0 && caller->slot.may_defer != 0 &&
         caller->slot.threads_created == 0 && !has_team();
}

bool sesame_rank_defer(Header header, const char* values) {
  Caller& caller = *this_caller();
  Slot& slot = caller.slot;
  const uint32_t begin = slot.deferred_bytes;
  const uint32_t end = begin + static_cast<uint32_t>(sizeof header) + header.bytes;
  if (end > kDeferredBytes) return false;
  header.computed_ps = computed(caller).ps();
  std::memcpy(slot.deferred + begin, &header, sizeof header);
  if (header.bytes > 0) std::memcpy(slot.deferred + begin + sizeof header, values, header.bytes);
  slot.deferred_bytes = end;  // last: a process that is killed has made whole calls
  caller.meter.resume();
  return true;
}

bool sesame_rank_is_busy() { return this_caller()->depth > 0; }

Slot* sesame_rank_connect(const char* interface, CallbackRunner runner) {
  connection.runner = runner;
  if (sesame_rank_slot() != nullptr) return connection.slot;
  Slot* const slot = map_slot();
  if (slot == nullptr) return nullptr;
  claim(*slot);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the process ends with the one that started it
  slot->thread = gettid();
  // What the process did before is not the rank's computation.
  add_caller(*new Caller(*slot));
  start_team(slot->cores);
  pthread_key_create(&connection.last_call, end_thread);
  connection.process = getpid();
  connection.is_own = make_own();
  connection.slot = slot;
  Writer writer(slot->message, kMessageBytes);
  writer.put_text(interface);
  sesame_rank_exchange(header_of(RequestKind::kHello, writer.bytes()));
  if (listener.connected != nullptr)
    listener.connected(slot->rank, Reader(slot->message, kMessageBytes));
  atexit(sesame_rank_say_goodbye);
  return slot;
}

void sesame_rank_begin_computing() {
  Caller* const caller = this_caller();
  if (caller == nullptr) return;
  computed(*caller);
  caller->meter.resume();
}

void sesame_before_vfork() {
  if (listener.starts_process != nullptr) listener.starts_process();
  ++vforked;
}

int sesame_after_vfork(int result) {
  --vforked;
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

void begin_exchanges(const Header& given) {
  Caller& caller = *this_caller();
  Slot& slot = caller.slot;
  Header header = given;
  if (caller.depth++ == 0) {
    const SimTime host = computed(caller);
    header.computed_ps = host.ps();
    const bool is_multiple = connection.slot->thread_level == mpi::MPI_THREAD_MULTIPLE;
    header.clock_ps = begin_call(caller, host, is_multiple);
  }
  post_and_wait(slot, header);
  while (static_cast<ReplyKind>(slot.header.kind) == ReplyKind::kCallback) run_callback(slot);
}

namespace {

void resume_program(Caller& caller) {
  if (--caller.depth > 0) return;
  end_call(caller, caller.slot.header.clock_ps);
  caller.meter.resume();
}

}  // namespace

void end_exchanges(const Header& header) {
  Caller& caller = *this_caller();
  post_and_wait(caller.slot, header);
  resume_program(caller);
}

void sesame_rank_exchange(Header header) {
  begin_exchanges(header);
  resume_program(*this_caller());
}

// The vfork of a statically linked program is not ours.
bool is_vforked() {
  return vforked > 0 || (sesame_rank_switch() != nullptr && connection.process != getpid());
}

}  // namespace sesame::remote
