/* Representations that MPICH does not have: of the program, and external32 with types that are
 * smaller in a file. The expected result is known. */
#include "checks.h"

enum { N = 6 };

static int calls;

/* Integers with their bytes turned round in fields of eight. */
static int extent_in_file(MPI_Datatype type, MPI_Aint* extent, void* state) {
  int size = 0;
  MPI_Type_size(type, &size);
  *extent = type == MPI_INT ? 8 : size;
  return *(int*)state == 42 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int to_file(void* user, MPI_Datatype type, int count, void* filled, MPI_Offset position,
                   void* state) {
  (void)state;
  ++calls;
  if (type != MPI_INT || position != 0) return MPI_ERR_CONVERSION;
  for (int i = 0; i < count; ++i) {
    unsigned value = ((unsigned*)user)[i];
    memset((char*)filled + 8 * i, '.', 8);
    for (int b = 0; b < 4; ++b) ((char*)filled)[8 * i + b] = (char)(value >> (24 - 8 * b));
  }
  return MPI_SUCCESS;
}

static int from_file(void* user, MPI_Datatype type, MPI_Count count, void* filled,
                     MPI_Offset position, void* state) {
  (void)state;
  ++calls;
  if (type != MPI_INT || position != 0) return MPI_ERR_CONVERSION;
  for (int i = 0; i < count; ++i) {
    unsigned value = 0;
    for (int b = 0; b < 4; ++b) value = value << 8 | ((unsigned char*)filled)[8 * i + b];
    ((unsigned*)user)[i] = value;
  }
  return MPI_SUCCESS;
}
static int from_file_classic(void* user, MPI_Datatype type, int count, void* filled,
                             MPI_Offset position, void* state) {
  return from_file(user, type, count, filled, position, state);
}

static void own(const char* path) {
  static int state = 42;
  int mine[N], back[N];
  unsigned char raw[8 * N];
  MPI_File file;
  MPI_Aint extent;
  MPI_Offset offset;
  MPI_Status status;
  MPI_Datatype every_other;
  NEED(MPI_Register_datarep("turned", from_file_classic, to_file, extent_in_file, &state));
  say_error("the same name again",
            MPI_Register_datarep("turned", from_file_classic, to_file, extent_in_file, &state));
  NEED(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  NEED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "turned", MPI_INFO_NULL));
  NEED(MPI_File_get_type_extent(file, every_other, &extent));
  say("extent of a vector in the file", extent);
  NEED(MPI_File_get_byte_offset(file, 3, &offset));
  say("byte offset of item 3", offset);
  for (int i = 0; i < N; ++i) mine[i] = 0x01020304 + i;
  NEED(MPI_File_write(file, mine, N, MPI_INT, &status));
  say_status("turned", &status, MPI_INT);
  NEED(MPI_File_read_at(file, 0, back, N, MPI_INT, &status));
  say("it is turned back", memcmp(mine, back, sizeof mine) == 0);
  NEED(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  NEED(MPI_File_read_at(file, 0, raw, 8 * N, MPI_BYTE, &status));
  say("bytes are turned", raw[0] == 1 && raw[3] == 4 && raw[7] == '.' && raw[8 * N - 5] == 9);
  say("conversions", calls);
  NEED(MPI_File_close(&file));
  MPI_Type_free(&every_other);
}

static void smaller(const char* path) {
  long mine[N], back[N + 2];
  MPI_File file;
  MPI_Status status;
  MPI_Offset size;
  MPI_Datatype blocks;
  NEED(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  NEED(MPI_File_set_size(file, 0));
  MPI_Type_vector(2, 1, 2, MPI_LONG, &blocks);
  MPI_Type_commit(&blocks);
  NEED(MPI_File_set_view(file, 0, MPI_LONG, blocks, "external32", MPI_INFO_NULL));
  for (int i = 0; i < N; ++i) mine[i] = i - 3;
  NEED(MPI_File_write(file, mine, N, MPI_LONG, &status));
  say_status("external32 longs", &status, MPI_LONG);
  NEED(MPI_File_get_size(file, &size));
  say("size with longs of four bytes", size);
  for (int i = 0; i < N + 2; ++i) back[i] = 77;
  NEED(MPI_File_read_at(file, 0, back, N + 2, MPI_LONG, &status));
  say_status("external32 longs over the end", &status, MPI_LONG);
  say("they are read back", memcmp(mine, back, sizeof mine) == 0 && back[N] == 77);
  NEED(MPI_File_close(&file));
  MPI_Type_free(&blocks);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (rank == 0) {
    own(argv[1]);
    smaller(argv[1]);
    NEED(MPI_File_delete(argv[1], MPI_INFO_NULL));
  }
  MPI_Finalize();
  return 0;
}
