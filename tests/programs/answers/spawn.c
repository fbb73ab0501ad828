/* MPI_Comm_spawn and MPI_Comm_spawn_multiple: the program spawns itself, children spawn too. Every
   line is printed by one rank of its world, with what it has learned from the others. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* Both sides of the inter-communicator call it: messages, collectives, and one merged group. */
static void talk(MPI_Comm inter, int is_parent, const char *who) {
  int is_inter, remote, value = 1 + rank, theirs = 0, got = -1, sum = 0, merged_rank, merged_size;
  MPI_Comm merged;
  MPI_Comm_test_inter(inter, &is_inter);
  MPI_Comm_remote_size(inter, &remote);
  /* The sum of the other side. */
  MPI_Allreduce(&value, &theirs, 1, MPI_INT, MPI_SUM, inter);
  if (is_parent && rank == 0) {
    for (int i = 0; i < remote; ++i) {
      int number = 100 + i;
      MPI_Send(&number, 1, MPI_INT, i, 7, inter);
    }
    for (int i = 0; i < remote; ++i) {
      int echo;
      MPI_Recv(&echo, 1, MPI_INT, MPI_ANY_SOURCE, 8, inter, MPI_STATUS_IGNORE);
      sum += echo;
    }
  } else if (!is_parent) {
    MPI_Recv(&got, 1, MPI_INT, 0, 7, inter, MPI_STATUS_IGNORE);
    MPI_Send(&got, 1, MPI_INT, 0, 8, inter);
  }
  MPI_Intercomm_merge(inter, !is_parent, &merged);
  MPI_Comm_rank(merged, &merged_rank);
  MPI_Comm_size(merged, &merged_size);
  int total = 0, one = 1;
  MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, merged);
  printf("%s %d of %d: inter %d remote %d sum %d got %d echoes %d merged %d of %d counted %d\n", who,
         rank, size, is_inter, remote, theirs, got, sum, merged_rank, merged_size, total);
  MPI_Comm_free(&merged);
}

static void spawn_two_kinds(char *program) {
  char *commands[2] = {program, program};
  char *first[] = {"kind", "a", NULL}, *second[] = {"kind", "b", "c d", NULL};
  char **arguments[2] = {first, second};
  int counts[2] = {1, 2}, codes[3] = {-1, -1, -1};
  MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm children;
  MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &children,
                          codes);
  printf("parent %d: codes %d %d %d\n", rank, codes[0] == MPI_SUCCESS, codes[1] == MPI_SUCCESS,
         codes[2] == MPI_SUCCESS);
  talk(children, 1, "parent");
  MPI_Comm_disconnect(&children);
}

static int be_kind(int argc, char **argv, MPI_Comm parent) {
  int *appnum, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
  printf("kind %s: rank %d arguments %d last \"%s\" application %d\n", argv[2], rank, argc - 1,
         argv[argc - 1], flag ? *appnum : -1);
  talk(parent, 0, "kind");
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

static int be_child(int argc, char **argv, MPI_Comm parent) {
  char name[MPI_MAX_OBJECT_NAME];
  int length, depth = atoi(argv[2]);
  MPI_Comm again;
  MPI_Comm_get_parent(&again);
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  printf("child at depth %d: rank %d arguments %d \"%s\" same parent %d world %s\n", depth, rank,
         argc - 1, argv[3], again == parent, name);
  talk(parent, 0, "child");
  if (depth > 1) {
    char deeper[16];
    char *arguments[] = {"child", deeper, "from a child", NULL};
    MPI_Comm children;
    snprintf(deeper, sizeof deeper, "%d", depth - 1);
    /* Each child a world of its own. */
    MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                   MPI_ERRCODES_IGNORE);
    int me = rank, of = size;
    rank = 0;
    size = 1;
    talk(children, 1, "middle");
    rank = me;
    size = of;
    MPI_Comm_disconnect(&children);
  }
  MPI_Comm_disconnect(&parent);
  MPI_Comm_get_parent(&again);
  printf("child at depth %d: rank %d parent gone %d\n", depth, rank, again == MPI_COMM_NULL);
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    return strcmp(argv[1], "kind") == 0 ? be_kind(argc, argv, parent)
                                        : be_child(argc, argv, parent);
  }
  char *arguments[] = {"child", "2", "two words", NULL};
  int codes[3] = {-1, -1, -1};
  /* Only the root's command, arguments and number count. */
  const int root = size - 1;
  MPI_Comm_spawn(rank == root ? argv[0] : "nothing", rank == root ? arguments : MPI_ARGV_NULL, 3,
                 MPI_INFO_NULL, root, MPI_COMM_WORLD, &children, codes);
  printf("parent %d: codes %d %d %d\n", rank, codes[0] == MPI_SUCCESS, codes[1] == MPI_SUCCESS,
         codes[2] == MPI_SUCCESS);
  talk(children, 1, "parent");
  MPI_Comm_disconnect(&children);
  printf("parent %d: disconnected %d\n", rank, children == MPI_COMM_NULL);
  spawn_two_kinds(argv[0]);
  MPI_Finalize();
  return 0;
}
