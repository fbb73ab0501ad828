// Calls that need not wait for the simulator, for the generated code of the rank's side: it runs
// them before the next request (Slot::deferred, wire.h).
//
// Messages are deferred if their arguments are right, so that no error handler need be called, and
// if their data come with the call. Queries are answered here, and deferred for their records.
#pragma once

#include "core/remote/program/requests.h"

namespace sesame::remote {

// Whether a call with these arguments may be deferred. They may ask the simulator, whose reply
// overwrites the slot's message.
bool is_plain_send(const void* buffer, Count count, Datatype datatype, int dest, int tag,
                   Comm comm);
// Whether a blocking send of so much waits for no receive. Until one that waits has ended, the
// program must not continue: what it does next, it does not do in a deadlock.
bool is_eager(Count count, Datatype datatype);
bool is_plain_receive(const void* buffer, Count count, Datatype datatype, int source, int tag,
                      Comm comm);

// Answer queries; false: the simulator must be asked.
bool answer_Comm_rank(Comm comm, int* rank);
bool answer_Comm_size(Comm comm, int* size);
bool answer_Type_size(Datatype datatype, Count* size);
bool answer_Initialized(int* flag);
bool answer_Get_processor_name(char* name, int* length);

}  // namespace sesame::remote
