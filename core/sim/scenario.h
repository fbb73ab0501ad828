// A scenario: the program, the machine, how compute time is determined, and what to write. Read
// from a JSON file that the command line writes (docs/formats/scenario.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/sim_time.h"
#include "core/mpi/messages/compute_meter.h"
#include "core/trace/parquet/table.h"

namespace sesame::sim {

// The hosts of a parallel simulation. Each gets the scenario, with its own number. All are
// connected to the first one.
struct HostScenario {
  std::vector<std::string> names;  // empty: one host
  int here = 0;                    // this one
  // Connected sockets: of the first host by host, its own left out; of another one that to it.
  std::vector<int> descriptors;
  int64_t epoch_ns = 0;  // real time at simulated time zero where computation is measured

  bool are_several() const { return !names.empty(); }
  int count() const { return static_cast<int>(names.size()); }
  // Hosts have equal shares of the workers, in their order.
  int first_worker(int host, int workers) const {
    return static_cast<int>((int64_t{host} * workers + count() - 1) / count());
  }
  int host_of(int worker, int workers) const {
    return static_cast<int>(int64_t{worker} * count() / workers);
  }
};

// What several workers assume about receives from any source (docs/models/parallel.md).
enum class Sources : uint8_t {
  kAny,       // nothing
  kMembers,   // ranks communicate by MPI alone: only members of a communicator matter
  kTags,      // each tag has one source at each rank; checked
  kExpected,  // messages arrive in the order of an earlier run; checked
};

struct Scenario {
  std::string program;
  std::vector<std::string> arguments;
  int ranks = 1;
  std::string machine;                 // path of the machine file
  std::vector<std::string> overrides;  // "network.latency=1us"
  std::string placement = "block";     // "block", "cyclic" or the path of a file
  mpi::ComputeMode compute = mpi::ComputeMode::kMeasured;
  int64_t fixed_compute_ps = 0;
  // How many ranks computed at the same time, on one node, while the computation was recorded: what
  // that costs is in the times already. Where it is measured, how many copies of this run compute.
  int together = 1;
  std::string recorded_compute;  // path; docs/formats/scenario.md has its layout
  std::string saved_compute;     // path that gets the measured times in that layout; empty: none
  std::string output_directory;  // exists; gets result.json, tables and raw/
  std::vector<trace::parquet::Table> tables;  // what is recorded; empty: nothing
  bool raw = false;                           // record raw streams as well
  bool label_output = false;
  bool program_stdout_to_stderr = false;
  uint64_t stack_bytes = 8 << 20;
  std::vector<std::string> private_libraries;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string working_directory;
  std::string files_directory;  // directory for the bytes of simulated files
  bool discard_data = false;    // of simulated files: sizes only
  // The files that exist at the start, by path with their sizes in bytes; -1: only the directory of
  // the path exists. If set, the files of the host are not visible.
  std::optional<std::vector<std::pair<std::string, int64_t>>> initial_files;
  bool may_be_processes = false;  // ranks, if the program asks for what fibers have not
  bool is_repeated = false;       // with ranks that are processes, for that reason
  bool traced_open_mpi = false;   // it is a traced run, of a program with Open MPI
  uint64_t seed = 1;
  std::optional<uint64_t> shuffle;  // the seed of the order in which ready ranks run
  int workers = 1;                  // processes that simulate; 1: this one only
  HostScenario hosts;
  std::string protocol = "quantum";  // between several (worker_protocol.h)
  SimTime quantum;                   // of this protocol; zero: the look-ahead
  bool inexact = false;              // whether the quantum may be longer than that
  Sources sources = Sources::kAny;   // of receives from any source
  std::string expected_sources;      // kExpected: path; docs/formats/scenario.md has its layout
  bool confirm_receives = false;     // without the deterministic shortcut, for comparisons
  int progress_descriptor = -1;      // gets lines with the progress; -1: none
};

// An unreadable file, a missing key or a wrong value is an Error.
Result<Scenario> read_scenario(const std::string& path);

}  // namespace sesame::sim
