// InfoObject, what an MPI_Info refers to: a list of (key, value) strings in the order in which the
// keys were first set. Reference counted; the rank's table owns one reference for each handle.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct InfoObject : Counted {
  std::vector<std::pair<std::string, std::string>> entries;

  // The value of a key, or null.
  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
};

}  // namespace sesame::mpi
