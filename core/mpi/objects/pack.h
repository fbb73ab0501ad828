// Copies data between typed buffers and packed bytes. The packed form of `count` copies of a type
// is their data in type-map order without gaps; ranges of it are bytes [start, start + length).
//
// Use: pack_all() and unpack_all() copy a whole buffer, pack_range() and unpack_range() a part of
// its packed form. copy_typed() copies from one typed buffer to another. ByteRangeCursor visits the
// memory of a typed buffer without copying. Lengths and offsets are bytes. Buffers belong to the
// caller and may be MPI_BOTTOM with absolute displacements. Functions without a return value cannot
// fail; the caller has checked the arguments. Of the functions that copy, only copy_typed() between
// two non-contiguous types allocates memory, 64 KiB at most.
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
// The whole packed form.
void pack_all(const void* buffer, Count count, const DatatypeObject& type, void* out);
void unpack_all(const void* packed, void* buffer, Count count, const DatatypeObject& type);

// Copies from one typed buffer to another, as many bytes as both have, and returns how many.
Count copy_typed(const void* source, Count source_count, const DatatypeObject& source_type,
                 void* target, Count target_count, const DatatypeObject& target_type);

// A contiguous range of a typed buffer: offset from the buffer's address, and length.
struct ByteRange {
  Aint offset;
  Count length;
};

// Iterates over the contiguous ranges of `count` copies of a type in type-map order; adjacent
// ranges are joined. Holds no reference: the type must outlive it.
class ByteRangeCursor {
 public:
  ByteRangeCursor(const DatatypeObject& type, Count count);
  ~ByteRangeCursor();
  ByteRangeCursor(ByteRangeCursor&&) noexcept;
  // Continues at this byte of the packed form.
  void seek(Count packed_byte);
  // Sets *range to the next range, at most `limit` bytes of it; false at the end.
  bool next(ByteRange* range, Count limit = INT64_MAX);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// MPI_Pack and its relatives: native representation, no header. They check their arguments and
// return MPI error classes.
int pack(const DatatypeTable& table, const void* in, Count in_count, Datatype datatype, void* out,
         Count out_size, Count* position);
int unpack(const DatatypeTable& table, const void* in, Count in_size, Count* position, void* out,
           Count out_count, Datatype datatype);
int pack_size(const DatatypeTable& table, Count count, Datatype datatype, Count* size);

// The "external32" representation: big-endian, sizes of MPI 4.1, table 14.2. `datarep` must be
// "external32".
int pack_external(const DatatypeTable& table, const char* datarep, const void* in, Count in_count,
                  Datatype datatype, void* out, Count out_size, Count* position);
int unpack_external(const DatatypeTable& table, const char* datarep, const void* in, Count in_size,
                    Count* position, void* out, Count out_count, Datatype datatype);
int pack_external_size(const DatatypeTable& table, const char* datarep, Count count,
                       Datatype datatype, Count* size);

}  // namespace sesame::mpi
