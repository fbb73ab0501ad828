#include "core/storage/analytic.h"

#include <unordered_map>

namespace sesame::storage {
namespace {

// Tells a completion when its time has come, then is gone.
struct Announcement : pdes::ConditionalEvent {
  void fire() override {
    Completion& told = *completion;
    const SimTime at = time();
    delete this;
    told.done(at);
  }
  Completion* completion = nullptr;
};

class Analytic : public FileSystem {
 public:
  Analytic(const machine::StorageParameters& parameters, pdes::EventQueue& events)
      : parameters_(parameters),
        events_(events),
        free_(static_cast<size_t>(parameters.ionodes)),
        ionodes_(free_.size()) {}

  FileId find_file(const std::string& name) override {
    const auto [found, is_new] = by_name_.try_emplace(name, static_cast<FileId>(files_.size()));
    if (is_new) files_.push_back({.name = name});
    return found->second;
  }

  void access(SimTime now, const Access& access, Completion& completion) override {
    FileStatistics& file = files_[static_cast<size_t>(access.file)];
    SimTime end = now;
    for (const Extent& extent : access.extents) end = later(end, serve(now, access, extent));
    const bool reads = access.direction == Direction::kRead;
    (reads ? file.read_time : file.write_time) += end - now;
    announce(end, completion);
  }

  void access_directed(SimTime now, std::span<const Access> accesses,
                       Completion& completion) override {
    SimTime end = now;
    for (const Access& access : accesses)
      for (const Extent& extent : access.extents) end = later(end, serve(now, access, extent));
    announce(end, completion);
  }

  void metadata(SimTime now, MetadataCall call, FileId file, const Client&,
                Completion& completion) override {
    FileStatistics& totals = files_[static_cast<size_t>(file)];
    if (call == MetadataCall::kOpen || call == MetadataCall::kCreate) ++totals.opens;
    const SimTime cost = cost_of(call);
    totals.metadata_time += cost;
    announce(now + cost, completion);
  }

  void flush(SimTime now, FileId, const Client&, Completion& completion) override {
    announce(now, completion);
  }

  bool resize(FileId file, uint64_t bytes) override {
    uint64_t& size = sizes_[file];
    if (parameters_.capacity != 0 && used_ - size + bytes > parameters_.capacity) return false;
    used_ += bytes - size;
    size = bytes;
    return true;
  }
  void remove(FileId file) override { resize(file, 0); }

  Statistics statistics() const override { return {files_, ionodes_, {}}; }

 private:
  SimTime serve(SimTime now, const Access& access, const Extent& extent) {
    const bool reads = access.direction == Direction::kRead;
    FileStatistics& file = files_[static_cast<size_t>(access.file)];
    ++(reads ? file.reads : file.writes);
    (reads ? file.bytes_read : file.bytes_written) += extent.bytes;
    const size_t node = extent.offset / parameters_.stripe % free_.size();
    IonodeStatistics& ionode = ionodes_[node];
    ++ionode.requests;
    (reads ? ionode.bytes_read : ionode.bytes_written) += extent.bytes;
    const SimTime service =
        parameters_.analytic_latency +
        SimTime::from_seconds(static_cast<double>(extent.bytes) / parameters_.analytic_bandwidth);
    ionode.busy += service;
    return free_[node] = later(now, free_[node]) + service;
  }

  SimTime cost_of(MetadataCall call) const {
    const machine::MetadataParameters& costs = parameters_.metadata;
    switch (call) {
      case MetadataCall::kOpen:
        return costs.open;
      case MetadataCall::kCreate:
        return costs.open + costs.create;
      case MetadataCall::kClose:
        return costs.close;
      case MetadataCall::kStat:
        return costs.stat;
      case MetadataCall::kRemove:
        return costs.remove;
    }
    return {};
  }

  void announce(SimTime at, Completion& completion) {
    auto* event = new Announcement;
    event->completion = &completion;
    events_.schedule(*event, at);
  }

  machine::StorageParameters parameters_;
  pdes::EventQueue& events_;
  std::vector<SimTime> free_;  // by I/O node: when it has served what it was given
  std::vector<FileStatistics> files_;
  std::vector<IonodeStatistics> ionodes_;
  std::unordered_map<std::string, FileId> by_name_;
  std::unordered_map<FileId, uint64_t> sizes_;
  uint64_t used_ = 0;
};

}  // namespace

std::unique_ptr<FileSystem> make_analytic(const machine::StorageParameters& parameters,
                                          const network::Network&, pdes::EventQueue& events) {
  return std::make_unique<Analytic>(parameters, events);
}

}  // namespace sesame::storage
