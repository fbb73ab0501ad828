// Moving data between typed buffers and packed bytes. "Packed" is the data of `count` copies of a
// type in type-map order without gaps; ranges of it are bytes [start, start + length). Buffers may
// be MPI_BOTTOM with absolute displacements. Nothing here allocates, apart from copy() between two
// non-contiguous types, whose staging buffer is bounded.
#pragma once

#include <memory>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;
class DatatypeTable;

// Bytes [start, start + length) of the packed form of (buffer, count, type) to `out`, and back.
// The range must lie within count * type.size().
void pack_range(const void* buffer, Count count, const DatatypeObject& type, void* out, Count start,
                Count length);
void unpack_range(const void* packed, void* buffer, Count count, const DatatypeObject& type,
                  Count start, Count length);
// The whole of it.
void pack_all(const void* buffer, Count count, const DatatypeObject& type, void* out);
void unpack_all(const void* packed, void* buffer, Count count, const DatatypeObject& type);

// From one typed buffer to another; copies as many bytes as both have, and returns how many.
Count copy_typed(const void* source, Count source_count, const DatatypeObject& source_type,
                 void* target, Count target_count, const DatatypeObject& target_type);

// One contiguous piece of a typed buffer: an offset from the buffer's address, and a length.
struct ByteRange {
  Aint offset;
  Count length;
};

// Yields the contiguous pieces of `count` copies of a type in type-map order, neighbours joined.
// Holds no reference: the type must outlive it.
class ByteRangeCursor {
 public:
  ByteRangeCursor(const DatatypeObject& type, Count count);
  ~ByteRangeCursor();
  ByteRangeCursor(ByteRangeCursor&&) noexcept;
  // Starts again at this packed byte.
  void seek(Count packed_byte);
  // The next piece, at most `limit` bytes of it; false at the end.
  bool next(ByteRange* piece, Count limit = INT64_MAX);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// MPI_Pack and its relatives: native representation, no header. Return MPI error classes.
int pack(const DatatypeTable& table, const void* in, Count in_count, Datatype datatype, void* out,
         Count out_size, Count* position);
int unpack(const DatatypeTable& table, const void* in, Count in_size, Count* position, void* out,
           Count out_count, Datatype datatype);
int pack_size(const DatatypeTable& table, Count count, Datatype datatype, Count* size);

// The "external32" representation: big-endian, sizes of the standard's table; the only `datarep`.
int pack_external(const DatatypeTable& table, const char* datarep, const void* in, Count in_count,
                  Datatype datatype, void* out, Count out_size, Count* position);
int unpack_external(const DatatypeTable& table, const char* datarep, const void* in, Count in_size,
                    Count* position, void* out, Count out_count, Datatype datatype);
int pack_external_size(const DatatypeTable& table, const char* datarep, Count count,
                       Datatype datatype, Count* size);

}  // namespace sesame::mpi
