// The ports that ranks have opened to accept connections at, and the names that they have published
// (MPI 4.1, sections 11.8.2 and 11.8.4). One for the run; a strand looks after it has yielded until
// now.
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
  // A port that this rank, and no other, may accept at.
  int open(int owner);
  void close(int port);
  bool is_open(int port) const;
  int owner_of(int port) const { return ports_[static_cast<size_t>(port)].owner; }

  int size() const { return static_cast<int>(ports_.size()); }

  static std::string name_of(int port);
  // Nothing if no port has ever had this name.
  std::optional<int> find(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> published;  // port names by service

 private:
  struct Port {
    int owner;
    bool open;
  };
  std::vector<Port> ports_;
};

// Those of the run; made when first asked for.
Ports& ports_of(World& world);

}  // namespace sesame::mpi
