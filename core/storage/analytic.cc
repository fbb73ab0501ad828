#include "core/storage/analytic.h"

#include <algorithm>

#include "core/storage/file_table.h"
#include "core/storage/layout.h"
#include "core/storage/metadata.h"

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
  Analytic(const machine::StorageParameters& parameters, const Layout& layout,
           pdes::EventQueue& events)
      : parameters_(parameters),
        layout_(layout),
        events_(events),
        metadata_(parameters.metadata, files_),
        free_(layout.ionodes()),
        ionodes_(free_.size()) {}

  FileId find_file(const std::string& name) override { return files_.find(name); }

  void access(SimTime now, const Access& access, Completion& completion) override {
    announce(serve(now, access), completion);
  }

  void access_directed(SimTime now, std::span<const Access> accesses,
                       Completion& completion) override {
    SimTime end = now;
    for (const Access& access : accesses) end = later(end, serve(now, access));
    announce(end, completion);
  }

  void metadata(SimTime now, MetadataCall call, FileId file, const Client& client,
                Completion& completion) override {
    const SimTime end = metadata_.serve(now, call, file, client.node);
    files_.totals(file).metadata_time += end - now;
    announce(end, completion);
  }

  void flush(SimTime now, FileId, const Client&, Completion& completion) override {
    announce(now, completion);
  }

  bool resize(FileId file, uint64_t bytes) override {
    const uint64_t before = files_.size(file);
    const uint64_t capacity = parameters_.capacity;
    if (bytes > before && capacity != 0 && files_.used() - before + bytes > capacity) return false;
    files_.set_size(file, bytes);
    return true;
  }
  void remove(FileId file) override { resize(file, 0); }
  void note_contents(FileId) override {}
  void drop(FileId, int, uint64_t, uint64_t) override {}

  Statistics statistics() const override { return {files_.statistics(), ionodes_, {}}; }

 private:
  // When the last I/O node has served its part of the last element.
  SimTime serve(SimTime now, const Access& access) {
    files_.count(access);
    const bool reads = access.direction == Direction::kRead;
    SimTime end = now;
    for (const Extent& extent : access.extents) {
      layout_.cut(extent, [&](const CellRange& range) {
        const uint32_t node = layout_.ionode_of(access.file, range.cell);
        IonodeStatistics& ionode = ionodes_[node];
        ++ionode.requests;
        (reads ? ionode.bytes_read : ionode.bytes_written) += range.bytes;
        const SimTime service =
            parameters_.analytic_latency + SimTime::from_seconds(static_cast<double>(range.bytes) /
                                                                 parameters_.analytic_bandwidth);
        ionode.busy += service;
        free_[node] = later(now, free_[node]) + service;
        end = later(end, free_[node]);
      });
    }
    FileStatistics& file = files_.totals(access.file);
    (reads ? file.read_time : file.write_time) += end - now;
    return end;
  }

  void announce(SimTime at, Completion& completion) {
    auto* event = new Announcement;
    event->completion = &completion;
    events_.schedule(*event, at);
  }

  machine::StorageParameters parameters_;
  Layout layout_;
  pdes::EventQueue& events_;
  FileTable files_;
  MetadataServer metadata_;
  std::vector<SimTime> free_;  // by I/O node: when it has served what it was given
  std::vector<IonodeStatistics> ionodes_;
};

}  // namespace

Result<std::unique_ptr<FileSystem>> make_analytic(const machine::StorageParameters& parameters,
                                                  pdes::EventQueue& events) {
  auto layout = Layout::create(parameters);
  if (!layout) return std::unexpected(layout.error());
  return std::make_unique<Analytic>(parameters, *layout, events);
}

}  // namespace sesame::storage
