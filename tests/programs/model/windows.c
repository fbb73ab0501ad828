/* A random program of one-sided communication: rounds drawn from a seed, the same on all ranks, on
 * windows of all kinds, with accesses that conflict. What the memory holds at the end depends on
 * the order in which they take effect: rank 0 prints a sum of it for each rank.
 *
 *   windows SEED ROUNDS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kWindows = 3, kWords = 4096, kOperations = 5, kLongest = 600 };

static int rank, ranks;
static uint64_t common;   /* the same on all ranks */
static uint64_t personal; /* this rank's own */
static uint64_t sum;      /* of all that the rank has read */

static MPI_Win windows[kWindows]; /* made, allocated, dynamic */
static long* memory[kWindows];
static MPI_Aint* addresses; /* of the dynamic window's memory, by rank */

static uint64_t next(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static int draw(int bound) { return (int)(next(&common) % (uint64_t)bound); }
static int pick(int bound) { return (int)(next(&personal) % (uint64_t)bound); }

static void work(void) {
  static const int kLongestWork[] = {0, 2, 20};
  const int longest = kLongestWork[draw(3)];
  usleep((useconds_t)pick(longest + 1));
}

static void add(const void* data, size_t bytes) {
  const unsigned char* at = data;
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ at[i]) * 0x100000001b3u;
}

static MPI_Aint displacement(int window, int target, int word) {
  return window == 2 ? addresses[target] + word * (MPI_Aint)sizeof(long) : word;
}

/* `words` words with gaps, in a committed type. */
static MPI_Datatype gaps(int words) {
  MPI_Datatype type;
  MPI_Type_vector(words, 1, 2, MPI_LONG, &type);
  MPI_Type_commit(&type);
  return type;
}

static void access_pairs(int window, int target, void* local) {
  struct {
    double value;
    int index;
  } pairs[4];
  memset(pairs, 0, sizeof pairs);
  for (int i = 0; i < 4; ++i) pairs[i].value = pick(100), pairs[i].index = rank;
  memcpy(local, pairs, sizeof pairs);
  MPI_Accumulate(local, 4, MPI_DOUBLE_INT, target, displacement(window, target, 3000), 4,
                 MPI_DOUBLE_INT, MPI_MAXLOC, windows[window]);
}

/* One access of a random kind. `local` has kLongest words, then space for what is read. */
static void access_target(int window, int target, long* local) {
  static const int kCounts[] = {1, 16, kLongest};
  static const MPI_Op kOps[] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
  const int words = kCounts[pick(3)], word = pick(1000);
  const MPI_Aint at = displacement(window, target, word);
  const MPI_Op op = kOps[pick(4)];
  MPI_Win win = windows[window];
  MPI_Datatype type;
  long* read = local + kLongest;
  for (int i = 0; i < words; ++i) local[i] = pick(1000);
  switch (pick(9)) {
    case 0:
      MPI_Put(local, words, MPI_LONG, target, at, words, MPI_LONG, win);
      break;
    case 1:
      type = gaps(words);
      MPI_Put(local, words, MPI_LONG, target, at, 1, type, win);
      MPI_Type_free(&type);
      break;
    case 2:
      MPI_Get(read, words, MPI_LONG, target, at, words, MPI_LONG, win);
      break;
    case 3:
      type = gaps(words / 2 + 1);
      MPI_Get(read, 1, type, target, at, 1, type, win);
      MPI_Type_free(&type);
      break;
    case 4:
      MPI_Accumulate(local, words, MPI_LONG, target, at, words, MPI_LONG, op, win);
      break;
    case 5:
      type = gaps(words);
      MPI_Get_accumulate(local, words, MPI_LONG, read, words, MPI_LONG, target, at, 1, type,
                         kOps[pick(5)], win);
      MPI_Type_free(&type);
      break;
    case 6:
      MPI_Fetch_and_op(local, read, MPI_LONG, target, at, kOps[pick(5)], win);
      break;
    case 7:
      local[1] = pick(3);
      MPI_Compare_and_swap(local, local + 1, read, MPI_LONG, target, at, win);
      break;
    default:
      access_pairs(window, target, local);
  }
}

enum { kBufferWords = 4 * kLongest, kAllWords = kOperations * kBufferWords };
static long* new_buffers(void) { return calloc(kAllWords, sizeof(long)); }

static void access_some(int window, long* buffers, int target) {
  const int count = 1 + pick(kOperations);
  for (int i = 0; i < count; ++i)
    access_target(window, target >= 0 ? target : pick(ranks), buffers + i * kBufferWords);
}

static void fences(int window, long* buffers) {
  MPI_Win_fence(0, windows[window]);
  work();
  access_some(window, buffers, -1);
  MPI_Win_fence(0, windows[window]);
}

/* Each rank accesses the next one, and is accessed by the one before. */
static void starts(int window, long* buffers) {
  MPI_Group all, before, after;
  const int left = (rank - 1 + ranks) % ranks, right = (rank + 1) % ranks;
  MPI_Win_get_group(windows[window], &all);
  MPI_Group_incl(all, 1, &left, &before);
  MPI_Group_incl(all, 1, &right, &after);
  MPI_Win_post(before, 0, windows[window]);
  MPI_Win_start(after, 0, windows[window]);
  access_some(window, buffers, right);
  MPI_Win_complete(windows[window]);
  int done = 0;
  if (draw(2)) {
    MPI_Win_wait(windows[window]);
  } else {
    while (!done) MPI_Win_test(windows[window], &done);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&before);
  MPI_Group_free(&after);
}

static void locks(int window, long* buffers) {
  const int target = pick(ranks);
  MPI_Win_lock(pick(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, windows[window]);
  access_some(window, buffers, target);
  if (pick(2)) MPI_Win_flush_local(target, windows[window]);
  MPI_Win_unlock(target, windows[window]);
}

static void requests(int window, long* buffers) {
  MPI_Request request[3];
  const int target = pick(ranks), words = 1 + pick(kLongest);
  const MPI_Aint at = displacement(window, target, pick(1000));
  MPI_Rput(buffers, words, MPI_LONG, target, at, words, MPI_LONG, windows[window], &request[0]);
  MPI_Rget(buffers + kLongest, words, MPI_LONG, target, at, words, MPI_LONG, windows[window],
           &request[1]);
  MPI_Raccumulate(buffers, words, MPI_LONG, target, at, words, MPI_LONG, MPI_SUM, windows[window],
                  &request[2]);
  MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
  add(buffers + kLongest, (size_t)words * sizeof(long));
}

static void all_locks(int window, long* buffers) {
  MPI_Win_lock_all(0, windows[window]);
  access_some(window, buffers, -1);
  MPI_Win_flush_all(windows[window]);
  requests(window, buffers);
  MPI_Win_unlock_all(windows[window]);
}

/* Each rank waits until the one before has written a number into its memory. */
static void signals(int window, int number) {
  const int right = (rank + 1) % ranks;
  long value = number;
  volatile long* mine = memory[window] + 3500;
  MPI_Barrier(MPI_COMM_WORLD); /* no rank waits for an exclusive lock any more */
  MPI_Win_lock_all(0, windows[window]);
  work();
  MPI_Put(&value, 1, MPI_LONG, right, displacement(window, right, 3500), 1, MPI_LONG,
          windows[window]);
  MPI_Win_flush(right, windows[window]);
  do MPI_Win_sync(windows[window]);
  while (*mine < number);
  MPI_Win_unlock_all(windows[window]);
}

/* Memory that the ranks of a node share. */
static void shared(void) {
  MPI_Comm node;
  MPI_Win win;
  long *mine, *first;
  MPI_Aint size;
  int unit, me, members;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &me);
  MPI_Comm_size(node, &members);
  MPI_Win_allocate_shared(sizeof(long), sizeof(long), MPI_INFO_NULL, node, &mine, &win);
  MPI_Win_fence(0, win);
  *mine = rank;
  MPI_Win_fence(0, win);
  MPI_Win_shared_query(win, 0, &size, &unit, &first);
  add(first, (size_t)members * sizeof(long));
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
}

static void round_of(int number) {
  long* buffers = new_buffers();
  const int window = draw(kWindows);
  work();
  switch (draw(7)) {
    case 0:
    case 1:
      fences(window, buffers);
      break;
    case 2:
      starts(window, buffers);
      break;
    case 3:
      locks(window, buffers);
      break;
    case 4:
      all_locks(window, buffers);
      break;
    case 5:
      signals(window, number);
      break;
    default:
      shared();
  }
  add(buffers, kAllWords * sizeof(long));
  free(buffers);
  if (draw(4) == 0) MPI_Barrier(MPI_COMM_WORLD);
}

static void make_windows(void) {
  const MPI_Aint bytes = kWords * (MPI_Aint)sizeof(long);
  memory[0] = calloc(kWords, sizeof(long));
  memory[2] = calloc(kWords, sizeof(long));
  MPI_Win_create(memory[0], bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0]);
  MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[1], &windows[1]);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &windows[2]);
  MPI_Win_attach(windows[2], memory[2], bytes);
  addresses = malloc((size_t)ranks * sizeof(MPI_Aint));
  MPI_Get_address(memory[2], &addresses[rank]);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void print_sums(void) {
  uint64_t* sums = malloc((size_t)ranks * sizeof *sums);
  MPI_Gather(&sum, 1, MPI_UINT64_T, sums, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 0; i < ranks && rank == 0; ++i) printf("%d %016lx\n", i, (unsigned long)sums[i]);
  free(sums);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3 || ranks < 2) {
    if (rank == 0) fprintf(stderr, "usage: windows SEED ROUNDS, 2 ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  common = strtoull(argv[1], NULL, 10) * 1000003;
  personal = common + (uint64_t)rank * 7919 + 1;
  make_windows();
  for (int number = 1; number <= atoi(argv[2]); ++number) round_of(number);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kWindows; ++i) add(memory[i], kWords * sizeof(long));
  MPI_Win_detach(windows[2], memory[2]);
  for (int i = 0; i < kWindows; ++i) MPI_Win_free(&windows[i]);
  print_sums();
  MPI_Finalize();
  return 0;
}
