#include "core/remote/idle_polling.h"

#include <cpuid.h>
#include <signal.h>

#include <climits>
#include <fstream>

#include "core/base/doorbell.h"
#include "core/remote/host_clock.h"

namespace sesame::remote {
namespace {

// Chosen: longer than a rank computes between most of its calls, and short beside a run.
constexpr int64_t kPeriodNs = 20'000'000;
// Until a call tells of further computation: then all ranks compute for long, or none does.
constexpr int64_t kPollingNs = 200'000'000;
// The part of all processors' time that ranks have to compute. With less, messages decide how long
// the simulation takes.
constexpr double kLeastShare = 0.25;
constexpr int kPausesBetweenLooks = 1'000;  // some 30 us

}  // namespace

namespace {

bool is_virtual_machine() {
  constexpr unsigned kHypervisor = 1U << 31;  // of leaf 1 (Linux: X86_FEATURE_HYPERVISOR)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kHypervisor) != 0;
}

// Of version 2, as cgroups(7) describes the file: a line that begins with "0::".
std::string own_control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return "/";
}

}  // namespace

bool has_quota(const std::filesystem::path& groups, const std::string& group) {
  for (std::filesystem::path path = group;; path = path.parent_path()) {
    std::string quota;
    std::ifstream(groups / path.relative_path() / "cpu.max") >> quota;
    if (!quota.empty() && quota != "max") return true;
    if (path == path.parent_path()) return false;
  }
}

bool halts_lose_caches(const std::filesystem::path& groups) {
  return is_virtual_machine() && !has_quota(groups, own_control_group());
}

IdlePolling::IdlePolling(const cpu_set_t& processors) : since_ns_(host_ns()) {
  sigset_t all, before;  // signals are for the thread that makes this
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &processors))
      threads_.emplace_back([this, processor] { poll(processor); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

IdlePolling::~IdlePolling() {
  is_ending_ = true;
  on_until_ns_ = 0;
  changes_.fetch_add(1);
  futex(changes_, FUTEX_WAKE, uint32_t{INT_MAX});
  for (std::thread& thread : threads_) thread.join();
}

void IdlePolling::poll(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  const sched_param lowest{};
  if (sched_setaffinity(0, sizeof one, &one) != 0 ||
      sched_setscheduler(0, SCHED_IDLE, &lowest) != 0)
    return;
  for (;;) {
    const uint32_t changes = changes_.load();
    while (is_on())
      for (int i = 0; i < kPausesBetweenLooks; ++i) __builtin_ia32_pause();
    if (is_ending_) return;
    futex(changes_, FUTEX_WAIT, changes);
  }
}

bool IdlePolling::is_on() const { return host_ns() < on_until_ns_.load(std::memory_order_relaxed); }

void IdlePolling::note_computation(int64_t ps) {
  computed_ps_ += static_cast<double>(ps);
  if (const int64_t now = host_ns(); now - since_ns_ >= kPeriodNs) decide(now);
}

void IdlePolling::decide(int64_t now) {
  const double share =
      computed_ps_ / 1000 /
      (static_cast<double>(now - since_ns_) * static_cast<double>(threads_.size()));
  computed_ps_ = 0;
  since_ns_ = now;
  if (share < kLeastShare) {
    on_until_ns_ = 0;
    return;
  }
  on_until_ns_ = now + kPollingNs;
  changes_.fetch_add(1);
  futex(changes_, FUTEX_WAKE, uint32_t{INT_MAX});
}

}  // namespace sesame::remote
