/* What the programs on files share: lines that say what a rank found, in a form that does not
 * depend on the MPI library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void start(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static void say(const char* what, long long value) {
  printf("rank %d: %s: %lld\n", rank, what, value);
}

static const char* class_name(int error) {
  static const struct {
    int value;
    const char* name;
  } known[] = {{MPI_SUCCESS, "success"},
               {MPI_ERR_AMODE, "amode"},
               {MPI_ERR_ACCESS, "access"},
               {MPI_ERR_ARG, "arg"},
               {MPI_ERR_BAD_FILE, "bad file"},
               {MPI_ERR_COUNT, "count"},
               {MPI_ERR_COMM, "comm"},
               {MPI_ERR_DUP_DATAREP, "dup datarep"},
               {MPI_ERR_FILE, "file"},
               {MPI_ERR_FILE_EXISTS, "file exists"},
               {MPI_ERR_IO, "io"},
               {MPI_ERR_NOT_SAME, "not same"},
               {MPI_ERR_NO_SUCH_FILE, "no such file"},
               {MPI_ERR_READ_ONLY, "read only"},
               {MPI_ERR_TYPE, "type"},
               {MPI_ERR_UNSUPPORTED_DATAREP, "unsupported datarep"},
               {MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i].value == error) return known[i].name;
  return "other";
}

/* An expected error: only its class is the same everywhere. */
__attribute__((unused)) static void say_error(const char* what, int error) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error, &error_class);
  printf("rank %d: %s: %s\n", rank, what, class_name(error_class));
}

static void need(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(error, text, &length);
  printf("rank %d: %s failed: %s\n", rank, what, text);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
#define NEED(call) need(call, #call)

/* A number that any other order of the same bytes would change. */
__attribute__((unused)) static unsigned digest(const void* data, size_t bytes) {
  unsigned sum = 2166136261u;
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ ((const unsigned char*)data)[i]) * 16777619u;
  return sum;
}

__attribute__((unused)) static void say_status(const char* what, MPI_Status* status,
                                               MPI_Datatype type) {
  int count = -7, elements = -7;
  MPI_Get_count(status, type, &count);
  MPI_Get_elements(status, type, &elements);
  printf("rank %d: %s: count %d elements %d\n", rank, what, count, elements);
}

/* What the file holds, said by rank 0. */
__attribute__((unused)) static void say_contents(const char* what, const char* path) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_File file;
    MPI_Offset size = 0;
    NEED(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    NEED(MPI_File_get_size(file, &size));
    char* data = malloc((size_t)size + 1);
    MPI_Status status;
    NEED(MPI_File_read_at(file, 0, data, (int)size, MPI_BYTE, &status));
    printf("rank 0: %s: %lld bytes, digest %u\n", what, (long long)size,
           digest(data, (size_t)size));
    free(data);
    NEED(MPI_File_close(&file));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
