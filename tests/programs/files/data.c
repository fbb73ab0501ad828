/* Every way to read and write a file with MPI: what is read back, and what the file then holds. */
#include "checks.h"

enum { N = 60 };

static int mine[N], back[N];
static const char* path;
static MPI_File file;

static void fill(int salt) {
  for (int i = 0; i < N; ++i) {
    mine[i] = salt * 100000 + rank * 1000 + i;
    back[i] = -1;
  }
}

static void open_new(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
}

static void finish(const char* what) {
  say(what, digest(back, sizeof back));
  NEED(MPI_File_close(&file));
  say_contents(what, path);
}

static void settle(void) {
  NEED(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void at(void) {
  MPI_Status status;
  open_new();
  fill(1);
  const MPI_Offset own = (MPI_Offset)rank * sizeof mine;
  NEED(MPI_File_write_at(file, own, mine, N, MPI_INT, &status));
  say_status("write_at", &status, MPI_INT);
  NEED(MPI_File_read_at(file, own, back, N, MPI_INT, &status));
  say_status("read_at", &status, MPI_INT);
  say("read_at is what was written", memcmp(mine, back, sizeof mine) == 0);
  settle();
  const MPI_Offset other = (MPI_Offset)((rank + 1) % ranks) * sizeof mine;
  NEED(MPI_File_read_at_all(file, other, back, N, MPI_INT, &status));
  say_status("read_at_all", &status, MPI_INT);
  finish("at");
  open_new();
  fill(2);
  NEED(MPI_File_write_at_all(file, own, mine, N, MPI_INT, &status));
  say_status("write_at_all", &status, MPI_INT);
  NEED(MPI_File_read_at_all(file, own, back, N / 2, MPI_2INT, &status));
  say_status("read_at_all of pairs", &status, MPI_2INT);
  finish("at_all");
}

static void pointers(void) {
  MPI_Status status;
  MPI_Offset position = -1;
  open_new();
  fill(3);
  NEED(MPI_File_set_view(file, (MPI_Offset)rank * sizeof mine, MPI_INT, MPI_INT, "native",
                         MPI_INFO_NULL));
  NEED(MPI_File_write(file, mine, N / 2, MPI_INT, &status));
  NEED(MPI_File_get_position(file, &position));
  say("position after write", position);
  NEED(MPI_File_write_all(file, mine + N / 2, N / 2, MPI_INT, &status));
  NEED(MPI_File_get_position(file, &position));
  say("position after write_all", position);
  NEED(MPI_File_seek(file, -N / 2, MPI_SEEK_CUR));
  NEED(MPI_File_read(file, back, N / 4, MPI_INT, &status));
  say_status("read", &status, MPI_INT);
  NEED(MPI_File_seek(file, 5, MPI_SEEK_SET));
  NEED(MPI_File_read_all(file, back + N / 2, N / 4, MPI_INT, &status));
  NEED(MPI_File_get_position(file, &position));
  say("position after read_all", position);
  settle();
  NEED(MPI_File_seek(file, -3, MPI_SEEK_END));
  NEED(MPI_File_get_position(file, &position));
  say("position of the end less three", position);
  NEED(MPI_File_read(file, back, 8, MPI_INT, &status));
  say_status("read over the end", &status, MPI_INT);
  NEED(MPI_File_read(file, back, 8, MPI_INT, &status));
  say_status("read behind the end", &status, MPI_INT);
  finish("pointers");
}

static void nonblocking(void) {
  MPI_Status statuses[2];
  MPI_Request requests[2];
  open_new();
  fill(4);
  const MPI_Offset own = (MPI_Offset)rank * 4 * sizeof mine;
  NEED(MPI_File_iwrite_at(file, own, mine, N, MPI_INT, &requests[0]));
  NEED(MPI_File_iwrite_at_all(file, own + sizeof mine, mine, N, MPI_INT, &requests[1]));
  NEED(MPI_Waitall(2, requests, statuses));
  say_status("iwrite_at", &statuses[0], MPI_INT);
  say_status("iwrite_at_all", &statuses[1], MPI_INT);
  NEED(MPI_File_seek(file, own + 2 * sizeof mine, MPI_SEEK_SET));
  NEED(MPI_File_iwrite(file, mine, N, MPI_INT, &requests[0]));
  NEED(MPI_File_iwrite_all(file, mine, N, MPI_INT, &requests[1]));
  MPI_Offset position;
  NEED(MPI_File_get_position(file, &position));
  say("position after two iwrites", position);
  NEED(MPI_Waitall(2, requests, statuses));
  NEED(MPI_File_iread_at(file, own, back, N / 2, MPI_INT, &requests[0]));
  NEED(MPI_File_iread_at_all(file, own, back + N / 2, N / 2, MPI_INT, &requests[1]));
  NEED(MPI_Waitall(2, requests, statuses));
  say_status("iread_at", &statuses[0], MPI_INT);
  say("iread_at", digest(back, sizeof back));
  NEED(MPI_File_seek(file, own + 2 * sizeof mine, MPI_SEEK_SET));
  NEED(MPI_File_iread(file, back, N / 2, MPI_INT, &requests[0]));
  NEED(MPI_File_iread_all(file, back + N / 2, N / 2, MPI_INT, &requests[1]));
  for (int i = 0; i < 2; ++i) {
    int done = 0;
    while (!done) NEED(MPI_Test(&requests[i], &done, &statuses[i]));
  }
  finish("nonblocking");
}

static void split(void) {
  MPI_Status status;
  open_new();
  fill(5);
  const MPI_Offset own = (MPI_Offset)rank * 3 * sizeof mine;
  NEED(MPI_File_write_at_all_begin(file, own, mine, N, MPI_INT));
  NEED(MPI_File_write_at_all_end(file, mine, &status));
  say_status("write_at_all_end", &status, MPI_INT);
  NEED(MPI_File_seek(file, own + sizeof mine, MPI_SEEK_SET));
  NEED(MPI_File_write_all_begin(file, mine, N, MPI_INT));
  NEED(MPI_File_write_all_end(file, mine, &status));
  settle();
  NEED(MPI_File_read_at_all_begin(file, own, back, N / 2, MPI_INT));
  NEED(MPI_File_read_at_all_end(file, back, &status));
  say_status("read_at_all_end", &status, MPI_INT);
  NEED(MPI_File_seek(file, own + sizeof mine, MPI_SEEK_SET));
  NEED(MPI_File_read_all_begin(file, back + N / 2, N / 2, MPI_INT));
  NEED(MPI_File_read_all_end(file, back + N / 2, &status));
  finish("split");
}

/* The order is undefined without "ordered": the program prints only the number of bytes. */
static void shared(void) {
  MPI_Status status;
  MPI_Request request;
  MPI_Offset position;
  open_new();
  fill(6);
  NEED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  NEED(MPI_File_write_ordered(file, mine, N - rank, MPI_INT, &status));
  say_status("write_ordered", &status, MPI_INT);
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_get_position_shared(file, &position));
  say("position after write_ordered", position);
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  NEED(MPI_File_read_ordered(file, back, N - rank, MPI_INT, &status));
  say("read_ordered is what was written",
      memcmp(mine, back, (size_t)(N - rank) * sizeof *mine) == 0);
  NEED(MPI_File_write_ordered_begin(file, mine, N, MPI_INT));
  NEED(MPI_File_write_ordered_end(file, mine, &status));
  settle();
  NEED(MPI_File_seek_shared(file, -ranks * N, MPI_SEEK_CUR));
  NEED(MPI_File_read_ordered_begin(file, back, N, MPI_INT));
  NEED(MPI_File_read_ordered_end(file, back, &status));
  say("read_ordered_end is what was written", memcmp(mine, back, sizeof mine) == 0);
  finish("ordered");
  open_new();
  NEED(MPI_File_write_shared(file, mine, N, MPI_INT, &status));
  say_status("write_shared", &status, MPI_INT);
  NEED(MPI_File_iwrite_shared(file, mine, N, MPI_INT, &request));
  NEED(MPI_Wait(&request, &status));
  settle();
  NEED(MPI_File_get_position_shared(file, &position));
  say("position after write_shared", position);
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  NEED(MPI_File_read_shared(file, back, N / 2, MPI_INT, &status));
  NEED(MPI_File_iread_shared(file, back + N / 2, N / 2, MPI_INT, &request));
  NEED(MPI_Wait(&request, &status));
  say_status("iread_shared", &status, MPI_INT);
  NEED(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  path = argv[1];
  at();
  pointers();
  nonblocking();
  split();
  shared();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) NEED(MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
