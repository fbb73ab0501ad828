#include "core/replay/transport.h"

#include <dlfcn.h>
#include <time.h>

#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/replay/mpi_transport.h"

namespace sesame::replay {
namespace {

constexpr int64_t kPollInterval = 10'000;  // ns; a thread that only polled would take a processor

class NoTransport : public Transport {
 public:
  bool agree(bool ready) override { return ready; }
  void begin(Deliver) override {}
  void send(const Token&) override { CHECK(false); }
  void end() override {}
  std::string gather(std::string bytes) override { return bytes; }
};

// One thread at a time calls MPI: before begin() and after end() the caller's, between them the one
// that begin() starts.
class MpiTransport : public Transport {
 public:
  explicit MpiTransport(const sesame_mpi_transport* mpi) : mpi_(mpi) {}
  ~MpiTransport() override { mpi_->finish(); }

  bool agree(bool ready) override { return mpi_->agree(ready ? 1 : 0) != 0; }

  void begin(Deliver deliver) override {
    deliver_ = std::move(deliver);
    carrier_ = std::thread([this] { carry(); });
  }

  void send(const Token& token) override {
    const std::lock_guard guard(lock_);
    waiting_.push_back(token);
  }

  void end() override {
    ended_.store(true, std::memory_order_release);
    carrier_.join();
  }

  std::string gather(std::string bytes) override {
    char* all = nullptr;
    const int64_t size = mpi_->gather(bytes.data(), static_cast<int64_t>(bytes.size()), &all);
    std::string gathered(all != nullptr ? all : "", static_cast<size_t>(size));
    mpi_->release(all);
    return gathered;
  }

 private:
  void carry() {
    bool said = false;
    while (true) {
      // Read before sending, so that all tokens that were given before end() are sent before
      // `done`.
      const bool ended = ended_.load(std::memory_order_acquire);
      bool moved = send_waiting();
      moved = receive_all() || moved;
      if (ended && !said) {
        mpi_->say_done();
        said = true;
      }
      if (said && mpi_->all_done() != 0) {
        receive_all();  // tokens that arrived in between
        return;
      }
      if (!moved) {
        const timespec interval{0, kPollInterval};
        nanosleep(&interval, nullptr);
      }
    }
  }

  bool receive_all() {
    bool any = false;
    for (sesame_token token; mpi_->receive(&token) != 0; any = true) {
      deliver_({token.event, 0, token.time_ns});
    }
    return any;
  }

  bool send_waiting() {
    std::vector<Token> tokens;
    {
      const std::lock_guard guard(lock_);
      tokens.swap(waiting_);
    }
    for (const Token& token : tokens) {
      const sesame_token message{token.event, 0, token.time_ns};
      mpi_->send(static_cast<int>(token.process), &message);
    }
    return !tokens.empty();
  }

  const sesame_mpi_transport* mpi_;
  Deliver deliver_;
  std::mutex lock_;
  std::vector<Token> waiting_;
  std::atomic<bool> ended_ = false;
  std::thread carrier_;
};

}  // namespace

std::unique_ptr<Transport> no_transport() { return std::make_unique<NoTransport>(); }

Result<std::unique_ptr<Transport>> load_transport(const std::string& library, uint32_t process,
                                                  uint32_t processes) {
  // Some MPI libraries load plug-ins that need the library's symbols to be global.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) return error(dlerror());
  using Table = const sesame_mpi_transport* (*)();
  auto table = reinterpret_cast<Table>(dlsym(handle, "sesame_transport"));
  if (table == nullptr) return error(library + ": this is no transport");
  const sesame_mpi_transport* mpi = table();
  int rank = 0;
  int size = 0;
  mpi->start(&rank, &size);
  if (rank != static_cast<int>(process) || size != static_cast<int>(processes)) {
    mpi->finish();
    return error("the MPI says that this is process " + std::to_string(rank) + " of " +
                     std::to_string(size) + ", its environment that it is " +
                     std::to_string(process) + " of " + std::to_string(processes),
                 "was mpiexec of another MPI than the compiler wrapper that was given?");
  }
  return std::make_unique<MpiTransport>(mpi);
}

}  // namespace sesame::replay
