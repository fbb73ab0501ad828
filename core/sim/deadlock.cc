#include "core/sim/deadlock.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/mpi/call_ids.h"
#include "core/mpi/communicators/connection.h"
#include "core/mpi/rma/window.h"

namespace sesame::sim {
namespace {

using mpi::RequestObject;
using mpi::Strand;

constexpr size_t kMostListed = 16;

const char* name_of(uint16_t call) { return mpi::call_name(static_cast<mpi::CallId>(call)); }

// The world rank that must act for the request to complete, or -1.
int waited_for(const RequestObject* request) {
  if (request == nullptr || request->peer < 0 || request->comm == nullptr) return -1;
  if (request->comm->window != nullptr) return rank_waited_for(*request->comm->window, *request);
  return (*request->comm->remote)[request->peer];
}

int lock_waited_for(const RequestObject* request) {
  if (request == nullptr || request->comm == nullptr || request->comm->window == nullptr) return -1;
  return lock_waited_for(*request->comm->window, *request);
}

std::string describe(const mpi::Rank& rank, const RequestObject* request) {
  if (request == nullptr) return "";
  if (std::string text = describe_connection(rank, *request); !text.empty()) return text;
  if (request->comm != nullptr && request->comm->window != nullptr) {
    return describe_wait(*request->comm->window, *request);
  }
  using Kind = RequestObject::Kind;
  const bool internal = request->comm != nullptr && request->context != request->comm->context;
  std::string text;
  switch (request->kind) {
    case Kind::kSend:
      text = " waits for rank " + std::to_string(waited_for(request)) + " to receive";
      break;
    case Kind::kReceive:
      text = request->peer == mpi::MPI_ANY_SOURCE
                 ? " waits for a message from any rank"
                 : " waits for a message from rank " + std::to_string(waited_for(request));
      break;
    case Kind::kCollective:
      if (request->extra != nullptr && request->extra->file != nullptr) {
        return " waits for a non-blocking or split operation on a file";
      }
      return " waits for a non-blocking collective";
    case Kind::kRemote:
      return " waits for a one-sided operation";
    case Kind::kGeneralized:
      return " waits for a generalized request without MPI_Grequest_complete";
  }
  if (internal) {
    const std::string& on = request->comm->name;
    return text + " in the collective" + (on.empty() ? "" : " on " + on);
  }
  if (request->tag != mpi::MPI_ANY_TAG) text += " with tag " + std::to_string(request->tag);
  return text;
}

// If the rank has ended, says so: it will not act any more.
std::string describe_end(const mpi::Rank& rank) {
  if (!rank.main.ended) return "";
  return "; rank " + std::to_string(rank.id) + " has ended" +
         (rank.initialized && !rank.finalized ? " without calling MPI_Finalize" : "");
}

// Names ranks that wait for each other in a circle, if there are any.
std::string describe_circle(const mpi::World& world, const std::vector<BlockedRank>& blocked) {
  const size_t count = world.ranks.size();
  std::vector<int> waits_for(count, -1);
  for (const BlockedRank& rank : blocked)
    waits_for[static_cast<size_t>(rank.rank)] = rank.waited_for;
  std::vector<int> seen(count, -1);
  for (size_t start = 0; start < count; ++start) {
    int at = static_cast<int>(start);
    std::vector<int> path;
    while (at >= 0 && !world.ranks[static_cast<size_t>(at)]->main.ended &&
           seen[static_cast<size_t>(at)] < 0) {
      seen[static_cast<size_t>(at)] = static_cast<int>(start);
      path.push_back(at);
      at = waits_for[static_cast<size_t>(at)];
    }
    const auto circle = std::find(path.begin(), path.end(), at);
    if (circle == path.end()) continue;
    if (path.end() - circle > static_cast<ptrdiff_t>(kMostListed)) {
      return "\n  " + std::to_string(path.end() - circle) +
             " ranks wait for each other in a circle";
    }
    std::string text = "\n  in a circle: ";
    for (auto rank = circle; rank != path.end(); ++rank) text += std::to_string(*rank) + " -> ";
    return text + std::to_string(*circle);
  }
  return "";
}

}  // namespace

std::optional<BlockedRank> describe_blocked(const mpi::Rank& rank) {
  if (rank.main.ended) return {};
  const Strand& strand = rank.main;
  const RequestObject* request = strand.waiting_request;
  const Strand* helper = nullptr;
  for (const auto& busy : rank.world.busy_strands()) {
    if (busy->rank == &rank) helper = busy.get();
  }
  const bool in_helper =
      request != nullptr && request->kind == RequestObject::Kind::kCollective && helper != nullptr;
  return BlockedRank{rank.id,
                     std::string(strand.call_depth > 0 ? name_of(strand.call) : "its program") +
                         describe(rank, request),
                     waited_for(request), lock_waited_for(request),
                     in_helper ? ", which" + describe(rank, helper->waiting_request) : ""};
}

std::vector<BlockedRank> find_blocked(const mpi::World& world) {
  std::vector<BlockedRank> blocked;
  for (const auto& rank : world.ranks)
    if (auto described = describe_blocked(*rank)) blocked.push_back(*std::move(described));
  return blocked;
}

std::string explain_deadlock(const mpi::World& world, const std::vector<BlockedRank>& blocked) {
  std::string lines;
  for (const BlockedRank& rank : std::span(blocked).first(std::min(blocked.size(), kMostListed))) {
    lines += "\n  " + world.ranks[static_cast<size_t>(rank.rank)]->name() + " in " + rank.wait;
    if (rank.waited_for >= 0)
      lines += describe_end(*world.ranks[static_cast<size_t>(rank.waited_for)]);
    lines += rank.helper;
  }
  if (blocked.size() > kMostListed)
    lines += "\n  and " + std::to_string(blocked.size() - kMostListed) + " more";
  return "deadlock: " + std::to_string(blocked.size()) + " of " + std::to_string(world.size()) +
         " ranks wait for something that cannot happen" + lines + describe_circle(world, blocked);
}

}  // namespace sesame::sim
