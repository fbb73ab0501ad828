// What a rank that is a process of its own and the simulator have in common: slots of shared
// memory, through which calls and their results pass. The thread that started the program has one;
// each other thread that calls MPI takes one of its own (SlotsHead::slots).
//
// The slots are in one file in memory, behind a SlotsHead: slot_offset() says where. Each worker of
// a parallel simulation has such a file, for its ranks.
//
// The two sides take turns. The program writes a request and gives the turn to the simulator; the
// simulator runs the call on the rank's fiber and gives the turn back with a reply. Between the two
// the rank's process waits, so the simulator may read and write its memory; for calls of other
// ranks it does so at any time, where MPI does not let the program touch it. A reply may ask for a
// call of one of the program's functions first (Reply::kCallback); its result is a request.
//
// A request or reply is a header and a sequence of values of 8 bytes and of byte strings, padded to
// 8 bytes (messages.h). A reply is followed by what the simulator has written to the rank's memory:
// address, size and bytes for each write. Times are picoseconds of simulated time unless a comment
// says host time.
//
// Calls whose results the program knows already are deferred: it adds them to Slot::deferred, and
// the simulator runs them before the next request. No event that is later than the first of them
// fires until then, so this changes no result. A request that such a call makes has a handle which
// the simulator has reserved.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/doorbell.h"
#include "core/mpi/messages/compute_meter.h"

namespace sesame::remote {

inline constexpr size_t kMessageBytes = 64 << 10;
inline constexpr size_t kWriteBytes = 64 << 10;
inline constexpr size_t kCallbackBytes = 512;  // of the arguments or results of a callback
inline constexpr size_t kDeferredBytes = 8 << 10;
inline constexpr uint32_t kReservedRequests = 32;
inline constexpr size_t kMostInline = 16 << 10;  // of one array; longer ones stay where they are
// Smaller addresses stand for constants (null, MPI_UNWEIGHTED, MPI_STATUSES_IGNORE): the first page
// is never mapped.
inline constexpr uint64_t kFirstAddress = 4096;
// The environment variable that tells a process its slot: "PID:DESCRIPTOR:SLOT" of the simulator.
inline constexpr const char* kSlotVariable = "SESAME_RANK_SLOT";
// And the one that tells it the directory of its libraries (program/find_mpi.c).
inline constexpr const char* kLibrariesVariable = "SESAME_RANK_LIBRARIES";
// The path of the statically linked program that sesame-static-rank is to start.
inline constexpr const char* kStaticProgramVariable = "SESAME_STATIC_PROGRAM";

// kEnded: the program the rank was started as has ended. At first it is the program's turn.
enum class Turn : uint32_t { kProgram, kSimulator, kEnded };

enum class RequestKind : uint16_t {
  kHello,           // the first one of a process: the name of its binary interface
  kCall,            // a function of MPI
  kEmptyScope,      // a call of the program that needs nothing of the simulator
  kCloseScope,      // the end of a call of several requests
  kRaise,           // an error that the process found itself: calls the error handler
  kNotImplemented,  // a call that the simulated MPI does not have
  kReadClock,
  kReadProcessorClock,
  kSleep,
  kCallbackDone,
  kJoin,       // the first one of a further thread
  kThreadEnd,  // the last one of it; the next thread of the process may take its slot
  kFlush,      // nothing but that deferred calls be served
  kGoodbye,    // the process ends by exit()
  kFiles,      // calls about simulated files (file_messages.h); `function` is their number
};

enum class ReplyKind : uint16_t { kReturn, kCallback };

enum class CallbackKindOnWire : uint16_t {
  kOperation,
  kCopyAttribute,
  kDeleteAttribute,
  kCommErrhandler,
  kWinErrhandler,
  kFileErrhandler,
  kSessionErrhandler,
  kErrorCode,
  kConvert,       // of a data representation
  kFileExtent,    // the same
  kQueryRequest,  // of a generalised request; so the next two
  kFreeRequest,
  kCancelRequest,
  kReserve,  // memory in the process for operands
  kMap,      // memory that processes share
  kUnmap,
};

// How a variable of the program passes. The bytes of its value follow kValue only.
enum class VariableState : uint8_t { kNull, kValue, kIgnored };  // kIgnored: MPI_STATUS_IGNORE

// The kind of object whose error handler kRaise calls.
enum class HandlerOwner : uint8_t { kNone, kComm, kWin, kFile, kSession };

// Of Slot::thread_level: the program has not called MPI_Init yet.
inline constexpr int32_t kNotInitialized = -1;

// In lists of texts, each with a null byte at its end: before a text, and after a list.
inline constexpr char kTextFollows = 1;
inline constexpr char kListEnds = 0;

// Of a request that belongs to a call of the program.
inline constexpr uint8_t kOpensScope = 1;
inline constexpr uint8_t kClosesScope = 2;
// Of a deferred call: takes the next reserved handle for its request.
inline constexpr uint8_t kTakesRequest = 4;

struct Header {
  uint16_t kind;      // RequestKind or ReplyKind
  uint16_t function;  // what is called: a CallId, or a SpecialCall
  uint16_t scope;     // the CallId of the program's call
  uint8_t flags;
  uint8_t received;      // of replies: parts in Slot::received
  uint32_t bytes;        // of the values that follow
  uint32_t write_bytes;  // of replies: writes to the rank's memory
  int64_t computed_ps;   // host time that the program computed since the last reply
  int64_t clock_ps;      // of replies: the thread's; of requests: one that it has reached at least
  uint64_t caller;       // address in the program
};

// The header of a request that belongs to no call of the program.
inline Header header_of(RequestKind kind, size_t bytes = 0) {
  Header header{};
  header.kind = static_cast<uint16_t>(kind);
  header.bytes = static_cast<uint32_t>(bytes);
  return header;
}

// Functions that are no function of MPI, with numbers after those of MPI's.
enum class SpecialCall : uint16_t {
  kGetAttribute = 2000,
  kSetAttribute,
  kSetKeyvalProxies,
  kSetOpProxy,
  kSetErrhandlerProxy,
  kThrowBy,
  kSetRequestFortran,
  kPeers,
  kRootPeers,
  kLocalPeers,
  kInNeighbors,
  kOutNeighbors,
  kDimensions,
  kDescribeComm,  // what CommFacts has (program/comm_facts.h)
  kHasType,
};

// A part of the program's memory that the simulator has written.
struct Received {
  uint64_t address;
  uint64_t bytes;
};
inline constexpr size_t kMostReceived = 16;
static_assert(kMostReceived <= UINT8_MAX);  // Header::received
// In all: half of the second cache of today's servers, which has 1 MiB or more (lscpu).
inline constexpr uint64_t kMostReceivedBytes = 512 << 10;

// What all slots of a simulator have in common, at the beginning of their file.
struct alignas(4096) SlotsHead {
  Doorbell bell;  // first; the simulator's, which waits for several ranks at once
  // Every processor computes: a rank that waits sleeps at once.
  alignas(64) std::atomic<uint32_t> is_crowded;
  std::atomic<int32_t> processor;          // that the simulator ran on when it last gave a turn
  alignas(64) std::atomic<int32_t> slots;  // taken so far
  std::atomic<int32_t> most_slots;         // grows when ranks are spawned
  std::atomic<uint32_t> threads_created;   // so far, by processes that are ranks
};

struct alignas(4096) Slot {
  alignas(64) std::atomic<Turn> turn;
  std::atomic<uint32_t> program_sleeps;
  std::atomic<uint32_t> must_sleep;  // another rank runs: the program gives up its processor
  std::atomic<int32_t> processor;    // that the program ran on when it last gave the turn
  // The process that has claimed the slot; 0: none yet.
  alignas(64) std::atomic<int32_t> owner;
  // Set before the program starts.
  int32_t rank;
  int32_t is_first;                       // whether it is that of a rank's first thread
  int32_t thread;                         // the kernel's number of the thread
  std::atomic<uint32_t> threads_created;  // by the process so far; of the first slot
  uint32_t spins;                         // how often a side looks before it sleeps
  int32_t cores;                          // of the target that the rank has
  int64_t epoch_ns;                       // what calendar clocks show at simulated time 0
  double target_time;  // for a unit of measured host time; 0: computation is not measured
  std::atomic<int32_t> thread_level;  // of MPI, as granted, or kNotInitialized; of the first slot
  char node_name[256];
  mpi::ComputeMeter meter;          // configured
  std::atomic<uint32_t> may_defer;  // calls; the simulator ends that
  uint64_t eager_limit;             // a larger send may wait for its receive; bytes
  // Since the last reply. A real MPI copies what it receives on the rank's own processor, which
  // leaves it in the caches there. So the rank loads these parts before it continues.
  Received received[kMostReceived];
  // Handles of requests; the first `reserved_taken` of them have been taken by deferred calls.
  int32_t reserved[kReservedRequests];
  uint32_t reserved_taken;
  std::atomic<uint32_t> deferred_bytes;
  alignas(64) Header header;
  alignas(64) char deferred[kDeferredBytes];  // a Header and its values for each call
  alignas(64) char message[kMessageBytes];
  char writes[kWriteBytes];
};

inline constexpr off_t slot_offset(int slot) {
  return static_cast<off_t>(sizeof(SlotsHead) + sizeof(Slot) * static_cast<size_t>(slot));
}

// ---- The simulator's side ----

// Wakes the program if it sleeps.
inline void give_turn_to_program(Slot& slot, SlotsHead& head) {
  head.processor.store(sched_getcpu(), std::memory_order_relaxed);
  slot.turn.store(Turn::kProgram);
  if (slot.program_sleeps.load() != 0) futex(slot.turn, FUTEX_WAKE, Turn{1});
}

// ---- The program's side ----

inline void give_turn_to_simulator(Slot& slot, SlotsHead& head) {
  slot.processor.store(sched_getcpu(), std::memory_order_relaxed);
  slot.turn.store(Turn::kSimulator);
  ring_if_asleep(head.bell);
}

inline void await_turn_of_program(Slot& slot, const SlotsHead& head) {
  for (uint32_t i = 0; i < slot.spins; ++i) {
    if (slot.turn.load(std::memory_order_acquire) != Turn::kSimulator) return;
    if (slot.must_sleep.load(std::memory_order_relaxed) != 0) break;
    if (head.is_crowded.load(std::memory_order_relaxed) != 0) break;
    // The simulator waits until the program leaves its processor.
    if (head.processor.load(std::memory_order_relaxed) ==
        slot.processor.load(std::memory_order_relaxed))
      break;
    __builtin_ia32_pause();
  }
  for (;;) {
    slot.program_sleeps.store(1);
    if (slot.turn.load() != Turn::kSimulator) break;
    futex(slot.turn, FUTEX_WAIT, Turn::kSimulator);
  }
  slot.program_sleeps.store(0);
}

}  // namespace sesame::remote
