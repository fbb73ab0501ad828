#include "core/mpi/objects/op.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "core/base/check.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/op_reduction.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

constexpr size_t kBuiltins = 16;

constexpr uint32_t bit(Op op) { return 1u << (op & 0xf); }

constexpr uint32_t kArithmetic = bit(MPI_MAX) | bit(MPI_MIN) | bit(MPI_SUM) | bit(MPI_PROD);
constexpr uint32_t kLogical = bit(MPI_LAND) | bit(MPI_LOR) | bit(MPI_LXOR);
constexpr uint32_t kBitwise = bit(MPI_BAND) | bit(MPI_BOR) | bit(MPI_BXOR);

// MPI 4.1, section 6.9.2, and what MPICH 4.0.2 accepts beyond it: logical operations on Fortran's
// integers and multi-language types, and MPI_LXOR on floating-point types.
constexpr uint32_t operations_of(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::kCInteger:
    case TypeClass::kFortranInteger:
    case TypeClass::kMultiLanguage:
      return kArithmetic | kLogical | kBitwise;
    case TypeClass::kFloating:
      return kArithmetic | bit(MPI_LXOR);
    case TypeClass::kLogical:
      return kLogical;
    case TypeClass::kComplex:
      return bit(MPI_SUM) | bit(MPI_PROD);
    case TypeClass::kByte:
      return kBitwise;
    case TypeClass::kPair:
      return bit(MPI_MINLOC) | bit(MPI_MAXLOC);
    case TypeClass::kOther:
      return 0;
  }
  return 0;
}

// Reduces copies of vectors that are in another process. Predefined operations are for types whose
// extent is positive and that begin at their address.
[[gnu::cold]] void reduce_remote(ReduceFunction function, const void* in, void* inout, Count count,
                                 const DatatypeObject& type) {
  const auto bytes = static_cast<size_t>(type.span(count));
  const auto operand = std::make_unique_for_overwrite<char[]>(bytes);
  const auto result = std::make_unique_for_overwrite<char[]>(bytes);
  copy_bytes(operand.get(), in, bytes);
  copy_bytes(result.get(), inout, bytes);
  function(operand.get(), result.get(), count);
  copy_bytes(inout, result.get(), bytes);
}

ReduceFunction find_reduction(Op op, const DatatypeObject& type) {
  const BasicKind kind = type.basic_kind();
  if (kind == BasicKind::kPair) {
    const TypeMap& type_map = type.type_map();
    return pair_reduction(op, type_map.block_type(0).basic_kind(),
                          type_map.block_type(1).basic_kind());
  }
  if (ReduceFunction function = floating_reduction(op, kind)) return function;
  if (ReduceFunction function = integer_reduction(op, kind)) return function;
  if (ReduceFunction function = complex_reduction(op, kind)) return function;
  return logical_reduction(op, kind);
}

}  // namespace

void OpObject::destroy() const {
  if (table_ != nullptr) table_->forget(this);
  delete this;
}

OpTable::OpTable() {
  // Built once, never changed, shared by all ranks.
  static const auto* const builtins = [] {
    auto* objects = new std::array<const OpObject*, kBuiltins>{};
    for (Op op = MPI_MAX; op <= MPI_NO_OP; ++op) {
      auto* object = new OpObject;
      object->handle_ = op;
      object->is_immortal_ = true;
      object->is_commutative_ = op != MPI_REPLACE && op != MPI_NO_OP;
      (*objects)[op & 0xf] = object;
    }
    return objects;
  }();
  builtins_ = builtins->data();
}

OpTable::~OpTable() {
  for (OpObject* object : slots_) {
    if (object == nullptr) continue;
    object->table_ = nullptr;
    if (!object->is_freed_) object->release();
  }
}

int OpTable::create(Function function, OpInvoker invoker, bool commutative, bool counts_are_int,
                    Op* out) {
  if (function == nullptr || invoker == nullptr || out == nullptr) return MPI_ERR_ARG;
  uint32_t slot = static_cast<uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.push_back(nullptr);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  auto* object = new OpObject;
  object->handle_ = static_cast<Op>(0x98000000 | slot);
  object->is_commutative_ = commutative;
  object->counts_are_int_ = counts_are_int;
  object->invoker_ = invoker;
  object->function_ = function;
  object->table_ = this;
  object->add_reference();
  slots_[slot] = object;
  *out = object->handle_;
  return MPI_SUCCESS;
}

int OpTable::free(Op* op) {
  if (op == nullptr) return MPI_ERR_ARG;
  auto* object = const_cast<OpObject*>(find(*op));
  if (object == nullptr || object->is_immortal_ || object->is_freed_) return MPI_ERR_OP;
  object->is_freed_ = true;
  object->release();
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

void OpTable::set_proxy(Op op, Function proxy) {
  auto* object = const_cast<OpObject*>(find(op));
  if (object != nullptr && !object->is_predefined()) object->function_.proxy = proxy;
}

void OpTable::forget(const OpObject* object) {
  const uint32_t slot = static_cast<uint32_t>(object->handle_) & 0xffffff;
  CHECK(slots_[slot] == object);
  slots_[slot] = nullptr;
  free_slots_.push_back(slot);
}

size_t OpTable::live_count() const {
  return static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), [](const auto* object) {
    return object != nullptr && !object->is_freed_;
  }));
}

int op_is_valid(const OpObject& op, const DatatypeObject& type) {
  if (!op.is_predefined()) return MPI_SUCCESS;
  const bool listed = (operations_of(type_class_of(type)) & bit(op.handle())) != 0;
  return listed ? MPI_SUCCESS : MPI_ERR_OP;
}

int op_is_valid_for_accumulate(const OpObject& op, const DatatypeObject& type) {
  if (!op.is_predefined()) return MPI_ERR_OP;
  if (op.handle() == MPI_REPLACE || op.handle() == MPI_NO_OP) {
    return type.is_predefined() ? MPI_SUCCESS : MPI_ERR_OP;
  }
  return op_is_valid(op, type);
}

void reduce_local(const void* in, void* inout, Count count, const DatatypeObject& type,
                  const OpObject& op) {
  if (op.is_predefined()) {
    if (op.handle() == MPI_NO_OP) return;
    if (op.handle() == MPI_REPLACE) {
      copy_typed(in, count, type, inout, count, type);
      return;
    }
    const ReduceFunction function = find_reduction(op.handle(), type);
    CHECK(function != nullptr);
    if (is_remote(in, inout)) [[unlikely]]
      return reduce_remote(function, in, inout, count, type);
    return function(in, inout, count);
  }
  const Count longest =
      op.counts_are_int_ ? std::numeric_limits<int>::max() : std::numeric_limits<Count>::max();
  for (Count start = 0; start < count; start += longest) {
    const Count length = std::min(longest, count - start);
    const Aint offset = start * type.extent();
    op.invoker_(op.function_, static_cast<const char*>(in) + offset,
                static_cast<char*>(inout) + offset, length, type.handle());
    if (length < longest) break;  // start + longest may not fit
  }
}

}  // namespace sesame::mpi
