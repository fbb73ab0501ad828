// The ranks of other workers of a parallel simulation (docs/models/parallel.md): what the modules
// of this worker tell them. World::remote is null in a run with one executive.
//
// Use: a message to a rank for which is_here() is false goes through send(). Its receiver answers
// with acknowledge() or clear_to_send(); the sender's interface follows with send_data(). All carry
// the simulated time of their effect, at least the look-ahead after the clock of their cause. None
// blocks in simulated time. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/mpi/messages/message.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/request.h"

namespace sesame::network {
struct Passage;
struct Walk;
}  // namespace sesame::network

namespace sesame::mpi {

// A simulated time in a frame: only the number.
struct FrameTime {
  FrameTime() = default;
  FrameTime(const SimTime& time) : ps(time.ps()) {}
  operator SimTime() const { return SimTime::from_ps(ps); }

  int64_t ps = 0;
};

class RemoteRanks {
 public:
  // `workers`: by rank of the run, the number of its worker; `here`: that of this worker.
  RemoteRanks(std::vector<int> workers, int here) : workers_(std::move(workers)), here_(here) {}
  virtual ~RemoteRanks() = default;

  bool is_here(int rank) const { return worker_of(rank) == here_; }
  int worker_of(int rank) const { return workers_[static_cast<size_t>(rank)]; }

  // The data of a message: packed, or in the buffer of its send; null both if there is none.
  struct Data {
    const char* packed = nullptr;
    const Operation* send = nullptr;
  };
  // Sends a message with its data, also that of a rendezvous: its request to send carries it.
  // `passage`: where it is if it shares cards; otherwise null, and its arrival is known.
  virtual void send(int target, const MessageEnvelope& message, const Data& data,
                    const network::Passage* passage) = 0;
  // Completes the synchronous send of a message of another worker at `time`.
  virtual void acknowledge(const MessageEnvelope& message, const SimTime& time) = 0;
  // Returns the space of a buffered send of another worker at `time`.
  virtual void release_buffer(const MessageEnvelope& message, const SimTime& time) = 0;
  // A rendezvous message of another worker has found its receive. `ready`: when the sender may
  // inject the data. `record` lacks `arrived` and `received`.
  virtual void clear_to_send(RequestObject& receive, const MessageEnvelope& message,
                             const MessageRecord& record, const SimTime& ready) = 0;
  // The data of a rendezvous arrives. `receive`: what clear_to_send() gave to this worker.
  virtual void send_data(int target, uint64_t receive, const SimTime& arrival) = 0;
  // The same for data that shares cards.
  virtual void send_data(int target, uint64_t receive, const network::Passage& passage) = 0;

  // Frames of modules above this one. take_with() before any worker posts one.
  enum class Module : uint8_t { kWindows, kHardwareCollectives };
  static constexpr size_t kModules = 2;
  using TakeFrame = std::function<void(std::span<const char> frame)>;
  void take_with(Module module, TakeFrame take) {
    takers_[static_cast<size_t>(module)] = std::move(take);
  }
  // To the worker of the rank `target`. The parts make one frame.
  virtual void post(Module module, int target, std::span<const char> head,
                    std::span<const char> data) = 0;
  // Takes the frames that have arrived: all that were posted before anything that this worker
  // knows. Any strand may call this.
  virtual void catch_up() = 0;

  // Tells all other workers a change of what ranks share that use files (shared_files.h in io).
  virtual void tell_files(std::span<const char> change) = 0;
  // The rank has reserved its network interface, while copies of a model of a file system use it.
  virtual void interface_reserved(int rank, const SimTime& free) = 0;
  // Ends the run if the running rank's call (a CallId) is one that workers do not simulate yet.
  virtual void check_call(uint16_t call) const = 0;
  // The same if the running rank calls from a further thread of its process.
  virtual void check_thread() const = 0;
  // Ends the run: "rank 3: … is not simulated with several workers yet".
  [[noreturn]] virtual void refuse(const std::string& what) const = 0;
  // Ends the run for this reason. Also outside fibers.
  [[noreturn]] virtual void end_run(const std::string& why, const std::string& hint) const = 0;
  // Whether some are on another host, which does not see this one's files.
  virtual bool are_on_several_hosts() const = 0;
  [[noreturn]] virtual void refuse_on_several_hosts(const std::string& what) const = 0;

 protected:
  const TakeFrame& taker(Module module) const { return takers_[static_cast<size_t>(module)]; }

 private:
  std::array<TakeFrame, kModules> takers_;
  std::vector<int> workers_;
  int here_;
};

}  // namespace sesame::mpi
