#include "core/remote/program/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "core/remote/program/team.h"

namespace sesame::remote {
namespace {

struct Connection {
  Slot* slot = nullptr;
  Doorbell* bell = nullptr;
  pid_t process = 0;
  CallbackRunner runner = nullptr;
  mpi::ComputeMeter meter;
  int depth = 0;  // requests that wait: more than one while a function of the program runs
};
Connection connection;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "sesame: %s\n", why);
  _exit(2);
}

template <typename T>
T* map_shared(int file, off_t offset) {
  void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

// Maps the slot named by the environment, and the doorbell; null: there is none.
Slot* map_slot() {
  const char* const text = getenv(kSlotVariable);
  int simulator = 0, descriptor = 0, rank = 0;
  if (text == nullptr || sscanf(text, "%d:%d:%d", &simulator, &descriptor, &rank) != 3)
    return nullptr;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", simulator, descriptor);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  connection.bell = map_shared<Doorbell>(file, 0);
  Slot* const slot = map_shared<Slot>(file, slot_offset(rank));
  close(file);
  return connection.bell == nullptr ? nullptr : slot;
}

// Makes this process the rank's. One that used MPI before must have ended, and finalized it.
void claim(Slot& slot) {
  int32_t owner = slot.owner.load();
  for (;;) {
    const bool has_ended = owner == 0 || (kill(owner, 0) != 0 && errno == ESRCH);
    if (!has_ended) stop("two processes of one rank use MPI at the same time; expected one");
    if (slot.owner.compare_exchange_strong(owner, getpid())) return;
  }
}

void apply_writes(Slot& slot) {
  Reader writes(slot.writes);
  for (uint32_t done = 0; done < slot.header.write_bytes;) {
    auto* const to = writes.get<void*>();
    const auto bytes = writes.get<size_t>();
    std::memcpy(to, writes.get_bytes(bytes), bytes);
    done += static_cast<uint32_t>(16 + padded(bytes));
  }
}

void post_and_wait(Slot& slot, const Header& header) {
  slot.header = header;
  give_turn_to_simulator(slot, *connection.bell);
  await_turn_of_program(slot, *connection.bell);
  apply_writes(slot);
}

void run_callback(Slot& slot) {
  // Copies, because the function may call MPI, which overwrites the slot.
  char arguments[kCallbackBytes], result[kCallbackBytes];
  std::memcpy(arguments, slot.message, slot.header.bytes);
  Reader reader(arguments);
  Writer writer(result, sizeof result);
  connection.runner(reader, writer);
  std::memcpy(slot.message, result, writer.bytes());
  post_and_wait(slot, header_of(RequestKind::kCallbackDone, writer.bytes()));
}

// What the program computed since the last reply.
SimTime computed() {
  const SimTime own = connection.meter.measure();
  const bool is_measured = connection.meter.options().mode == mpi::ComputeMode::kMeasured;
  return is_measured ? team_time(own) : own;
}

void say_goodbye() {
  if (sesame_rank_slot() == nullptr || connection.depth > 0) return;
  sesame_rank_exchange(header_of(RequestKind::kGoodbye));
}

}  // namespace

Slot* sesame_rank_slot() { return connection.process == getpid() ? connection.slot : nullptr; }

bool sesame_rank_is_busy() { return connection.depth > 0; }

Slot* sesame_rank_connect(const char* interface, CallbackRunner runner) {
  connection.runner = runner;
  if (sesame_rank_slot() != nullptr) return connection.slot;
  Slot* const slot = map_slot();
  if (slot == nullptr) return nullptr;
  claim(*slot);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the process ends with the one that started it
  connection.meter = slot->meter;
  connection.meter.resume();  // what the process did before is not the rank's computation
  start_team(slot->cores);
  connection.process = getpid();
  connection.slot = slot;
  Writer writer(slot->message, kMessageBytes);
  writer.put_text(interface);
  sesame_rank_exchange(header_of(RequestKind::kHello, writer.bytes()));
  atexit(say_goodbye);
  return slot;
}

void sesame_rank_exchange(Header header) {
  Slot& slot = *connection.slot;
  if (connection.depth++ == 0) header.computed_ps = computed().ps();
  post_and_wait(slot, header);
  while (static_cast<ReplyKind>(slot.header.kind) == ReplyKind::kCallback) run_callback(slot);
  if (--connection.depth == 0) connection.meter.resume();
}

}  // namespace sesame::remote
