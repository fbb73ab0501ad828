// The replayer:
//   sesame-replayer PLAN RESULT [TRANSPORT]  plays a plan; with a transport library it is one of
//                                            several processes
//   sesame-replayer --calls                  lists the calls that it can issue, one on each line
// Exit status: 0 when the replay is complete, 3 when an operation ended it, 2 for wrong input.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstring>

#include "core/replay/player.h"

namespace {

using sesame::replay::Plan;
using sesame::replay::Transport;

constexpr int kWrongInput = 2;
constexpr int kIncomplete = 3;

int refuse(const sesame::Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return kWrongInput;
}

int print_calls() {
  for (const char* name : sesame::replay::call_names()) std::puts(name);
  return 0;
}

int play(const Plan& plan, Transport& transport, const char* result_path) {
  sesame::replay::Player player(plan, transport);
  auto result = player.play();
  if (!result) return refuse(result.error());
  const std::string all = transport.gather(result->bytes());
  if (plan.header().process == 0) {
    if (auto written = sesame::replay::write_file(result_path, all); !written) {
      return refuse(written.error());
    }
  }
  return result->header.failed_operation >= 0 ? kIncomplete : 0;
}

int replay(const char* plan_path, const char* result_path, const char* library) {
  // The parent process removes the files; without it this process must not continue to write.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  auto plan = Plan::open(plan_path);
  if (!plan) return refuse(plan.error());
  if (library == nullptr) return play(*plan, *sesame::replay::no_transport(), result_path);
  const auto& head = plan->header();
  auto transport = sesame::replay::load_transport(library, head.process, head.processes);
  if (!transport) return refuse(transport.error());
  return play(*plan, **transport, result_path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--calls") == 0) return print_calls();
  if (argc == 3 || argc == 4) return replay(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
  std::fprintf(stderr, "usage: %s PLAN RESULT [TRANSPORT] | --calls\n", argv[0]);
  return kWrongInput;
}
