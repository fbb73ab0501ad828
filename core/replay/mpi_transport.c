/* The transport of the replayer over MPI (mpi_transport.h), built with the user's MPI compiler.
 * While a replay runs, only tokens are sent. */
#include "core/replay/mpi_transport.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { kToken = 1, kDone = 2, kBytes = 3, kMostAtOnce = 1 << 30 };

static MPI_Comm tokens;
static int rank, size, done;

static void start(int* rank_out, int* size_out) {
  int initialized = 0, provided = 0;
  MPI_Initialized(&initialized);
  if (!initialized) MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_dup(MPI_COMM_WORLD, &tokens);
  MPI_Comm_rank(tokens, &rank);
  MPI_Comm_size(tokens, &size);
  *rank_out = rank;
  *size_out = size;
}

static int agree(int ready) {
  int all = 0;
  MPI_Allreduce(&ready, &all, 1, MPI_INT, MPI_MIN, tokens);
  return all;
}

/* A token is so small that MPI libraries send it without waiting for the receiver. */
static void send_token(int process, const sesame_token* token) {
  MPI_Send(token, sizeof *token, MPI_BYTE, process, kToken, tokens);
}

static int receive(sesame_token* token) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kToken, tokens, &there, &status);
  if (!there) return 0;
  MPI_Recv(token, sizeof *token, MPI_BYTE, status.MPI_SOURCE, kToken, tokens, &status);
  return 1;
}

static void say_done(void) {
  for (int i = 0; i < size; ++i) {
    if (i != rank) MPI_Send(NULL, 0, MPI_BYTE, i, kDone, tokens);
  }
}

static int all_done(void) {
  int there = 1;
  MPI_Status status;
  while (done < size - 1 && there) {
    MPI_Iprobe(MPI_ANY_SOURCE, kDone, tokens, &there, &status);
    if (there) {
      MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, kDone, tokens, &status);
      ++done;
    }
  }
  return done == size - 1;
}

static void receive_bytes(char* bytes, int64_t count, int from) {
  for (int64_t at = 0; at < count; at += kMostAtOnce) {
    const int part = (int)(count - at < kMostAtOnce ? count - at : kMostAtOnce);
    MPI_Recv(bytes + at, part, MPI_BYTE, from, kBytes, tokens, MPI_STATUS_IGNORE);
  }
}

static void send_bytes(const char* bytes, int64_t count) {
  for (int64_t at = 0; at < count; at += kMostAtOnce) {
    const int part = (int)(count - at < kMostAtOnce ? count - at : kMostAtOnce);
    MPI_Send(bytes + at, part, MPI_BYTE, 0, kBytes, tokens);
  }
}

static int64_t gather(const char* bytes, int64_t count, char** all) {
  int64_t* counts = calloc((size_t)size, sizeof *counts);
  if (counts == NULL) MPI_Abort(tokens, 1);
  MPI_Gather(&count, 1, MPI_INT64_T, counts, 1, MPI_INT64_T, 0, tokens);
  int64_t total = 0;
  *all = NULL;
  if (rank == 0) {
    for (int i = 0; i < size; ++i) total += counts[i];
    *all = malloc((size_t)total + 1);
    if (*all == NULL) MPI_Abort(tokens, 1);
    memcpy(*all, bytes, (size_t)count);
    int64_t at = count;
    for (int i = 1; i < size; ++i) {
      receive_bytes(*all + at, counts[i], i);
      at += counts[i];
    }
  } else {
    send_bytes(bytes, count);
  }
  free(counts);
  return total;
}

static void release(char* all) { free(all); }

static void finish(void) {
  MPI_Comm_free(&tokens);
  MPI_Finalize();
}

const sesame_mpi_transport* sesame_transport(void) {
  static const sesame_mpi_transport table = {
      .start = start,
      .agree = agree,
      .send = send_token,
      .receive = receive,
      .say_done = say_done,
      .all_done = all_done,
      .gather = gather,
      .release = release,
      .finish = finish,
  };
  return &table;
}
