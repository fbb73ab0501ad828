// Starts the processes of ranks and watches them.
//
// Use: create(), configure the slots through processes(), start() once, then run the ranks. Its
// destructor, and end_processes() in a signal handler, end all processes that are left. What ranks
// write to their standard streams is passed to `write_output` from a thread of its own, in the
// order in which it comes. One at a time.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/remote/server.h"

namespace sesame::remote {

struct LaunchOptions {
  std::string program;                   // path
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // of all ranks: "NAME=value"
  // Further variables of each rank, by number.
  std::vector<std::vector<std::string>> own_environment;
  std::string libraries;  // directory of those that ranks load: libsesame-rank.so and others
  void (*write_output)(int rank, int descriptor, const char* data, size_t size) = nullptr;
};

class Launch {
 public:
  static Result<std::unique_ptr<Launch>> create(int ranks);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // Starts a process for each rank. An Error if one cannot be started.
  Result<> start(const LaunchOptions& options);
  // Waits until all output of the processes has been passed on. Ends processes that are left.
  void finish();

  Processes& processes() { return processes_; }
  Doorbell& bell() { return *bell_; }
  int slots_file() const { return memory_; }

 private:
  Launch() = default;
  Result<> start_rank(Process& process, const LaunchOptions& options);
  void watch();
  void forward_output(void (*write_output)(int, int, const char*, size_t));
  [[noreturn]] void run_program(const Process& process, const LaunchOptions& options,
                                const int* outputs, int failure);

  int memory_ = -1;  // of the slots: open, so that processes can map theirs
  Doorbell* bell_ = nullptr;
  Processes processes_;
  struct Output {
    int rank;
    int descriptor;  // 1 or 2
    int pipe;
  };
  std::vector<Output> outputs_;
  int stop_ = -1;  // an event that ends the forwarding
  std::thread watcher_;
  std::thread forwarder_;
};

// Ends all processes of the ranks at once; may be called by a signal handler.
void end_processes();

}  // namespace sesame::remote
