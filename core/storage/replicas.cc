#include "core/storage/replicas.h"

#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace sesame::storage {
namespace {

enum class Call : uint8_t {
  kMounts,  // not of a file system
  kFind,
  kReleaseName,
  kAccess,
  kMetadata,
  kFlush,
  kResize,
  kRemove,
  kMarkExisting,
  kDrop,
  kSetStriping,
};

}  // namespace

// A request that is not complete, in each worker.
struct Replicas::Request final : Completion {
  // `waiter`: null in workers that do not have the rank.
  Request(pdes::Executive& of_worker, Completion* waiter) : executive(of_worker), waiter(waiter) {
    if (waiter != nullptr) executive.add_model_waits(1);
  }
  // What the rank does now may come before the next event of the models.
  void done(SimTime at) override {
    Completion* waits = waiter;
    executive.end_turn();
    if (waits != nullptr) executive.add_model_waits(-1);
    delete this;
    if (waits != nullptr) waits->done(at);
  }

  pdes::Executive& executive;
  Completion* waiter;
  std::vector<Extent> extents;  // of another worker's access
};

class Replicas::System final : public FileSystem {
 public:
  System(Replicas& replicas, std::unique_ptr<FileSystem> model)
      : replicas_(replicas), model_(std::move(model)), number_(replicas.systems_.size()) {}

  FileId find_file(const std::string& name) override {
    tell(call(Call::kFind).put_text(name));
    return model_->find_file(name);
  }
  void release_name(const std::string& name) override {
    tell(call(Call::kReleaseName).put_text(name));
    model_->release_name(name);
  }
  void access(SimTime now, const Access& access, Completion& completion) override {
    ByteWriter frame = call(Call::kAccess);
    frame.put(now.ps()).put(access.direction).put(access.file).put(access.seeks_each);
    put_client(frame, access.client);
    tell(frame.put_list(access.extents));
    model_->access(now, access, request(&completion));
  }
  // Its callers are replicas themselves.
  void access_directed(SimTime now, std::span<const Access> accesses,
                       Completion& completion) override {
    model_->access_directed(now, accesses, request(&completion));
  }
  void metadata(SimTime now, MetadataCall metadata_call, FileId file, const Client& client,
                Completion& completion) override {
    ByteWriter frame = call(Call::kMetadata);
    put_client(frame.put(now.ps()).put(metadata_call).put(file), client);
    tell(frame);
    model_->metadata(now, metadata_call, file, client, request(&completion));
  }
  void flush(SimTime now, FileId file, const Client& client, Completion& completion) override {
    ByteWriter frame = call(Call::kFlush);
    put_client(frame.put(now.ps()).put(file), client);
    tell(frame);
    model_->flush(now, file, client, request(&completion));
  }
  bool resize(FileId file, uint64_t bytes) override {
    tell(call(Call::kResize).put(file).put(bytes));
    return model_->resize(file, bytes);
  }
  void remove(FileId file) override {
    tell(call(Call::kRemove).put(file));
    model_->remove(file);
  }
  void mark_existing_contents(FileId file) override {
    tell(call(Call::kMarkExisting).put(file));
    model_->mark_existing_contents(file);
  }
  void drop(FileId file, int node, uint64_t begin, uint64_t end) override {
    tell(call(Call::kDrop).put(file).put(node).put(begin).put(end));
    model_->drop(file, node, begin, end);
  }
  Statistics statistics() const override { return model_->statistics(); }
  void set_striping(FileId file, const Striping& striping) override {
    tell(call(Call::kSetStriping)
             .put(file)
             .put(striping.unit)
             .put(striping.factor)
             .put(striping.first.has_value())
             .put(striping.first.value_or(0)));
    model_->set_striping(file, striping);
  }
  std::optional<Striping> striping(FileId file) const override { return model_->striping(file); }

  // A call of another worker.
  void take(Call call, ByteReader& frame);

 private:
  ByteWriter call(Call call) const { return ByteWriter().put(call).put(number_); }
  void tell(const ByteWriter& frame) const { replicas_.tell(frame.bytes()); }
  Request& request(Completion* waiter) const { return *new Request(replicas_.executive_, waiter); }
  static void put_client(ByteWriter& frame, const Client& client) {
    frame.put(client.rank).put(client.node);
    frame.put(client.interface_free == nullptr ? int64_t{-1} : client.interface_free->ps());
  }
  Client take_client(ByteReader& frame) const {
    Client client;
    client.rank = frame.take<int>();
    client.node = frame.take<int>();
    if (const auto free_ps = frame.take<int64_t>(); free_ps >= 0) {
      client.interface_free = replicas_.interface_of_(client.rank);
      *client.interface_free = SimTime::from_ps(free_ps);
    }
    return client;
  }
  void take_access(ByteReader& frame);
  void take_striping(ByteReader& frame);

  Replicas& replicas_;
  std::unique_ptr<FileSystem> model_;
  size_t number_;
};

void Replicas::System::take(Call call, ByteReader& frame) {
  const auto file = [&] { return frame.take<FileId>(); };
  const auto time = [&] { return SimTime::from_ps(frame.take<int64_t>()); };
  switch (call) {
    case Call::kMounts:
      CHECK(false);
    case Call::kFind:
      model_->find_file(frame.take_text());
      return;
    case Call::kReleaseName:
      return model_->release_name(frame.take_text());
    case Call::kAccess:
      return take_access(frame);
    case Call::kMetadata: {
      const SimTime now = time();
      const auto metadata_call = frame.take<MetadataCall>();
      const FileId of = file();
      return model_->metadata(now, metadata_call, of, take_client(frame), request(nullptr));
    }
    case Call::kFlush: {
      const SimTime now = time();
      const FileId of = file();
      return model_->flush(now, of, take_client(frame), request(nullptr));
    }
    case Call::kResize: {
      const FileId of = file();
      model_->resize(of, frame.take<uint64_t>());
      return;
    }
    case Call::kRemove:
      return model_->remove(file());
    case Call::kMarkExisting:
      return model_->mark_existing_contents(file());
    case Call::kDrop: {
      const FileId of = file();
      const int node = frame.take<int>();
      const auto begin = frame.take<uint64_t>();
      return model_->drop(of, node, begin, frame.take<uint64_t>());
    }
    case Call::kSetStriping:
      return take_striping(frame);
  }
}

void Replicas::System::take_access(ByteReader& frame) {
  Access access;
  const SimTime now = SimTime::from_ps(frame.take<int64_t>());
  access.direction = frame.take<Direction>();
  access.file = frame.take<FileId>();
  access.seeks_each = frame.take<bool>();
  access.client = take_client(frame);
  Request& pending = request(nullptr);
  pending.extents = frame.take_list<Extent>();
  access.extents = pending.extents;
  model_->access(now, access, pending);
}

void Replicas::System::take_striping(ByteReader& frame) {
  const auto file = frame.take<FileId>();
  Striping striping;
  striping.unit = frame.take<uint64_t>();
  striping.factor = frame.take<uint32_t>();
  const bool has_first = frame.take<bool>();
  const auto first = frame.take<uint32_t>();
  if (has_first) striping.first = first;
  model_->set_striping(file, striping);
}

std::unique_ptr<FileSystem> Replicas::replicate(std::unique_ptr<FileSystem> system) {
  auto replica = std::make_unique<System>(*this, std::move(system));
  systems_.push_back(replica.get());
  return replica;
}

void Replicas::connect(Mounts& mounts, InterfaceOf interface_of, Tell tell) {
  mounts_ = &mounts;
  interface_of_ = std::move(interface_of);
  tell_ = std::move(tell);
  mounts.tell_changes([this](const MountsChange& change) { tell_change(change); });
}

void Replicas::tell(std::span<const char> frame) {
  if (tell_) tell_(frame);
}

// File systems have the same address in all workers, which are copies of one process.
void Replicas::tell_change(const MountsChange& change) {
  tell(ByteWriter()
           .put(Call::kMounts)
           .put(change.kind)
           .put(change.group)
           .put(change.system_number)
           .put(change.system)
           .put(change.file)
           .put_text(change.name)
           .bytes());
}

void Replicas::take(std::span<const char> bytes) {
  ByteReader frame(bytes);
  const auto call = frame.take<Call>();
  executive_.end_turn();
  if (call != Call::kMounts) return systems_[frame.take<size_t>()]->take(call, frame);
  MountsChange change;
  change.kind = frame.take<MountsChange::Kind>();
  change.group = frame.take<size_t>();
  change.system_number = frame.take<size_t>();
  change.system = frame.take<FileSystem*>();
  change.file = frame.take<FileId>();
  change.name = frame.take_text();
  mounts_->apply(change);
}

}  // namespace sesame::storage
