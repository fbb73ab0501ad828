// Functions that find a type by its properties: Fortran 90 kinds by decimal precision and range,
// basic types by size, pairs by the types of value and index. Kinds are those of GNU Fortran on
// x86-64; the limits are the results of the intrinsics PRECISION and RANGE for each kind.
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_builder.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {
namespace {

struct RealKind {
  int precision, range;
  Datatype real, complex;
};

constexpr RealKind kRealKinds[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};

struct IntegerKind {
  int range;
  Datatype type;
};

constexpr IntegerKind kIntegerKinds[] = {
    {2, MPI_INTEGER1},  {4, MPI_INTEGER2},   {9, MPI_INTEGER4},
    {18, MPI_INTEGER8}, {38, MPI_INTEGER16},
};

struct SizedType {
  int type_class, size;
  Datatype type;
};

constexpr SizedType kSizedTypes[] = {
    {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
    {MPI_TYPECLASS_REAL, 4, MPI_REAL},
    {MPI_TYPECLASS_REAL, 8, MPI_DOUBLE_PRECISION},
    {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
    {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},
    {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
    {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER},
    {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
    {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16},
    {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
    {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX},
    {MPI_TYPECLASS_COMPLEX, 16, MPI_DOUBLE_COMPLEX},
    {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
};

// The unnamed predefined type that stands for `basic` under this combiner and these parameters.
int find_or_make(DatatypeTable& table, int combiner, int first, int second, Datatype basic,
                 Datatype* out) {
  if (const auto* cached = table.find_cached(combiner, first, second)) {
    *out = cached->handle;
    return MPI_SUCCESS;
  }
  const DatatypeObject& type = *table.find(basic);
  DatatypeBuilder builder;
  builder.make_basic(type.size(), type.bounds().alignment);
  builder.set_predefined(type.basic_kind());
  TypeContents& contents = builder.contents();
  contents.combiner = combiner;
  contents.integers = {first};
  if (combiner != MPI_COMBINER_F90_INTEGER) contents.integers.push_back(second);
  *out = table.insert(builder.finish());
  table.add_cached({combiner, first, second, *out});
  return MPI_SUCCESS;
}

const RealKind* select_real(int precision, int range) {
  for (const RealKind& kind : kRealKinds) {
    if ((precision == MPI_UNDEFINED || precision <= kind.precision) &&
        (range == MPI_UNDEFINED || range <= kind.range)) {
      return &kind;
    }
  }
  return nullptr;
}

bool are_real_parameters(int precision, int range) {
  return (precision >= 0 || precision == MPI_UNDEFINED) && (range >= 0 || range == MPI_UNDEFINED) &&
         !(precision == MPI_UNDEFINED && range == MPI_UNDEFINED);
}

bool can_be_value(TypeClass type_class) {
  return type_class == TypeClass::kCInteger || type_class == TypeClass::kFortranInteger ||
         type_class == TypeClass::kMultiLanguage || type_class == TypeClass::kFloating;
}

Datatype find_named_pair(Datatype value, Datatype index) {
  constexpr Datatype kPairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT,      MPI_LONG_INT,
                                 MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_2INT,
                                 MPI_2INTEGER,  MPI_2REAL,           MPI_2DOUBLE_PRECISION};
  for (Datatype pair : kPairs) {
    const PredefinedType* type = find_predefined(pair);
    if (type->first == value && type->second == index) return pair;
  }
  return MPI_DATATYPE_NULL;
}

}  // namespace

int type_create_f90_integer(DatatypeTable& table, int range, Datatype* out) {
  if (out == nullptr || range < 0) return MPI_ERR_ARG;
  for (const IntegerKind& kind : kIntegerKinds) {
    if (range <= kind.range) {
      return find_or_make(table, MPI_COMBINER_F90_INTEGER, range, 0, kind.type, out);
    }
  }
  return MPI_ERR_ARG;
}

int type_create_f90_real(DatatypeTable& table, int precision, int range, Datatype* out) {
  if (out == nullptr || !are_real_parameters(precision, range)) return MPI_ERR_ARG;
  const RealKind* kind = select_real(precision, range);
  if (kind == nullptr) return MPI_ERR_ARG;
  return find_or_make(table, MPI_COMBINER_F90_REAL, precision, range, kind->real, out);
}

int type_create_f90_complex(DatatypeTable& table, int precision, int range, Datatype* out) {
  if (out == nullptr || !are_real_parameters(precision, range)) return MPI_ERR_ARG;
  const RealKind* kind = select_real(precision, range);
  if (kind == nullptr) return MPI_ERR_ARG;
  return find_or_make(table, MPI_COMBINER_F90_COMPLEX, precision, range, kind->complex, out);
}

int type_match_size(int type_class, int size, Datatype* out) {
  if (out == nullptr) return MPI_ERR_ARG;
  for (const SizedType& type : kSizedTypes) {
    if (type.type_class == type_class && type.size == size) {
      *out = type.type;
      return MPI_SUCCESS;
    }
  }
  return MPI_ERR_ARG;
}

int type_get_value_index(DatatypeTable& table, Datatype value, Datatype index, Datatype* out) {
  const DatatypeObject* value_type = table.find(value);
  const DatatypeObject* index_type = table.find(index);
  if (value_type == nullptr || index_type == nullptr) return MPI_ERR_TYPE;
  if (out == nullptr) return MPI_ERR_ARG;
  *out = find_named_pair(value, index);
  if (*out != MPI_DATATYPE_NULL) return MPI_SUCCESS;
  const BasicKind index_kind = index_type->basic_kind();
  const bool is_index = index_kind == BasicKind::kInt32 || index_kind == BasicKind::kInt64;
  const BasicKind kind = value_type->basic_kind();
  if (!is_index || !can_be_value(type_class_of(*value_type)) || kind == BasicKind::kFloat16 ||
      kind == BasicKind::kBfloat16 || kind == BasicKind::kInt128) {
    return MPI_SUCCESS;
  }
  if (const auto* cached = table.find_cached(MPI_COMBINER_VALUE_INDEX, value, index)) {
    *out = cached->handle;
    return MPI_SUCCESS;
  }
  DatatypeBuilder builder;
  builder.make_pair(*value_type, *index_type);
  builder.set_predefined(BasicKind::kPair);
  builder.contents().combiner = MPI_COMBINER_VALUE_INDEX;
  builder.contents().types = {DatatypeRef(value_type), DatatypeRef(index_type)};
  *out = table.insert(builder.finish());
  table.add_cached({MPI_COMBINER_VALUE_INDEX, value, index, *out});
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
