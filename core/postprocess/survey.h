// The first reading of a process. It collects what other processes need: its identity, its
// communicators, and which messages it sent and received. Rows of the data set are made in a second
// reading (read_rows.h). survey() may run for several processes in parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/postprocess/call_traits.h"
#include "core/postprocess/communicators.h"
#include "core/postprocess/request_table.h"
#include "core/postprocess/walk.h"
#include "core/trace/traced_reader.h"

namespace sesame::postprocess {

// Messages of one process with one peer and one tag on one communicator, in one direction.
struct ChannelKey {
  int32_t comm = -1;  // instance in this process
  int32_t peer = -1;  // rank there
  int32_t tag = -1;

  bool operator==(const ChannelKey&) const = default;
};

struct ChannelKeyHash {
  size_t operator()(const ChannelKey& key) const {
    uint64_t hash = static_cast<uint32_t>(key.comm) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ static_cast<uint32_t>(key.peer)) * 0xD6E8FEB86659FD93u;
    hash = (hash ^ static_cast<uint32_t>(key.tag)) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
  }
};

struct SizeRun {
  int64_t bytes;
  uint64_t count;
};

struct Channel {
  ChannelKey key;
  uint64_t messages = 0;
  std::vector<SizeRun> sizes;  // of sends, in their order
  std::vector<int64_t> times;  // when asked for: begins of sends, ends of receives
};

// An operation for pruning, in the order of the process.
struct Operation {
  enum Kind : uint8_t { kIo, kSend, kReceived, kCollective };
  Kind kind;
  uint32_t channel;  // of a message; of a collective the instance of its communicator
  uint64_t number;   // which send, posted receive or collective of the process
};

struct Identity {
  int32_t pid = -1;
  int32_t parent = -1;  // process id
  int64_t realtime_offset = 0;
  std::string host;
  std::string kernel;          // processes with the same one have the same clock; empty: unknown
  uint64_t pid_namespace = 0;  // in which its process ids are unique; 0: unknown
  std::string job;             // what the launcher calls its MPI program; empty: unknown
  std::string directory;
  std::string command;
  int32_t rank = -1;  // of MPI_COMM_WORLD
  int32_t size = 0;
  uint8_t interface = 0;
  uint8_t ended = 0;      // as in the record `ended`; 0 when it was cut off
  int64_t processor = 0;  // time used, ns; 0 when it was cut off
  int64_t begin = 0;      // clock of the node, ns
  int64_t end = 0;
};

// Bytes that the process read and wrote.
struct MovedBytes {
  uint64_t read = 0;
  uint64_t written = 0;
};

struct SurveyOptions {
  bool operations = false;  // for pruning
  bool times = false;       // for the clocks of several nodes
};

inline constexpr uint32_t kNoChannel = UINT32_MAX;

struct ProcessSurvey {
  Identity identity;
  WalkResult walked;
  std::optional<trace::TracedState> state;
  std::vector<CommInstance> comms;
  std::vector<Channel> sends;
  std::vector<Channel> receives;
  std::vector<uint32_t>
      receive_channels;  // of each receive, in the order in which they were posted
  std::vector<uint32_t> collective_comms;  // instance for each collective, in order
  uint64_t send_count = 0;
  std::vector<Operation> operations;
  std::vector<uint8_t> calls;  // 1 for each function that was called, by its number

  MovedBytes recorded;                // by the calls that the kernel counts
  std::optional<MovedBytes> counted;  // by the kernel; none of a process that was cut off
  uint64_t unseen_operations = 0;     // of io_uring
  uint64_t unknown_mapped = 0;        // bytes of shared mappings accessed, read or written

  // Bytes that the kernel counted and no record has.
  MovedBytes unseen() const;
  uint64_t lost() const;  // records that were made and are not in the streams
  bool has_times() const { return walked.records > 0; }
};

ProcessSurvey survey(const trace::TracedFiles& files, const CallTraits& traits,
                     const SurveyOptions& options);

}  // namespace sesame::postprocess
