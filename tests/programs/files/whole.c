/* What a program does with a file as a whole: modes, sizes, hints, handles, and what is an error. */
#include "checks.h"

static const char* path;
static MPI_File file;

static void remove_file(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
}

static int open_with(int amode) {
  return MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file);
}

static void close_file(void) {
  NEED(MPI_File_close(&file));
  say("the handle is null", file == MPI_FILE_NULL);
}

static void modes(void) {
  int amode = 0;
  remove_file();
  say_error("a file that is not there", open_with(MPI_MODE_RDONLY));
  say_error("no access mode", open_with(MPI_MODE_CREATE));
  say_error("two access modes", open_with(MPI_MODE_RDONLY | MPI_MODE_WRONLY));
  say_error("create to read", open_with(MPI_MODE_RDONLY | MPI_MODE_CREATE));
  say_error("sequential to read and write", open_with(MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL));
  NEED(open_with(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_UNIQUE_OPEN));
  NEED(MPI_File_get_amode(file, &amode));
  say("the mode is as given", amode == (MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL |
                                        MPI_MODE_UNIQUE_OPEN));
  char data[8] = "abcdefg";
  say_error("read what is for writing", MPI_File_read_at(file, 0, data, 1, MPI_CHAR,
                                                         MPI_STATUS_IGNORE));
  NEED(MPI_File_write_at(file, 8 * rank, data, 8, MPI_CHAR, MPI_STATUS_IGNORE));
  close_file();
  say_error("it is there already", open_with(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL));
  NEED(open_with(MPI_MODE_RDONLY));
  say_error("write what is for reading",
            MPI_File_write_at(file, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  say_error("size of what is for reading", MPI_File_set_size(file, 4));
  close_file();
  MPI_Offset position = -1;
  NEED(open_with(MPI_MODE_RDWR | MPI_MODE_APPEND));
  NEED(MPI_File_get_position(file, &position));
  say("position for appending", position);
  close_file();
  NEED(open_with(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
  close_file();
  say_error("deleted when closed", open_with(MPI_MODE_RDONLY));
  say_error("delete what is not there", MPI_File_delete(path, MPI_INFO_NULL));
}

static void sizes(void) {
  MPI_Offset size = -1;
  remove_file();
  NEED(open_with(MPI_MODE_RDWR | MPI_MODE_CREATE));
  NEED(MPI_File_get_size(file, &size));
  say("size of a new file", size);
  NEED(MPI_File_set_size(file, 1000));
  NEED(MPI_File_get_size(file, &size));
  say("size that was set", size);
  NEED(MPI_File_preallocate(file, 5000));
  NEED(MPI_File_get_size(file, &size));
  say("size after preallocating more", size);
  NEED(MPI_File_preallocate(file, 100));
  NEED(MPI_File_get_size(file, &size));
  say("size after preallocating less", size);
  char data[16] = {1};
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_set_size(file, 8));
  MPI_Status status;
  NEED(MPI_File_read_at(file, 0, data, 16, MPI_CHAR, &status));
  say_status("read over the end", &status, MPI_CHAR);
  say("what was never written is zero", data[0] == 0 && data[7] == 0);
  NEED(MPI_File_sync(file));
  close_file();
}

static void handles(void) {
  MPI_Group group;
  MPI_Info info, used;
  MPI_Errhandler handler;
  char value[MPI_MAX_INFO_VAL + 1];
  int flag = 0, size = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "2");
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "unknown_hint", "1");
  NEED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
  NEED(MPI_File_get_info(file, &used));
  MPI_Info_get(used, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag);
  say("hint cb_buffer_size", flag ? atoi(value) : -1);
  MPI_Info_get(used, "romio_ds_read", MPI_MAX_INFO_VAL, value, &flag);
  say("data sieving is as the library thinks", flag && !strcmp(value, "automatic"));
  MPI_Info_free(&used);
  MPI_Info_set(info, "ind_rd_buffer_size", "8192");
  MPI_Info_set(info, "romio_ds_read", "enable");
  NEED(MPI_File_set_info(file, info));
  NEED(MPI_File_get_info(file, &used));
  MPI_Info_get(used, "ind_rd_buffer_size", MPI_MAX_INFO_VAL, value, &flag);
  say("hint ind_rd_buffer_size", flag ? atoi(value) : -1);
  MPI_Info_get(used, "romio_ds_read", MPI_MAX_INFO_VAL, value, &flag);
  say("data sieving is as the program wants", flag && !strcmp(value, "enable"));
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  NEED(MPI_File_get_group(file, &group));
  MPI_Group_size(group, &size);
  say("ranks of the group", size);
  MPI_Group_free(&group);
  NEED(MPI_File_get_atomicity(file, &flag));
  say("atomic", flag);
  NEED(MPI_File_set_atomicity(file, 1));
  NEED(MPI_File_get_atomicity(file, &flag));
  say("atomic", flag);
  NEED(MPI_File_get_errhandler(file, &handler));
  say("errors are returned", handler == MPI_ERRORS_RETURN);
  NEED(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
  say("errors without a file are returned", handler == MPI_ERRORS_RETURN);
#if MPI_VERSION < 5 /* the interface of MPI 5 has these in a library of its own */
  say("the handle survives Fortran", MPI_File_f2c(MPI_File_c2f(file)) == file);
  say("the null handle survives Fortran", MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
#endif
  close_file();
}

static int seen;
static void note(MPI_File* which, int* error, ...) {
  (void)which;
  MPI_Error_class(*error, &seen);
}

static void forgive(MPI_File* which, int* error, ...) {
  (void)which;
  *error = MPI_SUCCESS;
}

/* A call returns what the program's handler has left in the error code. */
static void forgiven(void) {
  MPI_Errhandler handler;
  MPI_File_create_errhandler(forgive, &handler);
  NEED(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  say_error("a forgiven error", MPI_File_delete("/there/is/no/such/file", MPI_INFO_NULL));
  NEED(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  MPI_Errhandler_free(&handler);
}

static void errors(void) {
  MPI_Errhandler handler;
  MPI_Offset size;
  char data[4];
  NEED(open_with(MPI_MODE_RDWR));
  MPI_File_create_errhandler(note, &handler);
  NEED(MPI_File_set_errhandler(file, handler));
  seen = MPI_SUCCESS;
  say_error("a negative offset", MPI_File_read_at(file, -1, data, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  say_error("the handler saw it", seen);
  MPI_File_call_errhandler(file, MPI_ERR_AMODE);
  say_error("the handler was called", seen);
  NEED(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  MPI_Errhandler_free(&handler);
  say_error("a negative count", MPI_File_read_at(file, 0, data, -1, MPI_CHAR, MPI_STATUS_IGNORE));
  say_error("a negative size", MPI_File_set_size(file, -5));
  say_error("a seek before the beginning", MPI_File_seek(file, -1, MPI_SEEK_SET));
  say_error("a seek from nowhere", MPI_File_seek(file, 0, 77));
  say_error("a type that is none",
            MPI_File_write_at(file, 0, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
  say_error("the end of a read that was not started", MPI_File_read_all_end(file, data, MPI_STATUS_IGNORE));
  NEED(MPI_File_write_at_all_begin(file, rank, data, 1, MPI_CHAR));
  say_error("a second split call", MPI_File_read_at_all_begin(file, 0, data, 1, MPI_CHAR));
  NEED(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE));
  close_file();
  say_error("a null file", MPI_File_get_size(MPI_FILE_NULL, &size));
  NEED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                     &file));
  say_error("an offset in a sequential file",
            MPI_File_write_at(file, 0, data, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  NEED(MPI_File_write_ordered(file, "xyz", 3, MPI_CHAR, MPI_STATUS_IGNORE));
  close_file();
}

/* All write to the same places with gaps: what one of them wrote is there as a whole. */
static void atomic(void) {
  enum { ITEMS = 64 };
  int mine[ITEMS], back[ITEMS], same = 1;
  MPI_Datatype gaps;
  MPI_Type_vector(ITEMS, 1, 5, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  NEED(open_with(MPI_MODE_RDWR | MPI_MODE_CREATE));
  NEED(MPI_File_set_view(file, 0, MPI_INT, gaps, "native", MPI_INFO_NULL));
  NEED(MPI_File_set_atomicity(file, 1));
  for (int i = 0; i < ITEMS; ++i) mine[i] = rank + 1;
  NEED(MPI_File_write_at(file, 0, mine, ITEMS, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_read_at_all(file, 0, back, ITEMS, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 1; i < ITEMS; ++i) same = same && back[i] == back[0] && back[i] > 0;
  say("all is of one rank", same);
  close_file();
  MPI_Type_free(&gaps);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  path = argv[1];
  modes();
  sizes();
  handles();
  errors();
  forgiven();
  atomic();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) NEED(MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
