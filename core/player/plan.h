// The plan of a traced run: the calls of every rank, in order. Python makes the file from a data
// set (python/sesame/simulation/trace/plan.py); it is mapped once and all ranks read it.
// docs/models/trace-driven.md describes it.
#pragma once

#include <cstdint>

namespace sesame::player {

struct Operation {
  uint32_t call;  // index in the plan's table of names
  int32_t comm;   // index of the communicator in the trace
  int32_t peer;   // rank in the communicator; PROC_NULL as MPI has it; for others see their player
  int32_t tag;
  int64_t bytes;
  // The request that it starts, or the first that it waits for; or a time in ns.
  int64_t number;
  // Where its list begins in the plan's lists, for calls with values for several ranks. For an
  // asynchronous access: its number. For other calls on files: see files.cc.
  int64_t list;
};
static_assert(sizeof(Operation) == 40);

inline constexpr char kPlanMagic[8] = {'s', 's', 'm', 'p', 'l', 'a', 'n', '2'};
inline constexpr int kNameBytes = 32;

struct PlanHeader {
  char magic[8];
  uint64_t ranks;
  uint64_t communicators;
  uint64_t names;
  uint64_t buffer_bytes;  // the longest data of a call
  uint64_t file_bytes;
  // Offsets in the file.
  uint64_t name_table;  // kNameBytes each
  uint64_t rank_table;  // RankEntry each
  uint64_t operations;
  uint64_t lists;  // int64 each
  uint64_t files;  // uint64 each: where the name of a file begins in the text
  uint64_t text;   // names of files, each with a zero byte at its end
};

struct RankEntry {
  uint64_t first;  // among the plan's operations
  uint64_t count;
  uint64_t requests;    // requests and asynchronous accesses have numbers below it
  uint64_t open_files;  // number of slots of open files
};

// One rank's view of the plan.
struct Plan {
  const PlanHeader* header;
  const char* names;
  const RankEntry* parts;
  const Operation* operations;
  const int64_t* lists;
  const char* files;
  const char* text;
};

// Maps the file, or finds the mapping of another rank: simulated ranks share one address space.
// Ends the program with a message when it cannot.
Plan open_plan(const char* path);

// Buffers for the data of messages, shared by all ranks of a process, since contents do not matter.
// `send` is never written, so it uses no physical memory.
struct Buffers {
  const char* send;
  char* receive;
};
Buffers share_buffers(uint64_t bytes);

}  // namespace sesame::player
