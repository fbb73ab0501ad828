// A process and its child that send each other messages through the operating system.
#ifndef WORKLOADS_SYSTEM_IPC_CHANNEL_H_
#define WORKLOADS_SYSTEM_IPC_CHANNEL_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace sesame::workload {

enum class Transport { kPipe, kUnix, kTcp };

// The child answers until the channel is destroyed. Every failure of the system throws
// std::system_error with what was tried.
class Channel {
 public:
  // Messages have up to `most` bytes.
  Channel(Transport transport, int most);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The time of `count` messages of `size` bytes to the child and its answer of one byte, s.
  double stream(int size, int count);
  // Half the mean time of `count` round trips, s.
  double half_round_trip(int size, int count);

  // Bytes that came back other than they were sent.
  long damaged() const { return damaged_; }

 private:
  pid_t child_ = -1;
  int in_ = -1, out_ = -1;
  long damaged_ = 0;
  std::vector<char> data_, answer_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_SYSTEM_IPC_CHANNEL_H_
