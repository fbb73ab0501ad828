// C++: constructors and destructors of statics, streams, exceptions that stay open across calls.
#include <mpi.h>

#include <chrono>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Tracer {
  explicit Tracer(const char* n) : name(n) { std::cout << "construct " << name << "\n"; }
  ~Tracer() { std::cout << "destroy " << name << "\n"; }
  const char* name;
};

Tracer global_one("one"), global_two("two");

template <typename T>
struct Counter {
  inline static int count = 0;  // a symbol that the dynamic linker would make one per process
};

Tracer& local() {
  static Tracer tracer("local");
  return tracer;
}

int deep(int level) {
  Tracer unwound("unwound");
  if (level == 0) throw std::runtime_error("from the depth");
  return deep(level - 1) + 1;
}

int main(int argc, char** argv) {
  std::ios_base::sync_with_stdio(false);
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  local();
  Counter<int>::count += rank + 1;
  std::cout << std::setprecision(3 + rank) << std::fixed;
  MPI_Barrier(MPI_COMM_WORLD);
  std::cout << 3.14159265358979 << " " << Counter<int>::count << "\n";
  std::cerr << "error stream " << rank << std::endl;
  try {
    deep(2);
  } catch (const std::exception& outer) {
    MPI_Barrier(MPI_COMM_WORLD);  // another rank is inside its own handler now
    try {
      if (rank == 0) throw 17;
      throw std::string("inner");
    } catch (int value) {
      MPI_Barrier(MPI_COMM_WORLD);
      std::cout << "caught " << value;
    } catch (const std::string& text) {
      MPI_Barrier(MPI_COMM_WORLD);
      std::cout << "caught " << text;
    }
    std::cout << " within " << outer.what() << "\n";
  }
  std::string word = "nothing";
  std::cin >> word;
  std::cout << "read " << word << "\n";
  const auto before = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::hours(1));
  std::cout << "slept "
            << std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count()
            << "\n";
  if (argc > 1 && rank == 1) deep(1);  // not caught
  MPI_Finalize();
  return 0;
}
