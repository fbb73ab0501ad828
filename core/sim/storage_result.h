// Statistics of the simulated file systems for result.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/mpi/messages/world.h"

namespace sesame::sim {

// Totals by which runs of a series are compared.
struct StorageTotals {
  StorageTotals& operator+=(const StorageTotals& other) {
    device_reads += other.device_reads;
    device_writes += other.device_writes;
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    return *this;
  }

  uint64_t device_reads = 0;
  uint64_t device_writes = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
};

// One object for each file system that was used, the one of all nodes first.
nlohmann::json storage_table(const mpi::World& world);
// Why the host could not keep bytes of simulated files (Mounts::failure()); empty: it could.
std::string storage_failure(const mpi::World& world);
StorageTotals storage_totals(const mpi::World& world);
// Adds the totals and the mean time of the ranks' I/O.
void add_storage_totals(const mpi::World& world, const StorageTotals& totals,
                        nlohmann::json& result);

}  // namespace sesame::sim
