// Thread-local variables, and threads that a rank starts: these run in parallel with the
// simulation, in host time, with their own thread-local variables. No rank is active in them and
// they cannot call MPI.
#include "core/loader/threads.h"

#include <pthread.h>
#include <threads.h>

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/loader/bindings.h"
#include "core/loader/images.h"
#include "core/loader/real.h"
#include "core/loader/resolve.h"

namespace sesame::loader {
namespace {

thread_local constinit const RankProcess* t_owner = nullptr;

// The runtimes of OpenMP keep a rank's settings and team in thread-local variables.
bool uses_open_mp(const Program& program) {
  return std::ranges::any_of(program.libraries, [](const Library& library) {
    return library.name.starts_with("libgomp.so") || library.name.starts_with("libomp.so") ||
           library.name.starts_with("libiomp5.so");
  });
}

const Elf64_Phdr* thread_segment(const ElfFile& file) {
  const Elf64_Phdr* segment = file.segment(PT_TLS);
  return segment == nullptr || segment->p_memsz == 0 ? nullptr : segment;
}

// Whether the file's code addresses variables at fixed distances from the thread pointer.
bool needs_window(const ElfFile& file) {
  return std::ranges::any_of(file.relocations(), [](const Relocation& relocation) {
    return relocation.type == R_X86_64_TPOFF64 || relocation.type == R_X86_64_TLSDESC;
  });
}

void copy_first_values(const RankProcess& process, uint32_t index, char* to) {
  const Elf64_Phdr* segment = process.images->images[index]->file.segment(PT_TLS);
  memcpy(to, reinterpret_cast<const char*>(process.bases[index] + segment->p_vaddr),
         segment->p_filesz);
  memset(to + segment->p_filesz, 0, segment->p_memsz - segment->p_filesz);
}

// Variables outside the window: a block for each rank, or for each thread that a rank started.
using Storage = std::vector<std::unique_ptr<char[]>>;

char* block_of(const RankProcess& process, Storage& storage, uint32_t index) {
  if (storage.size() <= index) storage.resize(index + 1);
  if (storage[index] == nullptr) {
    const Elf64_Phdr* segment = process.images->images[index]->file.segment(PT_TLS);
    storage[index] = std::make_unique<char[]>(segment->p_memsz + 1);
    copy_first_values(process, index, storage[index].get());
  }
  return storage[index].get();
}

struct ThreadIndex {
  uint64_t module;
  uint64_t offset;
};

// The arguments of a new thread, for pthread_create and thrd_create.
template <typename Result>
struct Start {
  Result (*function)(void*);
  void* argument;
  const RankProcess* owner;
};

template <typename Result>
Result run_thread(void* argument) {
  const std::unique_ptr<Start<Result>> start(static_cast<Start<Result>*>(argument));
  t_owner = start->owner;
  if (t_owner->images->thread_blocks)
    fill_thread_window(*t_owner, static_cast<char*>(__builtin_thread_pointer()));
  return start->function(start->argument);
}

const RankProcess* owner_of_new_thread() {
  const RankProcess* process = current();
  return process != nullptr ? process : t_owner;
}

// Starts a thread of a rank with create(function, argument), which returns 0 when it has started.
template <typename Result>
int start_thread(Result (*function)(void*), void* argument, auto create) {
  auto start = std::make_unique<Start<Result>>(function, argument, owner_of_new_thread());
  const int status = create(&run_thread<Result>, start.get());
  if (status == 0) (void)start.release();
  return status;
}

}  // namespace

bool needs_thread_block(const Program& program, const ElfFile& file) {
  const bool is_program = file.path() == program.path;
  return needs_window(file) ||
         (is_program && (thread_segment(file) != nullptr || uses_open_mp(program)));
}

Result<> place_thread_variables(ImageSet& set, const Program& program) {
  for (const auto& image : set.images)
    set.thread_blocks |= needs_thread_block(program, image->file);
  if (!set.thread_blocks) return {};
  for (const auto& image : set.images)
    if (Result<> placed = place_in_window(set, *image); !placed) return placed;
  return {};
}

Result<> place_in_window(ImageSet& set, Image& image) {
  const Elf64_Phdr* segment = thread_segment(image.file);
  if (!set.thread_blocks && needs_window(image.file))
    return error(
        image.file.path() +
            ": its thread-local variables lie at fixed distances from the thread pointer, "
            "and the program has no thread-local variables for which ranks would have one",
        "compile it with -ftls-model=global-dynamic -mtls-dialect=gnu, or link the program "
        "with it");
  if (segment == nullptr || !set.thread_blocks) return {};
  const uint64_t alignment = std::max<uint64_t>(segment->p_align, 1);
  const uint64_t end =
      (set.thread_window_used + segment->p_memsz + alignment - 1) & ~(alignment - 1);
  if (end <= kThreadWindow && alignment <= kThreadAlignment) {
    image.thread_offset = set.thread_window_used = end;
    return {};
  }
  if (&image != set.images[0].get() && !needs_window(image.file)) return {};
  return error("the thread-local variables of '" + image.file.path() + "' take " +
                   std::to_string(segment->p_memsz) + " bytes, aligned to " +
                   std::to_string(alignment) + ", expected at most " +
                   std::to_string(kThreadWindow - set.thread_window_used) + ", aligned to " +
                   std::to_string(kThreadAlignment),
               "make large thread_local, __thread or threadprivate variables pointers to memory "
               "that is allocated");
}

void fill_thread_window(const RankProcess& process, char* thread_pointer) {
  for (uint32_t i = 0; i < process.bases.size(); ++i)
    fill_thread_window(process, i, thread_pointer);
}

void fill_thread_window(const RankProcess& process, uint32_t index, char* thread_pointer) {
  const Image* image = process.images->images[index].get();
  if (image != nullptr && process.bases[index] != 0 && image->thread_offset != 0)
    copy_first_values(process, index, thread_pointer - image->thread_offset);
}

void* thread_local_address(uint32_t image, uint64_t offset) {
  RankProcess* rank = current();
  const RankProcess* process = rank != nullptr ? rank : t_owner;
  CHECK(process != nullptr);
  if (const uint64_t below = process->images->images[image]->thread_offset; below != 0)
    return static_cast<char*>(__builtin_thread_pointer()) - below + offset;
  static thread_local Storage of_thread;
  return block_of(*process, rank != nullptr ? rank->thread_storage : of_thread, image) + offset;
}

const RankProcess* owner_of_thread() { return t_owner; }

extern "C" {

// Replaces __tls_get_addr in copies. A rank is one thread to its libraries.
void* rank___tls_get_addr(ThreadIndex* index) {
  CHECK(index->module >> 48 == kThreadModule >> 48);
  return thread_local_address(static_cast<uint32_t>(index->module), index->offset);
}

int rank_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                        void* (*function)(void*), void* argument) {
  if (owner_of_new_thread() == nullptr)
    return REAL(pthread_create)(thread, attributes, function, argument);
  return start_thread(function, argument, [&](auto run, void* start) {
    return REAL(pthread_create)(thread, attributes, run, start);
  });
}
GLOBAL_NAME(pthread_create);

int rank_thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  return start_thread(function, argument,
                      [&](auto run, void* start) { return REAL(thrd_create)(thread, run, start); });
}

}  // extern "C"

void bind_threads(BindingTable& table) {
  BIND(table, __tls_get_addr);
  BIND(table, pthread_create);
  BIND(table, thrd_create);
}

}  // namespace sesame::loader
