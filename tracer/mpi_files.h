/* MPI's files and windows. Part of mpi_hooks.h. */

#include <fcntl.h>

static int32_t file_of(File file) {
  return (int32_t)(intptr_t)sesame_handle_find(&sesame_files, KEY(file)) - 1;
}

/* --- Opening and closing ------------------------------------------------------------------ */

static uint32_t flags_of(int mode) {
  unsigned flags = mode & MODE_RDWR ? O_RDWR : mode & MODE_WRONLY ? O_WRONLY : O_RDONLY;
  if (mode & MODE_CREATE) flags |= O_CREAT;
  if (mode & MODE_EXCL) flags |= O_EXCL;
  if (mode & MODE_APPEND) flags |= O_APPEND;
  return flags;
}

static int hook_MPI_File_open(Comm comm, const char* name, int mode, Info info, File* file) {
  uint8_t before;
  const bool recorded = enter(HIDE_MPI, &before);
  Span span = {.begin = sesame_enter()};
  const int result = REAL(MPI_File_open)(comm, name, mode, info, file);
  end_span(&span);
  if (!recorded) return leave(before, result);
  int32_t number = -1;
  if (result == 0) {
    number = sesame_next_file();
    sesame_handle_put(&sesame_files, KEY(*file), (void*)(intptr_t)(number + 1));
  }
  SESAME_PUT(mpi_open, SESAME_CALL_MPI_File_open, .comm = comm_of(comm)->number, .file = number,
             .flags = flags_of(mode), .error = (uint16_t)class_of(result), .path = name);
  return leave(before, result);
}

static int hook_MPI_File_close(File* file) {
  const int32_t number = file_of(*file);
  sesame_handle_forget(&sesame_files, KEY(*file));
  SESAME_MPI_FILE_CALL(MPI_File_close, SESAME_CALL_MPI_File_close, (file));
  SESAME_PUT(mpi_file, SESAME_CALL_MPI_File_close, .file = number, .value = 0, .error = 0);
  return leave(before, result);
}

static int hook_MPI_File_delete(const char* name, Info info) {
  uint8_t before;
  const bool recorded = enter(HIDE_MPI, &before);
  Span span = {.begin = sesame_enter()};
  const int result = REAL(MPI_File_delete)(name, info);
  end_span(&span);
  if (recorded) {
    SESAME_PUT(path, SESAME_CALL_MPI_File_delete, .directory = AT_FDCWD, .size = 0,
               .error = (uint16_t)class_of(result), .path = name);
  }
  return leave(before, result);
}

/* The layout of a view's filetype as the record has it; none where it is not known. */
static SesameList runs_of(Datatype filetype, SesameLayout* layout) {
  if (layout == NULL) return (SesameList){0};
  layout->failed = false;
  layout->work = 0;
  layout->used = 0;
  if (!flatten(layout, filetype, 0) || layout->used > SESAME_MOST_RUNS) return (SesameList){0};
  const size_t numbers = layout->used * sizeof(SesameRun) / sizeof(int32_t);
  return (SesameList){.length = (uint32_t)numbers, .items = (const int32_t*)layout->runs};
}

static int hook_MPI_File_set_view(File file, Offset displacement, Datatype etype, Datatype filetype,
                                  const char* datarep, Info info) {
  SESAME_MPI_FILE_CALL(MPI_File_set_view, SESAME_CALL_MPI_File_set_view,
                       (file, displacement, etype, filetype, datarep, info));
  SesameLayout* layout = malloc(sizeof *layout);
  const SesameList runs = runs_of(filetype, layout);
  SESAME_PUT(mpi_view, SESAME_CALL_MPI_File_set_view, .file = file_of(file),
             .displacement = displacement, .etype_size = (int64_t)size_of(etype),
             .filetype_size = (int64_t)size_of(filetype), .filetype_extent = extent_of(filetype),
             .runs = runs);
  free(layout);
  return leave(before, result);
}

/* --- Windows ------------------------------------------------------------------------------ */

static int32_t comm_of_window(Win window) {
  const SesameComm* comm = sesame_handle_find(&sesame_windows, KEY(window));
  return comm != NULL ? comm->number : -1;
}

static int hook_MPI_Win_free(Win* window) {
  const int32_t number = comm_of_window(*window);
  sesame_handle_forget(&sesame_windows, KEY(*window));
  SESAME_MPI_CALL(MPI_Win_free, SESAME_CALL_MPI_Win_free, (window));
  SESAME_PUT(remote, SESAME_CALL_MPI_Win_free, .comm = number, .peer = -1, .bytes = 0,
             .request = 0);
  return leave(before, result);
}
