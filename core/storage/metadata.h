// MetadataServer: the time of metadata calls (open, close, stat, …) of one simulated file system.
// It serves one call at a time, in the order of arrival.
//
// Use: the file system model makes one, with its costs and its files; `files` must outlive it. For
// each call, serve() returns the simulated time at which the reply leaves; the model adds the
// network. It also counts who has the file open, for the cost of a shared open. It does not decide
// whether a call succeeds: the host's file does. Simulation thread only.
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
