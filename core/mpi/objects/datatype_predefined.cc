#include "core/mpi/objects/datatype_predefined.h"

#include <array>

#include "core/base/check.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_builder.h"

namespace sesame::mpi {
namespace {

using enum BasicKind;
constexpr TypeClass kCInt = TypeClass::kCInteger;
constexpr TypeClass kFInt = TypeClass::kFortranInteger;
constexpr TypeClass kReal = TypeClass::kFloating;
constexpr TypeClass kLog = TypeClass::kLogical;
constexpr TypeClass kCplx = TypeClass::kComplex;
constexpr TypeClass kMulti = TypeClass::kMultiLanguage;
constexpr TypeClass kOther = TypeClass::kOther;

#define NAMED(type) type, #type

// Basic types are listed before the pairs that are made of them.
constexpr PredefinedType kTypes[] = {
    {NAMED(MPI_CHAR), kInt8, kCInt, 1, 1},
    {NAMED(MPI_SIGNED_CHAR), kInt8, kCInt, 1, 1},
    {NAMED(MPI_UNSIGNED_CHAR), kUint8, kCInt, 1, 1},
    {NAMED(MPI_BYTE), kBytes, TypeClass::kByte, 1, 1},
    {NAMED(MPI_PACKED), kBytes, kOther, 1, 1},
    {NAMED(MPI_WCHAR), kWideCharacter, kOther, 4, 2},
    {NAMED(MPI_SHORT), kInt16, kCInt, 2, 2},
    {NAMED(MPI_UNSIGNED_SHORT), kUint16, kCInt, 2, 2},
    {NAMED(MPI_INT), kInt32, kCInt, 4, 4},
    {NAMED(MPI_UNSIGNED), kUint32, kCInt, 4, 4},
    {NAMED(MPI_LONG), kInt64, kCInt, 8, 4},
    {NAMED(MPI_UNSIGNED_LONG), kUint64, kCInt, 8, 4},
    {NAMED(MPI_LONG_LONG_INT), kInt64, kCInt, 8, 8},
    {NAMED(MPI_UNSIGNED_LONG_LONG), kUint64, kCInt, 8, 8},
    {NAMED(MPI_INT8_T), kInt8, kCInt, 1, 1},
    {NAMED(MPI_INT16_T), kInt16, kCInt, 2, 2},
    {NAMED(MPI_INT32_T), kInt32, kCInt, 4, 4},
    {NAMED(MPI_INT64_T), kInt64, kCInt, 8, 8},
    {NAMED(MPI_UINT8_T), kUint8, kCInt, 1, 1},
    {NAMED(MPI_UINT16_T), kUint16, kCInt, 2, 2},
    {NAMED(MPI_UINT32_T), kUint32, kCInt, 4, 4},
    {NAMED(MPI_UINT64_T), kUint64, kCInt, 8, 8},
    {NAMED(MPI_AINT), kInt64, kMulti, 8, 8},
    {NAMED(MPI_OFFSET), kInt64, kMulti, 8, 8},
    {NAMED(MPI_COUNT), kInt64, kMulti, 8, 8},
    {NAMED(MPI_FLOAT), kFloat32, kReal, 4, 4},
    {NAMED(MPI_DOUBLE), kFloat64, kReal, 8, 8},
    {NAMED(MPI_LONG_DOUBLE), kFloat80, kReal, 16, 16},
    {NAMED(MPIX_C_FLOAT16), kFloat16, kReal, 2, 2},
    {NAMED(MPIX_BFLOAT16), kBfloat16, kReal, 2, 2},
    {NAMED(MPI_C_BOOL), kBool, kLog, 1, 1},
    {MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX", kComplexFloat32, kCplx, 4, 8},
    {NAMED(MPI_C_DOUBLE_COMPLEX), kComplexFloat64, kCplx, 8, 16},
    {NAMED(MPI_C_LONG_DOUBLE_COMPLEX), kComplexFloat80, kCplx, 16, 32},
    {NAMED(MPI_CXX_BOOL), kBool, kLog, 1, 1},
    {NAMED(MPI_CXX_FLOAT_COMPLEX), kComplexFloat32, kCplx, 4, 8},
    {NAMED(MPI_CXX_DOUBLE_COMPLEX), kComplexFloat64, kCplx, 8, 16},
    {NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX), kComplexFloat80, kCplx, 16, 32},
    {NAMED(MPI_CHARACTER), kCharacter, kOther, 1, 1},
    {NAMED(MPI_INTEGER), kInt32, kFInt, 4, 4},
    {NAMED(MPI_INTEGER1), kInt8, kFInt, 1, 1},
    {NAMED(MPI_INTEGER2), kInt16, kFInt, 2, 2},
    {NAMED(MPI_INTEGER4), kInt32, kFInt, 4, 4},
    {NAMED(MPI_INTEGER8), kInt64, kFInt, 8, 8},
    {NAMED(MPI_INTEGER16), kInt128, kFInt, 16, 16},
    {NAMED(MPI_REAL), kFloat32, kReal, 4, 4},
    {NAMED(MPI_DOUBLE_PRECISION), kFloat64, kReal, 8, 8},
    {NAMED(MPI_REAL2), kFloat16, kReal, 2, 2},
    {NAMED(MPI_REAL4), kFloat32, kReal, 4, 4},
    {NAMED(MPI_REAL8), kFloat64, kReal, 8, 8},
    {NAMED(MPI_REAL16), kFloat128, kReal, 16, 16},
    {NAMED(MPI_COMPLEX), kComplexFloat32, kCplx, 4, 8},
    {NAMED(MPI_DOUBLE_COMPLEX), kComplexFloat64, kCplx, 8, 16},
    {NAMED(MPI_COMPLEX4), kComplexFloat16, kCplx, 2, 4},
    {NAMED(MPI_COMPLEX8), kComplexFloat32, kCplx, 4, 8},
    {NAMED(MPI_COMPLEX16), kComplexFloat64, kCplx, 8, 16},
    {NAMED(MPI_COMPLEX32), kComplexFloat128, kCplx, 16, 32},
    {NAMED(MPI_LOGICAL), kLogical32, kLog, 4, 4},
    {NAMED(MPI_LOGICAL1), kLogical8, kLog, 1, 1},
    {NAMED(MPI_LOGICAL2), kLogical16, kLog, 2, 2},
    {NAMED(MPI_LOGICAL4), kLogical32, kLog, 4, 4},
    {NAMED(MPI_LOGICAL8), kLogical64, kLog, 8, 8},
    {NAMED(MPI_LOGICAL16), kLogical128, kLog, 16, 16},
    {NAMED(MPI_LB), kNone, kOther, 1, 0},
    {NAMED(MPI_UB), kNone, kOther, 1, 0},
    {NAMED(MPI_FLOAT_INT), kPair, TypeClass::kPair, 4, 0, MPI_FLOAT, MPI_INT},
    {NAMED(MPI_DOUBLE_INT), kPair, TypeClass::kPair, 8, 0, MPI_DOUBLE, MPI_INT},
    {NAMED(MPI_LONG_INT), kPair, TypeClass::kPair, 8, 0, MPI_LONG, MPI_INT},
    {NAMED(MPI_SHORT_INT), kPair, TypeClass::kPair, 4, 0, MPI_SHORT, MPI_INT},
    {NAMED(MPI_LONG_DOUBLE_INT), kPair, TypeClass::kPair, 16, 0, MPI_LONG_DOUBLE, MPI_INT},
    {NAMED(MPI_2INT), kPair, TypeClass::kPair, 4, 0, MPI_INT, MPI_INT},
    {NAMED(MPI_2INTEGER), kPair, TypeClass::kPair, 4, 0, MPI_INTEGER, MPI_INTEGER},
    {NAMED(MPI_2REAL), kPair, TypeClass::kPair, 4, 0, MPI_REAL, MPI_REAL},
    {NAMED(MPI_2DOUBLE_PRECISION), kPair, TypeClass::kPair, 8, 0, MPI_DOUBLE_PRECISION,
     MPI_DOUBLE_PRECISION},
};

#undef NAMED

constexpr size_t kSlots = 256 + 16;

size_t slot_of(Datatype handle) {
  const uint32_t bits = static_cast<uint32_t>(handle);
  if ((bits >> 16) == 0x4c00) return bits & 0xff;
  if ((bits & 0xfffffff0) == 0x8c000000) return 256 + (bits & 0xf);
  return kSlots;
}

struct Predefined {
  std::array<const DatatypeObject*, kSlots> objects{};
  std::array<const PredefinedType*, kSlots> types{};

  Predefined() {
    for (const PredefinedType& type : kTypes) {
      const size_t slot = slot_of(type.handle);
      CHECK(slot < kSlots && objects[slot] == nullptr);
      types[slot] = &type;
      objects[slot] = build(type);
    }
  }

  const DatatypeObject* build(const PredefinedType& type) {
    DatatypeBuilder builder;
    if (type.kind == BasicKind::kPair) {
      builder.make_pair(*objects[slot_of(type.first)], *objects[slot_of(type.second)]);
    } else if (type.kind == BasicKind::kNone) {
      builder.make_marker(type.handle == MPI_LB);
    } else {
      builder.make_basic((static_cast<uint32_t>(type.handle) >> 8) & 0xff, type.alignment);
    }
    return builder.finish_predefined(type.handle, type.kind);
  }
};

const Predefined& predefined() {
  // Never destroyed: references to predefined types may outlive static destruction order.
  static const Predefined* const instance = new Predefined;
  return *instance;
}

}  // namespace

const PredefinedType* find_predefined(Datatype handle) {
  const size_t slot = slot_of(handle);
  if (slot >= kSlots) return nullptr;
  const PredefinedType* type = predefined().types[slot];
  return type != nullptr && type->handle == handle ? type : nullptr;
}

TypeClass type_class_of(const DatatypeObject& type) {
  if (const PredefinedType* named = find_predefined(type.handle())) return named->type_class;
  switch (type.combiner()) {
    case MPI_COMBINER_F90_INTEGER:
      return TypeClass::kFortranInteger;
    case MPI_COMBINER_F90_REAL:
      return TypeClass::kFloating;
    case MPI_COMBINER_F90_COMPLEX:
      return TypeClass::kComplex;
    case MPI_COMBINER_VALUE_INDEX:
      return TypeClass::kPair;
    default:
      return TypeClass::kOther;
  }
}

const DatatypeObject* const* predefined_objects() { return predefined().objects.data(); }

const DatatypeObject* predefined_object(Datatype handle) {
  const size_t slot = slot_of(handle);
  CHECK(slot < kSlots && predefined().objects[slot] != nullptr);
  return predefined().objects[slot];
}

}  // namespace sesame::mpi
