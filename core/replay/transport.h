// Notifies the other processes of a replay of events. With one process there is nothing to do. With
// several, an MPI library does it: python/sesame/replaying/mpi_transport.c, built with the user's
// MPI compiler and loaded when it is needed, so that Sesame itself is linked to no MPI.
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
  uint32_t process;  // where it goes to
  int64_t time_ns;
};

class Transport {
 public:
  using Deliver = std::function<void(const Token&)>;

  virtual ~Transport() = default;

  // Waits for all processes; false when another one cannot begin.
  virtual bool agree(bool ready) = 0;
  virtual void begin(Deliver deliver) = 0;
  virtual void send(const Token& token) = 0;  // from any thread

  // When all threads here have ended: until those of all processes have. Then the bytes that each
  // process gives are together at process 0, in the order of processes.
  virtual void end() = 0;
  virtual std::string gather(std::string bytes) = 0;
};

std::unique_ptr<Transport> no_transport();
Result<std::unique_ptr<Transport>> load_transport(const std::string& library, uint32_t process,
                                                  uint32_t processes);

}  // namespace sesame::replay
