// Starts the processes of ranks and watches them.
//
// Use: create(), configure the slots through processes(), start() each rank, then run the ranks;
// add_rank() is for one that begins later. The destructor, and end_processes() in a signal
// handler, end all processes that are left. One at a time; one thread calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/remote/outputs.h"
#include "core/remote/server.h"
#include "core/remote/slots_file.h"

namespace sesame::remote {

struct LaunchOptions {
  std::vector<int> ranks;  // at first
  std::unique_ptr<SlotsFile> slots;
  std::string libraries;  // directory of those that ranks load: libsesame-rank.so and others
  WriteOutput write_output = nullptr;
  // Where another process that is to end the ranks finds their process group; null: nowhere.
  std::atomic<pid_t>* group = nullptr;
};

struct RankProgram {
  std::string path;
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;                 // to start in; empty: the simulator's
  bool is_static = false;                // an MPI program that loads no library
};

class Launch {
 public:
  static Result<std::unique_ptr<Launch>> create(LaunchOptions options);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // A slot for one more rank, the number after the last one's. An Error if there is no slot left.
  Result<Process*> add_rank();
  // Starts the process of a rank. An Error if its program cannot be executed.
  Result<> start(Process& process, const RankProgram& program);
  // Ends the processes of the last ranks, from this number on, and forgets these. Only of ranks
  // that were added.
  void remove_from(size_t rank);
  // Ends processes that are left, and waits until all output has been passed on.
  void finish();

  Processes& processes() { return processes_; }
  // The last process that a signal has ended; null: none.
  const std::atomic<const Process*>& killed() const { return killed_; }
  SlotsFile& slots() { return *slots_; }

 private:
  Launch(LaunchOptions options, int wake)
      : libraries_(std::move(options.libraries)),
        outputs_(options.write_output, wake),
        slots_(std::move(options.slots)) {}
  RankProgram prepared(const Process& process, RankProgram program) const;
  void fork_rank(Process& process, const RankProgram& program, const int* outputs, int failure);
  void watch();
  void note_end(pid_t ended, int status);

  std::string libraries_;
  Outputs outputs_;
  const std::unique_ptr<SlotsFile> slots_;
  int most_slots_ = 0;  // as in the head, to which the ranks' processes may write
  // Below: the watcher reads. So does this thread without the lock, which alone changes
  // `processes_`.
  std::mutex mutex_;
  Processes processes_;
  std::vector<pid_t> children_;  // that have not been waited for
  bool is_ending_ = false;
  std::atomic<const Process*> killed_ = nullptr;
  std::condition_variable changed_;
  std::thread watcher_;
};

// Ends all processes of the ranks at once; may be called by a signal handler.
void end_processes();

}  // namespace sesame::remote
