// The compute nodes' side: a rank's access becomes requests to I/O nodes, for what its node's cache
// does not have or may not keep.
#pragma once

#include <vector>

#include "core/storage/parts.h"

namespace sesame::storage {

class Clients {
 public:
  explicit Clients(Parts& parts);

  void begin(SimTime now, const Access& access, Completion& completion);
  void flush(SimTime now, FileId file, const Client& client, Completion& completion);

  void go_on(Request& request, SimTime now);
  // The piece's message may leave now.
  void leave(Piece& piece, SimTime now);
  // A message for the rank has arrived now.
  void receive(Piece& piece, SimTime now, SimTime transfer, SimTime overhead);
  void part_done(Request& request, SimTime at);

  // A compute node's cache gives a dirty block to its I/O node; nobody waits for it.
  void write_back(SimTime now, int node, BlockKey key) {
    give_up(now, node, PieceKind::kWriteBack, key);
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
  BlockCache::Slot& bring(Request& request, BlockKey key);
  void write_kept(Request& request, int cnode, BlockCache::Slot& slot, uint64_t begin,
                  uint64_t end);
  void allocate_written(Request& request, int cnode, BlockKey key, uint64_t begin, uint64_t end);
  void add_run(Request& request, PieceKind kind, uint64_t begin, uint64_t end);
  void send_run(Request& request);
  void await(Request& request, uint64_t fetch);
  void send_piece(Request& request, Piece& piece);
  SimTime send(Piece& piece, SimTime ready);
  uint64_t message_bytes(const Piece& piece) const;
  void give_up(SimTime now, int node, PieceKind kind, BlockKey key);
  void give_up_victims(SimTime now, int node);

  Parts& parts_;
  Run run_{};                              // what the element at hand needs next, not sent yet
  std::vector<BlockCache::Slot> victims_;  // of the element
  std::vector<uint64_t> cell_fetches_;     // of the run, by cell; 0: none
};

}  // namespace sesame::storage
