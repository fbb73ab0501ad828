/* A new file with hints about where it lies; says what became of them, and that a later open with
   others changes nothing. Argument: the file. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB (1 << 20)

static int rank;

static void say_hint(MPI_File file, const char* when, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1];
  int found;
  MPI_Info info;
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  if (rank == 0) printf("%s %s=%s\n", when, key, found ? value : "none");
}

static MPI_File open_with(const char* name, const char* factor) {
  MPI_File file;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "striping_factor", factor);
  MPI_Info_set(info, "striping_unit", "131072");
  MPI_Info_set(info, "start_iodevice", "3");
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_Info_free(&info);
  return file;
}

int main(int argc, char** argv) {
  (void)argc;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = calloc(MIB, 1);
  MPI_File file = open_with(argv[1], "2");
  for (int i = 0; i < 3; ++i)
    say_hint(file, "made",
             (const char*[]){"striping_factor", "striping_unit", "start_iodevice"}[i]);
  MPI_File_write_at_all(file, (MPI_Offset)rank * MIB, data, MIB, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  file = open_with(argv[1], "4");
  say_hint(file, "again", "striping_factor");
  MPI_File_close(&file);
  free(data);
  MPI_Finalize();
  return 0;
}
