/* Sets file views of all sorts, and writes where MPI itself says that their data lie:
   mpi_view_places FILE. FILE.RANK gets a line for each view: size and place of each etype. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ETYPES = 100 };

static MPI_File file;
static FILE* places;
static int rank;

static void show(MPI_Datatype etype, MPI_Datatype filetype, long displacement) {
  MPI_Type_commit(&filetype);
  MPI_File_set_view(file, displacement, etype, filetype, "native", MPI_INFO_NULL);
  int bytes = 0;
  MPI_Type_size(etype, &bytes);
  fprintf(places, "%d", bytes);
  for (int i = 0; i < ETYPES; ++i) {
    MPI_Offset place = -1;
    MPI_File_get_byte_offset(file, i, &place);
    fprintf(places, " %lld", (long long)place);
  }
  fputc('\n', places);
  MPI_Type_free(&filetype);
}

static void blocks(void) {
  MPI_Datatype type, inner;
  MPI_Type_contiguous(3, MPI_INT, &type);
  show(MPI_INT, type, 4);
  MPI_Type_vector(5, 2, 7, MPI_INT, &type);
  show(MPI_INT, type, 12);
  MPI_Type_create_hvector(4, 3, 40, MPI_SHORT, &type);
  show(MPI_SHORT, type, 0);
  MPI_Type_vector(3, 2, 4, MPI_DOUBLE, &inner);
  MPI_Type_create_hvector(4, 1, 200, inner, &type);
  show(MPI_DOUBLE, type, 16);
  const int lengths[] = {1, 3, 2, 2}, places[] = {1, 5, 9, 20};
  MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
  show(MPI_INT, type, 0);
  const MPI_Aint at[] = {8, 40, 48, 100};
  MPI_Type_create_hindexed(4, lengths, at, MPI_BYTE, &type);
  show(MPI_BYTE, type, 5);
  MPI_Type_create_indexed_block(4, 2, places, inner, &type);
  show(MPI_DOUBLE, type, 0);
  MPI_Type_create_hindexed_block(4, 4, at, MPI_BYTE, &type);
  show(MPI_BYTE, type, 0);
  MPI_Type_dup(inner, &type);
  show(MPI_DOUBLE, type, 24);
  MPI_Type_create_resized(inner, 0, 320, &type);
  show(MPI_DOUBLE, type, 0);
  const MPI_Datatype kinds[] = {MPI_INT, inner, MPI_BYTE, MPI_DOUBLE};
  const MPI_Aint apart[] = {4, 16, 120, 144};
  const int each[] = {2, 1, 5, 2};
  MPI_Type_create_struct(4, each, apart, kinds, &type);
  show(MPI_BYTE, type, 8);
  MPI_Type_free(&inner);
}

static void arrays(void) {
  MPI_Datatype type;
  const int sizes[] = {5, 6, 7}, parts[] = {2, 3, 4}, starts[] = {1, 2, 3};
  for (int order = 0; order < 2; ++order) {
    MPI_Type_create_subarray(3, sizes, parts, starts, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                             MPI_INT, &type);
    show(MPI_INT, type, 100);
  }
  const int hows[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
  for (int first = 0; first < 3; ++first) {
    for (int second = 0; second < 3; ++second) {
      for (int own = 0; own < 2; ++own) {
        const int wide[] = {11, 13}, how[] = {hows[first], hows[second]};
        const int grid[] = {first == 2 ? 1 : 2, second == 2 ? 1 : 3};
        /* Blocks of ours together hold all rows and columns. */
        const int of[] = {!own || first == 2 ? MPI_DISTRIBUTE_DFLT_DARG
                          : first == 0       ? 7
                                             : 2,
                          !own || second == 2 ? MPI_DISTRIBUTE_DFLT_DARG
                          : second == 0       ? 5
                                              : 3};
        const int count = grid[0] * grid[1];
        MPI_Type_create_darray(count, rank % count, 2, wide, how, of, grid,
                               own ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &type);
        show(MPI_INT, type, 0);
      }
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  char path[1000];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  places = fopen(path, "w");
  MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  blocks();
  arrays();
  MPI_File_close(&file);
  fclose(places);
  MPI_Finalize();
  return 0;
}
