/* Rank 1 ends as the argument says, while the others wait for it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm parent;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL && strcmp(argv[1], "killed") == 0) raise(SIGKILL);
  if (parent != MPI_COMM_NULL)
    for (;;) getppid();
  const char* way = rank == 1 ? argv[1] : "";
  if (strcmp(way, "killed") == 0) raise(SIGKILL);
  if (strcmp(way, "exit") == 0) _exit(0);
  if (argc > 1 && strcmp(argv[1], "receives") == 0) {
    static char data[4096];
    MPI_Request request;
    if (rank == 0) MPI_Send(data, sizeof data, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Irecv(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
      raise(SIGSEGV);
    }
  }
  if (strcmp(way, "spawn") == 0) {
    MPI_Comm children;
    MPI_Comm_spawn(argv[0], &argv[2], 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE);
  }
  if (argc > 1 && strcmp(argv[1], "abort") == 0) {
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 5);
    for (;;) getppid();
  }
  if (strcmp(way, "pointer") == 0) MPI_Send((void*)16, 5000, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "window") == 0) {
    static char data[5000];
    MPI_Win window;
    MPI_Win_create(rank == 1 ? (void*)16 : data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
    MPI_Win_fence(0, window);
    if (rank == 0) MPI_Put(data, sizeof data, MPI_BYTE, 1, 0, sizeof data, MPI_BYTE, window);
    MPI_Win_fence(0, window);
  }
  if (argc > 1 && strcmp(argv[1], "files") == 0) {
    const struct rlimit none = {0, 0};
    void* memory;
    MPI_Win window;
    if (rank == 1) setrlimit(RLIMIT_NOFILE, &none);
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  }
  if (strcmp(way, "fork") == 0) {
    struct timespec now;
    int status, size = 0;
    const pid_t child = fork();
    if (child == 0) {
      clock_gettime(CLOCK_MONOTONIC, &now); /* of the host, which started long ago */
      printf("the child's clock %s\n", now.tv_sec > 0 ? "is the host's" : "is simulated");
      fflush(stdout);
      MPI_Comm_size(MPI_COMM_WORLD, &size);
      _exit(0);
    }
    waitpid(child, &status, 0);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("the child ended with %d of %d ranks, the clock %s\n", WEXITSTATUS(status), size,
           now.tv_sec > 0 ? "is the host's" : "is simulated");
  }
  if (strcmp(way, "vfork") == 0) {
    static volatile time_t of_child = -1;
    struct timespec now;
    const pid_t child = vfork();
    if (child == 0) { /* in the memory of its parent */
      clock_gettime(CLOCK_MONOTONIC, &now);
      of_child = now.tv_sec;
      _exit(0);
    }
    waitpid(child, NULL, 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("the child's clock %s, the parent's %s\n", of_child > 0 ? "is the host's" : "is simulated",
           now.tv_sec > 0 ? "is the host's" : "is simulated");
  }
  if (strcmp(way, "child") == 0 && fork() == 0) {
    execlp("sleep", argv[2], argv[2], NULL); /* outlives its parent */
    _exit(1);
  }
  if (strcmp(way, "sends") == 0) {
    const int value = 7;
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    _exit(0);
  }
  if (argc > 1 && strcmp(argv[1], "sends") == 0) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("0: received %d\n", value);
    fflush(stdout);
  }
  struct timespec begin, now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &begin); /* of the host */
  if (strcmp(way, "computes") == 0) do
      syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    while (now.tv_sec + now.tv_nsec * 1e-9 < begin.tv_sec + begin.tv_nsec * 1e-9 + 0.7);
  if (strcmp(way, "sleeps") == 0)
    syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 700 * 1000 * 1000}, NULL);
  if (strcmp(way, "loop") == 0)
    for (;;) getppid();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
