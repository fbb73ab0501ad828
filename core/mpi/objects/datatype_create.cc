#include "core/mpi/objects/datatype_create.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_arguments.h"
#include "core/mpi/objects/datatype_builder.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {
namespace {

// Displacements in bytes; `unit` is 1 or the old type's extent. False when one does not fit.
bool scale(IntArray displacements, Count count, Aint unit, std::vector<Aint>* bytes) {
  bytes->resize(static_cast<size_t>(count));
  for (Count i = 0; i < count; ++i) {
    if (__builtin_mul_overflow(displacements[i], unit, &(*bytes)[i])) return false;
  }
  return true;
}

bool any_negative(IntArray values, Count count) {
  for (Count i = 0; i < count; ++i) {
    if (values[i] < 0) return true;
  }
  return false;
}

struct BlockArguments {
  int combiner;
  bool in_bytes;     // displacements are bytes, not extents
  IntArray lengths;  // null: each block has `length`
  Count length = 1;
};

int create_blocks(DatatypeTable& table, Count count, const BlockArguments& blocks,
                  IntArray displacements, Datatype old, Datatype* out, bool large) {
  const DatatypeObject* type = table.find(old);
  const bool has_lengths =
      blocks.combiner == MPI_COMBINER_INDEXED || blocks.combiner == MPI_COMBINER_HINDEXED;
  if (count < 0) return MPI_ERR_COUNT;
  if (type == nullptr) return MPI_ERR_TYPE;
  if (count > 0 && (displacements.is_null() || (has_lengths && blocks.lengths.is_null()))) {
    return MPI_ERR_ARG;
  }
  if (out == nullptr || blocks.length < 0) return MPI_ERR_ARG;
  std::vector<Count> lengths;
  if (has_lengths) {
    if (any_negative(blocks.lengths, count)) return MPI_ERR_ARG;
    lengths = blocks.lengths.copy(static_cast<size_t>(count));
  }
  std::vector<Aint> bytes;
  if (!scale(displacements, count, blocks.in_bytes ? 1 : type->extent(), &bytes)) {
    return MPI_ERR_ARG;
  }
  DatatypeBuilder builder;
  builder.make_blocks(*type, std::move(bytes), std::move(lengths), blocks.length);
  ArgumentRecorder recorder(builder.contents(), blocks.combiner, large);
  recorder.add_integer(count);
  if (has_lengths) {
    recorder.add_integers(blocks.lengths, count);
  } else {
    recorder.add_integer(blocks.length);
  }
  if (blocks.in_bytes) {
    recorder.add_addresses(displacements, count);
  } else {
    recorder.add_integers(displacements, count);
  }
  recorder.add_type(*type);
  return publish(table, builder, out);
}

}  // namespace

int publish(DatatypeTable& table, DatatypeBuilder& builder, Datatype* out) {
  if (builder.failed()) return MPI_ERR_ARG;
  *out = table.insert(builder.finish());
  return MPI_SUCCESS;
}

int type_contiguous(DatatypeTable& table, Count count, Datatype old, Datatype* out, bool large) {
  const DatatypeObject* type = table.find(old);
  if (count < 0) return MPI_ERR_COUNT;
  if (type == nullptr) return MPI_ERR_TYPE;
  if (out == nullptr) return MPI_ERR_ARG;
  DatatypeBuilder builder;
  builder.make_vector(*type, 1, count, 0);
  ArgumentRecorder recorder(builder.contents(), MPI_COMBINER_CONTIGUOUS, large);
  recorder.add_integer(count);
  recorder.add_type(*type);
  return publish(table, builder, out);
}

int type_vector(DatatypeTable& table, Count count, Count blocklength, Count stride, Datatype old,
                Datatype* out, bool large) {
  const DatatypeObject* type = table.find(old);
  if (count < 0) return MPI_ERR_COUNT;
  if (type == nullptr) return MPI_ERR_TYPE;
  Aint bytes = 0;
  if (out == nullptr || blocklength < 0 || __builtin_mul_overflow(stride, type->extent(), &bytes)) {
    return MPI_ERR_ARG;
  }
  DatatypeBuilder builder;
  builder.make_vector(*type, count, blocklength, bytes);
  ArgumentRecorder recorder(builder.contents(), MPI_COMBINER_VECTOR, large);
  recorder.add_integer(count);
  recorder.add_integer(blocklength);
  recorder.add_integer(stride);
  recorder.add_type(*type);
  return publish(table, builder, out);
}

int type_create_hvector(DatatypeTable& table, Count count, Count blocklength, Aint stride,
                        Datatype old, Datatype* out, bool large) {
  const DatatypeObject* type = table.find(old);
  if (count < 0) return MPI_ERR_COUNT;
  if (type == nullptr) return MPI_ERR_TYPE;
  if (out == nullptr || blocklength < 0) return MPI_ERR_ARG;
  DatatypeBuilder builder;
  builder.make_vector(*type, count, blocklength, stride);
  ArgumentRecorder recorder(builder.contents(), MPI_COMBINER_HVECTOR, large);
  recorder.add_integer(count);
  recorder.add_integer(blocklength);
  recorder.add_address(stride);
  recorder.add_type(*type);
  return publish(table, builder, out);
}

int type_indexed(DatatypeTable& table, Count count, IntArray blocklengths, IntArray displacements,
                 Datatype old, Datatype* out, bool large) {
  return create_blocks(table, count, {MPI_COMBINER_INDEXED, false, blocklengths}, displacements,
                       old, out, large);
}

int type_create_hindexed(DatatypeTable& table, Count count, IntArray blocklengths,
                         IntArray displacements, Datatype old, Datatype* out, bool large) {
  return create_blocks(table, count, {MPI_COMBINER_HINDEXED, true, blocklengths}, displacements,
                       old, out, large);
}

int type_create_indexed_block(DatatypeTable& table, Count count, Count blocklength,
                              IntArray displacements, Datatype old, Datatype* out, bool large) {
  return create_blocks(table, count, {MPI_COMBINER_INDEXED_BLOCK, false, {}, blocklength},
                       displacements, old, out, large);
}

int type_create_hindexed_block(DatatypeTable& table, Count count, Count blocklength,
                               IntArray displacements, Datatype old, Datatype* out, bool large) {
  return create_blocks(table, count, {MPI_COMBINER_HINDEXED_BLOCK, true, {}, blocklength},
                       displacements, old, out, large);
}

int type_create_struct(DatatypeTable& table, Count count, IntArray blocklengths,
                       IntArray displacements, const Datatype* types, Datatype* out, bool large) {
  if (count < 0) return MPI_ERR_COUNT;
  if (out == nullptr) return MPI_ERR_ARG;
  if (count > 0 && (blocklengths.is_null() || displacements.is_null() || types == nullptr)) {
    return MPI_ERR_ARG;
  }
  std::vector<DatatypeRef> olds;
  for (Count i = 0; i < count; ++i) {
    const DatatypeObject* type = table.find(types[i]);
    if (type == nullptr) return MPI_ERR_TYPE;
    olds.emplace_back(type);
  }
  if (any_negative(blocklengths, count)) return MPI_ERR_ARG;
  std::vector<Aint> bytes;
  scale(displacements, count, 1, &bytes);
  DatatypeBuilder builder;
  builder.make_struct(olds, std::move(bytes), blocklengths.copy(static_cast<size_t>(count)));
  ArgumentRecorder recorder(builder.contents(), MPI_COMBINER_STRUCT, large);
  recorder.add_integer(count);
  recorder.add_integers(blocklengths, count);
  recorder.add_addresses(displacements, count);
  builder.contents().types = std::move(olds);
  return publish(table, builder, out);
}

int type_create_resized(DatatypeTable& table, Datatype old, Aint lb, Aint extent, Datatype* out,
                        bool large) {
  const DatatypeObject* type = table.find(old);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (out == nullptr) return MPI_ERR_ARG;
  DatatypeBuilder builder;
  builder.make_resized(*type, lb, extent);
  ArgumentRecorder recorder(builder.contents(), MPI_COMBINER_RESIZED, large);
  recorder.add_address(lb);
  recorder.add_address(extent);
  recorder.add_type(*type);
  return publish(table, builder, out);
}

int type_dup(DatatypeTable& table, Datatype old, Datatype* out) {
  const DatatypeObject* type = table.find(old);
  if (type == nullptr) return MPI_ERR_TYPE;
  if (out == nullptr) return MPI_ERR_ARG;
  DatatypeBuilder builder;
  builder.make_copy(*type);
  ArgumentRecorder(builder.contents(), MPI_COMBINER_DUP, false).add_type(*type);
  if (type->is_committed()) builder.set_committed();
  return publish(table, builder, out);
}

int type_commit(DatatypeTable& table, Datatype* datatype) {
  return datatype == nullptr ? MPI_ERR_ARG : table.commit(*datatype);
}

int type_free(DatatypeTable& table, Datatype* datatype) {
  if (datatype == nullptr) return MPI_ERR_ARG;
  const int status = table.free(*datatype);
  if (status == MPI_SUCCESS) *datatype = MPI_DATATYPE_NULL;
  return status;
}

}  // namespace sesame::mpi
