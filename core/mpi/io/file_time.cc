#include "core/mpi/io/file_time.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

namespace {

void check_workers(const Strand& strand) {
  const World& world = strand.rank->world;
  if (world.remote->are_on_several_hosts())
    world.remote->refuse_on_several_hosts("using MPI-IO or files that nodes share");
  if (!strand.executive->may_use_models())
    world.remote->refuse("using MPI-IO or shared files with a protocol other than quantum");
  if (world.traffic != nullptr && world.replicas != nullptr && world.mounts->is_shared())
    world.remote->refuse("using file systems at cards that messages share");
}

}  // namespace

void yield_for_files(Strand& strand) {
  if (strand.rank->world.remote != nullptr) [[unlikely]]
    check_workers(strand);
  strand.wake.strand = &strand;
  strand.executive->events().schedule(strand.wake, plain(strand.now), strand.wake_order(), true);
  strand.executive->block();
}

storage::Client client_of(const Strand& strand) {
  Rank& rank = *strand.rank;
  return {rank.id, rank.world.network.node_of(rank.id), &rank.interface.free()};
}

void charge_metadata(Strand& strand, const storage::ResolvedPath& path,
                     storage::MetadataCall call) {
  if (!path.is_simulated()) return;
  FileWait wait(*strand.rank, *path.system);
  path.system->metadata(strand.departure(), call, path.file, client_of(strand), wait);
  wait.wait(strand);
}

void charge_access(Strand& strand, const storage::ResolvedPath& path,
                   const storage::Access& access) {
  if (!path.is_simulated()) return;
  FileWait wait(*strand.rank, *path.system);
  path.system->access(strand.departure(), access, wait);
  wait.wait(strand);
}

void charge_flush(Strand& strand, const storage::ResolvedPath& path) {
  if (!path.is_simulated()) return;
  FileWait wait(*strand.rank, *path.system);
  path.system->flush(strand.departure(), path.file, client_of(strand), wait);
  wait.wait(strand);
}

}  // namespace sesame::mpi
