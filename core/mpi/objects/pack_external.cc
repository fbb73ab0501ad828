// The external32 representation (MPI 4.1, section 14.5.2): big-endian IEEE numbers without
// padding, LONG in four bytes, long double as binary128.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_elements.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

// One basic element is `scalars` numbers of the same kind (two when complex).
struct Conversion {
  enum class Kind { kCopy, kSwap, kSigned, kUnsigned, kFloat80 };
  Kind kind = Kind::kCopy;
  int native = 1;    // bytes of one number in memory
  int external = 1;  // and in external32
  int scalars = 1;
};

bool is_complex(BasicKind kind) {
  return kind >= BasicKind::kComplexFloat16 && kind <= BasicKind::kComplexFloat128;
}

Conversion conversion_of(const DatatypeObject& basic) {
  const BasicKind kind = basic.basic_kind();
  Conversion conversion;
  conversion.scalars = is_complex(kind) ? 2 : 1;
  conversion.native = static_cast<int>(basic.size()) / conversion.scalars;
  const PredefinedType* type = find_predefined(basic.handle());
  const Count external = type != nullptr ? type->external_size : basic.size();
  conversion.external = static_cast<int>(external) / conversion.scalars;
  if (kind == BasicKind::kFloat80 || kind == BasicKind::kComplexFloat80) {
    conversion.kind = Conversion::Kind::kFloat80;
  } else if (conversion.external != conversion.native) {
    const bool is_signed = kind == BasicKind::kInt64;
    conversion.kind = is_signed ? Conversion::Kind::kSigned : Conversion::Kind::kUnsigned;
  } else if (conversion.native > 1) {
    conversion.kind = Conversion::Kind::kSwap;
  }
  return conversion;
}

void copy_reversed(const char* from, char* to, int size) {
  for (int i = 0; i < size; ++i) to[i] = from[size - 1 - i];
}

void encode(const Conversion& conversion, const char* native, char* external) {
  if (conversion.kind == Conversion::Kind::kFloat80) {
    long double value;
    std::memcpy(&value, native, sizeof value);
    const __float128 quad = value;
    char bytes[sizeof quad];
    std::memcpy(bytes, &quad, sizeof quad);
    copy_reversed(bytes, external, sizeof quad);
  } else {
    // A narrower external integer has the low bytes, which are first in memory.
    copy_reversed(native, external, conversion.external);
  }
}

void decode(const Conversion& conversion, const char* external, char* native) {
  if (conversion.kind == Conversion::Kind::kFloat80) {
    __float128 quad;
    char bytes[sizeof quad];
    copy_reversed(external, bytes, sizeof quad);
    std::memcpy(&quad, bytes, sizeof quad);
    // The six bytes of padding keep their values.
    const long double value = static_cast<long double>(quad);
    std::memcpy(native, &value, 10);
    return;
  }
  copy_reversed(external, native, conversion.external);
  if (conversion.native == conversion.external) return;
  const bool negative = conversion.kind == Conversion::Kind::kSigned && (external[0] & 0x80) != 0;
  std::memset(native + conversion.external, negative ? 0xff : 0,
              static_cast<size_t>(conversion.native - conversion.external));
}

Count external_bytes(const DatatypeObject& type) {
  Count bytes = 0;
  for_each_element(type, 0, 1, [&](const DatatypeObject& basic, Aint, Count count) {
    const Conversion conversion = conversion_of(basic);
    bytes += count * conversion.external * conversion.scalars;
    return true;
  });
  return bytes;
}

// kIsPacked: the elements in memory follow each other without gaps.
template <bool kPack, bool kIsPacked = false>
void convert(char* user, Count count, const DatatypeObject& type, char* external) {
  for_each_element(type, 0, count, [&](const DatatypeObject& basic, Aint offset, Count run) {
    const Conversion conversion = conversion_of(basic);
    const Count scalars = run * conversion.scalars;
    char* native = kIsPacked ? user : user + offset;
    if (kIsPacked) user += scalars * conversion.native;
    if (conversion.kind == Conversion::Kind::kCopy) {
      if constexpr (kPack) {
        std::memcpy(external, native, static_cast<size_t>(scalars));
      } else {
        std::memcpy(native, external, static_cast<size_t>(scalars));
      }
      external += scalars;
      return true;
    }
    for (Count i = 0; i < scalars; ++i) {
      if constexpr (kPack) {
        encode(conversion, native, external);
      } else {
        decode(conversion, external, native);
      }
      native += conversion.native;
      external += conversion.external;
    }
    return true;
  });
}

// The same where a buffer is in another process: converts copies. `size` is that of `external`.
template <bool kPack>
[[gnu::cold]] void convert_remote(char* user, Count count, const DatatypeObject& type,
                                  char* external, Count size) {
  std::vector<char> elements(static_cast<size_t>(count * type.size()));
  std::vector<char> converted(static_cast<size_t>(size));
  pack_all(user, count, type, elements.data());  // decode() keeps padding
  if (!kPack) copy_bytes(converted.data(), external, converted.size());
  convert<kPack, true>(elements.data(), count, type, converted.data());
  if (kPack) {
    copy_bytes(external, converted.data(), converted.size());
  } else {
    unpack_all(elements.data(), user, count, type);
  }
}

template <bool kPack>
void convert_anywhere(char* user, Count count, const DatatypeObject& type, char* external,
                      Count size) {
  if (is_remote(user, external)) return convert_remote<kPack>(user, count, type, external, size);
  convert<kPack>(user, count, type, external);
}

// Checks the arguments that all three functions share; finds the type and its converted size.
int check(const DatatypeTable& table, const char* datarep, Count count, Datatype datatype,
          const DatatypeObject** type, Count* size) {
  if (datarep == nullptr || std::strcmp(datarep, "external32") != 0) return MPI_ERR_ARG;
  if (count < 0) return MPI_ERR_COUNT;
  *type = table.find(datatype);
  if (*type == nullptr) return MPI_ERR_TYPE;
  *size = count * external_bytes(**type);
  return MPI_SUCCESS;
}

}  // namespace

int pack_external(const DatatypeTable& table, const char* datarep, const void* in, Count in_count,
                  Datatype datatype, void* out, Count out_size, Count* position) {
  const DatatypeObject* type;
  Count size;
  if (const int status = check(table, datarep, in_count, datatype, &type, &size)) return status;
  if (!type->is_committed()) return MPI_ERR_TYPE;
  if (position == nullptr || *position < 0 || size > out_size - *position) return MPI_ERR_ARG;
  convert_anywhere<true>(const_cast<char*>(static_cast<const char*>(in)), in_count, *type,
                         static_cast<char*>(out) + *position, size);
  *position += size;
  return MPI_SUCCESS;
}

int unpack_external(const DatatypeTable& table, const char* datarep, const void* in, Count in_size,
                    Count* position, void* out, Count out_count, Datatype datatype) {
  const DatatypeObject* type;
  Count size;
  if (const int status = check(table, datarep, out_count, datatype, &type, &size)) return status;
  if (!type->is_committed()) return MPI_ERR_TYPE;
  if (position == nullptr || *position < 0 || size > in_size - *position) return MPI_ERR_ARG;
  convert_anywhere<false>(static_cast<char*>(out), out_count, *type,
                          const_cast<char*>(static_cast<const char*>(in)) + *position, size);
  *position += size;
  return MPI_SUCCESS;
}

int pack_external_size(const DatatypeTable& table, const char* datarep, Count count,
                       Datatype datatype, Count* size) {
  const DatatypeObject* type;
  Count bytes;
  if (size == nullptr) return MPI_ERR_ARG;
  if (const int status = check(table, datarep, count, datatype, &type, &bytes)) return status;
  *size = bytes;
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
