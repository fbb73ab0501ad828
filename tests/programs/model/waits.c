/* Waiting for what is outside of the simulation. Prints the seconds that it took, as the program
 * sees them. Usage: waits child|limit|select|epoll|spin|fork
 *   child: a child process writes into a pipe after 0.3 s, which rank 0 reads
 *   limit: rank 0 receives with a time limit of 0.1 s, and no rank sends
 *   select, epoll: rank 0 waits 0.1 s for a pipe that no process writes into
 *   spin: rank 0 asks without waiting until a millisecond has passed
 *   fork: a child of rank 0 sleeps and reads a pipe, while rank 1 says once that it works */
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, ends[2];
  char byte;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* way = argv[1];
  if (rank == 1) dprintf(1, "rank 1 works\n");
  double begin = MPI_Wtime();
  if (rank == 0 && !strcmp(way, "limit")) {
    struct timeval limit = {0, 100000};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const ssize_t got = recv(ends[0], &byte, 1, 0);
    printf("limit %zd %d\n", got, errno == EAGAIN);
  } else if (rank == 0 && (!strcmp(way, "select") || !strcmp(way, "epoll"))) {
    struct timeval limit = {0, 100000};
    struct epoll_event event = {.events = EPOLLIN};
    fd_set set;
    pipe(ends);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    const int events = epoll_create1(0);
    epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &event);
    const int ready = !strcmp(way, "epoll") ? epoll_wait(events, &event, 1, 100)
                                            : select(ends[0] + 1, &set, NULL, NULL, &limit);
    printf("%s %d %.9f\n", way, ready, MPI_Wtime() - begin);
  } else if (rank == 0 && !strcmp(way, "spin")) {
    struct timeval none = {0, 0};
    int asked = 0;
    for (; MPI_Wtime() < begin + 1e-3; ++asked)
      asked % 2 ? poll(NULL, 0, 0) : select(0, NULL, NULL, NULL, &none);
    const int refused = select(-1, NULL, NULL, NULL, &none) == -1 && errno == EINVAL;
    printf("spin %d %d\n", asked, refused);
  } else if (rank == 0 && !strcmp(way, "child")) {
    pipe(ends);
    if (fork() == 0) {
      dup2(ends[1], 1);
      execl("/bin/sh", "sh", "-c", "sleep 0.3; echo x", (char*)NULL);
    }
    const ssize_t got = read(ends[0], &byte, 1);
    printf("child %zd %f\n", got, MPI_Wtime() - begin);
  } else if (rank == 0) {
    int status;
    pipe(ends);
    const pid_t child = fork();
    if (child == 0) usleep(2000), _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
    usleep(1000);
    write(ends[1], "x", 1);
    waitpid(child, &status, 0);
    printf("fork %d\n", WEXITSTATUS(status));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
