// Gravity between n bodies, each rank holding a block of them. Blocks travel round a ring of ranks
// while each rank adds up the forces on its own bodies: MPI_Sendrecv of a derived datatype, and a
// reduction with an operation of the program's own.
//
//   nbody [bodies [steps]]
#include <mpi.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <vector>

struct Body {
  double position[3];
  double mass;
  int owner;
};

// The larger speed and who has it.
struct Fastest {
  double speed;
  int body;
};

static void keep_fastest(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* a = static_cast<const Fastest*>(in);
  auto* b = static_cast<Fastest*>(inout);
  for (int i = 0; i < *count; ++i)
    if (a[i].speed > b[i].speed || (a[i].speed == b[i].speed && a[i].body < b[i].body)) b[i] = a[i];
}

static MPI_Datatype body_type() {
  const int lengths[] = {3, 1, 1};
  const MPI_Aint offsets[] = {offsetof(Body, position), offsetof(Body, mass),
                              offsetof(Body, owner)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_INT};
  MPI_Datatype packed, type;
  MPI_Type_create_struct(3, lengths, offsets, types, &packed);
  MPI_Type_create_resized(packed, 0, sizeof(Body), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&packed);
  return type;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = argc > 1 ? std::atoi(argv[1]) : 1024, steps = argc > 2 ? std::atoi(argv[2]) : 5;
  const int first = static_cast<int>(static_cast<long>(n) * rank / size);
  const int mine = static_cast<int>(static_cast<long>(n) * (rank + 1) / size) - first;
  const int largest = n / size + 1;

  std::vector<Body> bodies(mine);
  std::vector<double> velocity(3 * mine, 0.0);
  for (int i = 0; i < mine; ++i) {
    const double t = 0.1 * (first + i);
    bodies[i] = {{std::cos(t), std::sin(t), 0.01 * t}, 1.0 + 0.001 * (first + i), rank};
  }
  const double begin = MPI_Wtime();
  MPI_Datatype type = body_type();
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> force(3 * mine, 0.0);
    std::vector<Body> visiting(bodies), arriving(largest);
    for (int hop = 0; hop < size; ++hop) {
      for (int i = 0; i < mine; ++i) {
        for (const Body& other : visiting) {
          double d[3], square = 1e-4;
          for (int k = 0; k < 3; ++k) {
            d[k] = other.position[k] - bodies[i].position[k];
            square += d[k] * d[k];
          }
          const double scale = other.mass / (square * std::sqrt(square));
          for (int k = 0; k < 3; ++k) force[3 * i + k] += scale * d[k];
        }
      }
      MPI_Status status;
      int received;
      arriving.resize(largest);
      MPI_Sendrecv(visiting.data(), static_cast<int>(visiting.size()), type, next, 7,
                   arriving.data(), largest, type, previous, 7, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, type, &received);
      arriving.resize(received);
      visiting.swap(arriving);
    }
    for (int i = 0; i < 3 * mine; ++i) {
      velocity[i] += 1e-5 * force[i];
      bodies[i / 3].position[i % 3] += velocity[i];
    }
  }

  Fastest fastest{-1.0, -1}, winner;
  for (int i = 0; i < mine; ++i) {
    const double* v = &velocity[3 * i];
    const double speed = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (speed > fastest.speed) fastest = {speed, first + i};
  }
  MPI_Op op;
  MPI_Op_create(keep_fastest, 1, &op);
  MPI_Datatype pair;
  MPI_Type_contiguous(sizeof(Fastest), MPI_BYTE, &pair);
  MPI_Type_commit(&pair);
  MPI_Reduce(&fastest, &winner, 1, pair, op, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::cout << n << " bodies, " << steps << " steps: the fastest is body " << winner.body
              << " at " << std::setprecision(9) << winner.speed << std::setprecision(4) << ", "
              << MPI_Wtime() - begin << " s" << std::endl;
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
