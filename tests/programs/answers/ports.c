/* Ports and names: two groups of one run that share no communicator, and a spawned world that
   connects to a port published by its grandparents. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

static int class_of(int error) {
  int result;
  MPI_Error_class(error, &result);
  return result;
}

/* `first` tells which side prints first, so that the lines do not depend on the order. */
static void greet(MPI_Comm inter, const char *who) {
  int local, remote, mine = 1, sum = 0, merged_rank;
  MPI_Comm merged;
  MPI_Comm_size(inter, &local);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  MPI_Intercomm_merge(inter, strcmp(who, "server") != 0, &merged);
  MPI_Comm_rank(merged, &merged_rank);
  printf("%s %d: local %d remote %d sum %d merged %d\n", who, rank, local, remote, sum, merged_rank);
  MPI_Comm_free(&merged);
}

static void halves(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int round = 0; round < 2; ++round) {
    if (rank % 2 == 0) {
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    } else {
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    }
    greet(inter, rank % 2 == 0 ? "server" : "client");
    MPI_Comm_disconnect(&inter);
  }
  if (rank == 0) MPI_Close_port(port);
  MPI_Comm_free(&half);
}

/* Each of the others connects alone; the server takes them as they come. */
static void many_clients(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    int sum = 0;
    for (int i = 1; i < size; ++i) {
      int value;
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
      MPI_Recv(&value, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
      sum += value;
      MPI_Comm_disconnect(&inter);
    }
    printf("server: sum %d\n", sum);
    MPI_Close_port(port);
  } else {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    MPI_Send(&rank, 1, MPI_INT, 0, 0, inter);
    MPI_Comm_disconnect(&inter);
  }
}

static void names(void) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("sesame-test", MPI_INFO_NULL, port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Lookup_name("sesame-test", MPI_INFO_NULL, found);
  printf("rank %d: found %d\n", rank, strcmp(port, found) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0) {
    MPI_Unpublish_name("sesame-test", MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int error = MPI_Lookup_name("sesame-test", MPI_INFO_NULL, found);
  printf("rank %d: gone %d\n", rank, class_of(error) == MPI_ERR_NAME);
}

static int client_of(const char *port) {
  MPI_Comm inter, parent;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  greet(inter, "client");
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  return 0;
}

/* Two spawned worlds connect to each other through the run's port, having left their parents. */
static void spawned_client(char *program) {
  char port[MPI_MAX_PORT_NAME] = "";
  char *arguments[] = {port, NULL};
  MPI_Comm children, inter;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&children);
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  greet(inter, "server");
  MPI_Comm_disconnect(&inter);
  if (rank == 0) MPI_Close_port(port);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) return client_of(argv[1]);
  halves();
  many_clients();
  spawned_client(argv[0]);
  names();
  MPI_Finalize();
  return 0;
}
