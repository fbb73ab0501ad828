#include "core/mpi/communicators/ports.h"

#include "core/mpi/messages/world.h"

#include <charconv>

namespace sesame::mpi {
namespace {

constexpr std::string_view kPrefix = "sesame-port-";

}  // namespace

int Ports::open(int owner) {
  ports_.push_back({owner, true});
  return static_cast<int>(ports_.size()) - 1;
}

void Ports::close(int port) { ports_[static_cast<size_t>(port)].open = false; }

bool Ports::is_open(int port) const { return ports_[static_cast<size_t>(port)].open; }

std::string Ports::name_of(int port) { return std::string(kPrefix) + std::to_string(port); }

std::optional<int> Ports::find(std::string_view name) const {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int port = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), port);
  if (error != std::errc() || end != name.data() + name.size() || port < 0 ||
      static_cast<size_t>(port) >= ports_.size()) {
    return std::nullopt;
  }
  return port;
}

Ports& ports_of(World& world) {
  if (world.ports == nullptr) world.ports = std::make_shared<Ports>();
  return *world.ports;
}

}  // namespace sesame::mpi
