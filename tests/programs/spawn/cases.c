/* One case of spawning for each first argument; children get "child" and a case of their own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static int class_of(int error) {
  int result;
  MPI_Error_class(error, &result);
  return result;
}

static int spawn(const char *program, char *kind, int count, MPI_Info info, MPI_Comm *children,
                 int *codes) {
  char *arguments[] = {"child", kind, NULL};
  return MPI_Comm_spawn(program, arguments, count, info, 0, MPI_COMM_WORLD, children, codes);
}

/* What became of a spawn, on every rank of the parents. */
static void report(const char *what, int error, MPI_Comm *children, const int *codes, int asked) {
  int remote = 0, started = 0;
  /* Errors of other classes leave the codes alone. */
  if (error != MPI_SUCCESS && class_of(error) != MPI_ERR_SPAWN) asked = 0;
  for (int i = 0; i < asked; ++i) started += codes[i] == MPI_SUCCESS;
  for (int i = started; i < asked; ++i) {
    if (codes[i] != MPI_ERR_SPAWN) printf("wrong code %d\n", codes[i]);
  }
  if (*children != MPI_COMM_NULL) MPI_Comm_remote_size(*children, &remote);
  printf("%s %d: %s, %d started, %d there\n", what, rank,
         error == MPI_SUCCESS                       ? "success"
         : class_of(error) == MPI_ERR_SPAWN         ? "MPI_ERR_SPAWN"
         : class_of(error) == MPI_ERR_PORT          ? "MPI_ERR_PORT"
         : class_of(error) == MPI_ERR_INFO_VALUE    ? "MPI_ERR_INFO_VALUE"
                                                    : "another error",
         started, remote);
  if (*children != MPI_COMM_NULL) MPI_Comm_disconnect(children);
}

static void try_spawn(const char *what, const char *program, char *kind, int count,
                      const char *key, const char *value) {
  MPI_Comm children;
  MPI_Info info = MPI_INFO_NULL;
  int codes[16];
  memset(codes, 1, sizeof codes);
  if (key != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  int error = spawn(program, kind, count, info, &children, codes);
  report(what, error, &children, codes, count);
  if (key != NULL) MPI_Info_free(&info);
}

static int be_child(const char *kind) {
  MPI_Comm parent;
  char name[MPI_MAX_PROCESSOR_NAME], directory[4096];
  int length;
  if (strcmp(kind, "silent") == 0) return 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (strcmp(kind, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(kind, "fail") == 0) exit(3);
  if (strcmp(kind, "where") == 0) {
    MPI_Get_processor_name(name, &length);
    printf("child %d on %s in %s\n", rank, name, strrchr(getcwd(directory, sizeof directory), '/'));
  }
  if (strncmp(kind, "/", 1) == 0) {
    char text[16] = "";
    snprintf(name, sizeof name, "%s/of-%d", kind, rank);
    FILE *file = fopen(name, "w+");
    fprintf(file, "rank %d", rank);
    rewind(file);
    fgets(text, sizeof text, file);
    fclose(file);
    printf("child %d read \"%s\"\n", rank, text);
  }
  if (strcmp(kind, "wait") == 0) MPI_Recv(&length, 1, MPI_INT, 0, 5, parent, MPI_STATUS_IGNORE);
  if (strcmp(kind, "work") == 0) {
    double begin = MPI_Wtime();
    for (int i = 0; i < 10; ++i) MPI_Sendrecv_replace(&length, 1, MPI_INT, rank, 0, rank, 0,
                                                      MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&begin, 1, MPI_DOUBLE, 0, 1, parent);
  }
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

static void capacity(char *program) {
  int *universe, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
  if (rank == 0) printf("universe %d\n", flag ? *universe : -1);
  try_spawn("too many", program, "none", 3, NULL, NULL);
  try_spawn("fits", program, "where", 2, NULL, NULL);
  /* The children end after they have disconnected. */
  sleep(1);
  try_spawn("again", program, "none", 2, NULL, NULL);
  sleep(1);
  try_spawn("soft", program, "none", 4, "soft", "4,1:2");
  sleep(1);
  try_spawn("wrong soft", program, "none", 2, "soft", "some");
}

static void times(char *program) {
  MPI_Comm children;
  double begin;
  spawn(program, "work", 2, MPI_INFO_NULL, &children, MPI_ERRCODES_IGNORE);
  if (rank == 0) {
    for (int i = 0; i < 2; ++i) {
      MPI_Recv(&begin, 1, MPI_DOUBLE, i, 1, children, MPI_STATUS_IGNORE);
    }
  }
  MPI_Comm_disconnect(&children);
}

static void ports(void) {
  MPI_Comm other = MPI_COMM_NULL;
  int codes[1];
  int error = MPI_Comm_connect("nothing", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
  report("unknown port", error, &other, codes, 0);
}

static void deadlock(const char *kind, char *program) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm other;
  if (strcmp(kind, "no-accept") == 0) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
  } else if (strcmp(kind, "no-connect") == 0) {
    if (rank == 0) {
      MPI_Open_port(MPI_INFO_NULL, port);
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    }
  } else {
    spawn(program, strcmp(kind, "silent") == 0 ? "silent" : "wait", 2, MPI_INFO_NULL, &other,
          MPI_ERRCODES_IGNORE);
  }
}

int main(int argc, char **argv) {
  if (strcmp(argv[1], "child") == 0) return be_child(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const char *kind = argv[1];
  if (strcmp(kind, "missing") == 0) {
    try_spawn("missing", "./no-such-program", "none", 2, NULL, NULL);
  } else if (strcmp(kind, "fatal") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    try_spawn("missing", "./no-such-program", "none", 2, NULL, NULL);
  } else if (strcmp(kind, "capacity") == 0) {
    capacity(argv[0]);
  } else if (strcmp(kind, "times") == 0) {
    times(argv[0]);
  } else if (strcmp(kind, "keys") == 0) {
    try_spawn("host", argv[0], "where", 2, "host", argv[2]);
    try_spawn("wdir", argv[0], "where", 1, "wdir", argv[3]);
    try_spawn("path", argv[4], "where", 1, "path", argv[5]);
  } else if (strcmp(kind, "abort") == 0 || strcmp(kind, "fail") == 0) {
    try_spawn("parent", argv[0], argv[1], 2, NULL, NULL);
    if (strcmp(kind, "abort") == 0) MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(kind, "files") == 0) {
    try_spawn("files", argv[0], argv[2], 2, NULL, NULL);
  } else if (strcmp(kind, "ports") == 0) {
    ports();
  } else {
    deadlock(kind, argv[0]);
  }
  MPI_Finalize();
  return 0;
}
