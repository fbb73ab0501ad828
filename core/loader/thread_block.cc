#include "core/loader/thread_block.h"

#include <asm/prctl.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/check.h"

extern "C" {
void sesame_set_thread_pointer(void* pointer);
extern thread_local char sesame_thread_window[sesame::loader::kThreadWindow];
// glibc 2.35 and later: where the kernel writes the processor that the thread runs on.
[[gnu::weak]] extern const ptrdiff_t __rseq_offset;
[[gnu::weak]] extern const unsigned int __rseq_size;
}

namespace sesame::loader {
namespace {

// The simulator thread's block: [pointer - below, pointer + header). The blocks of ranks have the
// same layout.
struct HostBlock {
  char* pointer = nullptr;
  size_t below = 0;   // bytes of static thread-local variables, the window included
  size_t header = 0;  // bytes of the C library's thread descriptor, from the pointer up
  size_t own = 0;     // bytes of the simulator's own variables, right below the window
  bool has_instruction = false;
};
HostBlock g_thread;
char* g_entered = nullptr;  // the thread pointer in force

// The first words of a thread descriptor; the psABI fixes the first, the C library the others.
struct ThreadHeader {
  void* self;
  void* dynamic_vector;  // addresses of the libraries' thread-local variables
  void* descriptor;
  int has_other_threads;
};

// The first object of the list is the simulator.
int read_own_segment(dl_phdr_info* info, size_t, void* bytes) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_TLS) continue;
    *static_cast<size_t*>(bytes) = (segment.p_memsz + segment.p_align - 1) & ~(segment.p_align - 1);
  }
  return 1;
}

Result<> find_host_block() {
  if (g_thread.pointer != nullptr) return {};
  HostBlock host;
  host.pointer = static_cast<char*>(__builtin_thread_pointer());
  const auto unknown = [](const char* what) {
    return error(std::string("this C library does not say ") + what +
                     ", which programs with thread-local variables need",
                 "use the GNU C library 2.31 or later");
  };
  using GetStaticInfo = void (*)(size_t*, size_t*);
  const auto get = reinterpret_cast<GetStaticInfo>(dlsym(RTLD_DEFAULT, "_dl_get_tls_static_info"));
  const auto* descriptor =
      static_cast<const uint32_t*>(dlsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread"));
  if (get == nullptr) return unknown("how large its thread-local variables are");
  if (descriptor == nullptr) return unknown("how large its thread descriptor is");
  size_t size = 0, alignment = 0, own = 0;
  get(&size, &alignment);
  dl_iterate_phdr(read_own_segment, &own);
  if (sesame_thread_window + kThreadWindow != host.pointer || size < own + *descriptor)
    return error(
        "the linker of this simulator reserved no space for a program's thread-local variables",
        "link it with GNU ld");
  host.header = *descriptor;
  host.below = size - *descriptor;
  host.own = own - kThreadWindow;
  constexpr unsigned long kFsGsBase = 2;  // HWCAP2_FSGSBASE
  host.has_instruction = (getauxval(AT_HWCAP2) & kFsGsBase) != 0;
  g_thread = host;
  g_entered = host.pointer;
  return {};
}

void set_thread_pointer(char* pointer) {
  if (g_thread.has_instruction) {
    sesame_set_thread_pointer(pointer);
  } else {  // no library function: errno is no longer where the compiler believes it to be
    long result;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(long{SYS_arch_prctl}), "D"(long{ARCH_SET_FS}), "S"(pointer)
                 : "rcx", "r11", "memory");
  }
  g_entered = pointer;
}

// Adjusts addresses of the block that the block itself holds (lists of robust mutexes, the first
// keys).
void move_own_addresses(char* from, size_t size, ptrdiff_t distance) {
  const auto begin = reinterpret_cast<uint64_t>(g_thread.pointer);
  for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, from + at, sizeof word);
    if (word - begin >= g_thread.header) continue;
    word += static_cast<uint64_t>(distance);
    memcpy(from + at, &word, sizeof word);
  }
}

// Marks the copy's processor number as not initialized: the kernel updates only that of the
// simulator thread's block.
void forget_processor(char* pointer) {
  if (&__rseq_offset == nullptr || &__rseq_size == nullptr || __rseq_size == 0) return;
  constexpr int32_t kUninitialized[2] = {0, -1};  // cpu_id_start, cpu_id (linux/rseq.h)
  memcpy(pointer + __rseq_offset, kUninitialized, sizeof kUninitialized);
}

}  // namespace

Result<std::unique_ptr<ThreadBlock>> ThreadBlock::create() {
  if (Result<> found = find_host_block(); !found) return std::unexpected(found.error());
  // Each dlerror() frees the text of the one before: no copy may hold such a text.
  dlerror();
  dlerror();
  constexpr size_t kPage = 4096;
  std::unique_ptr<ThreadBlock> block(new ThreadBlock);
  const size_t below = (g_thread.below + kPage - 1) / kPage * kPage;
  block->size_ = below + (g_thread.header + kPage - 1) / kPage * kPage;
  block->memory_ = mmap(nullptr, block->size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block->memory_ == MAP_FAILED) {
    block->memory_ = nullptr;
    return error(std::string("cannot map a rank's thread-local variables: ") + strerror(errno),
                 "raise the limits: sysctl vm.max_map_count, ulimit -v");
  }
  block->pointer_ = static_cast<char*>(block->memory_) + below;
  char* to = block->pointer_;
  const size_t libraries = g_thread.below - kThreadWindow;
  memcpy(to - g_thread.below, g_thread.pointer - g_thread.below, libraries);
  memcpy(to, g_thread.pointer, g_thread.header);
  move_own_addresses(to - g_thread.below, libraries, to - g_thread.pointer);
  move_own_addresses(to, g_thread.header, to - g_thread.pointer);
  // Whichever rank starts a thread, all must take locks from then on.
  reinterpret_cast<ThreadHeader*>(to)->has_other_threads = 1;
  forget_processor(to);
  return block;
}

ThreadBlock::~ThreadBlock() {
  if (memory_ == nullptr) return;
  CHECK(g_entered != pointer_);
  munmap(memory_, size_);
}

void enter_thread_block(const ThreadBlock* next) {
  char* from = g_entered;
  char* to = next == nullptr ? g_thread.pointer : next->pointer();
  if (from == to) return;
  const size_t distance = kThreadWindow + g_thread.own;
  memcpy(to - distance, from - distance, g_thread.own);
  reinterpret_cast<ThreadHeader*>(to)->dynamic_vector =
      reinterpret_cast<ThreadHeader*>(from)->dynamic_vector;
  set_thread_pointer(to);
}

}  // namespace sesame::loader
