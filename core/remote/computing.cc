#include "core/remote/computing.h"

#include <algorithm>
#include <utility>

#include "core/mpi/messages/world.h"

namespace sesame::remote {
namespace {

struct Computing {
  Doorbell* bell = nullptr;
  size_t at_once = 1;
  pdes::Executive* executive = nullptr;
  std::vector<Process*> processes;  // those whose fibers are blocked
};
Computing computing;

bool has_called(const Process* process) { return process->slot.turn.load() != Turn::kProgram; }

// Waits until one of the processes has made a request, and makes ready the fibers of all that have.
void resume_some() {
  std::vector<Process*>& processes = computing.processes;
  const auto any = [&] { return std::ranges::any_of(processes, has_called); };
  const bool is_crowded = processes.size() >= computing.at_once;
  if (!look_for(is_crowded ? 0 : processes.front()->slot.spins, any)) {
    computing.bell->is_crowded.store(is_crowded, std::memory_order_relaxed);
    sleep_until(*computing.bell, any);
    computing.bell->is_crowded.store(0, std::memory_order_relaxed);
  }
  std::erase_if(processes, [](Process* process) {
    if (!has_called(process)) return false;
    computing.executive->make_ready(*process->computing);
    return true;
  });
}

bool resume_if_any(void*) {
  if (computing.processes.empty()) return false;
  resume_some();
  return true;
}

}  // namespace

void start_computing(Doorbell& bell, size_t at_once, pdes::Executive& executive) {
  computing.bell = &bell;
  computing.at_once = at_once;
  computing.executive = &executive;
  executive.set_outside_hook(resume_if_any, nullptr);
}

void await_alone(Process& process) {
  const auto is_there = [&] { return has_called(&process); };
  if (!look_for(process.slot.spins, is_there)) sleep_until(*computing.bell, is_there);
}

void await(Process& process) {
  if (computing.at_once == 1) return await_alone(process);
  if (look_for(process.slot.spins, [&] { return has_called(&process); })) return;
  process.computing = pdes::current_fiber;
  computing.processes.push_back(&process);
  if (computing.processes.size() >= computing.at_once) resume_some();
  computing.executive->block();
  process.computing = nullptr;
  // They run when this fiber blocks, so it has read the request by then.
  for (pdes::Fiber* fiber : std::exchange(process.awaiting, {}))
    computing.executive->make_ready(*fiber);
}

void await_idle(Process& process) {
  while (process.computing != nullptr) {
    process.awaiting.push_back(pdes::current_fiber);
    computing.executive->block();
  }
}

}  // namespace sesame::remote
