#include "core/storage/analytic.h"

#include <algorithm>

#include "core/storage/file_table.h"
#include "core/storage/layout.h"
#include "core/storage/metadata.h"

namespace sesame::storage {
namespace {

// Calls a completion at its time and deletes itself.
struct CompletionEvent : pdes::ConditionalEvent {
  void fire() override {
    Completion& waiter = *completion;
    const SimTime at = time();
    delete this;
    waiter.done(at);
  }
  Completion* completion = nullptr;
};

class AnalyticFileSystem : public FileSystem {
 public:
  AnalyticFileSystem(const machine::StorageParameters& parameters, pdes::EventQueue& events)
      : parameters_(parameters),
        layouts_(parameters),
        events_(events),
        metadata_(parameters.metadata, files_),
        free_(layouts_.usual().ionodes()),
        ionodes_(free_.size()) {}

  FileId find_file(const std::string& name) override {
    const FileId file = files_.find(name);
    layouts_.add(file);
    return file;
  }
  void release_name(const std::string& name) override { files_.release_name(name); }

  void access(SimTime now, const Access& access, Completion& completion) override {
    schedule_completion(serve(now, access), completion);
  }

  void access_directed(SimTime now, std::span<const Access> accesses,
                       Completion& completion) override {
    SimTime end = now;
    for (const Access& access : accesses) end = later(end, serve(now, access));
    schedule_completion(end, completion);
  }

  void metadata(SimTime now, MetadataCall call, FileId file, const Client& client,
                Completion& completion) override {
    const SimTime end = metadata_.serve(now, call, file, client.node);
    files_.totals(file).metadata_time += elapsed(now, end);
    schedule_completion(end, completion);
  }

  void flush(SimTime now, FileId, const Client&, Completion& completion) override {
    schedule_completion(now, completion);
  }

  bool resize(FileId file, uint64_t bytes) override {
    if (!files_.has_space(file, bytes, parameters_.capacity)) {
      ++refused_;
      return false;
    }
    files_.set_size(file, bytes);
    return true;
  }
  void remove(FileId file) override { resize(file, 0); }
  void mark_existing_contents(FileId) override {}
  void drop(FileId, int, uint64_t, uint64_t) override {}

  void set_striping(FileId file, const Striping& striping) override {
    if (!files_.had_data(file)) layouts_.set(file, striping);
  }
  std::optional<Striping> striping(FileId file) const override {
    if (parameters_.ionodes == 0) return std::nullopt;
    return layouts_.of(file).striping();
  }

  Statistics statistics() const override { return {files_.statistics(), ionodes_, {}, refused_}; }

 private:
  // Returns when the last I/O node has served its share of the last element.
  SimTime serve(SimTime now, const Access& access) {
    files_.count(access);
    const bool reads = access.direction == Direction::kRead;
    const Layout& layout = layouts_.of(access.file);
    SimTime end = now;
    for (const Extent& extent : access.extents) {
      layout.cut(extent, [&](const CellRange& range) {
        const uint32_t node = layout.ionode_of(range.cell);
        IonodeStatistics& ionode = ionodes_[node];
        ++ionode.requests;
        (reads ? ionode.bytes_read : ionode.bytes_written) += range.bytes;
        const SimTime service =
            parameters_.analytic_latency +
            SimTime::from_seconds(static_cast<double>(range.bytes) / parameters_.analytic_bandwidth)
                .due_to(parameters_.analytic_key);
        ionode.busy += service;
        free_[node] = later(now, free_[node]) + service;
        end = later(end, free_[node]);
      });
    }
    FileStatistics& file = files_.totals(access.file);
    (reads ? file.read_time : file.write_time) += elapsed(now, end);
    return end;
  }

  void schedule_completion(SimTime at, Completion& completion) {
    auto* event = new CompletionEvent;
    event->completion = &completion;
    events_.schedule(*event, at);
  }

  machine::StorageParameters parameters_;
  Layouts layouts_;
  pdes::EventQueue& events_;
  FileTable files_;
  MetadataServer metadata_;
  std::vector<SimTime> free_;  // by I/O node: when it has served all requests so far
  std::vector<IonodeStatistics> ionodes_;
  uint64_t refused_ = 0;
};

}  // namespace

std::unique_ptr<FileSystem> make_analytic(const machine::StorageParameters& parameters,
                                          pdes::EventQueue& events) {
  return std::make_unique<AnalyticFileSystem>(parameters, events);
}

}  // namespace sesame::storage
