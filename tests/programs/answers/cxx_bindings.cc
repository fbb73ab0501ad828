// MPI's old C++ bindings, as far as they hand functions of the program to MPI: reduction
// operations, error handlers of communicators, windows and files, attributes, generalised requests.
#include <mpi.h>

#include <cstdio>

static int rank;

// Joins decimal numbers: associative, not commutative. An element is a number and the power of ten
// above it.
static void join(const void* in, void* inout, int length, const MPI::Datatype& type) {
  const int* left = static_cast<const int*>(in);
  int* right = static_cast<int*>(inout);
  for (int i = 0; i < 2 * length; i += 2) {
    right[i] += left[i] * right[i + 1];
    right[i + 1] *= left[i + 1];
  }
  if (type.Get_size() != 2 * sizeof(int)) std::printf("[%d] wrong type\n", rank);
}

static void on_comm(MPI::Comm& comm, int* error, ...) {
  std::printf("[%d] communicator of %d: error class %d\n", rank, comm.Get_size(),
              MPI::Get_error_class(*error));
}
static void on_win(MPI::Win& win, int* error, ...) {
  std::printf("[%d] window of %d: error class %d\n", rank, win.Get_group().Get_size(),
              MPI::Get_error_class(*error));
}
static void on_file(MPI::File& file, int* error, ...) {
  std::printf("[%d] file, mode %d: error class %d\n", rank,
              static_cast<MPI_File>(file) == MPI_FILE_NULL ? -1 : file.Get_amode(),
              MPI::Get_error_class(*error));
}

static int copy(const MPI::Comm& from, int, void* extra, void* value, void* made, bool& keep) {
  std::printf("[%d] copied from a communicator of %d\n", rank, from.Get_size());
  *static_cast<void**>(made) = static_cast<char*>(value) + *static_cast<int*>(extra);
  keep = true;
  return MPI::SUCCESS;
}
static int remove(MPI::Comm& comm, int, void* value, void*) {
  std::printf("[%d] removed %ld from a communicator of %d\n", rank,
              static_cast<long>(static_cast<char*>(value) - static_cast<char*>(nullptr)),
              comm.Get_size());
  return MPI::SUCCESS;
}

static int query(void* state, MPI::Status& status) {
  status.Set_elements(MPI::INT, *static_cast<int*>(state));
  status.Set_cancelled(false);
  return MPI::SUCCESS;
}
static int release(void*) { return MPI::SUCCESS; }
static int cancel(void*, bool) { return MPI::SUCCESS; }

static void reduce() {
  MPI::Op op;
  op.Init(join, false);
  MPI::Datatype number = MPI::INT.Create_contiguous(2);
  number.Commit();
  const int mine[4] = {rank + 1, 10, 9 - rank, 10};
  int all[4];
  MPI::COMM_WORLD.Allreduce(mine, all, 2, number, op);
  std::printf("[%d] joined %d %d\n", rank, all[0], all[2]);
  MPI::COMM_WORLD.Scan(mine, all, 2, number, op);
  std::printf("[%d] joined up to here %d %d\n", rank, all[0], all[2]);
  number.Free();
  op.Free();
}

static void fail_on_communicators() {
  MPI::Errhandler handler = MPI::Comm::Create_errhandler(on_comm);
  MPI::Intracomm halves = MPI::COMM_WORLD.Split(rank % 2, rank);
  halves.Set_errhandler(handler);
  handler.Free();
  int value = 0;
  halves.Send(&value, 1, MPI::INT, 99, 0);
  halves.Call_errhandler(MPI::ERR_OTHER);
  halves.Free();
}

static void fail_on_window() {
  MPI::Errhandler handler = MPI::Win::Create_errhandler(on_win);
  int memory[4] = {0};
  MPI::Win window = MPI::Win::Create(memory, sizeof memory, 1, MPI::INFO_NULL, MPI::COMM_WORLD);
  window.Set_errhandler(handler);
  window.Fence(0);
  window.Put(memory, 1, MPI::INT, 99, 0, 1, MPI::INT);
  window.Fence(0);
  window.Free();
  handler.Free();
}

static void fail_on_file() {
  MPI::Errhandler handler = MPI::File::Create_errhandler(on_file);
  MPI::FILE_NULL.Set_errhandler(handler);
  MPI::File::Open(MPI::COMM_SELF, "no/such/file", MPI::MODE_RDONLY, MPI::INFO_NULL);
  handler.Free();
}

static void copy_attributes() {
  int one = 1;
  const int key = MPI::Comm::Create_keyval(copy, remove, &one);
  MPI::COMM_SELF.Set_attr(key, static_cast<char*>(nullptr) + 41);
  MPI::Intracomm other = MPI::COMM_SELF.Dup();
  other.Free();
  MPI::COMM_SELF.Delete_attr(key);
}

static void throw_exception() {
  MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  try {
    int value = 0;
    MPI::COMM_SELF.Send(&value, 1, MPI::INT, 7, 0);
  } catch (MPI::Exception& error) {
    std::printf("[%d] caught class %d\n", rank, error.Get_error_class());
  }
}

static void complete_request() {
  int elements = 3;
  MPI::Grequest request;
  request = request.Start(query, release, cancel, &elements);
  request.Complete();
  MPI::Status status;
  request.Wait(status);
  std::printf("[%d] %d elements\n", rank, status.Get_elements(MPI::INT));
}

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  rank = MPI::COMM_WORLD.Get_rank();
  reduce();
  fail_on_communicators();
  fail_on_window();
  fail_on_file();
  copy_attributes();
  throw_exception();
  complete_request();
  MPI::Finalize();
}
