// MPI_Info: a list of (key, value) strings in the order in which the keys were first set. Objects
// are reference counted; the rank's table owns one reference for each handle.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct ObjectOwner;

struct InfoObject : Counted {
  std::vector<std::pair<std::string, std::string>> entries;

  // The value of a key, or null.
  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
};

// The object of a handle (also of MPI_INFO_ENV); null for MPI_INFO_NULL and for handles of no info.
InfoObject* find_info(ObjectOwner& owner, Info handle);
// An error unless the handle is MPI_INFO_NULL or a valid info. *info is null for MPI_INFO_NULL.
int check_info(Info handle, InfoObject** info);
// Makes a copy of `contents` (null: empty) and returns its handle for the program.
Info publish_info(ObjectOwner& owner, const InfoObject* contents);

}  // namespace sesame::mpi
