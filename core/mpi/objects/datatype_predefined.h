// The predefined datatypes: one list with name, representation and class of each. Built on first
// use, immutable, shared by all ranks of the simulator process.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;

// The representation of one basic element in memory, which decides its arithmetic and its
// conversion to external32. Fortran's REAL*16 is IEEE binary128, C's long double is x87's 80-bit
// format.
enum class BasicKind : uint8_t {
  kNone,  // not predefined, or a marker
  kBytes,
  kCharacter,
  kWideCharacter,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kInt128,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kFloat80,
  kFloat128,
  kComplexFloat16,
  kComplexFloat32,
  kComplexFloat64,
  kComplexFloat80,
  kComplexFloat128,
  kLogical8,
  kLogical16,
  kLogical32,
  kLogical64,
  kLogical128,
  kBool,
  kPair,  // two elements, see the type map
  kCount,
};

// The classes of types that decide which operations are allowed (MPI 4.1, section 6.9.2). MPI_CHAR
// is a C integer, as in MPICH.
enum class TypeClass : uint8_t {
  kOther,
  kCInteger,
  kFortranInteger,
  kFloating,
  kLogical,
  kComplex,
  kByte,
  kMultiLanguage,
  kPair,
};

struct PredefinedType {
  Datatype handle;
  std::string_view name;
  BasicKind kind;
  TypeClass type_class;
  Aint alignment;
  int external_size;               // bytes in external32 (MPI 4.1, table 14.2)
  Datatype first = 0, second = 0;  // of pairs
};

// Null if the handle is not that of a named predefined type.
const PredefinedType* find_predefined(Datatype handle);
// The class of any predefined type object, unnamed ones included.
TypeClass type_class_of(const DatatypeObject& type);

// 256 entries by the low byte of the handle, then 16 pair types; null where there is none.
const DatatypeObject* const* predefined_objects();
const DatatypeObject* predefined_object(Datatype handle);

}  // namespace sesame::mpi
