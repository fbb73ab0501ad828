// A traced run as a whole: the numbers of its processes, the communicators that they share, which
// sends match which receives, and one clock for all nodes. Made from the surveys of the processes;
// read-only afterwards, so several threads may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/postprocess/survey.h"

namespace sesame::postprocess {

struct Communicator {
  int32_t parent = -1;
  int32_t remote_parent = -1;    // of an intercommunicator: what the other group made it from
  std::vector<int32_t> members;  // numbers of processes; -1 for one that was not traced
  std::vector<int32_t> remote;
  std::string name;
};

// How one process sees one of its communicators.
struct CommView {
  int32_t index = -1;                           // in Job::communicators
  const std::vector<int32_t>* peers = nullptr;  // the group in which peers and roots are ranks

  int32_t peer(int32_t rank) const {
    if (rank < 0 || peers == nullptr) return rank == -2 ? -2 : -1;
    return static_cast<size_t>(rank) < peers->size() ? (*peers)[static_cast<size_t>(rank)] : -1;
  }
};

// The other end of a channel.
struct ChannelEnd {
  int32_t process = -1;  // -1 when there is none
  uint32_t channel = 0;
};

// Messages that only one side has recorded.
struct Unmatched {
  int32_t rank;  // of the side that recorded them
  int32_t peer;
  int32_t tag;
  int32_t comm;
  uint64_t messages;
  bool sent;  // else received
};

// The clock of a node, times in ns: run time = node time + offset + drift * (node time - origin).
struct HostClock {
  std::string host;
  std::string kernel;  // as in Identity; where it is empty, each host has a clock of its own
  int64_t offset = 0;
  double drift = 0;
  int64_t origin = 0;

  int64_t at(int64_t time) const {
    int64_t base = time + offset;
    return drift == 0 ? base
                      : base + static_cast<int64_t>(drift * static_cast<double>(time - origin));
  }
};

struct JobProcess {
  size_t survey = 0;  // index in Job::surveys
  int32_t number = -1;
  int32_t parent = -1;                // number
  size_t world = 0;                   // which MPI program, of several that a script ran
  size_t host = 0;                    // index in Job::clocks
  std::vector<CommView> comms;        // by instance
  std::vector<ChannelEnd> senders;    // by channel of its receives
  std::vector<ChannelEnd> receivers;  // by channel of its sends
  std::vector<uint64_t> send_kept;    // bits, when pruning
  std::vector<uint64_t> receive_kept;
  std::vector<uint64_t> collective_kept;
};

struct Job {
  std::vector<ProcessSurvey> surveys;
  std::vector<JobProcess> processes;  // sorted by number; ranks that left no trace are missing
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<HostClock> clocks;
  std::vector<Unmatched> unmatched;
  std::vector<std::string> damage;
  int32_t ranks = 0;           // of MPI_COMM_WORLD
  size_t worlds = 0;           // MPI programs
  int64_t first_realtime = 0;  // of the first record, ns since 1970
  int64_t end = 0;             // of the last, ns since the first

  const ProcessSurvey& survey_of(const JobProcess& process) const {
    return surveys[process.survey];
  }
};

Job make_job(std::vector<ProcessSurvey> surveys);

// The steps of make_job(), in this order.
void number_processes(Job& job);
void match_communicators(Job& job);
void match_messages(Job& job);
void set_clocks(Job& job);

}  // namespace sesame::postprocess
