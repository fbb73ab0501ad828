/* Writes and reads a matrix in a NetCDF-4 file, in parallel: each rank its rows, then those of the
 * next rank. Usage: netcdf FILE */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4, COLUMNS = 50 };

static void check(int error) {
  if (error == NC_NOERR) return;
  fprintf(stderr, "%s\n", nc_strerror(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_matrix(const char* path, int rank, int size) {
  int file, dimensions[2], matrix, independent;
  double rows[ROWS][COLUMNS];
  const size_t start[2] = {(size_t)rank * ROWS, 0}, count[2] = {ROWS, COLUMNS};
  check(nc_create_par(path, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  check(nc_def_dim(file, "row", (size_t)size * ROWS, &dimensions[0]));
  check(nc_def_dim(file, "column", COLUMNS, &dimensions[1]));
  check(nc_def_var(file, "matrix", NC_DOUBLE, 2, dimensions, &matrix));
  check(nc_def_var(file, "rank", NC_INT, 1, dimensions, &independent));
  check(nc_put_att_text(file, matrix, "units", 2, "kg"));
  check(nc_enddef(file));
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) rows[i][j] = (rank * ROWS + i) * 1000 + j;
  check(nc_var_par_access(file, matrix, NC_COLLECTIVE));
  check(nc_put_vara_double(file, matrix, start, count, &rows[0][0]));
  check(nc_var_par_access(file, independent, NC_INDEPENDENT));
  for (int i = 0; i < ROWS; i++) {
    const size_t row = start[0] + (size_t)i;
    check(nc_put_var1_int(file, independent, &row, &rank));
  }
  check(nc_close(file));
}

static double read_matrix(const char* path, int rank, int size) {
  int file, matrix, independent, owners[ROWS];
  double rows[ROWS][COLUMNS], sum = 0;
  const int other = (rank + 1) % size;
  const size_t start[2] = {(size_t)other * ROWS, 0}, count[2] = {ROWS, COLUMNS};
  check(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  check(nc_inq_varid(file, "matrix", &matrix));
  check(nc_inq_varid(file, "rank", &independent));
  check(nc_var_par_access(file, matrix, NC_COLLECTIVE));
  check(nc_get_vara_double(file, matrix, start, count, &rows[0][0]));
  check(nc_get_vara_int(file, independent, start, count, owners));
  check(nc_close(file));
  for (int i = 0; i < ROWS; i++) {
    if (owners[i] != other) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int j = 0; j < COLUMNS; j++) sum += rows[i][j];
  }
  return sum;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  write_matrix(argv[1], rank, size);
  double sum = read_matrix(argv[1], rank, size), total = 0;
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("sum of %d rows: %.0f\n", size * ROWS, total);
  MPI_Finalize();
  return 0;
}
