#include "core/remote/outputs.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace sesame::remote {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

}  // namespace

Outputs::Outputs(WriteOutput write, int wake)
    : write_(write), wake_(wake), thread_([this] { forward(); }) {}

void Outputs::wake() const {
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void Outputs::add(int rank, int descriptor, int pipe) {
  {
    const std::lock_guard lock(mutex_);
    added_.push_back({rank, descriptor, pipe});
  }
  wake();
}

void Outputs::take_added(std::vector<Output>& outputs) {
  uint64_t events = 0;
  (void)!read(wake_, &events, sizeof events);
  const std::lock_guard lock(mutex_);
  outputs.insert(outputs.end(), added_.begin(), added_.end());
  added_.clear();
}

// False: nothing more will come.
bool Outputs::pass_on(const Output& output, std::vector<char>& buffer) const {
  const ssize_t size = read(output.pipe, buffer.data(), buffer.size());
  if (size <= 0) return false;
  write_(output.rank, output.descriptor, buffer.data(), static_cast<size_t>(size));
  return true;
}

void Outputs::forward() {
  std::vector<Output> outputs;
  std::vector<char> buffer(kBufferBytes);
  for (bool is_last = false, any = true; any || !is_last;) {
    std::vector<pollfd> polled;
    for (const Output& output : outputs) polled.push_back({output.pipe, POLLIN, 0});
    polled.push_back({wake_, POLLIN, 0});
    // After the end of the ranks, what their pipes still have, without waiting for children.
    if (poll(polled.data(), polled.size(), is_last ? 0 : -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    any = false;
    std::vector<Output> open;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool has_some = polled[i].revents != 0;
      any |= has_some;
      if (!has_some || pass_on(outputs[i], buffer)) {
        open.push_back(outputs[i]);
      } else {
        close(outputs[i].pipe);
      }
    }
    outputs = std::move(open);
    if (polled.back().revents == 0) continue;
    take_added(outputs);
    is_last = is_ending_;
    any = true;
  }
  for (const Output& output : outputs) close(output.pipe);
}

void Outputs::finish() {
  if (!thread_.joinable()) return;
  is_ending_ = true;
  wake();
  thread_.join();
  close(wake_);
}

}  // namespace sesame::remote
