// The ports that ranks have opened to accept connections, and the published names (MPI 4.1,
// sections 11.8.2 and 11.8.4). There is one object for the run, which World owns. Ranks run ahead
// of each other, so a strand must yield until now (waiting.h) before it uses it. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sesame::mpi {

struct World;

class Ports {
 public:
  // Opens a port, at which only this rank may accept, and returns its number.
  int open(int owner);
  void close(int port);
  bool is_open(int port) const;
  int owner_of(int port) const { return ports_[static_cast<size_t>(port)].owner; }

  int size() const { return static_cast<int>(ports_.size()); }

  static std::string name_of(int port);
  // The number of the port with this name, open or closed; nothing if there never was one.
  std::optional<int> find(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> published;  // port names by service

 private:
  struct Port {
    int owner;
    bool open;
  };
  std::vector<Port> ports_;
};

// The ports of the run, made at the first call.
Ports& ports_of(World& world);

}  // namespace sesame::mpi
