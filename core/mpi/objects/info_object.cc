#include "core/mpi/objects/info_object.h"

namespace sesame::mpi {

const std::string* InfoObject::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

void InfoObject::set(std::string_view key, std::string_view value) {
  for (auto& [name, old] : entries) {
    if (name == key) {
      old = value;
      return;
    }
  }
  entries.emplace_back(key, value);
}

}  // namespace sesame::mpi
