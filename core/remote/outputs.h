// Passes on what the ranks' processes write to their standard streams, from a thread of its own, in
// the order in which it comes.
//
// Use: add() the reading ends of pipes at any time, then finish() when all has been written. One
// thread calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace sesame::remote {

using WriteOutput = void (*)(int rank, int descriptor, const char* data, size_t size);

class Outputs {
 public:
  // `write` is called from the thread. `descriptor` is 1 or 2. `wake` is an eventfd(2), which this
  // closes.
  Outputs(WriteOutput write, int wake);
  ~Outputs() { finish(); }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  // Takes the pipe, and closes it when nothing more can come.
  void add(int rank, int descriptor, int pipe);
  // Returns when what the pipes have has been passed on. Does not wait for more.
  void finish();

 private:
  struct Output {
    int rank;
    int descriptor;
    int pipe;
  };

  void wake() const;
  void forward();
  void take_added(std::vector<Output>& outputs);
  bool pass_on(const Output& output, std::vector<char>& buffer) const;

  WriteOutput write_;
  int wake_;  // an event for the thread
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;
  std::vector<Output> added_;
  std::thread thread_;
};

}  // namespace sesame::remote
