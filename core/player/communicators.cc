// Creates and frees communicators as the traced run did. `comm` is the communicator created or
// freed, `peer` its parent.
#include <stdlib.h>

#include "core/player/player.h"

namespace sesame::player {
namespace {

using namespace sesame::mpi;

Comm* made_by(const Operation& op) { return &player.comms[op.comm]; }
Comm parent_of(const Operation& op) { return player.comms[op.peer]; }

// The ranks of `parent` in the operation's list: how many, then which.
Group group_of(const Operation& op, Comm parent) {
  const int64_t* const list = list_of(op);
  const int count = static_cast<int>(list[0]);
  int* const ranks = static_cast<int*>(calloc(static_cast<size_t>(count) + 1, sizeof(int)));
  for (int i = 0; i < count; ++i) ranks[i] = static_cast<int>(list[i + 1]);
  Group all;
  Group some;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, count, ranks, &some);
  free(ranks);
  return some;
}

void play_dup(const Operation& op) { MPI_Comm_dup(parent_of(op), made_by(op)); }

// `number` is the color, `tag` the key. A rank that gets none has `comm` -1.
void play_split(const Operation& op) {
  Comm none;
  const bool in = op.comm >= 0;
  MPI_Comm_split(parent_of(op), in ? static_cast<int>(op.number) : MPI_UNDEFINED, op.tag,
                 in ? made_by(op) : &none);
}

void play_create(const Operation& op) {
  Comm none;
  MPI_Comm_create(parent_of(op), group_of(op, parent_of(op)), op.comm >= 0 ? made_by(op) : &none);
}

void play_create_group(const Operation& op) {
  MPI_Comm_create_group(parent_of(op), group_of(op, parent_of(op)), op.tag, made_by(op));
}

// `number` is the other group's leader in MPI_COMM_WORLD; rank 0 leads here.
void play_intercomm_create(const Operation& op) {
  MPI_Intercomm_create(parent_of(op), 0, MPI_COMM_WORLD, static_cast<int>(op.number), op.tag,
                       made_by(op));
}

// `number` tells whether the own group comes last.
void play_intercomm_merge(const Operation& op) {
  MPI_Intercomm_merge(parent_of(op), static_cast<int>(op.number), made_by(op));
}

void play_self(const Operation& op) { *made_by(op) = MPI_COMM_SELF; }

void play_free(const Operation& op) { MPI_Comm_free(made_by(op)); }

}  // namespace

const PlayedCall kCommunicatorCalls[] = {
    {"MPI_Comm_dup", play_dup},
    {"MPI_Comm_split", play_split},
    {"MPI_Comm_create", play_create},
    {"MPI_Comm_create_group", play_create_group},
    {"MPI_Intercomm_create", play_intercomm_create},
    {"MPI_Intercomm_merge", play_intercomm_merge},
    {"MPI_Comm_free", play_free},
    {"MPI_COMM_SELF", play_self},
    {nullptr, nullptr},
};

}  // namespace sesame::player
