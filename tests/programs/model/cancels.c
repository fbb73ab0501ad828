/* Receives that name their source and are cancelled while messages for them are on their way.
 *
 *   cancels times                cancels 200 ns before and after a message arrives; prints whether
 *   cancels behind               so, too; a receive posted before waits for a later message
 *   cancels threads              so, too; a second thread cancels while the first sleeps or waits
 *   cancels random SEED ROUNDS   a random program, whose data is checked
 *   cancels waits ROUNDS         receives from neighbours that are never cancelled
 *
 * Defined where the program is built: LOOKED_UP: it looks MPI_Cancel up while it runs (dlsym).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kEager = 100, kRendezvous = 200000, kMost = 12 };

static int rank, ranks;
static int (*cancel)(MPI_Request*);

static uint64_t next(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void sleep_ns(int64_t ns) {
  const struct timespec time = {ns / 1000000000, ns % 1000000000};
  if (ns > 0) nanosleep(&time, NULL);
}
static void sleep_until(double time) { sleep_ns((int64_t)((time - MPI_Wtime()) * 1e9 + 0.5)); }

static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int was_cancelled(MPI_Request* request) {
  MPI_Status status;
  int flag;
  MPI_Wait(request, &status);
  MPI_Test_cancelled(&status, &flag);
  return flag;
}

/* Rank 1 sends at `start`. Gives when its message, or its request to send, has arrived. */
static double find_arrival(char* data, int bytes, double start) {
  if (rank == 1) {
    sleep_until(start);
    MPI_Send(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    return 0;
  }
  MPI_Probe(1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double arrival = MPI_Wtime() - start;
  MPI_Recv(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return arrival;
}

static void send_both(char* data, int bytes, double start) {
  char later = 0;
  MPI_Request requests[2];
  sleep_until(start);
  MPI_Isend(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&later, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Posts the receive of the message with tag 2 when both are on their way: the poll ends when all
 * that was sent before is known. */
static void post_before(char* data, double time, MPI_Request* request) {
  int flag;
  sleep_until(time);
  MPI_Iprobe(1, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Irecv(data, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, request);
}

static void cancel_at(char* data, int bytes, double start, double arrival, double after,
                      int is_behind) {
  if (rank == 1) return send_both(data, bytes, start);
  char later;
  MPI_Request request, before;
  if (is_behind) post_before(&later, start + arrival / 4, &before);
  MPI_Irecv(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
  sleep_until(start + arrival + after);
  cancel(&request);
  const int cancelled = was_cancelled(&request);
  printf("%d bytes, %+.0f ns: %s\n", bytes, after * 1e9, cancelled ? "cancelled" : "received");
  if (cancelled) MPI_Recv(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!is_behind) MPI_Irecv(&later, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &before);
  MPI_Wait(&before, MPI_STATUS_IGNORE);
}

static void run_times(int is_behind) {
  static const int kSizes[] = {kEager, kRendezvous};
  static const double kAfter[] = {-200e-9, 200e-9, 200e-9, -200e-9};
  char* data = malloc(kRendezvous);
  double start = 1;
  for (int size = 0; size < 2; ++size) {
    const double arrival = find_arrival(data, kSizes[size], start);
    for (int i = 0; i < 4; ++i)
      cancel_at(data, kSizes[size], start += 1, arrival, kAfter[i], is_behind);
    ++start;
  }
  free(data);
}

struct Cancel {
  MPI_Request* request;
  double time;
};

static void* cancel_later(void* given) {
  const struct Cancel* what = given;
  sleep_until(what->time);
  cancel(what->request);
  return NULL;
}

/* `sleeps`: the clock of the first thread is past the arrival long before the cancel. Else it waits
 * for the receive. */
static void cancel_by_thread(char* data, double start, double arrival, double after, int sleeps) {
  if (rank == 1) {
    sleep_until(start);
    MPI_Send(data, kEager, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    return;
  }
  MPI_Request request;
  pthread_t thread;
  struct Cancel what = {&request, start + arrival + after};
  MPI_Irecv(data, kEager, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
  pthread_create(&thread, NULL, cancel_later, &what);
  if (sleeps) sleep_until(start + 0.5);
  const int cancelled = was_cancelled(&request);
  printf("%d bytes, %+.0f ns: %s\n", kEager, after * 1e9, cancelled ? "cancelled" : "received");
  pthread_join(thread, NULL);
  if (cancelled) MPI_Recv(data, kEager, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void run_threads(void) {
  char data[kEager] = {0};
  const double arrival = find_arrival(data, kEager, 1);
  cancel_by_thread(data, 2, arrival, -200e-9, 1);
  cancel_by_thread(data, 3, arrival, -200e-9, 0);
  cancel_by_thread(data, 4, arrival, 200e-9, 1);
}

/* What the ranks of a pair do in a round, the same for both. */
struct Plan {
  int bytes[kMost], send_ns[kMost], post_ns[kMost], cancels[kMost], polls[kMost];
  int messages, receives, tags, is_persistent;
  int first_tag; /* of this round only: a sender may be rounds ahead */
};

static int draw_ns(uint64_t* state) { return (int)(next(state) % 3) * (int)(next(state) % 4000); }

static struct Plan draw(uint64_t* state, int round) {
  struct Plan plan;
  plan.first_tag = 2 * round;
  plan.messages = (int)(next(state) % kMost);
  plan.receives = 1 + (int)(next(state) % (kMost - 1));
  plan.tags = 1 + (int)(next(state) % 2);
  plan.is_persistent = next(state) % 3 == 0;
  for (int i = 0; i < kMost; ++i) {
    plan.bytes[i] = next(state) % 3 == 0 ? kRendezvous : kEager;
    plan.send_ns[i] = draw_ns(state);
    plan.post_ns[i] = draw_ns(state);
    plan.cancels[i] = (int)(next(state) % 3); /* 1: when the next one is posted, 2: at the end */
    plan.polls[i] = next(state) % 4 == 0;
  }
  return plan;
}

static void send_all(const struct Plan* plan, int to) {
  char* data = calloc(plan->messages + 1, kRendezvous);
  MPI_Request requests[kMost];
  for (int i = 0; i < plan->messages; ++i) {
    sleep_ns(plan->send_ns[i]);
    data[(size_t)i * kRendezvous] = (char)i;
    MPI_Isend(data + (size_t)i * kRendezvous, plan->bytes[i], MPI_CHAR, to,
              plan->first_tag + i % plan->tags, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(plan->messages, requests, MPI_STATUSES_IGNORE);
  free(data);
}

/* Messages of a tag are received in the order sent. */
static void take(const char* data, const struct Plan* plan, int tag, int* taken) {
  check(*data == tag + taken[tag] * plan->tags, "message");
  ++taken[tag];
}

static void post(const struct Plan* plan, int i, int from, char* data, MPI_Request* request) {
  const int tag = plan->first_tag + i % plan->tags;
  int flag;
  sleep_ns(plan->post_ns[i]);
  if (plan->is_persistent) {
    MPI_Recv_init(data, kRendezvous, MPI_CHAR, from, tag, MPI_COMM_WORLD, request);
    MPI_Start(request);
  } else {
    MPI_Irecv(data, kRendezvous, MPI_CHAR, from, tag, MPI_COMM_WORLD, request);
  }
  if (plan->polls[i]) MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
}

static int has_more(const struct Plan* plan, int tag, const int* taken) {
  return tag + taken[tag] * plan->tags < plan->messages;
}

/* Cancels some receives when the next one is posted, others at the end. Gives which ones were
 * received, as bits. */
static uint64_t receive_all(const struct Plan* plan, int from) {
  char* data = malloc((size_t)kMost * kRendezvous);
  MPI_Request requests[kMost];
  int taken[2] = {0, 0};
  uint64_t received = 0;
  for (int i = 0; i < plan->receives; ++i) {
    post(plan, i, from, data + (size_t)i * kRendezvous, &requests[i]);
    if (i > 0 && plan->cancels[i - 1] == 1) cancel(&requests[i - 1]);
  }
  for (int i = 0; i < plan->receives; ++i) {
    const int tag = i % plan->tags;
    const int is_done = plan->cancels[i] == 1 && i + 1 < plan->receives;
    if (!is_done && (plan->cancels[i] == 2 || !has_more(plan, tag, taken))) cancel(&requests[i]);
    if (!was_cancelled(&requests[i])) {
      received |= (uint64_t)1 << i;
      take(data + (size_t)i * kRendezvous, plan, tag, taken);
    }
    if (plan->is_persistent) MPI_Request_free(&requests[i]);
  }
  for (int tag = 0; tag < plan->tags; ++tag)
    while (has_more(plan, tag, taken)) {
      MPI_Recv(data, kRendezvous, MPI_CHAR, from, plan->first_tag + tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      take(data, plan, tag, taken);
    }
  free(data);
  return received;
}

static void run_random(uint64_t seed, int rounds) {
  uint64_t outcome = 0;
  for (int round = 0; round < rounds; ++round) {
    /* Rank i sends to the one `shift` further, or receives, by its place. */
    const int shift = 1 + (int)((seed + (uint64_t)round) % (uint64_t)(ranks / 2));
    const int sends = rank / shift % 2 == 0;
    const int peer = sends ? rank + shift : rank - shift;
    uint64_t state = seed * 1000003 + (uint64_t)round * 8191 + (uint64_t)(sends ? rank : peer);
    const struct Plan plan = draw(&state, round);
    if (peer >= ranks) continue;
    if (sends) {
      send_all(&plan, peer);
    } else {
      outcome = outcome * 31 + receive_all(&plan, peer);
    }
  }
  printf("rank %d: %016llx at %.9f\n", rank, (unsigned long long)outcome, MPI_Wtime());
}

static void run_waits(int rounds) {
  char in[2][kEager], out[kEager] = {0};
  MPI_Request requests[2];
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 2; ++i)
      MPI_Irecv(in[i], kEager, MPI_CHAR, (rank + (i == 0 ? 1 : ranks - 1)) % ranks, 0,
                MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; ++i)
      MPI_Send(out, kEager, MPI_CHAR, (rank + (i == 0 ? 1 : ranks - 1)) % ranks, 0, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv,
                  strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef LOOKED_UP
  cancel = (int (*)(MPI_Request*))dlsym(RTLD_DEFAULT, "MPI_Cancel");
#else
  cancel = MPI_Cancel;
#endif
  if (strcmp(argv[1], "times") == 0) run_times(0);
  if (strcmp(argv[1], "behind") == 0) run_times(1);
  if (strcmp(argv[1], "threads") == 0) run_threads();
  if (strcmp(argv[1], "waits") == 0) run_waits(atoi(argv[2]));
  if (strcmp(argv[1], "random") == 0) run_random((uint64_t)atoi(argv[2]), atoi(argv[3]));
  MPI_Finalize();
}
