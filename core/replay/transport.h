// Notifies the other processes of a replay of events. With one process there is nothing to do. With
// several, a library over MPI does it: core/replay/mpi_transport.c, built with the user's MPI
// compiler and loaded when it is needed, so that Sesame itself is linked to no MPI.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.h"

namespace sesame::replay {

struct Token {
  uint32_t event;
  uint32_t process;  // the receiver
  int64_t time_ns;
};

class Transport {
 public:
  using Deliver = std::function<void(const Token&)>;

  virtual ~Transport() = default;

  // Waits for all processes; false if one of them is not ready.
  virtual bool agree(bool ready) = 0;
  // From now on calls `deliver` for each token that arrives, on a thread of its own.
  virtual void begin(Deliver deliver) = 0;
  virtual void send(const Token& token) = 0;  // from any thread, between begin() and end()

  // Call it when all threads of this process have ended. Waits for those of all processes.
  virtual void end() = 0;
  // After end(): returns the bytes of all processes, in their order, at process 0; elsewhere none.
  virtual std::string gather(std::string bytes) = 0;
};

std::unique_ptr<Transport> no_transport();  // for one process
// `process` and `processes` are what the plan says; MPI must agree.
Result<std::unique_ptr<Transport>> load_transport(const std::string& library, uint32_t process,
                                                  uint32_t processes);

}  // namespace sesame::replay
