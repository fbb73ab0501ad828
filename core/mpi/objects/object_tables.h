// The MPI objects of one rank other than datatypes, operations and requests: communicators, groups,
// error handlers, infos, keyvals and sessions; and ObjectOwner, the interface of a rank for these
// objects. The rank owns them. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/error_state.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct ErrhandlerObject;
struct FileTables;
struct InfoObject;
struct KeyvalObject;
struct SessionObject;
struct WindowTable;

struct ObjectTables {
  ObjectTables();
  ~ObjectTables();

  CommObject* universe = nullptr;  // communicators/predefined.h
  CommObject* parent = nullptr;    // of MPI_Comm_get_parent; `comms` owns it
  GroupObject* empty_group = nullptr;
  HandleTable<GroupObject, 0x88000000> groups;

  // By the lowest two bits of the handle: MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN,
  // MPIR_ERRORS_THROW_EXCEPTIONS, MPI_ERRORS_ABORT.
  ErrhandlerObject* predefined_errhandlers[4] = {};
  HandleTable<ErrhandlerObject, 0x94000000> errhandlers;

  HandleTable<InfoObject, 0x9c000000> infos;
  InfoObject* environment = nullptr;  // MPI_INFO_ENV, made on its first use

  // For all kinds of objects; a handle also has bits for the kind (attributes.h).
  HandleTable<KeyvalObject, 0xa4000000> keyvals;

  HandleTable<SessionObject, 0xb8000000> sessions;

  // Made by one-sided communication and MPI-IO at their first use. Shared pointers only because
  // those can delete types that are incomplete here; there are no other owners.
  std::shared_ptr<WindowTable> windows;
  std::shared_ptr<FileTables> files;

  int agreements = 0;  // on contexts, in progress (communicators/agree.h)

  // Each message uses these. They are next to the frequently used members of a rank (rank.h).
  // `world` and `self` are null until create_world_communicators() (communicators/predefined.h).
  CommObject* world = nullptr;
  CommObject* self = nullptr;
  HandleTable<CommObject, 0x84000000, 0, 4> comms;
};

// What objects may use of the rank that owns them. Rank, which is in a higher module, derives from
// it.
struct ObjectOwner {
  explicit ObjectOwner(int number) : id(number) {}

  ErrorState errors;
  ObjectTables objects;
  const int id;  // among all ranks of the run

  // "rank 5", for messages to the user.
  virtual std::string name() const = 0;
  // The one shared copy of this list of ranks of the run.
  virtual MembersRef intern(std::vector<int> world_ranks) = 0;
  // Sets the entries of MPI_INFO_ENV.
  virtual void describe_environment(InfoObject& info) const = 0;
  // Ends the run, with a text for the user.
  [[noreturn]] virtual void abort_job(const std::string& why) = 0;

 protected:
  ~ObjectOwner() = default;
};

// The rank that runs on this thread; defined where ranks are.
ObjectOwner& this_owner();

}  // namespace sesame::mpi
