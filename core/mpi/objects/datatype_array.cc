// The constructors of sub-arrays and distributed arrays (MPI 4.1, sections 5.1.3, 5.1.4). They add
// one dimension after the other, the fastest varying first. Each step makes a list of blocks of the
// type of the faster dimensions, and resizes it to the size of the whole dimension.
#include <cstdint>
#include <utility>
#include <vector>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_arguments.h"
#include "core/mpi/objects/datatype_builder.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {
namespace {

// The elements of one dimension that belong to the type: `count` blocks of `length`, `stride`
// apart, from `start`, and then `rest` more elements at `rest_start`.
struct DimensionPart {
  Count size = 0;
  Count start = 0, length = 0, count = 1, stride = 0;
  Count rest_start = 0, rest = 0;
};

// Null when something does not fit 64 bits.
DatatypeRef extend(const DatatypeObject& inner, const DimensionPart& part) {
  const Aint unit = inner.extent();
  Aint start, rest_start, stride, whole;
  if (__builtin_mul_overflow(part.start, unit, &start) ||
      __builtin_mul_overflow(part.rest_start, unit, &rest_start) ||
      __builtin_mul_overflow(part.stride, unit, &stride) ||
      __builtin_mul_overflow(part.size, unit, &whole)) {
    return {};
  }
  DatatypeBuilder full;
  full.make_vector(inner, part.count, part.length, stride, start);
  if (full.failed()) return {};
  DatatypeRef blocks = full.finish_internal();
  if (part.rest > 0) {
    DatatypeBuilder rest;
    rest.make_vector(inner, 1, part.rest, 0, rest_start);
    if (rest.failed()) return {};
    DatatypeBuilder both;
    both.make_struct({blocks, rest.finish_internal()}, {0, 0}, {});
    if (both.failed()) return {};
    blocks = both.finish_internal();
  }
  DatatypeBuilder resized;
  resized.make_resized(*blocks, 0, whole);
  return resized.failed() ? DatatypeRef() : resized.finish_internal();
}

// All dimensions, the fastest varying of `order` first. Null when something does not fit.
DatatypeRef build_array(const DatatypeObject& old, const std::vector<DimensionPart>& parts,
                        int order) {
  DatatypeRef type(&old);
  const size_t ndims = parts.size();
  for (size_t i = 0; i < ndims && type; ++i) {
    type = extend(*type, parts[order == MPI_ORDER_FORTRAN ? i : ndims - 1 - i]);
  }
  return type;
}

bool is_order(int order) { return order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN; }

// One dimension of a distributed array for the process at `coordinate` of `processes`; an MPI
// error class.
int distribute(Count size, int distribution, int argument, int processes, Count coordinate,
               DimensionPart* part) {
  part->size = size;
  const bool is_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
  if (!is_default && argument <= 0) return MPI_ERR_ARG;
  if (distribution == MPI_DISTRIBUTE_NONE) {
    if (processes != 1) return MPI_ERR_ARG;
    part->length = size;
    return MPI_SUCCESS;
  }
  if (distribution == MPI_DISTRIBUTE_BLOCK) {
    const Count block = is_default ? (size + processes - 1) / processes : argument;
    if (block * processes < size) return MPI_ERR_ARG;
    part->start = block * coordinate;
    part->length = std::max<Count>(0, std::min(block, size - part->start));
    return MPI_SUCCESS;
  }
  if (distribution != MPI_DISTRIBUTE_CYCLIC) return MPI_ERR_ARG;
  const Count block = is_default ? 1 : argument;
  const Count cycle = block * processes;
  part->start = coordinate * block;
  part->length = block;
  part->stride = cycle;
  // Whole blocks within the dimension, then perhaps an incomplete block at its end.
  part->count = size >= part->start + block ? (size - part->start - block) / cycle + 1 : 0;
  part->rest_start = part->start + part->count * cycle;
  part->rest = std::max<Count>(0, std::min(block, size - part->rest_start));
  return MPI_SUCCESS;
}

// Ranks are in C order in the process grid, whatever the array's order.
std::vector<Count> grid_coordinates(int rank, int ndims, const int* psizes) {
  std::vector<Count> coordinates(static_cast<size_t>(ndims));
  for (int i = ndims - 1; i >= 0; --i) {
    coordinates[i] = rank % psizes[i];
    rank /= psizes[i];
  }
  return coordinates;
}

int check_grid(int size, int rank, int ndims, IntArray gsizes, const int* psizes) {
  if (size < 1 || rank < 0 || rank >= size) return MPI_ERR_ARG;
  Count processes = 1;
  for (int i = 0; i < ndims; ++i) {
    if (gsizes[i] < 1 || psizes[i] < 1) return MPI_ERR_ARG;
    processes *= psizes[i];
    if (processes > size) return MPI_ERR_ARG;
  }
  return processes == size ? MPI_SUCCESS : MPI_ERR_ARG;
}

}  // namespace

int type_create_subarray(DatatypeTable& table, int ndims, IntArray sizes, IntArray subsizes,
                         IntArray starts, int order, Datatype old, Datatype* out, bool large) {
  const DatatypeObject* type = table.find(old);
  if (ndims < 1) return MPI_ERR_DIMS;
  if (sizes.is_null() || subsizes.is_null() || starts.is_null() || out == nullptr) {
    return MPI_ERR_ARG;
  }
  std::vector<DimensionPart> parts;
  for (int i = 0; i < ndims; ++i) {
    if (sizes[i] < 1 || subsizes[i] < 1 || subsizes[i] > sizes[i] || starts[i] < 0 ||
        starts[i] > sizes[i] - subsizes[i]) {
      return MPI_ERR_ARG;
    }
    parts.push_back({.size = sizes[i], .start = starts[i], .length = subsizes[i]});
  }
  if (!is_order(order)) return MPI_ERR_ARG;
  if (type == nullptr) return MPI_ERR_TYPE;
  const DatatypeRef array = build_array(*type, parts, order);
  if (!array) return MPI_ERR_ARG;
  DatatypeBuilder builder;
  builder.make_copy(*array);
  ArgumentRecorder recorder(builder.contents(), MPI_COMBINER_SUBARRAY, large);
  recorder.add_plain(ndims);
  recorder.add_integers(sizes, ndims);
  recorder.add_integers(subsizes, ndims);
  recorder.add_integers(starts, ndims);
  recorder.add_plain(order);
  recorder.add_type(*type);
  return publish(table, builder, out);
}

int type_create_darray(DatatypeTable& table, int size, int rank, int ndims, IntArray gsizes,
                       const int* distribs, const int* dargs, const int* psizes, int order,
                       Datatype old, Datatype* out, bool large) {
  const DatatypeObject* type = table.find(old);
  if (ndims < 1) return MPI_ERR_DIMS;
  if (gsizes.is_null() || distribs == nullptr || dargs == nullptr || psizes == nullptr ||
      out == nullptr || !is_order(order)) {
    return MPI_ERR_ARG;
  }
  if (const int status = check_grid(size, rank, ndims, gsizes, psizes)) return status;
  if (type == nullptr) return MPI_ERR_TYPE;
  const std::vector<Count> coordinates = grid_coordinates(rank, ndims, psizes);
  std::vector<DimensionPart> parts(static_cast<size_t>(ndims));
  for (int i = 0; i < ndims; ++i) {
    const int status =
        distribute(gsizes[i], distribs[i], dargs[i], psizes[i], coordinates[i], &parts[i]);
    if (status != MPI_SUCCESS) return status;
  }
  const DatatypeRef array = build_array(*type, parts, order);
  if (!array) return MPI_ERR_ARG;
  DatatypeBuilder builder;
  builder.make_copy(*array);
  ArgumentRecorder recorder(builder.contents(), MPI_COMBINER_DARRAY, large);
  recorder.add_plain(size);
  recorder.add_plain(rank);
  recorder.add_plain(ndims);
  recorder.add_integers(gsizes, ndims);
  recorder.add_plain(distribs, ndims);
  recorder.add_plain(dargs, ndims);
  recorder.add_plain(psizes, ndims);
  recorder.add_plain(order);
  recorder.add_type(*type);
  return publish(table, builder, out);
}

}  // namespace sesame::mpi
