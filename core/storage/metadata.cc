#include "core/storage/metadata.h"

namespace sesame::storage {

SimTime MetadataServer::serve(SimTime now, MetadataCall call, FileId file, int node) {
  return free_ = later(now, free_) + cost_of(call, file, node);
}

SimTime MetadataServer::cost_of(MetadataCall call, FileId file, int node) {
  switch (call) {
    case MetadataCall::kOpen:
    case MetadataCall::kCreate: {
      ++files_.totals(file).opens;
      const SimTime shared = costs_.open_per_node * files_.open_on(file, node);
      return costs_.open + shared + (call == MetadataCall::kCreate ? costs_.create : SimTime());
    }
    case MetadataCall::kClose:
      files_.close_on(file, node);
      return costs_.close;
    case MetadataCall::kStat:
      return costs_.stat;
    case MetadataCall::kRemove:
      return costs_.remove;
  }
  return {};
}

}  // namespace sesame::storage
