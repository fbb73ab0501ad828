#include "core/remote/program/comm_facts.h"

#include <mutex>
#include <unordered_map>

#include "core/remote/program/requests.h"

namespace sesame::remote {
namespace {

struct KnownComms {
  std::mutex mutex;
  std::unordered_map<Comm, CommFacts> facts;
};
// Exit handlers may call.
KnownComms& known() {
  static auto* const instance = new KnownComms;
  return *instance;
}

}  // namespace

std::optional<CommFacts> facts_of(Comm comm) {
  {
    const std::lock_guard lock(known().mutex);
    const auto found = known().facts.find(comm);
    if (found != known().facts.end()) return found->second;
  }
  CallRequest request(static_cast<uint16_t>(SpecialCall::kDescribeComm));
  request.put(comm);
  const auto size = static_cast<int>(request.query());
  if (size < 0) return std::nullopt;
  const CommFacts facts{size, static_cast<int>(request.get<int64_t>())};
  const std::lock_guard lock(known().mutex);
  return known().facts[comm] = facts;
}

void forget_communicators() {
  const std::lock_guard lock(known().mutex);
  known().facts.clear();
}

}  // namespace sesame::remote
