// Clients: the compute nodes of a fully modelled file system. An access of a rank goes through the
// cache of its node; what the cache does not have or may not keep becomes requests to I/O nodes.
//
// begin() and flush() are FileSystem's; the other functions are called by the events of what is in
// flight (context.h), each at simulated time `now`.
#pragma once

#include <vector>

#include "core/storage/context.h"

namespace sesame::storage {

class Clients {
 public:
  explicit Clients(FileSystemContext& context);

  void begin(SimTime now, const Access& access, Completion& completion);
  void flush(SimTime now, FileId file, const Client& client, Completion& completion);

  // Processes the next element of the request, or completes it after the last.
  void resume(Request& request, SimTime now);
  // The piece's message may leave now.
  void leave(Piece& piece, SimTime now);
  // A message for the rank has arrived now.
  void receive(Piece& piece, SimTime now, SimTime transfer, SimTime overhead);
  void part_done(Request& request, SimTime at);

  // A compute node's cache gives a dirty block to its I/O node; nobody waits for it.
  void write_back(SimTime now, int node, BlockKey key) {
    evict(now, node, PieceKind::kWriteBack, key);
  }

 private:
  struct Run {
    PieceKind kind;
    uint64_t begin;  // bytes of the file
    uint64_t end;
  };
  void begin_extent(Request& request, SimTime now, const Extent& extent);
  void read_cached(Request& request, const Extent& extent);
  void write_cached(Request& request, const Extent& extent);
  BlockCache::Slot& fetch_block(Request& request, BlockKey key);
  void write_kept(Request& request, int cnode, BlockCache::Slot& slot, uint64_t begin,
                  uint64_t end);
  void allocate_written(Request& request, int cnode, BlockKey key, uint64_t begin, uint64_t end);
  void add_run(Request& request, PieceKind kind, uint64_t begin, uint64_t end);
  void send_run(Request& request);
  void await(Request& request, uint64_t fetch);
  void send_piece(Request& request, Piece& piece);
  SimTime send(Piece& piece, SimTime ready);
  uint64_t message_bytes(const Piece& piece) const;
  void evict(SimTime now, int node, PieceKind kind, BlockKey key);
  void evict_victims(SimTime now, int node);

  FileSystemContext& context_;
  Run run_{};                              // what the element at hand needs next, not sent yet
  std::vector<BlockCache::Slot> victims_;  // of the element
  std::vector<uint64_t> cell_fetches_;     // of the run, by cell; 0: none
};

}  // namespace sesame::storage
