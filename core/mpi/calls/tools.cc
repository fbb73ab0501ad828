// The tool information interface (MPI_T) without any variable, event, category or enumeration: each
// index, name and handle is invalid.
#include "core/mpi/calls/tools.h"
#include "core/mpi/api.h"

namespace sesame::mpi {
namespace {

// All sessions of performance variables are this object: they have no state.
char the_session;

int set(int* target, int value) {
  if (target == nullptr) return MPI_T_ERR_INVALID;
  *target = value;
  return MPI_SUCCESS;
}

int check_session(const void* session) {
  return session == &the_session ? MPI_SUCCESS : MPI_T_ERR_INVALID_SESSION;
}

int invalid_in(const void* session) {
  const int error = check_session(session);
  return error != MPI_SUCCESS ? error : MPI_T_ERR_INVALID_HANDLE;
}

// The result of a start, stop or reset: only MPI_T_PVAR_ALL_HANDLES is valid.
int all_or_invalid(const void* session, const void* handle) {
  const int error = check_session(session);
  if (error != MPI_SUCCESS) return error;
  return handle == MPI_T_PVAR_ALL_HANDLES ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

}  // namespace

int T_init_thread(int, int* provided) { return set(provided, MPI_THREAD_MULTIPLE); }
int T_finalize() { return MPI_SUCCESS; }

int T_category_changed(int* update_number) { return set(update_number, 0); }
int T_category_get_categories(int, int, int*) { return MPI_T_ERR_INVALID_INDEX; }
int T_category_get_cvars(int, int, int*) { return MPI_T_ERR_INVALID_INDEX; }
int T_category_get_events(int, int, int*) { return MPI_T_ERR_INVALID_INDEX; }
int T_category_get_index(const char*, int*) { return MPI_T_ERR_INVALID_NAME; }
int T_category_get_info(int, char*, int*, char*, int*, int*, int*, int*) {
  return MPI_T_ERR_INVALID_INDEX;
}
int T_category_get_num(int* num_cat) { return set(num_cat, 0); }
int T_category_get_num_events(int, int*) { return MPI_T_ERR_INVALID_INDEX; }
int T_category_get_pvars(int, int, int*) { return MPI_T_ERR_INVALID_INDEX; }

int T_cvar_get_index(const char*, int*) { return MPI_T_ERR_INVALID_NAME; }
int T_cvar_get_info(int, char*, int*, int*, Datatype*, void**, char*, int*, int*, int*) {
  return MPI_T_ERR_INVALID_INDEX;
}
int T_cvar_get_num(int* num_cvar) { return set(num_cvar, 0); }
int T_cvar_handle_alloc(int, void*, void**, int*) { return MPI_T_ERR_INVALID_INDEX; }
int T_cvar_handle_free(void**) { return MPI_T_ERR_INVALID_HANDLE; }
int T_cvar_read(void*, void*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_cvar_write(void*, const void*) { return MPI_T_ERR_INVALID_HANDLE; }

int T_enum_get_info(void*, int*, char*, int*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_enum_get_item(void*, int, int*, char*, int*) { return MPI_T_ERR_INVALID_HANDLE; }

int T_event_callback_get_info(void*, int, Info*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_callback_set_info(void*, int, Info) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_copy(void*, void*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_get_index(const char*, int*) { return MPI_T_ERR_INVALID_NAME; }
int T_event_get_info(int, char*, int*, int*, void*, Aint*, int*, void**, Info*, char*, int*, int*) {
  return MPI_T_ERR_INVALID_INDEX;
}
int T_event_get_num(int* num_events) { return set(num_events, 0); }
int T_event_get_source(void*, int*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_get_timestamp(void*, Count*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_handle_alloc(int, void*, Info, void**) { return MPI_T_ERR_INVALID_INDEX; }
int T_event_handle_free(void*, void*, Function) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_handle_get_info(void*, Info*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_handle_set_info(void*, Info) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_read(void*, int, void*) { return MPI_T_ERR_INVALID_HANDLE; }
int T_event_register_callback(void*, int, Info, void*, Function) {
  return MPI_T_ERR_INVALID_HANDLE;
}
int T_event_set_dropped_handler(void*, Function) { return MPI_T_ERR_INVALID_HANDLE; }

int T_pvar_get_index(const char*, int, int*) { return MPI_T_ERR_INVALID_NAME; }
int T_pvar_get_info(int, char*, int*, int*, int*, Datatype*, void**, char*, int*, int*, int*, int*,
                    int*) {
  return MPI_T_ERR_INVALID_INDEX;
}
int T_pvar_get_num(int* num_pvar) { return set(num_pvar, 0); }
int T_pvar_handle_alloc(void* session, int, void*, void**, int*) {
  const int error = check_session(session);
  return error != MPI_SUCCESS ? error : MPI_T_ERR_INVALID_INDEX;
}
int T_pvar_handle_free(void* session, void**) { return invalid_in(session); }
int T_pvar_read(void* session, void*, void*) { return invalid_in(session); }
int T_pvar_readreset(void* session, void*, void*) { return invalid_in(session); }
int T_pvar_reset(void* session, void* handle) { return all_or_invalid(session, handle); }
int T_pvar_start(void* session, void* handle) { return all_or_invalid(session, handle); }
int T_pvar_stop(void* session, void* handle) { return all_or_invalid(session, handle); }
int T_pvar_write(void* session, void*, const void*) { return invalid_in(session); }

int T_pvar_session_create(void** session) {
  if (session == nullptr) return MPI_T_ERR_INVALID;
  *session = &the_session;
  return MPI_SUCCESS;
}

int T_pvar_session_free(void** session) {
  if (session == nullptr) return MPI_T_ERR_INVALID;
  const int error = check_session(*session);
  if (error == MPI_SUCCESS) *session = nullptr;
  return error;
}

int T_source_get_info(int, char*, int*, char*, int*, int*, Count*, Count*, Info*) {
  return MPI_T_ERR_INVALID_INDEX;
}
int T_source_get_num(int* num_sources) { return set(num_sources, 0); }
int T_source_get_timestamp(int, Count*) { return MPI_T_ERR_INVALID_INDEX; }

}  // namespace sesame::mpi
