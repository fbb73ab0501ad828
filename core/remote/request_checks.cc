#include "core/remote/request_checks.h"

#include <csignal>
#include <cstring>

#include "core/mpi/call_ids.h"
#include "core/mpi/messages/world.h"
#include "core/remote/messages.h"

namespace sesame::remote {

void fail_damaged(const char* what) {
  const mpi::Rank& rank = mpi::this_rank();
  rank.world.hooks.abort_job(128 + SIGSEGV,
                             rank.name() + " has damaged the memory of its calls: " + what);
  __builtin_unreachable();
}

extern "C" void sesame_message_is_damaged(const char* what) { fail_damaged(what); }

namespace {

void check(const Header& header) {
  expect(header.kind <= static_cast<uint16_t>(RequestKind::kFiles), "there is no such request");
  expect(header.scope < mpi::kCallIds, "there is no such call of MPI");
  expect(is_time(header.computed_ps) && is_time(header.clock_ps), "a time is out of range");
}

}  // namespace

Header checked_header(const Slot& slot) {
  const Header header = slot.header;
  expect(header.bytes <= kMessageBytes, "a request is too long");
  check(header);
  return header;
}

Header checked_deferred_header(const char* at, size_t left) {
  Header header{};
  expect(left >= sizeof header, "a deferred call has no end");
  std::memcpy(&header, at, sizeof header);
  expect(header.bytes <= left - sizeof header, "a deferred call has no end");
  check(header);
  return header;
}

}  // namespace sesame::remote
