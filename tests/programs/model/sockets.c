/* Rank 0 waits for a connection of rank 1 and then for its data, each of which comes a millisecond
 * later. Prints how long it waited. Usage: sockets WAY [join], where WAY is accept or a call of
 * receive() below, perhaps with a time limit that is not reached. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static int rank;
int __poll_chk(struct pollfd*, nfds_t, int, size_t); /* with _FORTIFY_SOURCE poll is this */

static int connected(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  int port = 0, made = socket(AF_INET, SOCK_STREAM, 0), listener = made;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (rank == 0) {
    bind(listener, (struct sockaddr*)&address, sizeof address);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr*)&address, &length);
    port = address.sin_port;
  }
  MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD);
  address.sin_port = (in_port_t)port;
  if (rank == 0) {
    made = accept(listener, NULL, NULL);
    close(listener);
  } else {
    usleep(1000);
    connect(made, (struct sockaddr*)&address, sizeof address);
  }
  return made;
}

static long receive(int connection, const char* way) {
  char data[8] = "";
  struct iovec part = {data, sizeof data};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  struct pollfd descriptor = {connection, POLLIN, 0};
  fd_set set;
  struct timeval limit = {10, 0};
  const struct timespec precise_limit = {10, 0};
  struct epoll_event event = {.events = EPOLLIN};
  const int events = epoll_create1(0);
  epoll_ctl(events, EPOLL_CTL_ADD, connection, &event);
  FD_ZERO(&set);
  FD_SET(connection, &set);
  const int end = connection + 1;
  int ready = 1;
  if (!strcmp(way, "poll")) ready = poll(&descriptor, 1, -1);
  if (!strcmp(way, "fortified-poll")) ready = __poll_chk(&descriptor, 1, 10000, sizeof descriptor);
  if (!strcmp(way, "select-of-many")) ready = select(20000, &set, NULL, NULL, &limit);
  if (!strcmp(way, "select-of-one-word")) {
    /* A message arrives meanwhile in the word behind the set. */
    long words[2] = {set.fds_bits[0], 0};
    MPI_Request request;
    MPI_Irecv(&words[1], 1, MPI_LONG, 1, 0, MPI_COMM_WORLD, &request);
    ready = select(end, (fd_set*)words, NULL, NULL, &limit);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (words[1] != 42 || words[0] != set.fds_bits[0]) ready = -3;
  }
  if (!strcmp(way, "poll-limited")) ready = poll(&descriptor, 1, 10000);
  if (!strcmp(way, "poll-in-a-loop"))
    while (poll(&descriptor, 1, 0) == 0) {
    }
  if (!strcmp(way, "ppoll-limited")) ready = ppoll(&descriptor, 1, &precise_limit, NULL);
  if (!strcmp(way, "select")) ready = select(end, &set, NULL, NULL, NULL);
  if (!strcmp(way, "select-limited")) {
    ready = select(end, &set, NULL, NULL, &limit);
    if (limit.tv_sec != 9) ready = -2;
  }
  if (!strcmp(way, "pselect-limited")) ready = pselect(end, &set, NULL, NULL, &precise_limit, NULL);
  if (!strcmp(way, "epoll_wait")) ready = epoll_wait(events, &event, 1, -1);
  if (!strcmp(way, "epoll_wait-limited")) ready = epoll_wait(events, &event, 1, 10000);
  if (ready != 1 || !FD_ISSET(connection, &set)) return -1;
  if (!strcmp(way, "recv")) return recv(connection, data, sizeof data, 0);
  if (!strcmp(way, "recvmsg")) return recvmsg(connection, &message, 0);
  return read(connection, data, sizeof data);
}

int main(int argc, char** argv) {
  MPI_Comm made;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double begin = MPI_Wtime();
  int connection = connected();
  const double accepted = MPI_Wtime();
  if (argc > 2) MPI_Comm_join(connection, &made);
  if (rank == 1) {
    const long message = 42;
    if (!strcmp(argv[1], "select-of-one-word"))
      MPI_Send(&message, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
    usleep(1000);
    (void)!write(connection, "12345678", 8);
  } else {
    const long size = receive(connection, argv[1]);
    printf("%ld bytes %.9f %.9f\n", size, accepted - begin, MPI_Wtime() - accepted);
  }
  MPI_Finalize();
  return 0;
}
