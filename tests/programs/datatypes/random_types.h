// Builds a repeatable sequence of random nested datatypes and prints what MPI says about each:
// sizes, bounds, envelope, contents, element counts, and hashes of its packed forms. Every
// implementation of MPI must print the same lines.
// Included after the MPI declarations, those of <mpi.h> or a test's own.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 17, MAX_BLOCKS = 6, MAX_DIMS = 3 };

static unsigned long long state;
static int has_others;   // MPICH crashes when it counts or converts pairs, structures and arrays
static int counts_cuts;  // releases of MPICH differ on a cut element

static unsigned next_random(void) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33);
}

static int between(int low, int high) {
  return low + (int)(next_random() % (unsigned)(high - low + 1));
}

static unsigned long long hash_bytes(unsigned long long hash, const void* bytes, size_t size) {
  const unsigned char* p = (const unsigned char*)bytes;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ p[i]) * 1099511628211ULL;
  return hash;
}

static MPI_Datatype random_basic(void) {
  const int which = between(0, 9);
  has_others |= which >= 7;
  switch (which) {
    case 0:
      return MPI_CHAR;
    case 1:
      return MPI_SHORT;
    case 2:
      return MPI_INT;
    case 3:
      return MPI_FLOAT;
    case 4:
      return MPI_DOUBLE;
    case 5:
      return MPI_LONG_LONG_INT;
    case 6:
      return MPI_BYTE;
    case 7:
      return MPI_SHORT_INT;
    case 8:
      return MPI_DOUBLE_INT;
    default:
      return MPI_2INT;
  }
}

static MPI_Datatype random_type(int depth);

static MPI_Datatype random_blocks(MPI_Datatype old, int which) {
  MPI_Datatype type;
  int lengths[MAX_BLOCKS], places[MAX_BLOCKS];
  MPI_Aint bytes[MAX_BLOCKS];
  const int count = between(1, MAX_BLOCKS), length = between(1, 3);
  MPI_Aint lb, extent;
  MPI_Type_get_extent(old, &lb, &extent);
  has_others |= which >= 2;
  for (int i = 0; i < count; ++i) {
    lengths[i] = between(which == 0 && i > 0 ? 0 : 1, 3);  // never empty
    places[i] = between(-8, 16);
    bytes[i] = extent * places[i] + between(0, 5);
    has_others |= lengths[i] == 0;
  }
  switch (which) {
    case 0:
      MPI_Type_indexed(count, lengths, places, old, &type);
      break;
    case 1:
      MPI_Type_create_hindexed(count, lengths, bytes, old, &type);
      break;
    case 2:
      MPI_Type_create_indexed_block(count, length, places, old, &type);
      break;
    default:
      MPI_Type_create_hindexed_block(count, length, bytes, old, &type);
      break;
  }
  return type;
}

static MPI_Datatype random_struct(int depth) {
  MPI_Datatype type, types[MAX_BLOCKS];
  int lengths[MAX_BLOCKS];
  MPI_Aint bytes[MAX_BLOCKS];
  const int count = between(1, 4);
  MPI_Aint at = between(0, 16);
  has_others = 1;
  for (int i = 0; i < count; ++i) {
    MPI_Aint lb, extent;
    types[i] = random_type(depth - 1);
    MPI_Type_get_extent(types[i], &lb, &extent);
    lengths[i] = between(1, 3);
    bytes[i] = at - lb;
    at += extent * lengths[i] + between(0, 2) * between(0, 8);
  }
  MPI_Type_create_struct(count, lengths, bytes, types, &type);
  for (int i = 0; i < count; ++i) {
    int integers, addresses, datatypes, combiner;
    MPI_Type_get_envelope(types[i], &integers, &addresses, &datatypes, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&types[i]);
  }
  return type;
}

static MPI_Datatype random_array(MPI_Datatype old, int distributed) {
  MPI_Datatype type;
  int sizes[MAX_DIMS], subsizes[MAX_DIMS], starts[MAX_DIMS], kinds[MAX_DIMS], grid[MAX_DIMS];
  const int ndims = between(1, MAX_DIMS);
  has_others = 1;
  const int order = between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  int size = 1;
  for (int i = 0; i < ndims; ++i) {
    sizes[i] = between(4, 7);  // no process of a distributed array is left without elements
    subsizes[i] = between(1, sizes[i]);
    starts[i] = between(0, sizes[i] - subsizes[i]);
    if (!distributed) continue;
    grid[i] = between(1, 2);
    kinds[i] = between(0, 1) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    if (grid[i] == 1 && between(0, 1)) kinds[i] = MPI_DISTRIBUTE_NONE;
    starts[i] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kinds[i] == MPI_DISTRIBUTE_CYCLIC && between(0, 1)) starts[i] = between(1, 3);
    size *= grid[i];
  }
  if (distributed) {
    MPI_Type_create_darray(size, between(0, size - 1), ndims, sizes, kinds, starts, grid, order,
                           old, &type);
  } else {
    MPI_Type_create_subarray(ndims, sizes, subsizes, starts, order, old, &type);
  }
  return type;
}

static MPI_Datatype random_type(int depth) {
  MPI_Datatype type, old;
  MPI_Aint lb, extent;
  if (depth == 0 || between(0, 9) == 0) return random_basic();
  const int which = between(0, 10);
  if (which >= 9) return random_struct(depth);
  old = random_type(depth - 1);
  MPI_Type_get_extent(old, &lb, &extent);
  // One statement for each random number: the order of evaluation of arguments is open.
  const int count = between(1, 5);
  const int length = between(1, 3);
  const int stride = between(-6, 9);
  has_others |= which == 3 || which == 6;
  switch (which) {
    case 0:
      MPI_Type_contiguous(count, old, &type);
      break;
    case 1:
      MPI_Type_vector(count, length, stride, old, &type);
      break;
    case 2:
      MPI_Type_create_hvector(count, length, extent * stride + 3, old, &type);
      break;
    case 3:
      MPI_Type_create_resized(old, lb - length, extent + stride + 8, &type);
      break;
    case 4:
      type = random_array(old, 0);
      break;
    case 5:
      MPI_Type_get_true_extent(old, &lb, &extent);
      type = random_array(old, lb == 0);  // MPICH forgets an old lb in darray's true lb
      break;
    case 6:
      MPI_Type_dup(old, &type);
      break;
    default:
      type = random_blocks(old, between(0, 3));
      break;
  }
  int integers, addresses, datatypes, combiner;
  MPI_Type_get_envelope(old, &integers, &addresses, &datatypes, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&old);
  return type;
}

static void print_contents(MPI_Datatype type) {
  int integers, addresses, datatypes, combiner;
  MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
  printf(" combiner %d: %d %d %d", combiner, integers, addresses, datatypes);
  if (combiner == MPI_COMBINER_NAMED) return;
  int ints[64];
  MPI_Aint places[16];
  MPI_Datatype types[16];
  MPI_Type_get_contents(type, integers, addresses, datatypes, ints, places, types);
  for (int i = 0; i < integers; ++i) printf(" %d", ints[i]);
  for (int i = 0; i < addresses; ++i) printf(" %ld", (long)places[i]);
  for (int i = 0; i < datatypes; ++i) {
    int a, b, c, inner, size;
    MPI_Type_get_envelope(types[i], &a, &b, &c, &inner);
    MPI_Type_size(types[i], &size);
    printf(" [%d %d]", inner, size);
    if (inner != MPI_COMBINER_NAMED) MPI_Type_free(&types[i]);
  }
}

static void print_counts(MPI_Datatype type, int size) {
  for (int i = 0; i < 4; ++i) {
    MPI_Status status;
    int elements = 0, count;
    const int bytes = between(0, 2 * size + 1);
    memset(&status, 0, sizeof status);
    MPI_Status_set_elements(&status, MPI_BYTE, bytes);
    MPI_Get_count(&status, type, &count);
    if (size > 0 && !has_others && (counts_cuts || count != MPI_UNDEFINED)) {
      MPI_Get_elements(&status, type, &elements);
    }
    printf(" %d:%d/%d", bytes, count, elements);
  }
}

static char source[BUFFER], target[BUFFER], packed[BUFFER];

static void print_packed(MPI_Datatype type, int count, int size) {
  int position = 0, capacity;
  MPI_Aint external = 0, external_capacity;
  unsigned long long hash = 14695981039346656037ULL;
  for (int i = 0; i < BUFFER; ++i) source[i] = (char)(i * 131 + (i >> 8) * 7);
  MPI_Pack_size(count, type, MPI_COMM_SELF, &capacity);
  MPI_Pack(source + BUFFER / 2, count, type, packed, BUFFER, &position, MPI_COMM_SELF);
  printf(" packed %d %d %016llx", capacity, position, hash_bytes(hash, packed, (size_t)position));
  memset(target, 0x55, BUFFER);
  position = 0;
  MPI_Unpack(packed, count * size, &position, target + BUFFER / 2, count, type, MPI_COMM_SELF);
  printf(" %016llx", hash_bytes(hash, target, BUFFER));
  if (has_others) return;
  MPI_Pack_external_size("external32", count, type, &external_capacity);
  MPI_Pack_external("external32", source + BUFFER / 2, count, type, packed, BUFFER, &external);
  printf(" external %ld %ld %016llx", (long)external_capacity, (long)external,
         hash_bytes(hash, packed, (size_t)external));
}

static void print_type(int seed) {
  state = (unsigned long long)seed * 2654435761ULL + 12345;
  has_others = 0;
  MPI_Datatype type = random_type(between(1, 4));
  MPI_Aint lb, extent, true_lb, true_extent;
  int size;
  MPI_Type_size(type, &size);
  MPI_Type_get_extent(type, &lb, &extent);
  MPI_Type_get_true_extent(type, &true_lb, &true_extent);
  printf("%d: size %d lb %ld extent %ld true %ld %ld", seed, size, (long)lb, (long)extent,
         (long)true_lb, (long)true_extent);
  print_contents(type);
  const int count = between(1, 4);
  const long reach = labs((long)extent) * count + labs((long)true_lb) + (long)true_extent;
  MPI_Type_commit(&type);
  if (reach < BUFFER / 2 && (long)size * count < BUFFER) {
    print_counts(type, size);
    print_packed(type, count, size);
  }
  printf("\n");
  int integers, addresses, datatypes, combiner;
  MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&type);
}
