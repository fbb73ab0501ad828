/* The layout of a datatype, from the calls that made it. Part of mpi_hooks.h. */
#include "layout.h"

enum { MOST_LEVELS = 64, MOST_ARGUMENTS = 1 << 20 };

/* How a datatype was made: the arguments of the call, in the order that MPI_Type_get_contents has
 * for each. */
typedef struct {
  int combiner;
  int integers;
  int addresses;
  int types;
  int* integer;
  Aint* address;
  Datatype* type;
} Made;

static bool flatten(SesameLayout* layout, Datatype type, int level);

static int64_t extent_of(Datatype type) {
  Aint low = 0, extent = 0;
  library.Type_get_extent(type, &low, &extent);
  return extent;
}

/* Types made with large counts have no contents in the form that is asked for here, which is an
 * error; whether there are such counts, only a library that knows them can say. */
static bool get_envelope(Datatype type, Made* made) {
  if (library.Type_get_envelope_c == NULL) {
    return library.Type_get_envelope(type, &made->integers, &made->addresses, &made->types,
                                     &made->combiner) == 0;
  }
  Count integers, addresses, large, types;
  if (library.Type_get_envelope_c(type, &integers, &addresses, &large, &types, &made->combiner) ||
      large != 0 || integers > MOST_ARGUMENTS || addresses > MOST_ARGUMENTS ||
      types > MOST_ARGUMENTS) {
    return false;
  }
  made->integers = (int)integers;
  made->addresses = (int)addresses;
  made->types = (int)types;
  return true;
}

static void forget(Made* made) {
  for (int i = 0; i < made->types; ++i) {
    int integers, addresses, types, combiner;
    if (library.Type_get_envelope(made->type[i], &integers, &addresses, &types, &combiner) == 0 &&
        combiner != COMBINER_NAMED && combiner != COMBINER_F90_REAL &&
        combiner != COMBINER_F90_COMPLEX && combiner != COMBINER_F90_INTEGER) {
      library.Type_free(&made->type[i]);
    }
  }
  free(made->integer);
  free(made->address);
  free(made->type);
}

static bool get_contents(Datatype type, Made* made) {
  made->integer = calloc((size_t)made->integers + 1, sizeof *made->integer);
  made->address = calloc((size_t)made->addresses + 1, sizeof *made->address);
  made->type = calloc((size_t)made->types + 1, sizeof *made->type);
  if (made->integer != NULL && made->address != NULL && made->type != NULL &&
      library.Type_get_contents(type, made->integers, made->addresses, made->types, made->integer,
                                made->address, made->type) == 0) {
    return true;
  }
  made->types = 0;
  forget(made);
  return false;
}

/* Blocks of `lengths` (or all of `length`) elements at displacements. A struct has an element type
 * for each block. */
static bool flatten_blocks(SesameLayout* layout, const Made* made, const int* lengths, int length,
                           const int* items, const Aint* addresses, int level) {
  const int count = made->integer[0];
  const size_t first = layout->used;
  const bool is_struct = made->types > 1;
  if (!is_struct && !flatten(layout, made->type[0], level)) return false;
  const size_t end = layout->used;
  const int64_t extent = is_struct ? 0 : extent_of(made->type[0]);
  for (int i = 0; i < count && !layout->failed; ++i) {
    const size_t section = layout->used;
    if (!is_struct) {
      sesame_layout_copy(layout, first, end);
    } else if (!flatten(layout, made->type[i], level)) {
      return false;
    }
    const int64_t each = is_struct ? extent_of(made->type[i]) : extent;
    sesame_layout_repeat(layout, section, lengths != NULL ? lengths[i] : length, each);
    sesame_layout_move(layout, section, addresses != NULL ? addresses[i] : items[i] * extent);
    sesame_layout_join(layout, end, section);
  }
  sesame_layout_remove(layout, first, end);
  return true;
}

/* `stride` in bytes. */
static bool flatten_vector(SesameLayout* layout, const Made* made, bool in_bytes, int level) {
  const size_t first = layout->used;
  if (!flatten(layout, made->type[0], level)) return false;
  const int64_t extent = extent_of(made->type[0]);
  const int64_t stride = in_bytes ? made->address[0] : made->integer[2] * extent;
  sesame_layout_repeat(layout, first, made->integer[1], extent);
  sesame_layout_repeat(layout, first, made->integer[0], stride);
  return true;
}

static bool flatten_subarray(SesameLayout* layout, const Made* made, int level) {
  const int dimensions = made->integer[0];
  const int *sizes = made->integer + 1, *parts = sizes + dimensions, *starts = parts + dimensions;
  const bool is_c = starts[dimensions] == ORDER_C;
  const size_t first = layout->used;
  if (!flatten(layout, made->type[0], level)) return false;
  int64_t stride = extent_of(made->type[0]);
  for (int i = 0; i < dimensions; ++i) {
    const int at = is_c ? dimensions - 1 - i : i;
    sesame_layout_repeat(layout, first, parts[at], stride);
    sesame_layout_move(layout, first, starts[at] * stride);
    stride *= sizes[at];
  }
  return true;
}

static bool flatten_darray(SesameLayout* layout, const Made* made, int level) {
  const int dimensions = made->integer[2];
  const int *sizes = made->integer + 3, *how = sizes + dimensions, *blocks = how + dimensions;
  const int* grid = blocks + dimensions;
  const bool is_c = grid[dimensions] == ORDER_C;
  const size_t first = layout->used;
  if (!flatten(layout, made->type[0], level)) return false;
  int place[MOST_LEVELS]; /* in the grid of processes, in which the last number changes first */
  if (dimensions > MOST_LEVELS) return false;
  for (int i = dimensions - 1, rank = made->integer[1]; i >= 0; rank /= grid[i--]) {
    place[i] = rank % grid[i];
  }
  int64_t stride = extent_of(made->type[0]);
  for (int i = 0; i < dimensions; ++i) {
    const int at = is_c ? dimensions - 1 - i : i;
    const int64_t size = sizes[at];
    int64_t block = blocks[at], processes = how[at] == DISTRIBUTE_NONE ? 1 : grid[at];
    if (how[at] == DISTRIBUTE_NONE) {
      block = size;
    } else if (block == DISTRIBUTE_DFLT_DARG) {
      block = how[at] == DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    }
    sesame_layout_deal(layout, first, size, block, processes, processes == 1 ? 0 : place[at],
                       stride);
    stride *= size;
  }
  return true;
}

static bool flatten_made(SesameLayout* layout, const Made* made, int level) {
  const size_t first = layout->used;
  const int* integer = made->integer;
  if (made->types == 0) return false; /* an empty struct */
  switch (made->combiner) {
    case COMBINER_DUP:
    case COMBINER_RESIZED:
      return flatten(layout, made->type[0], level);
    case COMBINER_CONTIGUOUS:
      if (!flatten(layout, made->type[0], level)) return false;
      sesame_layout_repeat(layout, first, integer[0], extent_of(made->type[0]));
      return true;
    case COMBINER_VECTOR:
      return flatten_vector(layout, made, false, level);
    case COMBINER_HVECTOR:
      return flatten_vector(layout, made, true, level);
    case COMBINER_INDEXED:
      return flatten_blocks(layout, made, integer + 1, 0, integer + 1 + integer[0], NULL, level);
    case COMBINER_INDEXED_BLOCK:
      return flatten_blocks(layout, made, NULL, integer[1], integer + 2, NULL, level);
    case COMBINER_HINDEXED_BLOCK:
      return flatten_blocks(layout, made, NULL, integer[1], NULL, made->address, level);
    case COMBINER_HINDEXED:
    case COMBINER_STRUCT:
      return flatten_blocks(layout, made, integer + 1, 0, NULL, made->address, level);
    case COMBINER_SUBARRAY:
      return flatten_subarray(layout, made, level);
    case COMBINER_DARRAY:
      return flatten_darray(layout, made, level);
    default:
      return false;
  }
}

/* Adds one element of the type behind all runs. False where it cannot be known, or is too long. */
static bool flatten(SesameLayout* layout, Datatype type, int level) {
  Made made;
  if (layout->failed || level == MOST_LEVELS || !get_envelope(type, &made)) return false;
  if (made.combiner == COMBINER_NAMED || made.combiner == COMBINER_F90_REAL ||
      made.combiner == COMBINER_F90_COMPLEX || made.combiner == COMBINER_F90_INTEGER) {
    sesame_layout_add(layout, (int64_t)size_of(type));
    return (int64_t)size_of(type) == extent_of(type); /* else with a gap, as MPI_SHORT_INT */
  }
  if (!get_contents(type, &made)) return false;
  const bool is_known = flatten_made(layout, &made, level + 1);
  forget(&made);
  return is_known && !layout->failed;
}
