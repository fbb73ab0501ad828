#include "core/postprocess/call_traits.h"

#include <algorithm>
#include <cctype>

namespace sesame::postprocess {
namespace {

bool has_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](auto part) { return name.contains(part); });
}

bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

uint32_t mpi_file_traits(std::string_view name) {
  uint32_t traits = 0;
  if (has_any(name, {"write"})) traits |= kWrites;
  if (has_any(name, {"_seek"})) traits |= kSeeks;
  if (name.ends_with("_set_size")) traits |= kTruncates;
  if (name.ends_with("_close")) traits |= kCloses;
  if (name.ends_with("_sync")) traits |= kSyncs;
  if (has_any(name, {"_shared", "_ordered"})) traits |= kSharedPosition;
  if (has_any(name, {"_all", "_ordered"}) && !name.ends_with("_preallocate")) {
    traits |= kFileCollective;
  }
  if (has_any(name, {"_open", "_close", "_set_view", "_set_size", "_preallocate", "_sync",
                     "_set_atomicity", "_set_info", "_seek_shared"})) {
    traits |= kFileCollective;
  }
  if (name.ends_with("_begin")) traits |= kSplitBegin;
  if (name.ends_with("_end")) traits |= kSplitEnd;
  return traits;
}

uint32_t mpi_traits(std::string_view name) {
  if (name.starts_with("MPI_File_")) return mpi_file_traits(name);
  uint32_t traits = kMpi;
  if (has_any(name, {"ecv"})) traits |= kReceives;
  if (name.ends_with("_init") && name != "MPI_Session_init") traits |= kPersistent;
  if (has_any(name, {"Ssend", "Issend"})) traits |= kSynchronous;
  if (has_any(name,
              {"Comm_create_group", "Comm_create_from_group", "Intercomm_create", "Comm_spawn",
               "Comm_accept", "Comm_connect", "Comm_join", "Comm_get_parent"})) {
    traits |= kOverGroup;
  }
  return traits;
}

uint32_t file_traits(std::string_view name) {
  uint32_t traits = 0;
  if (has_any(name, {"write", "put", "printf", "send", "vmsplice", "addmntent", "malloc_info"}))
    traits |= kWrites;
  if (has_any(name, {"seek", "fsetpos", "rewind"})) traits |= kSeeks;
  if (has_any(name, {"truncate"})) traits |= kTruncates;
  if (has_any(name, {"close", "endmntent"})) traits |= kCloses;
  if (has_any(name, {"allocate"})) traits |= kAllocates;
  if (has_any(name, {"sync", "flush"})) traits |= kSyncs;
  if (is_any(name, {"chdir", "fchdir"})) traits |= kChangesDirectory;
  if (is_any(name, {"munmap"})) traits |= kUnmaps;
  if (is_any(name, {"read", "readv", "pread", "preadv", "preadv2", "eventfd_read", "aio_read",
                    "sendfile", "copy_file_range"})) {
    traits |= kKernelReads;
  }
  if (is_any(name, {"write", "writev", "pwrite", "pwritev", "pwritev2", "eventfd_write",
                    "aio_write", "dprintf", "vdprintf", "sendfile", "copy_file_range"})) {
    traits |= kKernelWrites;
  }
  return traits;
}

uint32_t traits_of(std::string_view name) {
  return name.starts_with("MPI_") ? mpi_traits(name) : file_traits(name);
}

// MPI_Isend for MPI_Send_init, MPI_Ibcast for MPI_Bcast_init. A partitioned message counts as one
// message.
std::string started_name(std::string_view name) {
  if (name == "MPI_Psend_init") return "MPI_Isend";
  if (name == "MPI_Precv_init") return "MPI_Irecv";
  std::string what(name.substr(4, name.size() - 4 - std::string_view("_init").size()));
  what[0] = static_cast<char>(std::tolower(what[0]));
  return "MPI_I" + what;
}

}  // namespace

CallTraits::CallTraits(std::vector<std::string> names) : names_(std::move(names)) {
  for (const std::string& name : names_) traits_.push_back(traits_of(name));
  std::vector<uint16_t> started;
  for (uint16_t call = 0; call < names_.size(); ++call) {
    started.push_back(has(call, kPersistent) ? number(started_name(names_[call])) : call);
  }
  started_ = std::move(started);
}

uint16_t CallTraits::number(std::string_view name) {
  auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    names_.emplace_back(name);
    traits_.push_back(traits_of(name));
    return static_cast<uint16_t>(names_.size() - 1);
  }
  return static_cast<uint16_t>(found - names_.begin());
}

std::string_view CallTraits::name(uint16_t call) const {
  return call < names_.size() ? std::string_view(names_[call]) : std::string_view("unknown");
}

}  // namespace sesame::postprocess
