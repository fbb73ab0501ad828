/* A random program whose ranks work in teams, each with a communicator of its own: receives from
 * any source, some cancelled, probes and tests that only members of a team can satisfy. In between
 * some members wait for ranks of other teams, named or not. Choices are drawn from a seed; which
 * source a receive from any source finds is answered, so that it changes what follows.
 *
 *   teams SEED ROUNDS [quiet|windows]
 *
 * "quiet": no rank sleeps, polls or waits for another team, messages are small, and teams have four
 * ranks. "windows": ranks put numbers into the memory of any rank, which looks at them after each
 * probe that does not wait.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kTag = 5, kAnswer = 6, kEnd = 7, kElsewhere = 8, kMost = 64, kLargest = 70000 };

static int rank, ranks, quiet;
static MPI_Win window = MPI_WIN_NULL;
static volatile long* memory; /* that of this rank in the window */
static uint64_t common;       /* the same on all ranks */
static uint64_t of_team;      /* the same on all ranks of a team */
static uint64_t personal;     /* this rank's own */
static char data[kLargest];

static uint64_t next(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static int draw(uint64_t* state, int bound) { return (int)(next(state) % (uint64_t)bound); }

static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void put(void) {
  const long value = draw(&personal, 9);
  const int target = draw(&personal, ranks);
  MPI_Put(&value, 1, MPI_LONG, target, rank, 1, MPI_LONG, window);
  MPI_Win_flush_local(target, window);
}

static void work(void) {
  if (!quiet && draw(&personal, 3) == 0) usleep((useconds_t)draw(&personal, 40));
  if (window != MPI_WIN_NULL && draw(&personal, 2) == 0) put();
}

/* A poll has let everything happen that is earlier, other ranks' puts too. */
static void work_by_memory(void) {
  long sum = 0;
  if (window == MPI_WIN_NULL) return;
  for (int i = 0; i < ranks; ++i) sum += memory[i];
  usleep((useconds_t)(sum % 5));
}

static int draw_size(uint64_t* state) {
  static const int kSizes[] = {0, 8, 1000, 9000, kLargest};
  return quiet ? 8 : kSizes[draw(state, 5)];
}

/* Waits for a message that this rank did not know of, in one of several ways. */
static int find_sender(MPI_Comm team, int way, int tag) {
  MPI_Status status;
  int found = 0;
  switch (quiet && way == 1 ? 2 : way) {
    case 0:
      MPI_Probe(MPI_ANY_SOURCE, tag, team, &status);
      return status.MPI_SOURCE;
    case 1:
      while (!found) {
        MPI_Iprobe(MPI_ANY_SOURCE, tag, team, &found, &status);
        work_by_memory();
      }
      return status.MPI_SOURCE;
    default:
      return MPI_ANY_SOURCE;
  }
}

static MPI_Status receive(MPI_Comm team, int source, int tag) {
  MPI_Status status;
  MPI_Request request;
  int done = 0;
  switch (draw(&personal, quiet ? 2 : 3)) {
    case 0:
      MPI_Recv(data, kLargest, MPI_CHAR, source, tag, team, &status);
      break;
    case 1:
      MPI_Irecv(data, kLargest, MPI_CHAR, source, tag, team, &request);
      work();
      MPI_Wait(&request, &status);
      break;
    default:
      MPI_Irecv(data, kLargest, MPI_CHAR, source, tag, team, &request);
      while (!done) MPI_Test(&request, &done, &status);
  }
  return status;
}

/* A master gets work done by the others; who is faster gets more of it. */
static void share_work(MPI_Comm team, int me, int size) {
  const int master = draw(&of_team, size), way = draw(&of_team, 4), bytes = draw_size(&of_team);
  const int any_tag = draw(&of_team, 2), synchronous = draw(&of_team, 3) == 0;
  int left = 3 * size;
  if (me == master) {
    for (int busy = size - 1; busy > 0; --left) {
      const int tag = any_tag ? MPI_ANY_TAG : kTag;
      const MPI_Status status = receive(team, find_sender(team, way, tag), tag);
      check(status.MPI_TAG == kTag, "tag");
      MPI_Send(data, left > 0 ? left : 0, MPI_CHAR, status.MPI_SOURCE, left > 0 ? kAnswer : kEnd,
               team);
      busy -= left > 0 ? 0 : 1;
      work();
    }
    return;
  }
  for (MPI_Status status = {.MPI_TAG = 0}; status.MPI_TAG != kEnd;) {
    work();
    (synchronous ? MPI_Ssend : MPI_Send)(data, bytes, MPI_CHAR, master, kTag, team);
    MPI_Recv(data, kLargest, MPI_CHAR, master, MPI_ANY_TAG, team, &status);
  }
}

/* All receive from all, in the order in which the messages come. */
static void exchange(MPI_Comm team, int me, int size) {
  MPI_Request requests[2 * kMost];
  const int named = draw(&of_team, 2), bytes = draw_size(&of_team), some = draw(&of_team, 2);
  static char into[kMost][kLargest];
  for (int i = 0; i < size; ++i) {
    MPI_Irecv(into[i], kLargest, MPI_CHAR, named ? i : MPI_ANY_SOURCE, kTag, team, &requests[i]);
  }
  for (int i = 0; i < size; ++i) {
    work();
    MPI_Isend(data, bytes, MPI_CHAR, (me + i) % size, kTag, team, &requests[size + i]);
  }
  if (quiet) {
    MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
    return;
  }
  for (int left = 2 * size, done, index[2 * kMost]; left > 0; left -= done) {
    done = 1;
    if (some) {
      MPI_Waitsome(2 * size, requests, &done, index, MPI_STATUSES_IGNORE);
    } else {
      MPI_Waitany(2 * size, requests, index, MPI_STATUS_IGNORE);
    }
    if (index[0] % 3 == 0) work();
  }
}

/* A receive from any source of the team is posted while the rank waits for the rank before it in
 * the world; members send to the team only when they have their message. */
static void wait_elsewhere(MPI_Comm team, int me, int size) {
  static int times;
  const int first = draw(&common, ranks), synchronous = draw(&common, 2);
  const int distance = 1 + draw(&common, ranks - 1);
  const int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
  MPI_Request requests[2];
  char here[8], there[8];
  const int tag = kElsewhere + ++times; /* ranks of a team that is ahead send with a later tag */
  if (quiet) return;
  MPI_Irecv(here, 8, MPI_CHAR, MPI_ANY_SOURCE, kTag, team, &requests[0]);
  if (draw(&of_team, 2)) work();
  MPI_Irecv(there, 8, MPI_CHAR, first % 2 ? from : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
            &requests[1]);
  if (rank % 2) work();
  (synchronous ? MPI_Ssend : MPI_Send)(data, 8, MPI_CHAR, to, tag, MPI_COMM_WORLD);
  if (draw(&of_team, 2)) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Send(data, 8, MPI_CHAR, (me + 1) % size, kTag, team);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Each member sends to the next one, which may have cancelled its receive by then. */
static void cancel(MPI_Comm team, int me, int size) {
  MPI_Request requests[2];
  MPI_Status status;
  char in[8];
  int is_cancelled;
  MPI_Irecv(in, 8, MPI_CHAR, MPI_ANY_SOURCE, kTag, team, &requests[0]);
  work();
  MPI_Isend(data, 8, MPI_CHAR, (me + 1) % size, kTag, team, &requests[1]);
  work();
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  if (is_cancelled) {
    usleep(3);
    MPI_Recv(in, 8, MPI_CHAR, MPI_ANY_SOURCE, kTag, team, &status);
  }
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static int draw_color(int way, int parts) {
  switch (way) {
    case 0:
      return rank * parts / ranks; /* neighbours */
    case 1:
      return rank % parts;
    case 2:
      return 0;
    default:
      return (int)((uint64_t)rank * 2654435761u >> 7) % parts;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  common = (uint64_t)atoi(argv[1]);
  personal = common * 1000 + (uint64_t)rank;
  const int rounds = atoi(argv[2]);
  quiet = argc > 3 && strcmp(argv[3], "quiet") == 0;
  check(ranks <= kMost, "number of ranks");
  if (argc > 3 && strcmp(argv[3], "windows") == 0) {
    MPI_Win_allocate(ranks * (int)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory, &window);
    MPI_Win_lock_all(0, window);
  }
  for (int round = 0; round < rounds; ++round) {
    const int way = draw(&common, quiet ? 1 : 4), parts = quiet ? ranks / 4 : 1 + draw(&common, 4);
    const int color = draw_color(way, parts);
    MPI_Comm team;
    int me, size;
    MPI_Comm_split(MPI_COMM_WORLD, color, rank, &team);
    MPI_Comm_rank(team, &me);
    MPI_Comm_size(team, &size);
    of_team = next(&common) + (uint64_t)color;
    for (int i = 0; i < 3; ++i) {
      switch (draw(&common, quiet ? 3 : 4)) {
        case 0:
          share_work(team, me, size);
          break;
        case 1:
          exchange(team, me, size);
          break;
        case 3:
          cancel(team, me, size);
          break;
        default:
          wait_elsewhere(team, me, size);
      }
      MPI_Barrier(team); /* no message of the next part comes earlier */
    }
    MPI_Comm_free(&team);
  }
  if (window != MPI_WIN_NULL) {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  if (rank == 0) printf("%d rounds: correct\n", rounds);
  MPI_Finalize();
  return 0;
}
