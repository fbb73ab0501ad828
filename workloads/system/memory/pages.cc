#include "system/memory/pages.h"

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace sesame::workload {
namespace {

unsigned char mark(long page) { return static_cast<unsigned char>(page * 7 + 1); }

// New pages from the system, unlike memory that a library has used before.
class Pages {
 public:
  explicit Pages(long bytes) : bytes_(bytes) {
    void* found = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    madvise(found, bytes_, MADV_NOHUGEPAGE);  // the test is about pages of the usual size
    data_ = static_cast<unsigned char*>(found);
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  volatile unsigned char* data() { return data_; }

 private:
  long bytes_;
  unsigned char* data_;
};

}  // namespace

long page_bytes() { return sysconf(_SC_PAGESIZE); }

PageTimes touch_pages(long count) {
  const long size = page_bytes();
  Pages pages(count * size);
  volatile unsigned char* data = pages.data();
  PageTimes times{0, 0, 0};
  const double began = MPI_Wtime();
  for (long i = 0; i < count; ++i) data[i * size] = mark(i);
  const double between = MPI_Wtime();
  for (long i = 0; i < count; ++i) times.wrong += data[i * size] != mark(i);
  times.second = MPI_Wtime() - between;
  times.first = between - began;
  return times;
}

}  // namespace sesame::workload
