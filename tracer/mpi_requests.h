/* Probes, and the calls that complete requests or start prepared ones. Part of mpi_hooks.h. */

/* --- Messages that were probed for -------------------------------------------------------- */

typedef struct {
  int32_t comm;
  int32_t peer;
  int32_t tag;
} Matched;

static void remember_message(Message message, Matched matched) {
  Matched* kept = malloc(sizeof *kept);
  if (kept == NULL) {
    sesame_discard();
    return;
  }
  *kept = matched;
  sesame_handle_put(&sesame_messages, KEY(message), kept);
}

/* Asked before the message is received, which only one thread can do. */
static Matched matched_of(const Message* message) {
  Matched matched = {-1, -2, -1};
  Matched* kept = sesame_handle_find(&sesame_messages, KEY(*message));
  if (kept == NULL) return matched;
  matched = *kept;
  sesame_handle_forget(&sesame_messages, KEY(*message));
  free(kept);
  return matched;
}

/* --- Probes ------------------------------------------------------------------------------- */

static void put_probe(Span span, int call, int source, int tag, Comm comm, const Status* found) {
  uint8_t asked = asked_of(source, tag);
  if (found == NULL) {
    SESAME_PUT(probe, (uint16_t)call, .comm = comm_of(comm)->number, .peer = peer_of(source),
               .tag = tag_of(tag), .asked = asked | ASKED_NOTHING);
  } else {
    SESAME_PUT(probe, (uint16_t)call, .comm = comm_of(comm)->number,
               .peer = peer_of(found->MPI_SOURCE), .tag = tag_of(found->MPI_TAG), .asked = asked);
  }
}

static void put_matched_probe(Span span, int call, int source, int tag, Comm comm,
                              const Message* message, const Status* found) {
  put_probe(span, call, source, tag, comm, found);
  if (found == NULL) return;
  remember_message(*message, (Matched){comm_of(comm)->number, peer_of(found->MPI_SOURCE),
                                       tag_of(found->MPI_TAG)});
}

static int hook_MPI_Probe(int source, int tag, Comm comm, Status* status) {
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  SESAME_MPI_CALL(MPI_Probe, SESAME_CALL_MPI_Probe, (source, tag, comm, seen));
  put_probe(span, SESAME_CALL_MPI_Probe, source, tag, comm, seen);
  return leave(before, result);
}

static int hook_MPI_Iprobe(int source, int tag, Comm comm, int* flag, Status* status) {
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  SESAME_MPI_CALL(MPI_Iprobe, SESAME_CALL_MPI_Iprobe, (source, tag, comm, flag, seen));
  put_probe(span, SESAME_CALL_MPI_Iprobe, source, tag, comm, *flag ? seen : NULL);
  return leave(before, result);
}

static int hook_MPI_Mprobe(int source, int tag, Comm comm, Message* message, Status* status) {
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  SESAME_MPI_CALL(MPI_Mprobe, SESAME_CALL_MPI_Mprobe, (source, tag, comm, message, seen));
  put_matched_probe(span, SESAME_CALL_MPI_Mprobe, source, tag, comm, message, seen);
  return leave(before, result);
}

static int hook_MPI_Improbe(int source, int tag, Comm comm, int* flag, Message* message,
                            Status* status) {
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  SESAME_MPI_CALL(MPI_Improbe, SESAME_CALL_MPI_Improbe, (source, tag, comm, flag, message, seen));
  put_matched_probe(span, SESAME_CALL_MPI_Improbe, source, tag, comm, message, *flag ? seen : NULL);
  return leave(before, result);
}

/* --- Completion --------------------------------------------------------------------------- */

static atomic_bool any_cancelled; /* asking each status costs a call */

/* What there is besides to do for some requests. */
static __attribute__((noinline)) void put_awaited(Span span, struct sesame_completed* record,
                                                  Request request) {
  Awaited* one = take_awaited(request);
  if (one == NULL) return;
  if (one->on_file) {
    atomic_fetch_sub(&awaited_files, 1);
  } else if (one->known != NULL) {
    sesame_handle_put(&sesame_comms, KEY(*one->where), one->known);
  } else {
    if (one->peer != -1) record->peer = one->peer;
    if (one->tag != -1) record->tag = one->tag;
    sesame_put_completed(span.end, record);
  }
  free(one);
}

/* A request that a wait or test has found complete. */
static void put_completed(Span span, Request request, const Status* status) {
  int cancelled = 0;
  if (atomic_load_explicit(&any_cancelled, memory_order_relaxed)) {
    library.Test_cancelled(status, &cancelled);
  }
  struct sesame_completed record = {.request = request_id(request),
                                    .peer = peer_of(status->MPI_SOURCE),
                                    .tag = tag_of(status->MPI_TAG),
                                    .flags = cancelled != 0};
  if (atomic_load_explicit(&awaited_count, memory_order_relaxed) != 0) {
    put_awaited(span, &record, request);
  }
  sesame_put_completed(span.end, &record);
}

static void put_wait(Span span, int call, int count, int done) {
  SESAME_PUT(wait, (uint16_t)call, .count = (uint32_t)count, .done = (uint32_t)done);
}

/* Of one request: complete when it says so, or when it failed and is gone. */
static void put_wait_for_one(Span span, int call, Request asked, bool complete,
                             const Status* status) {
  bool done = complete && asked != REQUEST_NULL;
  if (done) put_completed(span, asked, status);
  put_wait(span, call, 1, done);
}

static int hook_MPI_Wait(Request* request, Status* status) {
  const Request asked = *request;
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  uint8_t before;
  const bool recorded = enter(hidden_by_wait(), &before);
  Span span = {.begin = sesame_enter()};
  const int result = REAL(MPI_Wait)(request, seen);
  end_span(&span);
  if (recorded) {
    put_wait_for_one(span, SESAME_CALL_MPI_Wait, asked, result == 0 || *request == REQUEST_NULL,
                     seen);
  }
  return leave(before, result);
}

static int hook_MPI_Test(Request* request, int* flag, Status* status) {
  const Request asked = *request;
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  uint8_t before;
  const bool recorded = enter(hidden_by_wait(), &before);
  Span span = {.begin = sesame_enter()};
  const int result = REAL(MPI_Test)(request, flag, seen);
  end_span(&span);
  if (recorded) {
    put_wait_for_one(span, SESAME_CALL_MPI_Test, asked,
                     result == 0 ? *flag != 0 : *request == REQUEST_NULL, seen);
  }
  return leave(before, result);
}

static int hook_MPI_Request_free(Request* request) {
  const Request asked = *request;
  SESAME_MPI_CALL(MPI_Request_free, SESAME_CALL_MPI_Request_free, (request));
  struct sesame_completed record = {
      .request = request_id(asked), .peer = -2, .tag = -1, .flags = 2};
  if (atomic_load_explicit(&awaited_count, memory_order_relaxed) != 0) {
    put_awaited(span, &record, asked);
  }
  sesame_put_completed(span.end, &record);
  put_wait(span, SESAME_CALL_MPI_Request_free, 1, 1);
  return leave(before, result);
}

static int hook_MPI_Cancel(Request* request) {
  atomic_store_explicit(&any_cancelled, true, memory_order_relaxed);
  SESAME_MPI_CALL(MPI_Cancel, SESAME_CALL_MPI_Cancel, (request));
  SESAME_PUT(plain, SESAME_CALL_MPI_Cancel, .error = 0);
  return leave(before, result);
}

/* --- Several requests --------------------------------------------------------------------- */

/* Requests as they were before the call, and statuses where the program ignores its own. */
enum { FEW = 64 };
typedef struct {
  int count;
  Request* requests;
  Status* statuses;
  Request few_requests[FEW];
  Status few_statuses[FEW];
} Asked;

/* Without memory the program gets what it asked for, and the completions are lost. */
static __attribute__((noinline)) void ask_for_none(Asked* asked, Status* statuses) {
  for (int i = 0; i < asked->count; ++i) sesame_discard();
  asked->count = 0;
  asked->requests = asked->few_requests;
  asked->statuses = statuses;
}

static void ask(Asked* asked, int count, const Request* requests, Status* statuses) {
  asked->count = count > 0 ? count : 0;
  size_t number = (size_t)asked->count;
  asked->requests =
      number <= FEW ? asked->few_requests : malloc(number * (sizeof(Request) + sizeof(Status)));
  if (asked->requests == NULL) {
    ask_for_none(asked, statuses);
    return;
  }
  memcpy(asked->requests, requests, number * sizeof(Request));
  asked->statuses = statuses;
  if (statuses != STATUSES_IGNORE) return;
  asked->statuses = number <= FEW ? asked->few_statuses : (Status*)(asked->requests + number);
  for (size_t i = 0; i < number; ++i) asked->statuses[i].MPI_SOURCE = PROC_NULL;
}

static void forget_asked(Asked* asked) {
  if (asked->requests != asked->few_requests) free(asked->requests);
}

/* The requests at the places `indices`, or at the first places, with a status each. */
static int put_all_completed(Span span, const Asked* asked, int count, const int* indices,
                             int result) {
  int done = 0;
  bool told_apart = result != 0 && class_of(result) == ERR_IN_STATUS;
  if (result != 0 && !told_apart) return 0;
  for (int i = 0; i < count; ++i) {
    Request request = asked->requests[indices != NULL ? indices[i] : i];
    const Status* status = &asked->statuses[i];
    if (request == REQUEST_NULL) continue;
    if (told_apart && class_of(status->MPI_ERROR) == ERR_PENDING) continue;
    put_completed(span, request, status);
    ++done;
  }
  return done;
}

static int hook_MPI_Waitall(int count, Request* requests, Status* statuses) {
  uint8_t before;
  if (!enter(hidden_by_wait(), &before)) {
    return leave(before, REAL(MPI_Waitall)(count, requests, statuses));
  }
  Asked asked;
  ask(&asked, count, requests, statuses);
  Span span = {.begin = sesame_enter()};
  int result = REAL(MPI_Waitall)(count, requests, asked.statuses);
  end_span(&span);
  int done = put_all_completed(span, &asked, asked.count, NULL, result);
  put_wait(span, SESAME_CALL_MPI_Waitall, asked.count, done);
  forget_asked(&asked);
  return leave(before, result);
}

static int hook_MPI_Testall(int count, Request* requests, int* flag, Status* statuses) {
  uint8_t before;
  if (!enter(hidden_by_wait(), &before)) {
    return leave(before, REAL(MPI_Testall)(count, requests, flag, statuses));
  }
  Asked asked;
  ask(&asked, count, requests, statuses);
  Span span = {.begin = sesame_enter()};
  int result = REAL(MPI_Testall)(count, requests, flag, asked.statuses);
  end_span(&span);
  bool complete = result != 0 || *flag != 0;
  int done = complete ? put_all_completed(span, &asked, asked.count, NULL, result) : 0;
  put_wait(span, SESAME_CALL_MPI_Testall, asked.count, done);
  forget_asked(&asked);
  return leave(before, result);
}

/* Waitany and Testany: `index` is the request's place, or UNDEFINED. */
static void put_any(Span span, int call, const Asked* asked, bool complete, int index,
                    const Status* status) {
  bool done = complete && index >= 0 && index < asked->count;
  if (done) put_completed(span, asked->requests[index], status);
  put_wait(span, call, asked->count, done);
}

static int hook_MPI_Waitany(int count, Request* requests, int* index, Status* status) {
  uint8_t before;
  if (!enter(hidden_by_wait(), &before)) {
    return leave(before, REAL(MPI_Waitany)(count, requests, index, status));
  }
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  Asked asked;
  ask(&asked, count, requests, seen);
  Span span = {.begin = sesame_enter()};
  int result = REAL(MPI_Waitany)(count, requests, index, seen);
  end_span(&span);
  put_any(span, SESAME_CALL_MPI_Waitany, &asked, result == 0, *index, seen);
  forget_asked(&asked);
  return leave(before, result);
}

static int hook_MPI_Testany(int count, Request* requests, int* index, int* flag, Status* status) {
  uint8_t before;
  if (!enter(hidden_by_wait(), &before)) {
    return leave(before, REAL(MPI_Testany)(count, requests, index, flag, status));
  }
  Status own = {.MPI_SOURCE = PROC_NULL};
  Status* seen = status == STATUS_IGNORE ? &own : status;
  Asked asked;
  ask(&asked, count, requests, seen);
  Span span = {.begin = sesame_enter()};
  int result = REAL(MPI_Testany)(count, requests, index, flag, seen);
  end_span(&span);
  put_any(span, SESAME_CALL_MPI_Testany, &asked, result == 0 && *flag != 0, *index, seen);
  forget_asked(&asked);
  return leave(before, result);
}

#define SOME(symbol)                                                                     \
  static int hook_##symbol(int count, Request* requests, int* completed, int* indices,   \
                           Status* statuses) {                                           \
    uint8_t before;                                                                      \
    if (!enter(hidden_by_wait(), &before)) {                                             \
      return leave(before, REAL(symbol)(count, requests, completed, indices, statuses)); \
    }                                                                                    \
    Asked asked;                                                                         \
    ask(&asked, count, requests, statuses);                                              \
    Span span = {.begin = sesame_enter()};                                               \
    int result = REAL(symbol)(count, requests, completed, indices, asked.statuses);      \
    end_span(&span);                                                                     \
    int found = *completed == UNDEFINED || asked.count == 0 ? 0 : *completed;            \
    int done = put_all_completed(span, &asked, found, indices, result);                  \
    put_wait(span, SESAME_CALL_##symbol, asked.count, done);                             \
    forget_asked(&asked);                                                                \
    return leave(before, result);                                                        \
  }
SOME(MPI_Waitsome)
SOME(MPI_Testsome)

/* --- Looking at requests that stay ---------------------------------------------------------*/

#define SESAME_MPI_WAIT(symbol, call, arguments) \
  SESAME_CALL_HIDING(symbol, call, arguments, hidden_by_wait(), ANY_FAILURE)

static int hook_MPI_Request_get_status(Request request, int* flag, Status* status) {
  SESAME_MPI_WAIT(MPI_Request_get_status, SESAME_CALL_MPI_Request_get_status,
                  (request, flag, status));
  put_wait(span, SESAME_CALL_MPI_Request_get_status, 1, 0);
  return leave(before, result);
}

static int hook_MPI_Request_get_status_all(int count, const Request* requests, int* flag,
                                           Status* statuses) {
  SESAME_MPI_WAIT(MPI_Request_get_status_all, SESAME_CALL_MPI_Request_get_status_all,
                  (count, requests, flag, statuses));
  put_wait(span, SESAME_CALL_MPI_Request_get_status_all, count, 0);
  return leave(before, result);
}

static int hook_MPI_Request_get_status_any(int count, const Request* requests, int* index,
                                           int* flag, Status* status) {
  SESAME_MPI_WAIT(MPI_Request_get_status_any, SESAME_CALL_MPI_Request_get_status_any,
                  (count, requests, index, flag, status));
  put_wait(span, SESAME_CALL_MPI_Request_get_status_any, count, 0);
  return leave(before, result);
}

static int hook_MPI_Request_get_status_some(int count, const Request* requests, int* completed,
                                            int* indices, Status* statuses) {
  SESAME_MPI_WAIT(MPI_Request_get_status_some, SESAME_CALL_MPI_Request_get_status_some,
                  (count, requests, completed, indices, statuses));
  put_wait(span, SESAME_CALL_MPI_Request_get_status_some, count, 0);
  return leave(before, result);
}

/* --- Prepared requests -------------------------------------------------------------------- */

static int hook_MPI_Start(Request* request) {
  SESAME_MPI_CALL(MPI_Start, SESAME_CALL_MPI_Start, (request));
  SESAME_PUT(started, SESAME_CALL_MPI_Start, .request = request_id(*request));
  return leave(before, result);
}

/* A record for each request, all with the call's own time. */
static int hook_MPI_Startall(int count, Request* requests) {
  SESAME_MPI_CALL(MPI_Startall, SESAME_CALL_MPI_Startall, (count, requests));
  for (int i = 0; i < count; ++i) {
    SESAME_PUT(started, SESAME_CALL_MPI_Startall, .request = request_id(requests[i]));
  }
  return leave(before, result);
}
