/* Makes communicators in every way and prints who is who in them. */
#include <mpi.h>
#include <stdio.h>

static int me, ranks;

/* The caller's place, and the ranks in order as MPI_Allgather sees them. */
static void show(const char* what, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) {
    printf("%d %s: none\n", me, what);
    return;
  }
  int size, rank, inter, members[64], result;
  char line[1000];
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  int length = snprintf(line, sizeof line, "%d %s: %d of %d, %s, %s:", me, what, rank, size,
                        inter ? "inter" : "intra",
                        result == MPI_CONGRUENT ? "congruent" : result == MPI_SIMILAR ? "similar"
                                                                                      : "unequal");
  if (inter) MPI_Comm_remote_size(comm, &size);
  MPI_Allgather(&me, 1, MPI_INT, members, 1, MPI_INT, comm);
  for (int i = 0; i < size; ++i) {
    length += snprintf(line + length, sizeof line - (size_t)length, " %d", members[i]);
  }
  printf("%s\n", line);
}

static void intra(void) {
  MPI_Comm comm, other;
  MPI_Request request;
  MPI_Group world, group;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &comm);
  show("split by parity, backwards", comm);
  MPI_Comm_idup(comm, &other, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  show("duplicate of the part", other);
  MPI_Comm_free(&other);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 7, 0, &comm);
  show("all but rank 0", comm);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks - me, MPI_INFO_NULL, &comm);
  show("one node, backwards", comm);
  MPI_Comm_free(&comm);

  int range[1][3] = {{ranks - 1, 0, -1}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, range, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
  show("created backwards", comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  const int zero = 0;
  MPI_Group_excl(world, 1, &zero, &group);
  if (me != 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm);
    show("created by its members", comm);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

static void inter(void) {
  MPI_Comm half, comm, other;
  MPI_Group group, remote;
  const int low = me < ranks / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, 12, &comm);
  show("two halves", comm);
  MPI_Comm_dup(comm, &other);
  show("two halves, duplicated", other);
  MPI_Comm_free(&other);
  for (int high = 0; high <= 1; ++high) {
    MPI_Intercomm_merge(comm, low == high, &other);
    show(high ? "merged, low last" : "merged, low first", other);
    MPI_Comm_free(&other);
  }
  int size, remote_size, result;
  MPI_Comm_group(comm, &group);
  MPI_Comm_remote_group(comm, &remote);
  MPI_Group_size(group, &size);
  MPI_Group_size(remote, &remote_size);
  MPI_Group_compare(group, remote, &result);
  printf("%d groups of %d and %d, %s\n", me, size, remote_size,
         result == MPI_UNEQUAL ? "different" : "the same");
  MPI_Group_free(&remote);
  /* The first rank of either half. */
  const int zero = 0;
  MPI_Group_incl(group, 1, &zero, &remote);
  MPI_Comm_create(comm, remote, &other);
  show("the first ones", other);
  if (other != MPI_COMM_NULL) MPI_Comm_free(&other);
  MPI_Comm_split(comm, me == ranks - 1, 0, &other);
  show("split, the last one alone", other);
  if (other != MPI_COMM_NULL) MPI_Comm_free(&other);
  MPI_Group_free(&remote);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&half);
}

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Comm copy;
  MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
  printf("%d %s (%d)\n", me, name, length);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_get_name(copy, name, &length);
  printf("%d a duplicate is called '%s'\n", me, name);
  MPI_Comm_set_name(copy, "mine");
  MPI_Comm_get_name(copy, name, &length);
  printf("%d '%s' (%d)\n", me, name, length);
  MPI_Comm_free(&copy);
  MPI_Comm_get_parent(&copy);
  show("parent", copy);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  /* Lines of ranks must not mix under mpiexec, and MPI_Init has turned buffering off. */
  static char lines[1 << 16];
  setvbuf(stdout, lines, _IOFBF, sizeof lines);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  intra();
  inter();
  names();
  MPI_Finalize();
  return 0;
}
