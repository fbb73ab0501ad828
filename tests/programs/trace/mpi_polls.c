/* Rank 1 polls for each message of rank 0, by another call for each. Rank 0 sends it when rank 1 has
 * polled without success for a while. Rank 1 prints for each call how often it found nothing, and for how
 * many microseconds it polled. */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 6, TAG = 5, ASK = 6, LEAST_POLLS = 1000 };
static const char* const names[CALLS] = {"MPI_Test",     "MPI_Testall", "MPI_Testany",
                                         "MPI_Testsome", "MPI_Iprobe",  "MPI_Improbe"};

/* Whether the message has come. */
static int poll_once(int call, MPI_Request* request, MPI_Message* message) {
  int done = 0, index = 0, number = 0;
  switch (call) {
    case 0:
      MPI_Test(request, &done, MPI_STATUS_IGNORE);
      return done;
    case 1:
      MPI_Testall(1, request, &done, MPI_STATUSES_IGNORE);
      return done;
    case 2:
      MPI_Testany(1, request, &index, &done, MPI_STATUS_IGNORE);
      return done;
    case 3:
      MPI_Testsome(1, request, &number, &index, MPI_STATUSES_IGNORE);
      return number == 1;
    case 4:
      MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
      return done;
    default:
      MPI_Improbe(0, TAG, MPI_COMM_WORLD, &done, message, MPI_STATUS_IGNORE);
      return done;
  }
}

static void poll_until_done(int call) {
  int data = 0;
  long failed = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  if (call < 4) MPI_Irecv(&data, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
  const double begin = MPI_Wtime();
  while (!poll_once(call, &request, &message))
    if (++failed == LEAST_POLLS) MPI_Send(&call, 1, MPI_INT, 0, ASK, MPI_COMM_WORLD);
  const double polled_us = 1e6 * (MPI_Wtime() - begin);
  if (call == 4) MPI_Recv(&data, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (call == 5) MPI_Mrecv(&data, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  printf("%s %ld %.0f\n", names[call], failed, polled_us);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int call = 0; call < CALLS; ++call) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      int asked = 0;
      MPI_Recv(&asked, 1, MPI_INT, 1, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&call, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    } else if (rank == 1) {
      poll_until_done(call);
    }
  }
  MPI_Finalize();
}
