// The metadata service: one server that serves one call after the other.
#pragma once

#include "core/storage/file_table.h"

namespace sesame::storage {

class MetadataServer {
 public:
  MetadataServer(const machine::MetadataParameters& costs, FileTable& files)
      : costs_(costs), files_(files) {}

  // A call reaches the server; when the answer leaves. Calls come in order of time.
  SimTime serve(SimTime now, MetadataCall call, FileId file, int node);

 private:
  SimTime cost_of(MetadataCall call, FileId file, int node);

  machine::MetadataParameters costs_;
  FileTable& files_;
  SimTime free_;
};

}  // namespace sesame::storage
