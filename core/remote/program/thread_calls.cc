// Threads that the program creates join the rank's team and know at which simulated time they
// began; one that joins another has waited for it.
#include <dlfcn.h>
#include <pthread.h>

#include <memory>

#include "core/remote/program/callers.h"
#include "core/remote/program/connection.h"
#include "core/remote/program/team.h"

namespace sesame::remote {
namespace {

struct Start {
  void* (*function)(void*);
  void* argument;
  int64_t clock_ps;
};

void* run_thread(void* given) {
  const Start start = *std::unique_ptr<Start>(static_cast<Start*>(given));
  start_clock(start.clock_ps);
  join_team();
  return start.function(start.argument);
}

}  // namespace
}  // namespace sesame::remote

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
    void* argument) noexcept {
  using namespace sesame::remote;
  static const auto real =
      reinterpret_cast<decltype(&::pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  sesame_rank_count_thread();
  auto* const start = new Start{function, argument, clock_for_new_thread()};
  const int error = real(thread, attributes, run_thread, start);
  if (error != 0) delete start;
  return error;
}

extern "C" __attribute__((visibility("default"))) int pthread_join(pthread_t thread,
                                                                   void** result) {
  using namespace sesame::remote;
  static const auto real =
      reinterpret_cast<decltype(&::pthread_join)>(dlsym(RTLD_NEXT, "pthread_join"));
  const int error = real(thread, result);
  if (Caller* const caller = this_caller()) caller->has_joined = true;
  return error;
}
