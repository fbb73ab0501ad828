/* A random program: rounds of communication drawn from a seed, the same on all ranks, free of
 * deadlock and with checked data. How long each rank works in between is drawn, too; sometimes all
 * work equally long, so that equal times occur.
 *
 *   schedule SEED ROUNDS [FILE|messages]
 *
 * With a file there is MPI-IO on it, too; with "messages" neither that, one-sided communication nor
 * buffered sends.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMessages = 12, kRequests = 512, kLargest = 300000 };

static int rank, ranks;
static int only_messages;
static uint64_t common;   /* the same on all ranks */
static uint64_t personal; /* this rank's own */

static uint64_t next(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static int draw(int bound) { return (int)(next(&common) % (uint64_t)bound); }

static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void work(void) {
  static const int kLongest[] = {0, 3, 50, 2000};
  const int longest = kLongest[draw(4)];
  const int equal = draw(3) == 0;
  const int common_time = draw(longest + 1);
  const int own = (int)(next(&personal) % (uint64_t)(longest + 1));
  usleep((useconds_t)(equal ? common_time : own));
}

static int draw_size(void) {
  static const int kSizes[] = {0, 8, 40, 1000, 9000, 70000, kLargest};
  return kSizes[draw(7)];
}

/* Requests that are still to be completed, with what they need. */
static MPI_Request requests[kRequests];
static void* buffers[kRequests];
static int pending;

static char* add_buffer(int bytes, int value) {
  char* buffer = malloc((size_t)bytes + 1);
  memset(buffer, value, (size_t)bytes + 1);
  buffers[pending] = buffer;
  requests[pending] = MPI_REQUEST_NULL;
  ++pending;
  return buffer;
}

static void complete_by_any(int tests) {
  for (int left = pending; left > 0;) {
    int index = 0, flag = 1;
    if (tests) {
      MPI_Testany(pending, requests, &index, &flag, MPI_STATUS_IGNORE);
    } else {
      MPI_Waitany(pending, requests, &index, MPI_STATUS_IGNORE);
    }
    if (!flag) continue;
    if (index == MPI_UNDEFINED) break;
    --left;
    if (index % 3 == 0) usleep(1);
  }
}

static void complete_by_some(int tests) {
  int indices[kRequests];
  for (;;) {
    int found = 0;
    if (tests) {
      MPI_Testsome(pending, requests, &found, indices, MPI_STATUSES_IGNORE);
    } else {
      MPI_Waitsome(pending, requests, &found, indices, MPI_STATUSES_IGNORE);
    }
    if (found == MPI_UNDEFINED) return;
    if (found > 0) usleep((useconds_t)found);
  }
}

static void complete_pending(void) {
  int flag = 0;
  switch (draw(8)) {
    case 0:
      complete_by_any(0);
      break;
    case 1:
      complete_by_any(1);
      break;
    case 2:
      complete_by_some(0);
      break;
    case 3:
      complete_by_some(1);
      break;
    case 4:
      while (!flag) MPI_Testall(pending, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    case 5:
      for (int i = 0; i < pending; ++i, flag = 0)
        while (!flag) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < pending; ++i) free(buffers[i]);
  pending = 0;
}

typedef struct {
  int from, to, bytes, mode;
} Message;

static int draw_messages(Message* messages) {
  const int count = 1 + draw(kMessages);
  for (int i = 0; i < count; ++i) {
    messages[i].from = draw(ranks);
    messages[i].to = (messages[i].from + 1 + draw(ranks - 1)) % ranks;
    messages[i].bytes = draw_size();
    messages[i].mode = draw(8);
  }
  return count;
}

static void send(const Message* m, int tag, int may_block) {
  char* data = add_buffer(m->bytes, tag & 0x7f);
  MPI_Request* request = &requests[pending - 1];
  MPI_Comm world = MPI_COMM_WORLD;
  int mode = may_block ? m->mode : m->mode % 4;
  if (only_messages && mode % 4 == 3) --mode;
  switch (mode) {
    case 0:
    case 1:
      MPI_Isend(data, m->bytes, MPI_CHAR, m->to, tag, world, request);
      break;
    case 2:
      MPI_Issend(data, m->bytes, MPI_CHAR, m->to, tag, world, request);
      break;
    case 3:
      MPI_Ibsend(data, m->bytes, MPI_CHAR, m->to, tag, world, request);
      break;
    case 4:
    case 5:
      MPI_Send(data, m->bytes, MPI_CHAR, m->to, tag, world);
      break;
    case 6:
      MPI_Ssend(data, m->bytes, MPI_CHAR, m->to, tag, world);
      break;
    default:
      MPI_Bsend(data, m->bytes, MPI_CHAR, m->to, tag, world);
  }
}

static void post_receives(const Message* messages, int count, int tag, int wildcards) {
  for (int i = 0; i < count; ++i) {
    if (messages[i].to != rank) continue;
    /* Of any source, any of the round's messages may come. */
    char* data = add_buffer(wildcards ? kLargest : messages[i].bytes, 0);
    MPI_Irecv(data, wildcards ? kLargest : messages[i].bytes, MPI_CHAR,
              wildcards ? MPI_ANY_SOURCE : messages[i].from, tag, MPI_COMM_WORLD,
              &requests[pending - 1]);
  }
}

static void send_all(const Message* messages, int count, int tag, int may_block) {
  for (int i = 0; i < count; ++i) {
    if (messages[i].from != rank) continue;
    send(&messages[i], tag, may_block);
    if (messages[i].mode == 1) usleep(2);
  }
}

static void point_to_point(int tag) {
  Message messages[kMessages];
  const int count = draw_messages(messages);
  const int wildcards = draw(3) == 0;
  const int late = draw(2);
  if (!late) post_receives(messages, count, tag, wildcards);
  work();
  send_all(messages, count, tag, !late);
  work();
  if (late) post_receives(messages, count, tag, wildcards);
}

static void probe_one(const Message* m, int tag, int how) {
  const int source = how % 2 == 0 ? m->from : MPI_ANY_SOURCE;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Status status;
  MPI_Message handle = MPI_MESSAGE_NULL;
  int flag = 0, bytes = 0;
  switch (how / 2) {
    case 0:
      MPI_Probe(source, tag, world, &status);
      break;
    case 1:
      while (!flag) MPI_Iprobe(source, tag, world, &flag, &status);
      break;
    case 2:
      MPI_Mprobe(source, tag, world, &handle, &status);
      break;
    default:
      while (!flag) MPI_Improbe(source, tag, world, &flag, &handle, &status);
  }
  MPI_Get_count(&status, MPI_CHAR, &bytes);
  char* data = add_buffer(bytes, 0);
  if (handle == MPI_MESSAGE_NULL) {
    MPI_Recv(data, bytes, MPI_CHAR, status.MPI_SOURCE, tag, world, MPI_STATUS_IGNORE);
  } else {
    MPI_Imrecv(data, bytes, MPI_CHAR, &handle, &requests[pending - 1]);
    MPI_Wait(&requests[pending - 1], MPI_STATUS_IGNORE);
  }
  check(bytes == 0 || data[0] == (tag & 0x7f), "probed data");
}

static void probes(int tag) {
  Message messages[kMessages];
  const int count = draw_messages(messages);
  const int how = draw(8);
  work();
  send_all(messages, count, tag, 0);
  for (int i = 0; i < count; ++i)
    if (messages[i].to == rank) probe_one(&messages[i], tag, how);
}

static void collective(int blocks) {
  const int count = draw_size() / 8;
  const int bytes = 8 * count * ranks;
  char* out = add_buffer(bytes, 1);
  char* in = add_buffer(bytes, 0);
  MPI_Request* request = &requests[pending - 1];
  MPI_Comm world = MPI_COMM_WORLD;
  const int root = draw(ranks);
  work();
  switch (draw(7)) {
    case 0:
      MPI_Iallreduce(out, in, count, MPI_LONG, MPI_SUM, world, request);
      break;
    case 1:
      MPI_Ibcast(in, count, MPI_LONG, root, world, request);
      break;
    case 2:
      MPI_Ialltoall(out, count, MPI_LONG, in, count, MPI_LONG, world, request);
      break;
    case 3:
      MPI_Iallgather(out, count, MPI_LONG, in, count, MPI_LONG, world, request);
      break;
    case 4:
      MPI_Ireduce(out, in, count, MPI_LONG, MPI_MAX, root, world, request);
      break;
    case 5:
      MPI_Iscan(out, in, count, MPI_LONG, MPI_SUM, world, request);
      break;
    default:
      MPI_Ibarrier(world, request);
  }
  if (blocks) MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void exchange(int tag) {
  const int shift = 1 + draw(ranks - 1);
  const int bytes = draw_size();
  char* out = add_buffer(bytes, tag & 0x7f);
  char* in = add_buffer(bytes, 0);
  work();
  MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + shift) % ranks, tag, in, bytes, MPI_CHAR,
               (rank - shift + ranks) % ranks, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(bytes == 0 || in[bytes - 1] == (tag & 0x7f), "exchanged data");
}

static MPI_Win window;
static long* shared_memory;
enum { kWords = 4096 };

static void access_window(long* local, int count) {
  static const int kCounts[] = {1, 16, 500};
  for (int i = 0; i < count; ++i) {
    const int target = (int)(next(&personal) % (uint64_t)ranks);
    const int words = kCounts[next(&personal) % 3];
    const int kind = (int)(next(&personal) % 3);
    long* here = local + i * 500;
    if (kind == 0) MPI_Get(here, words, MPI_LONG, target, 0, words, MPI_LONG, window);
    if (kind == 1)
      MPI_Accumulate(here, words, MPI_LONG, target, 1000, words, MPI_LONG, MPI_SUM, window);
    if (kind == 2) MPI_Put(here, 1, MPI_LONG, target, 2000 + rank, 1, MPI_LONG, window);
  }
}

static void one_sided(void) {
  const int count = 1 + draw(6);
  long* local = (long*)add_buffer(count * 500 * 8, 0);
  const int how = draw(3);
  work();
  if (how == 0) {
    MPI_Win_fence(0, window);
    access_window(local, count);
    MPI_Win_fence(0, window);
  } else if (how == 1) {
    MPI_Win_lock_all(0, window);
    access_window(local, count);
    MPI_Win_flush_all(window);
    MPI_Win_unlock_all(window);
  } else {
    const int target = (int)(next(&personal) % (uint64_t)ranks);
    MPI_Win_lock(draw(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Put(local, 100, MPI_LONG, target, 3000, 100, MPI_LONG, window);
    MPI_Win_flush_local(target, window);
    MPI_Win_unlock(target, window);
  }
}

static void communicators(void) {
  MPI_Comm duplicate, half, copy;
  MPI_Request request;
  const int overlaps = draw(2);
  work();
  MPI_Comm_idup(MPI_COMM_WORLD, &duplicate, &request);
  if (overlaps) MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_split(duplicate, rank % 2, rank, &half);
  int sum = 0, one = 1, size;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
  MPI_Comm_size(half, &size);
  check(sum == size, "sum in half of the ranks");
  MPI_Comm_free(&half);
  MPI_Comm_free(&duplicate);
  if (overlaps) MPI_Comm_free(&copy);
}

static MPI_File file = MPI_FILE_NULL;

static void files(void) {
  const int bytes = draw_size() + 1;
  const MPI_Offset at = (MPI_Offset)rank * kLargest + draw(1000);
  char* data = add_buffer(bytes, rank);
  MPI_Request* request = &requests[pending - 1];
  MPI_Status* none = MPI_STATUS_IGNORE;
  work();
  switch (draw(8)) {
    case 0:
      MPI_File_write_at(file, at, data, bytes, MPI_CHAR, none);
      break;
    case 1:
      MPI_File_iwrite_at(file, at, data, bytes, MPI_CHAR, request);
      break;
    case 2:
      MPI_File_read_at(file, at, data, bytes, MPI_CHAR, none);
      break;
    case 3:
      MPI_File_iread_at(file, at, data, bytes, MPI_CHAR, request);
      break;
    case 4:
      MPI_File_write_at_all(file, at, data, bytes, MPI_CHAR, none);
      break;
    case 5:
      MPI_File_write_shared(file, data, bytes, MPI_CHAR, none);
      break;
    case 6:
      MPI_File_iwrite_shared(file, data, bytes, MPI_CHAR, request);
      break;
    default:
      MPI_File_write_ordered(file, data, bytes, MPI_CHAR, none);
  }
}

static void round_of(int number) {
  const int tag = number;
  switch (draw(file == MPI_FILE_NULL ? 12 : 15)) {
    case 0:
    case 1:
    case 2:
    case 3:
      point_to_point(tag);
      break;
    case 4:
    case 5:
      probes(tag);
      break;
    case 6:
      collective(1);
      break;
    case 7:
    case 8:
      collective(0);
      break;
    case 9:
      exchange(tag);
      break;
    case 10:
      only_messages ? collective(0) : one_sided();
      break;
    case 11:
      communicators();
      break;
    default:
      files();
  }
  if (draw(3) == 0 || number % 8 == 0) complete_pending();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3 || ranks < 2) {
    if (rank == 0)
      fprintf(stderr, "usage: schedule SEED ROUNDS [FILE|messages], 2 ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  common = strtoull(argv[1], NULL, 10) * 1000003;
  personal = common + (uint64_t)rank * 7919 + 1;
  const int space = 64 << 20;
  void* attached = malloc((size_t)space);
  MPI_Buffer_attach(attached, space);
  only_messages = argc > 3 && strcmp(argv[3], "messages") == 0;
  if (!only_messages)
    MPI_Win_allocate(kWords * (int)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &shared_memory, &window);
  if (argc > 3 && !only_messages) {
    MPI_File_open(MPI_COMM_WORLD, argv[3], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    check(file != MPI_FILE_NULL, "file name");
  }
  for (int number = 1; number <= atoi(argv[2]); ++number) round_of(number);
  complete_pending();
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
  if (!only_messages) MPI_Win_free(&window);
  int bytes;
  MPI_Buffer_detach(&attached, &bytes);
  free(attached);
  if (rank == 0) printf("correct after %d rounds\n", atoi(argv[2]));
  MPI_Finalize();
  return 0;
}
