#include "core/storage/full.h"

#include "core/storage/clients.h"
#include "core/storage/directed.h"
#include "core/storage/ionode.h"
#include "core/storage/make_device.h"
#include "core/storage/metadata.h"

namespace sesame::storage {
namespace {

// A metadata call: its message travels to the server, which is at the first I/O node, and back.
struct MetadataRequest final : pdes::ConditionalEvent, Pooled<MetadataRequest> {
  enum class State : uint8_t { kLeaving, kToServer, kAtServer, kToClient, kDone };

  void fire() override {
    const SimTime now = time();
    switch (state) {
      case State::kLeaving:
        state = State::kToServer;
        message = context->links.send_to_ionode(now, client, 0, context->parameters.message_header,
                                                *this);
        return;
      case State::kToServer: {
        const SimTime taken = context->links.receive_at_ionode(now, 0, message.transfer);
        return advance_to(State::kAtServer,
                          server->serve(taken + message.receive_overhead, call, file, client.node));
      }
      case State::kAtServer:
        state = State::kToClient;
        message = context->links.send_from_ionode(now, 0, client,
                                                  context->parameters.message_header, this);
        return;
      case State::kToClient: {
        const SimTime taken = context->links.receive_at_node(now, client.node, message.transfer);
        return advance_to(State::kDone, taken + message.receive_overhead);
      }
      case State::kDone: {
        Completion& waiter = *completion;
        context->files.totals(file).metadata_time += elapsed(start, now);
        delete this;
        waiter.done(now);
      }
    }
  }
  void advance_to(State next, SimTime at) {
    state = next;
    context->events.schedule(*this, at);
  }

  FileSystemContext* context = nullptr;
  MetadataServer* server = nullptr;
  State state = State::kLeaving;
  MetadataCall call{};
  FileId file{};
  Client client;
  Completion* completion = nullptr;
  SimTime start;
  MessageTimes message;
};

class FullFileSystem : public FileSystem {
 public:
  FullFileSystem(const machine::StorageParameters& parameters, const network::Network& network,
                 pdes::EventQueue& events, uint64_t seed, network::Traffic* traffic)
      : context_(parameters, network, traffic, events, seed),
        metadata_(parameters.metadata, context_.files),
        directed_(context_) {}

  FileId find_file(const std::string& name) override {
    const FileId file = context_.files.find(name);
    context_.layouts.add(file);
    return file;
  }
  void release_name(const std::string& name) override { context_.files.release_name(name); }

  void access(SimTime now, const Access& access, Completion& completion) override {
    context_.clients->begin(now, access, completion);
  }
  void access_directed(SimTime now, std::span<const Access> accesses,
                       Completion& completion) override {
    directed_.begin(now, accesses, completion);
    for (const Access& access : accesses)
      if (access.direction == Direction::kWrite) context_.files.extend_contents(access);
  }
  void metadata(SimTime now, MetadataCall call, FileId file, const Client& client,
                Completion& completion) override {
    auto* request = new MetadataRequest;
    request->context = &context_;
    request->server = &metadata_;
    request->call = call;
    request->file = file;
    request->client = client;
    request->completion = &completion;
    request->start = now;
    const SimTime ready = now + context_.parameters.client_overhead;
    request->advance_to(
        MetadataRequest::State::kLeaving,
        context_.links.departure(ready, client.node, 0, context_.parameters.message_header).at);
  }
  void flush(SimTime now, FileId file, const Client& client, Completion& completion) override {
    context_.clients->flush(now, file, client, completion);
  }

  bool resize(FileId file, uint64_t bytes) override {
    const uint64_t before = context_.files.size(file);
    if (!context_.files.has_space(file, bytes, context_.parameters.capacity) ||
        !context_.space.resize(file, before, bytes)) {
      ++refused_;
      return false;
    }
    if (bytes < before) {
      const uint64_t block = context_.parameters.block;
      context_.caches.discard_from(file, (bytes + block - 1) / block);
    }
    context_.files.set_size(file, bytes);
    return true;
  }
  void remove(FileId file) override { resize(file, 0); }
  void mark_existing_contents(FileId file) override {
    context_.files.extend_contents(file, context_.files.size(file));
  }
  void drop(FileId file, int node, uint64_t begin, uint64_t end) override {
    const uint64_t block = context_.parameters.block;
    const bool to_the_end = end >= context_.files.size(file);
    const uint64_t last = to_the_end ? UINT64_MAX : end / block;
    context_.caches.drop_clean(file, node, (begin + block - 1) / block, last);
  }

  void set_striping(FileId file, const Striping& striping) override {
    if (!context_.files.had_data(file)) context_.layouts.set(file, striping);
  }
  std::optional<Striping> striping(FileId file) const override {
    if (context_.links.is_local()) return std::nullopt;
    return context_.layouts.of(file).striping();
  }

  Statistics statistics() const override {
    Statistics all{context_.files.statistics(), {}, context_.caches.statistics_by_node(), refused_};
    for (const auto& ionode : context_.ionodes) all.ionodes.push_back(ionode->statistics());
    return all;
  }

 private:
  FileSystemContext context_;
  MetadataServer metadata_;
  Directed directed_;
  uint64_t refused_ = 0;
};

}  // namespace

FileSystemContext::FileSystemContext(const machine::StorageParameters& given,
                                     const network::Network& network, network::Traffic* traffic,
                                     pdes::EventQueue& queue, uint64_t seed)
    : parameters(given),
      layouts(given),
      links(given, network, traffic, queue),
      caches(given, network, coordinated_blocks(given)),
      policy(make_cache_policy(given)),
      space(given, layouts),
      events(queue),
      clients(std::make_unique<Clients>(*this)) {
  for (uint32_t i = 0; i < layouts.usual().ionodes(); ++i) {
    ionodes.push_back(
        std::make_unique<Ionode>(*this, i, make_device(given.device, queue, seed + i)));
  }
}
FileSystemContext::~FileSystemContext() = default;

std::unique_ptr<FileSystem> make_full(const machine::StorageParameters& parameters,
                                      const network::Network& network, pdes::EventQueue& events,
                                      uint64_t seed, network::Traffic* traffic) {
  return std::make_unique<FullFileSystem>(parameters, network, events, seed, traffic);
}

}  // namespace sesame::storage
