/* The beginning and the end of MPI in the process. Part of mpi_hooks.h. */

#include "counters.h"
#include "streams.h"

static Session world_session = SESSION_NULL; /* whose group `world` is, if not MPI_Init's */

/* Ranks of MPI_COMM_WORLD can be told from here on. */
static void join(void) {
  SesameComm* known = sesame_new_comm(0);
  if (library.Group_size(world, &known->size) != 0) return;
  library.Group_rank(world, &known->rank);
  has_world = true;
  sesame_handle_put(&sesame_comms, KEY(COMM_WORLD), known);
  sesame_put_joined(sesame_ticks(),
                    &(struct sesame_joined){
                        .rank = known->rank, .size = known->size, .interface = INTERFACE_NUMBER});
}

static void put_self(void) {
  uint64_t now = sesame_ticks();
  SesameComm* known = sesame_new_comm(1);
  Groups groups = examine(known, COMM_SELF);
  sesame_handle_put(&sesame_comms, KEY(COMM_SELF), known);
  put_communicator((Span){now, now, 0}, SESAME_CALL_unknown, -1, known, groups, 0);
}

static void initialized(Span span, int call) {
  SESAME_PUT(plain, (uint16_t)call, .error = 0);
  if (has_world || library.Comm_group(COMM_WORLD, &world) != 0) return;
  join();
  put_self();
}

static void forget_world(void) {
  if (!has_world) return;
  has_world = false;
  library.Group_free(&world);
}

static int hook_MPI_Init(int* argc, char*** argv) {
  SesameMoved moved = sesame_counters_hide(); /* libraries look at the machine in many ways */
  SESAME_MPI_CALL(MPI_Init, SESAME_CALL_MPI_Init, (argc, argv));
  sesame_counters_unhide(moved);
  initialized(span, SESAME_CALL_MPI_Init);
  return leave(before, result);
}

static int hook_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  SesameMoved moved = sesame_counters_hide();
  SESAME_MPI_CALL(MPI_Init_thread, SESAME_CALL_MPI_Init_thread, (argc, argv, required, provided));
  sesame_counters_unhide(moved);
  initialized(span, SESAME_CALL_MPI_Init_thread);
  return leave(before, result);
}

static int hook_MPI_Session_init(Info info, Errhandler errhandler, Session* session) {
  SesameMoved moved = sesame_counters_hide();
  SESAME_MPI_CALL(MPI_Session_init, SESAME_CALL_MPI_Session_init, (info, errhandler, session));
  sesame_counters_unhide(moved);
  SESAME_PUT(plain, SESAME_CALL_MPI_Session_init, .error = 0);
  if (!has_world && library.Group_from_session_pset != NULL &&
      library.Group_from_session_pset(*session, "mpi://WORLD", &world) == 0) {
    world_session = *session;
    join();
  }
  return leave(before, result);
}

static int hook_MPI_Session_finalize(Session* session) {
  if (has_world && world_session != SESSION_NULL && *session == world_session) forget_world();
  SESAME_MPI_CALL(MPI_Session_finalize, SESAME_CALL_MPI_Session_finalize, (session));
  SESAME_PUT(plain, SESAME_CALL_MPI_Session_finalize, .error = 0);
  leave(before, 0);
  sesame_streams_flush();
  return result;
}

/* Launchers may kill a process that has left MPI. */
static int hook_MPI_Finalize(void) {
  if (world_session == SESSION_NULL) forget_world();
  SesameMoved moved = sesame_counters_hide();
  SESAME_MPI_CALL(MPI_Finalize, SESAME_CALL_MPI_Finalize, ());
  sesame_counters_unhide(moved);
  SESAME_PUT(plain, SESAME_CALL_MPI_Finalize, .error = 0);
  leave(before, 0);
  sesame_streams_flush();
  return result;
}

/* The real function does not return. */
static int hook_MPI_Abort(Comm comm, int code) {
  uint8_t before;
  if (enter(HIDE_ALL, &before)) {
    uint64_t now = sesame_ticks();
    Span span = {.begin = now, .end = now};
    SESAME_PUT(plain, SESAME_CALL_MPI_Abort, .error = 0);
  }
  sesame_streams_flush();
  return leave(before, REAL(MPI_Abort)(comm, code));
}
