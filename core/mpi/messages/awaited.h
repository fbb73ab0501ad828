// What a blocked strand waits for, so that others can find out which ranks can wake it
// (independence.cc).
//
// Use: a strand that blocks on requests or in a probe keeps an AwaitedScope meanwhile. Nothing is
// owned: the object is on the stack of the strand, which points to it (Strand::awaited). One
// thread.
#pragma once

#include <span>

#include "core/mpi/messages/message.h"
#include "core/mpi/messages/strand.h"

namespace sesame::mpi {

// What a blocked strand waits for: requests, all of them unless Strand::awaits_any, or a message
// for a probe.
struct Awaited {
  std::span<RequestObject* const> requests;
  const Selector* probed = nullptr;
};

// Lets the running strand say what it waits for, until the scope ends. Keeps a pointer to
// `awaited`.
class AwaitedScope {
 public:
  AwaitedScope(Strand& strand, const Awaited& awaited) : strand_(strand) {
    strand.awaited = &awaited;
  }
  ~AwaitedScope() { strand_.awaited = nullptr; }
  AwaitedScope(const AwaitedScope&) = delete;
  AwaitedScope& operator=(const AwaitedScope&) = delete;

 private:
  Strand& strand_;
};

}  // namespace sesame::mpi
