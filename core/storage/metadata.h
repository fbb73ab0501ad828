// MetadataServer: the file system's metadata service, one server that serves one call at a time.
#pragma once

#include "core/storage/file_table.h"

namespace sesame::storage {

class MetadataServer {
 public:
  MetadataServer(const machine::MetadataParameters& costs, FileTable& files)
      : costs_(costs), files_(files) {}

  // A call arrives at time `now`. Returns when its reply leaves. Calls must be in the order of
  // time.
  SimTime serve(SimTime now, MetadataCall call, FileId file, int node);

 private:
  SimTime cost_of(MetadataCall call, FileId file, int node);

  machine::MetadataParameters costs_;
  FileTable& files_;
  SimTime free_;
};

}  // namespace sesame::storage
