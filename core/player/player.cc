#include "core/player/player.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <initializer_list>

namespace sesame::player {

Player player;

void* zeroed(uint64_t count, size_t size) {
  void* const memory = calloc(count + 1, size);
  if (memory != nullptr) return memory;
  fprintf(stderr, "sesame: no memory to play this run\n");
  exit(1);
}

namespace {

using namespace sesame::mpi;

constexpr int64_t kBillion = 1'000'000'000;

// The operation takes the time that it took when it was traced: calls on files outside the target
// machine's file systems, and calls that are not modelled.
void play_timed(const Operation& operation) {
  const timespec duration = {operation.number / kBillion, operation.number % kBillion};
  nanosleep(&duration, nullptr);
}

// Starts an asynchronous access, which continues while the rank does other things.
void play_io_start(const Operation& operation) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  player.start_ns[operation.list] = now.tv_sec * kBillion + now.tv_nsec;
  play_timed(operation);
}

// Waits until the access has taken as long as when it was traced.
void play_io_wait(const Operation& operation) {
  const int64_t end = player.start_ns[operation.list] + operation.number;
  const timespec when = {end / kBillion, end % kBillion};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

void play_finalize(const Operation&) { MPI_Finalize(); }

constexpr PlayedCall kOtherCalls[] = {
    {"io", play_timed},    {"io_start", play_io_start},     {"io_wait", play_io_wait},
    {"timed", play_timed}, {"MPI_Finalize", play_finalize}, {nullptr, nullptr},
};

Play find_call(const char* name) {
  for (const PlayedCall* table : {kOtherCalls, kMessageCalls, kCollectiveCalls, kReductionCalls,
                                  kCommunicatorCalls, kFileCalls}) {
    for (; table->name != nullptr; ++table) {
      if (strcmp(table->name, name) == 0) return table->play;
    }
  }
  fprintf(stderr, "sesame: the plan has the call %s, which cannot be played\n", name);
  exit(2);
}

void prepare(const char* path) {
  player.plan = open_plan(path);
  const PlanHeader& header = *player.plan.header;
  player.buffers = share_buffers(header.buffer_bytes);
  player.comms = static_cast<Comm*>(zeroed(header.communicators, sizeof(Comm)));
  for (uint64_t i = 0; i < header.communicators; ++i) player.comms[i] = MPI_COMM_NULL;
  player.comms[0] = MPI_COMM_WORLD;
}

const RankEntry& join() {
  MPI_Init(nullptr, nullptr);
  const int rank = sesame_charge_computation();
  const uint64_t ranks = player.plan.header->ranks;
  if (static_cast<uint64_t>(rank) >= ranks) {
    fprintf(stderr, "sesame: the plan has %lu ranks, this run has more\nhint: use -n %lu\n", ranks,
            ranks);
    exit(2);
  }
  const RankEntry& part = player.plan.parts[rank];
  player.requests = static_cast<Request*>(zeroed(part.requests, sizeof(Request)));
  player.start_ns = static_cast<int64_t*>(zeroed(part.requests, sizeof(int64_t)));
  player.open_files = make_open_files(part.open_files);
  player.accesses = make_accesses(part.requests);
  return part;
}

void play_all(const RankEntry& part) {
  const uint64_t names = player.plan.header->names;
  Play* const plays = static_cast<Play*>(zeroed(names, sizeof(Play)));
  for (uint64_t i = 0; i < names; ++i) plays[i] = find_call(player.plan.names + i * kNameBytes);
  const Operation* operation = player.plan.operations + part.first;
  const Operation* const end = operation + part.count;
  for (; operation != end; ++operation) plays[operation->call](*operation);
}

}  // namespace
}  // namespace sesame::player

int main(int argc, char** argv) {
  using namespace sesame::player;
  if (argc != 2) {
    fprintf(stderr, "usage: sesame-player PLAN (sesame simulate runs it)\n");
    return 2;
  }
  prepare(argv[1]);
  play_all(join());
  return 0;
}
