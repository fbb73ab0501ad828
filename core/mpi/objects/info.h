// MPI_Info: a list of (key, value) strings in the order in which the keys were first set.
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

  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
};

// The object of a handle (MPI_INFO_ENV included); null for MPI_INFO_NULL and what is not an info.
InfoObject* find_info(ObjectOwner& owner, Info handle);
// An error unless the handle is MPI_INFO_NULL or a valid info. *info is null for MPI_INFO_NULL.
int check_info(Info handle, InfoObject** info);
// Gives the program a new info object with these entries.
Info publish_info(ObjectOwner& owner, const InfoObject* contents);

}  // namespace sesame::mpi
