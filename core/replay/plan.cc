#include "core/replay/plan.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sesame::replay {
namespace {

constexpr char kMagic[8] = {'S', 'E', 'S', 'R', 'E', 'P', 'L', 'Y'};

constexpr const char* kNames[] = {
#define SESAME_REPLAY_CALL(name) #name,
#include "core/replay/calls.def"
#undef SESAME_REPLAY_CALL
};

bool within(int32_t index, size_t count) {
  return index == -1 || static_cast<size_t>(index) < count;
}

}  // namespace

std::span<const char* const> call_names() { return kNames; }

Plan::Plan(Plan&& other) noexcept
    : streams(other.streams),
      operations(other.operations),
      events(other.events),
      links(other.links),
      targets(other.targets),
      opened(other.opened),
      files(other.files),
      text(other.text),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_) {}

Plan::~Plan() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

Result<Plan> Plan::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return error_at(path, 0, std::string("cannot read it: ") + std::strerror(errno));
  struct stat status {};
  fstat(fd, &status);
  const auto size = static_cast<size_t>(status.st_size);
  if (size < sizeof(PlanHeader)) {
    close(fd);
    return error_at(path, 0, "this is no plan: it is too short");
  }
  // Every page is read now: a page fault during the replay would make an operation late.
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  close(fd);
  if (data == MAP_FAILED) return error_at(path, 0, "cannot map it into memory");
  Plan plan(static_cast<const std::byte*>(data), size);
  if (auto divided = plan.divide(path); !divided) return std::unexpected(divided.error());
  if (auto checked = plan.check(path); !checked) return std::unexpected(checked.error());
  return plan;
}

Result<> Plan::divide(const std::string& path) {
  const PlanHeader& head = header();
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) {
    return error_at(path, 0, "this is no plan");
  }
  if (head.version != kPlanVersion) {
    return error_at(path, 0,
                    "the plan has version " + std::to_string(head.version) + ", expected " +
                        std::to_string(kPlanVersion));
  }
  size_t at = sizeof(PlanHeader);
  bool fits = true;
  auto take = [&]<typename T>(std::span<const T>* part, uint64_t count) {
    if (!fits || count > (size_ - at) / sizeof(T)) {
      fits = false;
      return;
    }
    *part = {reinterpret_cast<const T*>(data_ + at), count};
    at += count * sizeof(T);
  };
  take(&streams, head.streams);
  take(&operations, head.operations);
  take(&events, head.events);
  take(&opened, head.opened);
  take(&files, head.files);
  take(&links, head.links);
  take(&targets, head.targets);
  take(&text, head.text);
  if (!fits || at != size_) return error_at(path, 0, "the plan is cut off");
  return {};
}

Result<> Plan::check(const std::string& path) const {
  auto wrong = [&](const char* what) { return error_at(path, 0, std::string("wrong ") + what); };
  if (!text.empty() && text.back() != '\0') return wrong("text");
  for (const PlanFile& file : files) {
    if (file.begin >= text.size()) return wrong("file");
  }
  for (const PlanEvent& event : events) {
    if (event.first_target + uint64_t{event.targets} > targets.size()) return wrong("event");
  }
  if (std::ranges::any_of(links, [&](uint32_t link) { return link >= events.size(); })) {
    return wrong("link");
  }
  const uint32_t processes = header().processes;
  if (std::ranges::any_of(targets, [&](uint32_t target) { return target >= processes; })) {
    return wrong("target");
  }
  for (const PlanOpened& file : opened) {
    if (file.table >= header().tables || file.slot >= file.slots) return wrong("open file");
    if (!within(file.file, files.size())) return wrong("open file");
  }
  for (const PlanStream& stream : streams) {
    if (stream.table >= header().tables) return wrong("stream");
    if (stream.first > operations.size() || stream.count > operations.size() - stream.first) {
      return wrong("stream");
    }
    for (const PlanOperation& operation : operations.subspan(stream.first, stream.count)) {
      const uint64_t end = uint64_t{operation.first_link} + operation.arrive + operation.wait +
                           operation.arrive_after;
      if (end > links.size() || static_cast<size_t>(operation.call) >= std::size(kNames) ||
          !within(operation.file, files.size()) || !within(operation.other_file, files.size()) ||
          !within(operation.slot, stream.slots) || !within(operation.other_slot, stream.slots)) {
        return wrong("operation");
      }
    }
  }
  return {};
}

}  // namespace sesame::replay
