/* Parallel HDF5: datasets of all layouts, written and read by hyperslabs and points, together and
 * alone. The file has no times in it, so that two runs can be compared byte for byte. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 24, kColumns = 40 };

static int rank, ranks;

#define NEED(call)                                                          \
  do {                                                                      \
    if ((call) < 0) {                                                       \
      fprintf(stderr, "rank %d: line %d: %s failed\n", rank, __LINE__, #call); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                         \
    }                                                                       \
  } while (0)

static void say(const char* what, long value) { printf("rank %d: %s: %ld\n", rank, what, value); }

/* The selection of a dataset that a rank has. */
typedef struct {
  hsize_t start[2], stride[2], count[2], block[2];
} Selection;

static Selection rows_of(int of, int whose) {
  const hsize_t height = kRows / (hsize_t)of;
  return (Selection){{height * (hsize_t)whose, 0}, {1, 1}, {1, 1}, {height, kColumns}};
}

static Selection columns_of(int of, int whose) {
  const hsize_t width = kColumns / (hsize_t)of;
  return (Selection){{0, width * (hsize_t)whose}, {1, 1}, {1, 1}, {kRows, width}};
}

/* Blocks of 2 by 3 in each second row of blocks, dealt out to the ranks column by column. */
static Selection pattern_of(int of, int whose) {
  const hsize_t step = 3 * (hsize_t)of;
  return (Selection){{1, 3 * (hsize_t)whose}, {4, step}, {kRows / 4, kColumns / step}, {2, 3}};
}

static hid_t select_selection(const Selection* selection) {
  const hsize_t sizes[2] = {kRows, kColumns};
  const hid_t space = H5Screate_simple(2, sizes, NULL);
  NEED(H5Sselect_hyperslab(space, H5S_SELECT_SET, selection->start, selection->stride, selection->count,
                           selection->block));
  return space;
}

static hid_t transfer(H5FD_mpio_xfer_t how) {
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  NEED(H5Pset_dxpl_mpio(list, how));
  return list;
}

static void write_selection(hid_t dataset, const Selection* selection, H5FD_mpio_xfer_t how) {
  const hid_t file_space = select_selection(selection);
  const hsize_t items = (hsize_t)H5Sget_select_npoints(file_space);
  const hid_t memory = H5Screate_simple(1, &items, NULL);
  const hid_t list = transfer(how);
  int* data = malloc(items * sizeof *data);
  for (hsize_t i = 0; i < items; ++i) data[i] = 1000 * (rank + 1) + (int)i;
  NEED(H5Dwrite(dataset, H5T_NATIVE_INT, memory, file_space, list, data));
  free(data);
  H5Pclose(list);
  H5Sclose(memory);
  H5Sclose(file_space);
}

static void read_selection(const char* what, hid_t dataset, const Selection* selection, H5FD_mpio_xfer_t how) {
  const hid_t file_space = select_selection(selection);
  const hsize_t items = (hsize_t)H5Sget_select_npoints(file_space);
  const hid_t memory = H5Screate_simple(1, &items, NULL);
  const hid_t list = transfer(how);
  int* data = malloc(items * sizeof *data);
  NEED(H5Dread(dataset, H5T_NATIVE_INT, memory, file_space, list, data));
  long sum = 0;
  for (hsize_t i = 0; i < items; ++i) sum += data[i] * (long)(i % 97 + 1);
  say(what, sum);
  free(data);
  H5Pclose(list);
  H5Sclose(memory);
  H5Sclose(file_space);
}

typedef enum { kContiguous, kChunked, kCompressed } Layout;

static hid_t create_dataset(hid_t place, const char* name, Layout layout) {
  const hsize_t sizes[2] = {kRows, kColumns}, chunk[2] = {7, 11};
  const hsize_t most[2] = {H5S_UNLIMITED, kColumns};
  const int fill = -7;
  const hid_t space = H5Screate_simple(2, sizes, layout == kContiguous ? NULL : most);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  NEED(H5Pset_obj_track_times(list, 0));
  NEED(H5Pset_fill_value(list, H5T_NATIVE_INT, &fill));
  if (layout != kContiguous) NEED(H5Pset_chunk(list, 2, chunk));
  if (layout == kCompressed) NEED(H5Pset_deflate(list, 6));
  const hid_t dataset =
      H5Dcreate2(place, name, H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  NEED(dataset);
  H5Pclose(list);
  H5Sclose(space);
  return dataset;
}

static void attach(hid_t object, const char* name, double value) {
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t attribute =
      H5Acreate2(object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  NEED(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value));
  H5Aclose(attribute);
  H5Sclose(space);
}

/* A dataset written one way and read by columns and by rows. Reading compressed chunks together
 * fails in HDF5 1.10.8, under mpiexec as well. */
static void try_layout(hid_t place, const char* name, Layout layout, H5FD_mpio_xfer_t how) {
  const H5FD_mpio_xfer_t other =
      how == H5FD_MPIO_COLLECTIVE ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE;
  const hid_t dataset = create_dataset(place, name, layout);
  const Selection rows = rows_of(ranks, rank), columns = columns_of(ranks, rank);
  const Selection pattern = pattern_of(ranks, rank);
  attach(dataset, "version", 1.25);
  write_selection(dataset, &rows, how);
  NEED(H5Fflush(dataset, H5F_SCOPE_GLOBAL));
  MPI_Barrier(MPI_COMM_WORLD);
  read_selection(name, dataset, &columns, other);
  MPI_Barrier(MPI_COMM_WORLD);
  write_selection(dataset, &pattern, how);
  NEED(H5Fflush(dataset, H5F_SCOPE_GLOBAL));
  MPI_Barrier(MPI_COMM_WORLD);
  read_selection(name, dataset, &rows, layout == kCompressed ? other : how);
  H5Dclose(dataset);
}

/* Each rank writes some points; where there are none it writes nothing. */
static void write_points(hid_t place) {
  const hid_t dataset = create_dataset(place, "points", kChunked);
  const hid_t space = H5Dget_space(dataset);
  hsize_t points[5][2];
  int data[5];
  for (int i = 0; i < 5; ++i) {
    points[i][0] = (hsize_t)(5 * rank + i) % kRows;
    points[i][1] = (hsize_t)(7 * i + 2 * rank) % kColumns;
    data[i] = 10 * rank + i;
  }
  const hsize_t items = rank % 2 == 0 ? 5 : 0;
  const hid_t memory = H5Screate_simple(1, (hsize_t[]){5}, NULL);
  if (items > 0) {
    NEED(H5Sselect_elements(space, H5S_SELECT_SET, items, points[0]));
  } else {
    NEED(H5Sselect_none(space));
    NEED(H5Sselect_none(memory));
  }
  const hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
  NEED(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, list, data));
  H5Pclose(list);
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(dataset);
}

static void grow(hid_t file) {
  const hid_t dataset = H5Dopen2(file, "/layouts/chunked", H5P_DEFAULT);
  const hsize_t longer[2] = {kRows + 9, kColumns};
  NEED(dataset);
  NEED(H5Dset_extent(dataset, longer));
  H5Dclose(dataset);
}

static hid_t access_list(void) {
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  NEED(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL));
  return list;
}

static void write_file(const char* path) {
  const hid_t list = access_list();
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list);
  NEED(file);
  H5Pclose(list);
  attach(file, "ranks", ranks);
  const hid_t group = H5Gcreate2(file, "layouts", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  NEED(group);
  try_layout(group, "contiguous", kContiguous, H5FD_MPIO_COLLECTIVE);
  try_layout(group, "alone", kContiguous, H5FD_MPIO_INDEPENDENT);
  try_layout(group, "chunked", kChunked, H5FD_MPIO_COLLECTIVE);
  try_layout(group, "chunks alone", kChunked, H5FD_MPIO_INDEPENDENT);
  try_layout(group, "compressed", kCompressed, H5FD_MPIO_COLLECTIVE);
  write_points(group);
  grow(file);
  H5Gclose(group);
  NEED(H5Fclose(file));
}

static void read_file(const char* path) {
  const hid_t list = access_list();
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, list);
  NEED(file);
  H5Pclose(list);
  hsize_t bytes = 0;
  NEED(H5Fget_filesize(file, &bytes));
  say("file size", (long)bytes);
  const char* names[] = {"/layouts/contiguous", "/layouts/alone",      "/layouts/chunked",
                         "/layouts/chunks alone", "/layouts/points"};
  const Selection columns = columns_of(ranks, rank);
  for (int i = 0; i < 5; ++i) {
    const hid_t dataset = H5Dopen2(file, names[i], H5P_DEFAULT);
    NEED(dataset);
    if (i != 2) read_selection(names[i], dataset, &columns, H5FD_MPIO_COLLECTIVE);
    H5Dclose(dataset);
  }
  NEED(H5Fclose(file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  write_file(argv[1]);
  read_file(argv[1]);
  MPI_Finalize();
  return 0;
}
