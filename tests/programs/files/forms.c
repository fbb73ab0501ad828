/* The large-count form of every function that has one: what is written is read back. */
#include "checks.h"

enum { N = 16 };

static int mine[N], back[N];
static MPI_File file;
static MPI_Status status;
static MPI_Request request;

static void check(const char* what) {
  MPI_Count count = -1;
  MPI_Get_count_c(&status, MPI_INT, &count);
  printf("rank %d: %s: %d %d\n", rank, what, (int)count, memcmp(mine, back, sizeof mine) == 0);
  for (int i = 0; i < N; ++i) {
    mine[i] = mine[i] * 3 + rank + i;
    back[i] = -1;
  }
}

static void done(void) { NEED(MPI_Wait(&request, &status)); }
static void seek(void) { NEED(MPI_File_seek(file, (MPI_Offset)rank * N, MPI_SEEK_SET)); }
static void seek_shared(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
}

static void offsets(void) {
  const MPI_Offset own = (MPI_Offset)rank * N;
  NEED(MPI_File_write_at_c(file, own, mine, N, MPI_INT, &status));
  NEED(MPI_File_read_at_c(file, own, back, N, MPI_INT, &status));
  check("at");
  NEED(MPI_File_write_at_all_c(file, own, mine, N, MPI_INT, &status));
  NEED(MPI_File_read_at_all_c(file, own, back, N, MPI_INT, &status));
  check("at_all");
  NEED(MPI_File_iwrite_at_c(file, own, mine, N, MPI_INT, &request));
  done();
  NEED(MPI_File_iread_at_c(file, own, back, N, MPI_INT, &request));
  done();
  check("i at");
  NEED(MPI_File_iwrite_at_all_c(file, own, mine, N, MPI_INT, &request));
  done();
  NEED(MPI_File_iread_at_all_c(file, own, back, N, MPI_INT, &request));
  done();
  check("i at_all");
  NEED(MPI_File_write_at_all_begin_c(file, own, mine, N, MPI_INT));
  NEED(MPI_File_write_at_all_end(file, mine, &status));
  NEED(MPI_File_read_at_all_begin_c(file, own, back, N, MPI_INT));
  NEED(MPI_File_read_at_all_end(file, back, &status));
  check("split at_all");
}

static void pointers(void) {
  seek();
  NEED(MPI_File_write_c(file, mine, N, MPI_INT, &status));
  seek();
  NEED(MPI_File_read_c(file, back, N, MPI_INT, &status));
  check("pointer");
  seek();
  NEED(MPI_File_write_all_c(file, mine, N, MPI_INT, &status));
  seek();
  NEED(MPI_File_read_all_c(file, back, N, MPI_INT, &status));
  check("all");
  seek();
  NEED(MPI_File_iwrite_c(file, mine, N, MPI_INT, &request));
  done();
  seek();
  NEED(MPI_File_iread_c(file, back, N, MPI_INT, &request));
  done();
  check("i pointer");
  seek();
  NEED(MPI_File_iwrite_all_c(file, mine, N, MPI_INT, &request));
  done();
  seek();
  NEED(MPI_File_iread_all_c(file, back, N, MPI_INT, &request));
  done();
  check("i all");
  seek();
  NEED(MPI_File_write_all_begin_c(file, mine, N, MPI_INT));
  NEED(MPI_File_write_all_end(file, mine, &status));
  seek();
  NEED(MPI_File_read_all_begin_c(file, back, N, MPI_INT));
  NEED(MPI_File_read_all_end(file, back, &status));
  check("split all");
}

/* By the shared pointer a rank may get what another wrote: only the number of bytes is printed then. */
static void shared(void) {
  seek_shared();
  NEED(MPI_File_write_ordered_c(file, mine, N, MPI_INT, &status));
  seek_shared();
  NEED(MPI_File_read_ordered_c(file, back, N, MPI_INT, &status));
  check("ordered");
  seek_shared();
  NEED(MPI_File_write_ordered_begin_c(file, mine, N, MPI_INT));
  NEED(MPI_File_write_ordered_end(file, mine, &status));
  seek_shared();
  NEED(MPI_File_read_ordered_begin_c(file, back, N, MPI_INT));
  NEED(MPI_File_read_ordered_end(file, back, &status));
  check("split ordered");
  seek_shared();
  NEED(MPI_File_write_shared_c(file, mine, N, MPI_INT, &status));
  NEED(MPI_File_iwrite_shared_c(file, mine, N, MPI_INT, &request));
  done();
  seek_shared();
  NEED(MPI_File_read_shared_c(file, back, N, MPI_INT, &status));
  NEED(MPI_File_iread_shared_c(file, back, N, MPI_INT, &request));
  done();
  say_status("shared", &status, MPI_INT);
}

int main(int argc, char** argv) {
  MPI_Count extent = 0;
  start(&argc, &argv);
  NEED(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &file));
  NEED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  NEED(MPI_File_get_type_extent_c(file, MPI_2INT, &extent));
  say("extent of a pair", extent);
  offsets();
  pointers();
  shared();
  NEED(MPI_File_close(&file));
  if (rank == 0) NEED(MPI_File_delete(argv[1], MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
