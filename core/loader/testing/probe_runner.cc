#include "core/loader/testing/probe_runner.h"

#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>

namespace sesame::loader {

RunResult run_command(const std::string& command) {
  RunResult result;
  FILE* pipe = popen(("( " + command + " ) 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  size_t count;
  while ((count = fread(buffer, 1, sizeof buffer, pipe)) > 0) result.text.append(buffer, count);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string program_path(const std::string& name) {
  return std::string(SESAME_LOADER_PROGRAMS) + "/" + name;
}

RunResult run_probe(const std::string& options, const std::string& program,
                    const std::string& arguments, const std::string& input) {
  return run_command("printf '" + input + "' | " SESAME_LOADER_PROBE " " + options + " " +
                     program_path(program) + " " + arguments);
}

std::string output_of(const RunResult& result, int rank, int fd) {
  const std::string title =
      "== rank " + std::to_string(rank) + ", " + (fd == 1 ? "stdout" : "stderr") + "\n";
  const size_t begin = result.text.find(title);
  if (begin == std::string::npos) return {};
  const size_t from = begin + title.size();
  const size_t end =
      std::min(result.text.find("== rank ", from), result.text.find("== job ", from));
  return result.text.substr(from, end - from);
}

int status_of(const RunResult& result, int rank) {
  const std::string title = "== rank " + std::to_string(rank) + " ended with ";
  const size_t begin = result.text.find(title);
  return begin == std::string::npos ? -1 : std::stoi(result.text.substr(begin + title.size()));
}

}  // namespace sesame::loader
