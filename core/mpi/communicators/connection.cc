// MPI_Open_port, MPI_Comm_accept, MPI_Comm_connect and the publishing of names (MPI 4.1, sections
// 11.8.2 to 11.8.4).
#include "core/mpi/communicators/connection.h"

#include <cstring>

#include "core/mpi/api.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/communicators/ports.h"
#include "core/mpi/communicators/predefined.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {
namespace {

// The contexts of connections start here, beyond those of agreements.
constexpr uint32_t kFirstContext = 0x40000000;

// The two steps of a connection: the request, then the exchange of the groups.
constexpr int kTagsPerPort = 2;
int request_tag(int port) { return port * kTagsPerPort; }
int exchange_tag(int port) { return port * kTagsPerPort + 1; }

const DatatypeObject& int_type(Rank& rank) { return *rank.datatypes.find(MPI_INT); }

// accept_at() and connect_to() return the new context, followed by the other group's ranks.
std::vector<int> accept_at(Rank& rank, int port, const Members& mine) {
  Transfer requests = universe_transfer(rank, request_tag(port));
  int peer = 0;
  requests.receive(&peer, 1, int_type(rank), MPI_ANY_SOURCE);
  yield_until_now(self());
  const uint32_t context = kFirstContext + kInterContexts * rank.world.connections++;
  std::vector<int> list = {static_cast<int>(context)};
  list.insert(list.end(), mine.world_ranks().begin(), mine.world_ranks().end());
  Transfer transfer = universe_transfer(rank, exchange_tag(port));
  std::vector<int> theirs = exchange_lists(transfer, list, peer);
  theirs[0] = static_cast<int>(context);
  return theirs;
}

std::vector<int> connect_to(Rank& rank, int port, const Members& mine) {
  const int owner = ports_of(rank.world).owner_of(port);
  Transfer requests = universe_transfer(rank, request_tag(port));
  requests.send(&rank.id, 1, int_type(rank), owner);
  std::vector<int> list = {0};
  list.insert(list.end(), mine.world_ranks().begin(), mine.world_ranks().end());
  Transfer transfer = universe_transfer(rank, exchange_tag(port));
  return exchange_lists(transfer, list, owner);
}

int check_open(const Ports& ports, int port) {
  const bool is_open = port >= 0 && ports.is_open(port);
  return is_open ? MPI_SUCCESS : fail(MPI_ERR_PORT, "no open port has this name");
}

// Checks the port on the root, before it waits for the other group.
int check_port(const Rank& rank, int port, PortUse use) {
  const Ports& ports = ports_of(rank.world);
  MPI_TRY(check_open(ports, port));
  const int owner = ports.owner_of(port);
  if (use == PortUse::kAccept && owner != rank.id) {
    return fail(MPI_ERR_PORT, "the port was opened by rank " + std::to_string(owner) +
                                  ", expected by the root, " + rank.name());
  }
  if (use == PortUse::kConnect && owner == rank.id) {
    return fail(MPI_ERR_PORT, "the root would connect to its own port");
  }
  return MPI_SUCCESS;
}

int check_string(const char* text, const char* what) {
  if (text != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, std::string(what) + " is a null pointer");
}

// Charges the rank a round trip to the name service, which runs on the node of rank 0.
void query_name_service() {
  Strand& strand = self();
  yield_until_now(strand);
  const network::MessageCost cost = strand.rank->world.network.cost(strand.rank->id, 0, 0);
  strand.now += (cost.send_overhead + cost.latency + cost.receive_overhead) * 2;
}

int join_by_name(const char* port_name, int root, Comm comm, PortUse use, Comm* newcomm) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(newcomm, "newcomm"));
  *newcomm = MPI_COMM_NULL;
  if (object->is_inter) {
    return fail(MPI_ERR_COMM, "the communicator is an inter-communicator");
  }
  MPI_TRY(check_root(*object, root));
  int port = -1;
  // If no port has this name, join_at_port() reports the error on all ranks.
  if (object->rank == root && port_name != nullptr) {
    yield_until_now(self());
    port = ports_of(this_rank().world).find(port_name).value_or(-1);
  }
  CommObject* joined = nullptr;
  MPI_TRY(join_at_port(*object, root, port, use, &joined));
  *newcomm = joined->handle;
  return MPI_SUCCESS;
}

}  // namespace

int check_root(const CommObject& comm, int root) {
  if (root >= 0 && root < comm.size()) return MPI_SUCCESS;
  return fail(MPI_ERR_ROOT, "the root, " + std::to_string(root) +
                                ", is not in the communicator of " + std::to_string(comm.size()) +
                                " ranks");
}

int join_at_port(CommObject& comm, int root, int port, PortUse use, CommObject** newcomm) {
  Rank& rank = this_rank();
  return run_collective(comm, [&](Transfer& transfer) {
    std::vector<int> joined;  // an error class alone, or the context and the other group
    if (transfer.rank() == root) {
      const int error = check_port(rank, port, use);
      if (error != MPI_SUCCESS) {
        joined = {error};
      } else {
        joined = use == PortUse::kAccept ? accept_at(rank, port, *comm.local)
                                         : connect_to(rank, port, *comm.local);
      }
    }
    ControlGroup(transfer).broadcast(joined, root);
    if (joined.size() == 1) {
      return transfer.rank() == root ? joined[0]
                                     : fail(joined[0], "the connection failed at the root");
    }
    const auto context = static_cast<uint32_t>(joined[0]);
    joined.erase(joined.begin());
    *newcomm = add_inter(rank, &comm, comm.local, rank.world.intern(std::move(joined)), context);
    return MPI_SUCCESS;
  });
}

int connect_to_parents(Rank& rank) {
  ObjectTables& objects = rank.objects;
  MPI_TRY(
      join_at_port(*objects.world, 0, rank.job.parent_port, PortUse::kConnect, &objects.parent));
  objects.parent->name = "MPI_COMM_PARENT";
  return MPI_SUCCESS;
}

std::string describe_connection(const Rank& rank, const RequestObject& request) {
  if (request.comm == nullptr || request.comm != rank.objects.universe) return "";
  const int port = request.tag / kTagsPerPort;
  World& world = rank.world;
  if (port >= ports_of(world).size()) return "";  // not an exchange of this kind
  const int owner = ports_of(world).owner_of(port);
  const std::string name = Ports::name_of(port);
  for (const Job& job : world.jobs) {
    if (job.parent_port != port) continue;
    return owner == rank.id ? " waits for the ranks that it spawned to initialise MPI"
                            : " waits for " + world.ranks[static_cast<size_t>(owner)]->name() +
                                  ", which spawned it";
  }
  return owner == rank.id ? " waits for a connection to its port " + name
                          : " waits for rank " + std::to_string(owner) +
                                " to accept its connection to port " + name;
}

int Open_port(Info info, char* port_name) {
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_out(port_name, "port_name"));
  yield_until_now(self());
  Rank& rank = this_rank();
  std::strcpy(port_name, Ports::name_of(ports_of(rank.world).open(rank.id)).c_str());
  return MPI_SUCCESS;
}

int Close_port(const char* port_name) {
  MPI_TRY(check_string(port_name, "the port's name"));
  yield_until_now(self());
  Rank& rank = this_rank();
  Ports& ports = ports_of(rank.world);
  const int port = ports.find(port_name).value_or(-1);
  MPI_TRY(check_open(ports, port));
  if (ports.owner_of(port) != rank.id) {
    return fail(MPI_ERR_PORT, "the port was opened by rank " +
                                  std::to_string(ports.owner_of(port)) +
                                  ", which alone can close it");
  }
  ports.close(port);
  return MPI_SUCCESS;
}

int Comm_accept(const char* port_name, Info info, int root, Comm comm, Comm* newcomm) {
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  return join_by_name(port_name, root, comm, PortUse::kAccept, newcomm);
}

int Comm_connect(const char* port_name, Info info, int root, Comm comm, Comm* newcomm) {
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  return join_by_name(port_name, root, comm, PortUse::kConnect, newcomm);
}

int Publish_name(const char* service_name, Info info, const char* port_name) {
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_string(service_name, "the service's name"));
  MPI_TRY(check_string(port_name, "the port's name"));
  query_name_service();
  const auto [entry, is_new] =
      ports_of(this_rank().world).published.emplace(service_name, port_name);
  if (is_new) return MPI_SUCCESS;
  return fail(MPI_ERR_SERVICE, "the service '" + entry->first + "' is published already");
}

int Lookup_name(const char* service_name, Info info, char* port_name) {
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_string(service_name, "the service's name"));
  MPI_TRY(check_out(port_name, "port_name"));
  query_name_service();
  const auto& published = ports_of(this_rank().world).published;
  const auto entry = published.find(std::string_view(service_name));
  if (entry == published.end()) {
    return fail(MPI_ERR_NAME, "no service '" + std::string(service_name) + "' is published");
  }
  std::strncpy(port_name, entry->second.c_str(), MPI_MAX_PORT_NAME - 1);
  port_name[std::min<size_t>(entry->second.size(), MPI_MAX_PORT_NAME - 1)] = '\0';
  return MPI_SUCCESS;
}

int Unpublish_name(const char* service_name, Info info, const char* port_name) {
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_string(service_name, "the service's name"));
  MPI_TRY(check_string(port_name, "the port's name"));
  query_name_service();
  auto& published = ports_of(this_rank().world).published;
  const auto entry = published.find(std::string_view(service_name));
  if (entry == published.end()) {
    return fail(MPI_ERR_SERVICE, "no service '" + std::string(service_name) + "' is published");
  }
  published.erase(entry);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
