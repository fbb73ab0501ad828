// One-sided communication in all its forms. Every line is the same under any MPI: what races is
// reduced to what cannot depend on the order.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void say(const char* what, long value) { printf("%d %s %ld\n", rank, what, value); }

// A ring by MPI_Put, then by MPI_Get, between fences; a vector type at the target.
static void fences(void) {
  int* base;
  MPI_Win win;
  MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  for (int i = 0; i < 8; ++i) base[i] = -1;
  const int right = (rank + 1) % size;
  int values[3] = {rank, rank * 10, rank * 100};
  MPI_Datatype every_other;
  MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  MPI_Put(values, 3, MPI_INT, right, 1, 1, every_other, win);
  MPI_Type_free(&every_other);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 8; ++i) say("put", base[i]);
  int got[3] = {-5, -5, -5};
  MPI_Win_fence(0, win);
  MPI_Get(&got[0], 1, MPI_INT, right, 1, 1, MPI_INT, win);
  MPI_Get(&got[1], 2, MPI_INT, right, 3, 2, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  for (int i = 0; i < 3; ++i) say("got", got[i]);
  MPI_Win_free(&win);
}

// Everyone adds to rank 0; pairs and products too.
static void accumulates(void) {
  double sums[4] = {0, 0, 0, 0};
  struct { double value; int place; } best = {-1, -1};
  MPI_Win win, best_win;
  MPI_Win_create(sums, sizeof(sums), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_create(&best, sizeof(best), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &best_win);
  double mine[2] = {rank + 1, 2 * rank + 1};
  struct { double value; int place; } bid = {(rank * 7) % 5, rank};
  MPI_Win_fence(0, win);
  MPI_Win_fence(0, best_win);
  MPI_Accumulate(mine, 2, MPI_DOUBLE, 0, 1, 2, MPI_DOUBLE, MPI_SUM, win);
  MPI_Accumulate(&bid, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, best_win);
  MPI_Win_fence(0, win);
  MPI_Win_fence(0, best_win);
  for (int i = 0; i < 4; ++i) say("sum", (long)sums[i]);
  say("best", (long)best.value);
  say("at", best.place);
  MPI_Win_free(&win);
  MPI_Win_free(&best_win);
}

// A counter under locks, by fetch-and-op and by compare-and-swap.
static void locks(void) {
  int* base;
  MPI_Win win;
  MPI_Win_allocate(3 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  base[0] = base[1] = base[2] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i) {
    int value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    ++value;
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_lock_all(0, win);
  const int one = 1;
  int before, seen = 0;
  for (int i = 0; i < 5; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 1, MPI_SUM, win);
    MPI_Win_flush(0, win);
    if (before < seen) say("went back", before);
    seen = before;
  }
  int swaps = 0;
  for (int expected = 0; swaps < 3;) {
    const int next = expected + 1;
    MPI_Compare_and_swap(&next, &expected, &before, MPI_INT, 0, 2, win);
    MPI_Win_flush(0, win);
    if (before == expected) ++swaps;
    expected = before == expected ? next : before;
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  int all[3];
  MPI_Request request;
  MPI_Rget(all, 3, MPI_INT, 0, 0, 3, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock(0, win);
  for (int i = 0; i < 3; ++i) say("counter", all[i]);
  MPI_Win_free(&win);
}

// Rank 0 exposes, the others put into it.
static void post_and_start(void) {
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = -1;
  MPI_Win win;
  MPI_Win_create(values, sizeof(values), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Group world, zero, others;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int first = 0;
  MPI_Group_incl(world, 1, &first, &zero);
  MPI_Group_excl(world, 1, &first, &others);
  for (int round = 0; round < 2; ++round) {
    if (rank == 0) {
      MPI_Win_post(others, 0, win);
      int done = 0;
      if (round == 0) MPI_Win_wait(win);
      while (round == 1 && !done) MPI_Win_test(win, &done);
      for (int i = 0; i < size; ++i) say("posted", values[i]);
    } else {
      const int value = 100 * round + rank;
      MPI_Win_start(zero, 0, win);
      MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
      MPI_Win_complete(win);
    }
  }
  MPI_Group_free(&world);
  MPI_Group_free(&zero);
  MPI_Group_free(&others);
  MPI_Win_free(&win);
}

// Neighbours in shared memory, and a flag that a rank waits for by loads.
static void shared_memory(void) {
  int* mine;
  MPI_Win win;
  MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  mine[0] = 1000 + rank;
  mine[1] = 0;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  MPI_Aint bytes;
  int unit;
  int* theirs;
  MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &theirs);
  say("neighbour", theirs[0]);
  say("bytes", (long)bytes);
  say("unit", unit);
  if (rank == 0) {
    ((volatile int*)theirs)[1] = 7;
    MPI_Win_sync(win);
  }
  if (rank == 1 % size) {
    while (((volatile int*)mine)[1] != 7) MPI_Win_sync(win);
    say("flag", mine[1]);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void dynamic_memory(void) {
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  long* memory = malloc(4 * sizeof(long));
  for (int i = 0; i < 4; ++i) memory[i] = rank * 4 + i;
  MPI_Win_attach(win, memory, 4 * sizeof(long));
  MPI_Aint address;
  MPI_Aint* addresses = malloc(size * sizeof(MPI_Aint));
  MPI_Get_address(memory, &address);
  MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
  const int left = (rank + size - 1) % size;
  long value = 0;
  const long more = 50;
  MPI_Win_lock(MPI_LOCK_SHARED, left, 0, win);
  MPI_Get_accumulate(&more, 1, MPI_LONG, &value, 1, MPI_LONG, left,
                     MPI_Aint_add(addresses[left], 2 * sizeof(long)), 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_unlock(left, win);
  say("was", value);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  say("is", memory[2]);
  MPI_Win_unlock(rank, win);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  free(memory);
  free(addresses);
}

static int deleted;
static int count_delete(MPI_Win win, int keyval, void* value, void* extra) {
  (void)win, (void)keyval, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

static void fail_with(const char* what, int error) {
  int class;
  MPI_Error_class(error, &class);
  const char* name = class == MPI_SUCCESS           ? "success"
                     : class == MPI_ERR_RMA_SYNC    ? "sync"
                     : class == MPI_ERR_RANK        ? "rank"
                     : class == MPI_ERR_RMA_ATTACH  ? "attach"
                     : class == MPI_ERR_RMA_FLAVOR  ? "flavor"
                                                    : "other";
  printf("%d error of %s: %s\n", rank, what, name);
}

static void questions(void) {
  char memory[64];
  MPI_Win win;
  MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  void* value;
  int flag;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
  say("base", flag && value == memory);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag);
  say("size", flag ? (long)*(MPI_Aint*)value : -1);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag);
  say("unit", flag ? *(int*)value : -1);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
  say("created", flag && *(int*)value == MPI_WIN_FLAVOR_CREATE);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag);
  say("unified", flag && *(int*)value == MPI_WIN_UNIFIED);
  int keyval;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_delete, &keyval, NULL);
  MPI_Win_set_attr(win, keyval, memory + 3);
  MPI_Win_get_attr(win, keyval, &value, &flag);
  say("own", flag && value == memory + 3);
  MPI_Win_set_name(win, "a window");
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Win_get_name(win, name, &length);
  say(name, length);
  MPI_Group group;
  int members;
  MPI_Win_get_group(win, &group);
  MPI_Group_size(group, &members);
  say("members", members);
  MPI_Group_free(&group);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  fail_with("a put outside", MPI_Put(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
  fail_with("an unlock", MPI_Win_unlock(0, win));
  MPI_Win_fence(0, win);
  fail_with("a put nowhere", MPI_Put(&flag, 1, MPI_INT, size, 0, 1, MPI_INT, win));
  fail_with("a put to MPI_PROC_NULL", MPI_Put(&flag, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_free(&win);
  say("deleted", deleted);
  say("null", win == MPI_WIN_NULL);
  MPI_Win_free_keyval(&keyval);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  fences();
  accumulates();
  locks();
  post_and_start();
  shared_memory();
  dynamic_memory();
  questions();
  MPI_Finalize();
  return 0;
}
