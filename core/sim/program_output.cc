#include "core/sim/program_output.h"

#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include "core/loader/loader.h"

namespace sesame::sim {
namespace {

struct Output {
  bool label = false;
  bool stdout_to_stderr = false;
  std::map<std::pair<int, int>, std::string> unfinished;  // (rank, descriptor): a line's beginning
};

Output& output() {
  static Output instance;
  return instance;
}

void write_fully(int descriptor, const char* data, size_t size) {
  const int target = descriptor == 1 && output().stdout_to_stderr ? 2 : descriptor;
  while (size > 0) {
    const ssize_t written = write(target, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return;  // no reader, or the disk is full: as for a real program, its output is lost
    data += written;
    size -= static_cast<size_t>(written);
  }
}

}  // namespace

void configure_program_output(bool label, bool stdout_to_stderr) {
  output().label = label;
  output().stdout_to_stderr = stdout_to_stderr;
}

void write_program_output(int rank, int descriptor, const char* data, size_t size) {
  const loader::HostScope host;
  if (!output().label) {
    write_fully(descriptor, data, size);
    return;
  }
  std::string& line = output().unfinished[{rank, descriptor}];
  const std::string prefix = "[" + std::to_string(rank) + "] ";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    line += data[i];
    if (data[i] != '\n') continue;
    text += prefix + line;
    line.clear();
  }
  write_fully(descriptor, text.data(), text.size());
}

void flush_program_output() {
  for (auto& [where, line] : output().unfinished) {
    if (line.empty()) continue;
    const std::string text = "[" + std::to_string(where.first) + "] " + line + "\n";
    write_fully(where.second, text.data(), text.size());
  }
  output().unfinished.clear();
}

}  // namespace sesame::sim
