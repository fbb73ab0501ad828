// The MPI objects that one rank holds besides datatypes, operations and requests: communicators,
// groups, error handlers, infos, keyvals, sessions and the error codes that the program added.
// Owned by the Rank; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

class ErrorCodes;
struct ErrhandlerObject;
struct FileObject;
struct InfoObject;
struct KeyvalObject;
struct Rank;
struct Representation;
struct SessionObject;
class Transfer;
struct WindowObject;

struct ObjectTables {
  ObjectTables();
  ~ObjectTables();

  // The program's communicators; null until create_world_communicators().
  CommObject* world = nullptr;
  CommObject* self = nullptr;
  CommObject* universe = nullptr;  // see universe_transfer()
  CommObject* parent = nullptr;    // of MPI_Comm_get_parent; `comms` owns it
  HandleTable<CommObject, 0x84000000, 0, 4> comms;

  GroupObject* empty_group = nullptr;
  HandleTable<GroupObject, 0x88000000> groups;

  // ARE_FATAL, RETURN, (THROW_EXCEPTIONS), ABORT.
  ErrhandlerObject* predefined_errhandlers[4] = {};
  HandleTable<ErrhandlerObject, 0x94000000> errhandlers;

  HandleTable<InfoObject, 0x9c000000> infos;
  InfoObject* environment = nullptr;  // MPI_INFO_ENV, made on its first use

  // One index space; a handle also says what the attributes hang on (attributes.h).
  HandleTable<KeyvalObject, 0xa4000000> keyvals;

  HandleTable<SessionObject, 0xb8000000> sessions;

  HandleTable<WindowObject, 0xa0000000> windows;
  HandleTable<FileObject, 0xb4000000> files;
  int openings = 0;                             // of files, so far
  ErrhandlerObject* file_errhandler = nullptr;  // of MPI_FILE_NULL; null: MPI_ERRORS_RETURN
  std::vector<std::unique_ptr<Representation>> representations;  // that the program registered

  std::unique_ptr<ErrorCodes> error_codes;  // null until there is something to keep
  int last_used_code = MPI_ERR_LASTCODE;    // predefined attributes are addresses of integers
  int agreements = 0;                       // on context ids, under way (agree.h)
};

// Null when the handle is not that of a communicator which the rank holds.
CommObject* find_comm(Rank& rank, Comm handle);

// Makes MPI_COMM_WORLD and MPI_COMM_SELF of the rank, if they are not there yet.
void create_world_communicators(Rank& rank);

// Messages among all ranks of the run by their numbers, for those that have no communicator in
// common yet. The tag keeps the exchanges apart.
Transfer universe_transfer(Rank& rank, int tag);

// What MPI_Finalize does first: deletes the attributes of MPI_COMM_SELF, the last one set first.
// Returns the error of a delete function.
int delete_self_attributes(Rank& rank);

}  // namespace sesame::mpi
