// Making and freeing windows (MPI 4.1, section 12.2).
#include <cstdlib>
#include <numeric>

#include "core/mpi/api.h"
#include "core/mpi/collectives/barrier.h"
#include "core/mpi/communicators/agree.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/rma/epoch.h"
#include "core/mpi/rma/remote_windows.h"
#include "core/mpi/rma/window.h"

namespace sesame::mpi {
namespace {

// Windows that MPI allocates start at a page, as with real MPI libraries.
constexpr size_t kPageBytes = 4096;

// The arguments of one rank's call that makes a window.
struct WindowArguments {
  int flavor;
  char* base;
  Aint size;
  Aint displacement_unit;
  const InfoObject* info;
};

int check_window_arguments(Comm comm, Aint size, Aint displacement_unit, Info info, const Win* win,
                           CommObject** object, InfoObject** hints) {
  MPI_TRY(check_comm(comm, object));
  if ((*object)->is_inter) return fail(MPI_ERR_COMM, "the communicator is an inter-communicator");
  MPI_TRY(check_out(win, "win"));
  if (size < 0) return fail(MPI_ERR_SIZE, "the size is negative: " + std::to_string(size));
  if (displacement_unit <= 0) {
    return fail(MPI_ERR_DISP,
                "the displacement unit is not positive: " + std::to_string(displacement_unit));
  }
  return check_info(info, hints);
}

char* allocate(size_t bytes) {
  const size_t whole = std::max((bytes + kPageBytes - 1) / kPageBytes * kPageBytes, kPageBytes);
  if (ranks_are_processes()) return remote_memory().allocate(whole);
  // calloc: pages that the program does not touch use no memory.
  return static_cast<char*>(std::calloc(1, whole));
}

// Rank 0 makes the shared data and broadcasts its address. With several workers the address means
// nothing, and each has its own.
std::shared_ptr<SharedWindow> share_window(Transfer& transfer, uint32_t context, int flavor) {
  ControlGroup control(transfer);
  std::shared_ptr<SharedWindow> shared;
  std::vector<int> address(2);
  if (transfer.rank() == 0) {
    shared = std::make_shared<SharedWindow>();
    shared->flavor = flavor;
    shared->exposures.resize(static_cast<size_t>(transfer.size()));
    shared->memory.resize(shared->exposures.size());
    shared->members = transfer.comm().local;
    const auto bits = reinterpret_cast<uintptr_t>(shared.get());
    address = {static_cast<int>(bits & 0xffffffff), static_cast<int>(bits >> 32)};
  }
  control.broadcast(address, 0);
  if (RemoteWindows* remote = this_rank().world.remote_windows.get())
    return remote->share(transfer.comm().local, context, flavor);
  if (shared == nullptr) {
    const uintptr_t bits = static_cast<uint32_t>(address[0]) |
                           (static_cast<uintptr_t>(static_cast<uint32_t>(address[1])) << 32);
    shared = reinterpret_cast<SharedWindow*>(bits)->shared_from_this();
  }
  return shared;
}

// Allocates one block that has the memory of all ranks, in rank order. Only the first call does so.
bool share_memory(SharedWindow& shared) {
  if (shared.memory[0] != nullptr) return true;
  size_t total = 0;
  for (const Exposure& exposure : shared.exposures) total += static_cast<size_t>(exposure.size);
  char* memory = allocate(total);
  if (memory == nullptr) return false;
  shared.memory[0].reset(memory);
  for (Exposure& exposure : shared.exposures) {
    exposure.base = memory;
    memory += exposure.size;
  }
  return true;
}

bool wants_noncontiguous(const InfoObject* info) {
  const std::string* value = info != nullptr ? info->find("alloc_shared_noncontig") : nullptr;
  return value != nullptr && *value == "true";
}

int allocate_memory(Transfer& transfer, const WindowArguments& arguments, SharedWindow& shared) {
  const auto me = static_cast<size_t>(transfer.rank());
  Exposure& mine = shared.exposures[me];
  const bool separate =
      arguments.flavor == MPI_WIN_FLAVOR_ALLOCATE || wants_noncontiguous(arguments.info);
  bool found = true;
  if (separate) {
    mine.base = allocate(static_cast<size_t>(mine.size));
    shared.memory[me].reset(mine.base);
    found = mine.base != nullptr;
  } else {
    collectives::barrier_dissemination(transfer);  // all sizes are known
    found = share_memory(shared);
  }
  return found ? MPI_SUCCESS : fail(MPI_ERR_NO_MEM, "out of memory");
}

WindowObject* new_window(Rank& rank, const CommObject& parent, const WindowArguments& arguments,
                         uint32_t context) {
  auto* window = new WindowObject(rank);
  window->comm = add_intra(rank, &parent, parent.local, context);
  retain(window->comm);
  window->comm->window = window;
  window->flavor = arguments.flavor;
  window->size = arguments.size;
  window->displacement_unit = static_cast<int>(arguments.displacement_unit);
  apply_window_hints(*window, arguments.info);
  return window;
}

int create(CommObject& comm, const WindowArguments& arguments, Win* win, void* baseptr) {
  Rank& rank = this_rank();
  rank.world.has_windows = true;  // before any other rank can reach it
  *win = MPI_WIN_NULL;
  return run_collective(comm, [&](Transfer& transfer) {
    const uint32_t context = agree_with_all(rank, transfer, kIntraContexts);
    std::shared_ptr<SharedWindow> shared = share_window(transfer, context, arguments.flavor);
    Exposure& mine = shared->exposures[static_cast<size_t>(transfer.rank())];
    mine.base = arguments.base;
    mine.size = arguments.size;
    mine.displacement_unit = arguments.displacement_unit;
    if (arguments.flavor == MPI_WIN_FLAVOR_ALLOCATE || arguments.flavor == MPI_WIN_FLAVOR_SHARED) {
      MPI_TRY(allocate_memory(transfer, arguments, *shared));
    }
    RemoteWindows* remote = rank.world.remote_windows.get();
    if (remote != nullptr) remote->announce(*shared, transfer.rank());
    collectives::barrier_dissemination(transfer);
    if (remote != nullptr) rank.world.remote->catch_up();
    WindowObject* window = new_window(rank, comm, arguments, context);
    window->shared = std::move(shared);
    if (baseptr != nullptr)
      *static_cast<void**>(baseptr) = address_in_program(*window, window->me());
    if (rank.objects.windows == nullptr) rank.objects.windows = std::make_shared<WindowTable>();
    window->handle = rank.objects.windows->add(window);
    *win = window->handle;
    return MPI_SUCCESS;
  });
}

int check_one_node(const CommObject& comm) {
  const network::Network& network = this_rank().world.network;
  for (const int world_rank : comm.local->world_ranks()) {
    if (network.node_of(world_rank) == network.node_of(this_rank().id)) continue;
    return fail(MPI_ERR_RMA_SHARED, "rank " + std::to_string(world_rank) +
                                        " is on another node: only ranks of one node can share "
                                        "memory (MPI_Comm_split_type finds them)");
  }
  return MPI_SUCCESS;
}

int check_dynamic(Win win, WindowObject** window) {
  MPI_TRY(check_window(win, window));
  if ((*window)->flavor == MPI_WIN_FLAVOR_DYNAMIC) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_FLAVOR, "the window is not one of MPI_Win_create_dynamic");
}

void announce_region(const WindowObject& window, const Region& region, bool is_attached) {
  RemoteWindows* remote = window.rank.world.remote_windows.get();
  if (remote != nullptr) remote->announce(*window.shared, window.me(), region, is_attached);
}

// Whether the program can access the target's memory by loads and stores.
bool is_on_same_node(const WindowObject& window, int target) {
  const network::Network& network = window.rank.world.network;
  return network.node_of(window.world_rank(target)) == network.node_of(window.rank.id);
}

// The first rank of the node that has memory. MPI_Win_shared_query returns its memory for
// MPI_PROC_NULL.
int first_with_memory(WindowObject& window) {
  for (int target = 0; target < window.size_of_group(); ++target) {
    if (window.exposure(target).size > 0 && is_on_same_node(window, target)) return target;
  }
  return MPI_PROC_NULL;
}

void unmap_memory(const WindowObject& window) {
  if (!ranks_are_processes()) return;
  for (const SharedWindow::Memory& memory : window.shared->memory)
    if (memory != nullptr) remote_memory().unmap(memory.get());
}

}  // namespace

void apply_window_hints(WindowObject& window, const InfoObject* info) {
  // The hints of MPI 4.1, section 12.2, with their defaults.
  static constexpr std::pair<const char*, const char*> kHints[] = {
      {"no_locks", "false"},
      {"accumulate_ordering", "rar,raw,war,waw"},
      {"accumulate_ops", "same_op_no_op"},
      {"same_size", "false"},
      {"same_disp_unit", "false"},
      {"alloc_shared_noncontig", "false"},
  };
  for (const auto& [key, usual] : kHints) {
    const std::string* given = info != nullptr ? info->find(key) : nullptr;
    if (given != nullptr) {
      window.info.set(key, *given);
    } else if (window.info.find(key) == nullptr) {
      window.info.set(key, usual);
    }
  }
}

int Win_create(void* base, Aint size, Aint disp_unit, Info info, Comm comm, Win* win) {
  CommObject* object;
  InfoObject* hints;
  MPI_TRY(check_window_arguments(comm, size, disp_unit, info, win, &object, &hints));
  if (base == nullptr && size > 0) return fail(MPI_ERR_BASE, "the base is a null pointer");
  auto* const memory = static_cast<char*>(address_of_program(this_rank().id, base));
  const WindowArguments arguments{MPI_WIN_FLAVOR_CREATE, memory, size, disp_unit, hints};
  return create(*object, arguments, win, nullptr);
}

int Win_allocate(Aint size, Aint disp_unit, Info info, Comm comm, void* baseptr, Win* win) {
  CommObject* object;
  InfoObject* hints;
  MPI_TRY(check_window_arguments(comm, size, disp_unit, info, win, &object, &hints));
  MPI_TRY(check_out(baseptr, "baseptr"));
  const WindowArguments arguments{MPI_WIN_FLAVOR_ALLOCATE, nullptr, size, disp_unit, hints};
  return create(*object, arguments, win, baseptr);
}

int Win_allocate_shared(Aint size, Aint disp_unit, Info info, Comm comm, void* baseptr, Win* win) {
  CommObject* object;
  InfoObject* hints;
  MPI_TRY(check_window_arguments(comm, size, disp_unit, info, win, &object, &hints));
  MPI_TRY(check_out(baseptr, "baseptr"));
  MPI_TRY(check_one_node(*object));
  const WindowArguments arguments{MPI_WIN_FLAVOR_SHARED, nullptr, size, disp_unit, hints};
  return create(*object, arguments, win, baseptr);
}

int Win_create_dynamic(Info info, Comm comm, Win* win) {
  CommObject* object;
  InfoObject* hints;
  MPI_TRY(check_window_arguments(comm, 0, 1, info, win, &object, &hints));
  const WindowArguments arguments{MPI_WIN_FLAVOR_DYNAMIC, nullptr, 0, 1, hints};
  return create(*object, arguments, win, nullptr);
}

int Win_attach(Win win, void* base, Aint size) {
  WindowObject* window;
  MPI_TRY(check_dynamic(win, &window));
  if (size < 0) return fail(MPI_ERR_SIZE, "the size is negative: " + std::to_string(size));
  if (size == 0) return MPI_SUCCESS;
  if (base == nullptr) return fail(MPI_ERR_RMA_ATTACH, "the base is a null pointer");
  const Aint first = reinterpret_cast<Aint>(base);
  std::vector<Region>& attached = window->exposure(window->me()).attached;
  for (const Region& region : attached) {
    if (first < region.base + region.size && region.base < first + size) {
      return fail(MPI_ERR_RMA_ATTACH, "a part of the memory is attached already");
    }
  }
  attached.push_back({first, size});
  announce_region(*window, {first, size}, true);
  return MPI_SUCCESS;
}

int Win_detach(Win win, const void* base) {
  WindowObject* window;
  MPI_TRY(check_dynamic(win, &window));
  const Aint first = reinterpret_cast<Aint>(base);
  const auto removed =
      std::erase_if(window->exposure(window->me()).attached,
                    [first](const Region& region) { return region.base == first; });
  if (removed > 0) announce_region(*window, {first, 0}, false);
  if (removed > 0 || base == nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_ATTACH, "no memory that begins at this address is attached");
}

int Win_shared_query(Win win, int target, Aint* size, Aint* disp_unit, void* baseptr) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  if (window->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    return fail(MPI_ERR_RMA_FLAVOR, "a window of MPI_Win_create_dynamic has no memory of its own");
  }
  MPI_TRY(check_target(*window, target));
  MPI_TRY(check_out(size, "size"));
  MPI_TRY(check_out(disp_unit, "disp_unit"));
  MPI_TRY(check_out(baseptr, "baseptr"));
  if (target == MPI_PROC_NULL) target = first_with_memory(*window);
  *size = 0;
  *disp_unit = 0;
  *static_cast<void**>(baseptr) = nullptr;
  if (target == MPI_PROC_NULL || !is_on_same_node(*window, target)) return MPI_SUCCESS;
  const Exposure& exposure = window->exposure(target);
  void* const base = address_in_program(*window, target);
  if (base == nullptr && exposure.size > 0) return MPI_SUCCESS;
  *size = exposure.size;
  *disp_unit = exposure.displacement_unit;
  if (exposure.size > 0) *static_cast<void**>(baseptr) = base;
  return MPI_SUCCESS;
}

int Win_free(Win* win) {
  MPI_TRY(check_out(win, "win"));
  WindowObject* window;
  MPI_TRY(check_window(*win, &window));
  MPI_TRY(check_idle(*window));
  if (window->attributes != nullptr) MPI_TRY(window->attributes->remove_all(*win));
  Rank& rank = this_rank();
  const int error = run_collective(*window->comm, [](Transfer& transfer) {
    collectives::barrier_dissemination(transfer);
    return MPI_SUCCESS;
  });
  unmap_memory(*window);
  rank.objects.windows->remove(*win);
  discard(rank, window->comm);
  *win = MPI_WIN_NULL;
  release(window);
  return error;
}

}  // namespace sesame::mpi
