#include "core/mpi/rma/remote_windows.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/base/check.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {
namespace {

struct ExposureFrame {
  int rank;
  size_t ranks;  // of the window
  char* base;
  Aint size;
  Aint displacement_unit;
};

struct RegionFrame {
  int rank;
  Region region;
};

struct LockFrame {
  explicit LockFrame(const LockDelivery& delivery, uint32_t number)
      : target(delivery.target),
        claim(delivery.claim),
        arrival(delivery.arrival),
        reply_latency(delivery.reply_latency),
        order(number) {}
  LockFrame() = default;

  int target = 0;
  LockQueue::Claim claim{};
  FrameTime arrival;
  FrameTime reply_latency;
  uint32_t order = 0;
};

struct GrantFrame {
  WindowObject* origin;
  FrameTime arrival;
};

template <typename T>
std::span<const char> bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// The first bytes of a frame. They are copied, since frames are not aligned.
template <typename T>
T read(std::span<const char> frame) {
  static_assert(std::is_trivially_copyable_v<T>);
  CHECK(frame.size() >= sizeof(T));
  T value;
  std::memcpy(static_cast<void*>(&value), frame.data(), sizeof value);
  return value;
}

}  // namespace

struct RemoteWindows::Head {
  Kind kind;
  uint32_t context;
  int first;
};

RemoteWindows::RemoteWindows(World& world, const Receivers& receivers)
    : world_(world), receivers_(receivers) {
  world.remote->take_with(RemoteRanks::Module::kWindows,
                          [this](std::span<const char> frame) { take(frame); });
}

std::shared_ptr<SharedWindow> RemoteWindows::find(const Key& key) const {
  const auto found = windows_.find(key);
  return found == windows_.end() ? nullptr : found->second.window.lock();
}

std::shared_ptr<SharedWindow> RemoteWindows::find_or_make(const Key& key, size_t ranks) {
  if (auto known = find(key)) return known;
  auto window = std::make_shared<SharedWindow>();
  std::tie(window->context, window->first) = key;
  window->exposures.resize(ranks);
  window->memory.resize(ranks);
  windows_[key] = {window, window};
  return window;
}

std::shared_ptr<SharedWindow> RemoteWindows::share(const MembersRef& members, uint32_t context,
                                                   int flavor) {
  std::erase_if(windows_, [](const auto& entry) { return entry.second.window.expired(); });
  const Key key(context, (*members)[0]);
  auto window = find_or_make(key, static_cast<size_t>(members->size()));
  windows_[key].early = nullptr;
  if (window->members != nullptr) return window;
  window->flavor = flavor;
  window->members = members;
  std::set<int> workers;
  for (const int rank : members->world_ranks()) {
    if (!world_.is_here(rank) && workers.insert(world_.remote->worker_of(rank)).second)
      window->of_other_workers.push_back(rank);
  }
  return window;
}

template <typename Frame>
void RemoteWindows::post(int target, Kind kind, const SharedWindow* window, const Frame& frame,
                         std::span<const char> data) {
  const Head head{kind, window != nullptr ? window->context : 0,
                  window != nullptr ? window->first : 0};
  std::string body(reinterpret_cast<const char*>(&frame), sizeof frame);
  body.append(data.data(), data.size());
  world_.remote->post(RemoteRanks::Module::kWindows, target, bytes_of(head), body);
}

void RemoteWindows::announce(const SharedWindow& window, int rank) {
  const Exposure& mine = window.exposures[static_cast<size_t>(rank)];
  const ExposureFrame frame{rank, window.exposures.size(), mine.base, mine.size,
                            mine.displacement_unit};
  for (const int other : window.of_other_workers) post(other, Kind::kExposure, &window, frame);
}

void RemoteWindows::announce(const SharedWindow& window, int rank, const Region& region,
                             bool is_attached) {
  const Kind kind = is_attached ? Kind::kAttached : Kind::kDetached;
  for (const int other : window.of_other_workers)
    post(other, kind, &window, RegionFrame{rank, region});
}

void RemoteWindows::request(const SharedWindow& window, const OperationFrame& frame,
                            std::string ranges_and_data) {
  post((*window.members)[frame.target], Kind::kOperation, &window, frame, ranges_and_data);
}

void RemoteWindows::request(const SharedWindow& window, const LockDelivery& delivery,
                            uint32_t order) {
  post((*window.members)[delivery.target], Kind::kLock, &window, LockFrame{delivery, order});
}

void RemoteWindows::answer(int origin_world_rank, const ReplyFrame& frame,
                           std::span<const char> data) {
  post(origin_world_rank, Kind::kReply, nullptr, frame, data);
}

void RemoteWindows::grant(const LockQueue::Claim& claim, SimTime arrival) {
  post(claim.rank, Kind::kGrant, nullptr, GrantFrame{claim.origin, arrival});
}

void RemoteWindows::take_exposure(const Key& key, std::span<const char> bytes) {
  const auto frame = read<ExposureFrame>(bytes);
  Exposure& exposure = find_or_make(key, frame.ranks)->exposures[static_cast<size_t>(frame.rank)];
  exposure.base = frame.base;
  exposure.size = frame.size;
  exposure.displacement_unit = frame.displacement_unit;
}

// What comes for a window that all ranks of this worker have freed has no effect.
void RemoteWindows::take(std::span<const char> bytes) {
  const auto head = read<Head>(bytes);
  bytes = bytes.subspan(sizeof head);
  const Key key(head.context, head.first);
  if (head.kind == Kind::kExposure) return take_exposure(key, bytes);
  if (head.kind == Kind::kGrant) {
    const auto frame = read<GrantFrame>(bytes);
    return receivers_.grant(*frame.origin, frame.arrival);
  }
  if (head.kind == Kind::kReply) {
    const auto frame = read<ReplyFrame>(bytes);
    return receivers_.reply(frame, bytes.subspan(sizeof frame));
  }
  const std::shared_ptr<SharedWindow> window = find(key);
  if (window == nullptr) return;
  if (head.kind == Kind::kOperation) {
    const auto frame = read<OperationFrame>(bytes);
    return receivers_.operation(world_, window, frame, bytes.subspan(sizeof frame));
  }
  if (head.kind == Kind::kLock) {
    const auto frame = read<LockFrame>(bytes);
    return receivers_.lock(world_, window,
                           {frame.arrival, frame.target, frame.claim, frame.reply_latency},
                           frame.order);
  }
  const auto frame = read<RegionFrame>(bytes);
  std::vector<Region>& attached = window->exposures[static_cast<size_t>(frame.rank)].attached;
  if (head.kind == Kind::kAttached) return attached.push_back(frame.region);
  std::erase_if(attached, [&](const Region& region) { return region.base == frame.region.base; });
}

}  // namespace sesame::mpi
