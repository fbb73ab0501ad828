#include "core/remote/silence.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/mpi/messages/world.h"
#include "core/remote/threads.h"

namespace sesame::remote {
namespace {

constexpr size_t kMostNamed = 8;

std::string describe(const Channel& channel) {
  const mpi::Strand& strand = *channel.strand;
  return strand.rank->name() +
         (any_runs(channel.process) ? " computes" : " waits for something outside of MPI") +
         " since simulated time " + format_duration(strand.now);
}

std::string describe(std::span<Channel* const> channels) {
  std::string text;
  size_t named = 0;
  for (const Channel* channel : channels) {
    if (channel->slot.turn.load() != Turn::kProgram || channel->strand == nullptr) continue;
    if (++named <= kMostNamed) text += (named > 1 ? ", " : "") + describe(*channel);
  }
  if (named > kMostNamed) text += ", and " + std::to_string(named - kMostNamed) + " others";
  return text;
}

}  // namespace

int64_t Silence::look(std::span<Channel* const> awaited) {
  const int64_t now = now_ns_();
  if (began_ns_ == 0) {
    began_ns_ = now;
    due_ns_ = first_ns_;
  }
  const int64_t lasted_ns = now - began_ns_;
  if (lasted_ns >= due_ns_) {
    const std::string text = describe(awaited);
    if (!text.empty())
      std::fprintf(stderr, "sesame: no call of a rank for %.3g s: %s\n",
                   static_cast<double>(lasted_ns) / 1e9, text.c_str());
    while (due_ns_ <= lasted_ns) due_ns_ *= 2;
  }
  return due_ns_ - lasted_ns;
}

}  // namespace sesame::remote
