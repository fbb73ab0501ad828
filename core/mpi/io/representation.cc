#include "core/mpi/io/representation.h"

#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_elements.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

using Kind = Representation::Kind;

const Representation kPredefined[] = {
    {.name = "native"}, {.name = "internal"}, {.name = "external32", .kind = Kind::kExternal32}};

// The most bytes that an element may have in the file, and all data of a call: more than these no
// buffer of a process has.
constexpr Count kMostElementBytes = INT32_MAX;
constexpr Count kMostBytes = Count{1} << 47;

int fail_to_convert(const Representation& representation, const std::string& why) {
  return fail(MPI_ERR_CONVERSION, "the data representation '" + representation.name + "' " + why);
}

int multiply(const Representation& representation, Count copies, Count* bytes) {
  if (__builtin_mul_overflow(*bytes, copies, bytes) || *bytes > kMostBytes)
    return fail_to_convert(representation, "makes the data longer than any buffer");
  return MPI_SUCCESS;
}

// Bytes of one basic element in the file.
int basic_bytes(const Representation& representation, const DatatypeObject& basic, Count* bytes) {
  *bytes = basic.size();
  if (representation.kind == Kind::kExternal32) {
    const PredefinedType* type = find_predefined(basic.handle());
    if (type != nullptr) *bytes = type->external_size;
  } else if (representation.kind == Kind::kUser) {
    Aint extent = 0;
    MPI_TRY(callbacks().datarep_extent(representation.extent, basic.handle(), &extent,
                                       representation.extra_state));
    if (extent < 0 || extent > kMostElementBytes)
      return fail_to_convert(representation, "stores an element as " + std::to_string(extent) +
                                                 " bytes: at least 0 and at most " +
                                                 std::to_string(kMostElementBytes) + " may be");
    *bytes = extent;
  }
  return MPI_SUCCESS;
}

// Bytes of one copy of any type in the file.
int copy_bytes(const Representation& representation, const DatatypeObject& type, Count* bytes) {
  const TypeMap& type_map = type.type_map();
  *bytes = 0;
  if (type.bounds().element_count == 0) return MPI_SUCCESS;
  if (type_map.kind == TypeMap::Kind::kBasic) return basic_bytes(representation, type, bytes);
  Count copy_size = 0;
  if (type_map.types.size() == 1)
    MPI_TRY(copy_bytes(representation, *type_map.types[0], &copy_size));
  for (Count i = 0; i < type_map.count; ++i) {
    if (type_map.types.size() != 1) {
      MPI_TRY(copy_bytes(representation, type_map.block_type(i), &copy_size));
    }
    Count block = copy_size;
    MPI_TRY(multiply(representation, type_map.block_length(i), &block));
    if (type_map.kind == TypeMap::Kind::kVector) {
      *bytes = block;
      return multiply(representation, type_map.count, bytes);
    }
    *bytes += block;
    MPI_TRY(multiply(representation, 1, bytes));
  }
  return MPI_SUCCESS;
}

// Rebuilds a type from the arguments of its constructors, with other basic types.
class Rebuilder {
 public:
  explicit Rebuilder(const Representation& representation) : representation_(representation) {}
  ~Rebuilder() {
    for (Datatype handle : made_) type_free(table_, &handle);
  }
  int rebuild(const DatatypeObject& type, Datatype* out) {
    const int error = type.contents().combiner == MPI_COMBINER_NAMED || type.is_predefined()
                          ? rebuild_basic(type, out)
                          : rebuild_derived(type, out);
    if (error == MPI_SUCCESS) made_.push_back(*out);
    return error;
  }

 private:
  int rebuild_basic(const DatatypeObject& type, Datatype* out) {
    Count bytes = 0;
    MPI_TRY(copy_bytes(representation_, type, &bytes));
    return type_contiguous(table_, bytes, MPI_BYTE, out);
  }

  int rebuild_derived(const DatatypeObject& type, Datatype* out) {
    const TypeContents& from = type.contents();
    if (!from.large_counts.empty()) {
      return fail(
          MPI_ERR_UNSUPPORTED_OPERATION,
          "a datatype made with large counts cannot be converted to " + representation_.name);
    }
    std::vector<Datatype> below;
    for (const DatatypeRef& old : from.types) MPI_TRY(rebuild(*old, &below.emplace_back()));
    return construct(from, below, out);
  }

  int construct(const TypeContents& from, const std::vector<Datatype>& below, Datatype* out) {
    const int* n = from.integers.data();
    const Aint* a = from.addresses.data();
    const Datatype old = below.empty() ? MPI_DATATYPE_NULL : below[0];
    switch (from.combiner) {
      case MPI_COMBINER_DUP:
        return type_dup(table_, old, out);
      case MPI_COMBINER_CONTIGUOUS:
        return type_contiguous(table_, n[0], old, out);
      case MPI_COMBINER_VECTOR:
        return type_vector(table_, n[0], n[1], n[2], old, out);
      case MPI_COMBINER_HVECTOR:
        return type_create_hvector(table_, n[0], n[1], a[0], old, out);
      case MPI_COMBINER_INDEXED:
        return type_indexed(table_, n[0], n + 1, n + 1 + n[0], old, out);
      case MPI_COMBINER_HINDEXED:
        return type_create_hindexed(table_, n[0], n + 1, a, old, out);
      case MPI_COMBINER_INDEXED_BLOCK:
        return type_create_indexed_block(table_, n[0], n[1], n + 2, old, out);
      case MPI_COMBINER_HINDEXED_BLOCK:
        return type_create_hindexed_block(table_, n[0], n[1], a, old, out);
      case MPI_COMBINER_STRUCT:
        return type_create_struct(table_, n[0], n + 1, a, below.data(), out);
      case MPI_COMBINER_RESIZED:
        return type_create_resized(table_, old, a[0], a[1], out);
      case MPI_COMBINER_SUBARRAY: {
        const int d = n[0];
        return type_create_subarray(table_, d, n + 1, n + 1 + d, n + 1 + 2 * d, n[1 + 3 * d], old,
                                    out);
      }
      case MPI_COMBINER_DARRAY: {
        const int d = n[2];
        const int* g = n + 3;
        return type_create_darray(table_, n[0], n[1], d, g, g + d, g + 2 * d, g + 3 * d, g[4 * d],
                                  old, out);
      }
      default:
        return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                    "a datatype of this kind cannot be converted to " + representation_.name);
    }
  }

  const Representation& representation_;
  DatatypeTable& table_ = this_rank().datatypes;
  std::vector<Datatype> made_;
};

// Sets `changes` if any basic element has another size in the file.
int changes_size(const Representation& representation, const DatatypeObject& type, bool* changes) {
  const TypeMap& type_map = type.type_map();
  if (type.bounds().element_count == 0) return MPI_SUCCESS;
  if (type_map.kind == TypeMap::Kind::kBasic) {
    Count bytes = 0;
    MPI_TRY(basic_bytes(representation, type, &bytes));
    *changes = *changes || bytes != type.size();
    return MPI_SUCCESS;
  }
  for (const DatatypeRef& below : type_map.types) {
    MPI_TRY(changes_size(representation, *below, changes));
  }
  return MPI_SUCCESS;
}

// The size in memory of the first `bytes` bytes of one copy in external32. Counts whole elements
// only.
Count native_bytes_of(const DatatypeObject& type, Count bytes) {
  Count native = 0;
  for_each_element(type, 0, 1, [&](const DatatypeObject& basic, Aint, Count run) {
    Count each = 0;
    basic_bytes(kPredefined[2], basic, &each);
    const Count whole = std::min(run, bytes / each);
    native += whole * basic.size();
    bytes -= whole * each;
    return whole == run;
  });
  return native;
}

int unpack_copies(const std::byte* packed, Count bytes, void* buffer, Count count,
                  const DatatypeObject& type) {
  Count position = 0;
  return unpack_external(this_rank().datatypes, "external32", packed, bytes, &position, buffer,
                         count, type.handle());
}

// Decodes an incomplete last copy. The rest of the copy in memory does not change.
int decode_partial_copy(const std::byte* packed, Count bytes, Count copy_size, char* buffer,
                        const DatatypeObject& type, Count* native_bytes) {
  *native_bytes = native_bytes_of(type, bytes);
  if (*native_bytes == 0) return MPI_SUCCESS;
  std::vector<std::byte> before(static_cast<size_t>(type.size()));
  std::vector<std::byte> whole(static_cast<size_t>(copy_size));
  pack_all(buffer, 1, type, before.data());
  std::copy_n(packed, bytes, whole.data());
  MPI_TRY(unpack_copies(whole.data(), copy_size, buffer, 1, type));
  unpack_range(before.data() + *native_bytes, buffer, 1, type, *native_bytes,
               type.size() - *native_bytes);
  return MPI_SUCCESS;
}

int decode_external(const std::byte* packed, Count bytes, void* buffer, Count count,
                    const DatatypeObject& type, Count* native_bytes) {
  Count copy_size = 0;
  MPI_TRY(copy_bytes(kPredefined[2], type, &copy_size));
  if (copy_size == 0) return MPI_SUCCESS;
  const Count copies = std::min(count, bytes / copy_size);
  MPI_TRY(unpack_copies(packed, bytes, buffer, copies, type));
  Count part = 0;
  if (copies < count) {
    MPI_TRY(decode_partial_copy(packed + copies * copy_size, bytes - copies * copy_size, copy_size,
                                static_cast<char*>(buffer) + copies * type.extent(), type, &part));
  }
  *native_bytes = copies * type.size() + part;
  return MPI_SUCCESS;
}

}  // namespace

const Representation& native_representation() { return kPredefined[0]; }

const Representation* find_representation(const RegisteredRepresentations& registered,
                                          std::string_view name) {
  const std::string text(name);
  for (const Representation& known : kPredefined)
    if (strcasecmp(known.name.c_str(), text.c_str()) == 0) return &known;
  for (const auto& known : registered)
    if (known->name == name) return known.get();
  return nullptr;
}

int stored_type(const Representation& representation, DatatypeRef type, DatatypeRef* stored) {
  bool changes = false;
  if (representation.kind != Kind::kNative) {
    MPI_TRY(changes_size(representation, *type, &changes));
  }
  if (!changes) {
    *stored = std::move(type);
    return MPI_SUCCESS;
  }
  Rebuilder rebuilder(representation);
  Datatype handle = MPI_DATATYPE_NULL;
  MPI_TRY(rebuilder.rebuild(*type, &handle));
  *stored = DatatypeRef(this_rank().datatypes.find(handle));
  return MPI_SUCCESS;
}

int stored_bytes(const Representation& representation, const DatatypeObject& type, Count count,
                 Count* bytes) {
  if (representation.kind == Kind::kNative) {
    *bytes = type.size() * count;
    return MPI_SUCCESS;
  }
  MPI_TRY(copy_bytes(representation, type, bytes));
  return multiply(representation, count, bytes);
}

int encode(const Representation& representation, const void* buffer, Count count,
           const DatatypeObject& type, std::byte* packed, Count packed_bytes) {
  if (representation.kind == Kind::kUser && representation.write != nullptr) {
    return callbacks().datarep_convert({.function = representation.write,
                                        .large = representation.large,
                                        .user_buffer = const_cast<void*>(buffer),
                                        .datatype = type.handle(),
                                        .count = count,
                                        .file_buffer = packed,
                                        .file_bytes = packed_bytes,
                                        .position = 0,
                                        .extra_state = representation.extra_state});
  }
  if (representation.kind != Kind::kExternal32) {
    pack_all(buffer, count, type, packed);
    return MPI_SUCCESS;
  }
  Count position = 0;
  return pack_external(this_rank().datatypes, "external32", buffer, count, type.handle(), packed,
                       packed_bytes, &position);
}

int decode(const Representation& representation, const std::byte* packed, Count packed_bytes,
           Count bytes, void* buffer, Count count, const DatatypeObject& type,
           Count* native_bytes) {
  *native_bytes = bytes;
  if (bytes == 0) return MPI_SUCCESS;
  if (representation.kind == Kind::kExternal32) {
    return decode_external(packed, bytes, buffer, count, type, native_bytes);
  }
  if (representation.kind == Kind::kUser && representation.read != nullptr) {
    const Count copy_size = packed_bytes / count;
    const Count copies = copy_size == 0 ? 0 : std::min(count, bytes / copy_size);
    *native_bytes = copies * type.size();
    return callbacks().datarep_convert({.function = representation.read,
                                        .large = representation.large,
                                        .user_buffer = buffer,
                                        .datatype = type.handle(),
                                        .count = copies,
                                        .file_buffer = const_cast<std::byte*>(packed),
                                        .file_bytes = copies * copy_size,
                                        .position = 0,
                                        .extra_state = representation.extra_state});
  }
  unpack_range(packed, buffer, count, type, 0, bytes);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
