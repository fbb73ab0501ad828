/* Views with all sorts of datatypes, read and written independently and together, and what can be
 * asked about them. */
#include "checks.h"

enum { N = 48 };

static const char* path;
static MPI_File file;
static int mine[2 * N], back[2 * N];

static void open_new(int amode) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_open(MPI_COMM_WORLD, path, amode | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  for (int i = 0; i < 2 * N; ++i) {
    mine[i] = rank * 1000 + i;
    back[i] = -1;
  }
}

/* Writes and reads N integers through the view in two parts, the second with gaps in memory. */
static void through(const char* what, MPI_Datatype filetype, int together) {
  MPI_Datatype gaps;
  MPI_Status status;
  MPI_Offset offset = -1, position = -1;
  MPI_Type_vector(N / 4, 1, 3, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  open_new(MPI_MODE_RDWR);
  NEED(MPI_File_set_view(file, 16, MPI_INT, filetype, "native", MPI_INFO_NULL));
  NEED(MPI_File_get_byte_offset(file, 7, &offset));
  say("byte offset of item 7", offset);
  if (together) {
    NEED(MPI_File_write_all(file, mine, 3 * N / 4, MPI_INT, &status));
    NEED(MPI_File_write_all(file, mine, 1, gaps, &status));
  } else {
    NEED(MPI_File_write(file, mine, 3 * N / 4, MPI_INT, &status));
    NEED(MPI_File_write(file, mine, 1, gaps, &status));
  }
  say_status(what, &status, gaps);
  NEED(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_seek(file, 0, MPI_SEEK_END));
  NEED(MPI_File_get_position(file, &position));
  say("position of the end", position);
  NEED(MPI_File_seek(file, 5, MPI_SEEK_SET));
  if (together) {
    NEED(MPI_File_read_all(file, back, 1, gaps, &status));
    NEED(MPI_File_read_at_all(file, 1, back + N, N - 1, MPI_INT, &status));
  } else {
    NEED(MPI_File_read(file, back, 1, gaps, &status));
    NEED(MPI_File_read_at(file, 1, back + N, N - 1, MPI_INT, &status));
  }
  say_status(what, &status, MPI_INT);
  say(what, digest(back, sizeof back));
  NEED(MPI_File_close(&file));
  say_contents(what, path);
  MPI_Type_free(&gaps);
}

static void use(const char* what, MPI_Datatype filetype) {
  MPI_Type_commit(&filetype);
  through(what, filetype, 0);
  through(what, filetype, 1);
  MPI_Type_free(&filetype);
}

static MPI_Datatype spread(int length) {
  MPI_Datatype block, type;
  MPI_Type_contiguous(length, MPI_INT, &block);
  const int one = 1;
  const MPI_Aint displacement = (MPI_Aint)rank * length * (MPI_Aint)sizeof(int);
  MPI_Type_create_hindexed(1, &one, &displacement, block, &type);
  MPI_Datatype resized;
  MPI_Type_create_resized(type, 0, (MPI_Aint)ranks * length * (MPI_Aint)sizeof(int), &resized);
  MPI_Type_free(&block);
  MPI_Type_free(&type);
  return resized;
}

static void kinds(void) {
  MPI_Datatype type;
  use("blocks of 4", spread(4));
  use("blocks of 1", spread(1));
  const int sizes[2] = {8, 6 * ranks}, subsizes[2] = {8, 6}, starts[2] = {0, 6 * rank};
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  use("sub-array", type);
  const int first[2] = {6 * rank, 0}, wide[2] = {6 * ranks, 8}, part[2] = {6, 8};
  MPI_Type_create_subarray(2, wide, part, first, MPI_ORDER_FORTRAN, MPI_INT, &type);
  use("sub-array in Fortran's order", type);
  const int extents[2] = {6 * ranks, 8}, grid[2] = {ranks, 1};
  const int how[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[2] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Type_create_darray(ranks, rank, 2, extents, how, arguments, grid, MPI_ORDER_C, MPI_INT,
                         &type);
  use("distributed array", type);
  const int lengths[3] = {2, 1, 3}, places[3] = {2 * rank, 2 * ranks + rank, 3 * (ranks + rank)};
  MPI_Datatype holes;
  MPI_Type_indexed(3, lengths, places, MPI_INT, &holes);
  MPI_Type_create_resized(holes, 0, 6 * ranks * (MPI_Aint)sizeof(int), &type);
  MPI_Type_free(&holes);
  use("indexed", type);
}

static void asked(void) {
  MPI_Datatype pair, filetype, etype_back, filetype_back;
  MPI_Offset disp = -1;
  MPI_Aint extent = -1;
  char datarep[MPI_MAX_DATAREP_STRING];
  int combiner, integers, addresses, types;
  open_new(MPI_MODE_RDWR);
  NEED(MPI_File_get_view(file, &disp, &etype_back, &filetype_back, datarep));
  say("default view is bytes",
      disp == 0 && etype_back == MPI_BYTE && filetype_back == MPI_BYTE && !strcmp(datarep, "native"));
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_vector(3, 2, 4, pair, &filetype);
  MPI_Type_commit(&filetype);
  NEED(MPI_File_set_view(file, 40, pair, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
  NEED(MPI_File_get_view(file, &disp, &etype_back, &filetype_back, datarep));
  say("displacement", disp);
  say("representation is native", !strcmp(datarep, "native"));
  MPI_Type_get_envelope(etype_back, &integers, &addresses, &types, &combiner);
  say("elementary type is derived", combiner != MPI_COMBINER_NAMED);
  MPI_Type_get_extent(filetype_back, &disp, &extent);
  say("extent of the file type", extent);
  NEED(MPI_File_get_type_extent(file, pair, &extent));
  say("extent of a pair", extent);
  NEED(MPI_File_get_byte_offset(file, 9, &disp));
  say("byte offset of pair 9", disp);
  MPI_Type_free(&etype_back);
  MPI_Type_free(&filetype_back);
  say_error("half a pair", MPI_File_write_at(file, 0, mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  say_error("no such representation",
            MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "elsewhere", MPI_INFO_NULL));
  MPI_Type_free(&pair);
  NEED(MPI_File_close(&file));
}

/* In a file opened anew each time: MPICH cannot use one again after such an error. */
static void try_view(const char* what, int amode, MPI_Datatype etype, MPI_Datatype filetype) {
  NEED(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file));
  say_error(what, MPI_File_set_view(file, 0, etype, filetype, "native", MPI_INFO_NULL));
  NEED(MPI_File_close(&file));
}

static void try_places(const char* what, int amode, int first, int second) {
  MPI_Datatype type;
  const int lengths[2] = {2, 1}, places[2] = {first, second};
  MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  try_view(what, amode, MPI_INT, type);
  try_view(what, amode, type, type);
  MPI_Type_free(&type);
}

static void refused(void) {
  try_places("negative displacements", MPI_MODE_RDWR, -2, 2);
  try_places("displacements that fall", MPI_MODE_RDWR, 3, 0);
  try_places("bytes twice, to write", MPI_MODE_RDWR, 0, 1);
  try_places("bytes twice, to read", MPI_MODE_RDONLY, 0, 1);
}

static void external(void) {
  struct {
    double d;
    int i;
    short s[2];
  } one = {1.5 + rank, 7 * rank, {(short)rank, -3}}, two = {0, 0, {0, 0}};
  MPI_Status status;
  open_new(MPI_MODE_RDWR);
  NEED(MPI_File_set_view(file, (MPI_Offset)rank * 16, MPI_BYTE, MPI_BYTE, "external32",
                         MPI_INFO_NULL));
  NEED(MPI_File_write_at(file, 0, &one.d, 1, MPI_DOUBLE, &status));
  say_status("external32 double", &status, MPI_DOUBLE);
  NEED(MPI_File_write_at(file, 8, &one.i, 1, MPI_INT, &status));
  NEED(MPI_File_write_at_all(file, 12, one.s, 2, MPI_SHORT, &status));
  NEED(MPI_File_read_at(file, 0, &two.d, 1, MPI_DOUBLE, &status));
  NEED(MPI_File_read_at(file, 8, &two.i, 1, MPI_INT, &status));
  NEED(MPI_File_read_at_all(file, 12, two.s, 2, MPI_SHORT, &status));
  say_status("external32 shorts", &status, MPI_SHORT);
  say("external32 gives back what it got", memcmp(&one, &two, sizeof one) == 0);
  NEED(MPI_File_close(&file));
  say_contents("external32", path);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  path = argv[1];
  kinds();
  asked();
  refused();
  external();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) NEED(MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
