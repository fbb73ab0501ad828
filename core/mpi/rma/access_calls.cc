// MPI_Put, MPI_Get and MPI_Accumulate and their relatives (MPI 4.1, section 12.3).
#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/rma/access.h"

namespace sesame::mpi {
namespace {

using Kind = RemoteOperation::Kind;

// A buffer of the origin, as a call names it.
struct OriginArguments {
  const void* address;
  Count count;
  Datatype type;
};

int check_origin(const OriginArguments& origin, TypedBuffer* buffer) {
  const DatatypeObject* type;
  MPI_TRY(check_buffer(origin.address, origin.count, origin.type, &type));
  *buffer = {const_cast<void*>(origin.address), origin.count, DatatypeRef(type)};
  return MPI_SUCCESS;
}

int check_fits(Count data, Count space, const char* where) {
  if (data <= space) return MPI_SUCCESS;
  return fail(MPI_ERR_TRUNCATE, std::to_string(data) + " bytes of data for " +
                                    std::to_string(space) + " bytes " + where);
}

int put(const OriginArguments& origin, const TargetArguments& target) {
  TargetAccess access;
  TypedBuffer source;
  MPI_TRY(check_origin(origin, &source));
  MPI_TRY(access.open(target));
  if (access.is_empty() || source.bytes() == 0) return access.issue(nullptr, 0);
  MPI_TRY(check_fits(source.bytes(), access.target_buffer().bytes(), "at the target"));
  auto operation = access.operation(Kind::kPut);
  operation->copy_data(source.address, source.count, *source.type);
  return access.issue(std::move(operation), source.bytes());
}

int get(const OriginArguments& origin, const TargetArguments& target) {
  TargetAccess access;
  TypedBuffer result;
  MPI_TRY(check_origin(origin, &result));
  MPI_TRY(access.open(target));
  if (access.is_empty()) return access.issue(nullptr, 0);
  MPI_TRY(check_fits(access.target_buffer().bytes(), result.bytes(), "at the origin"));
  auto operation = access.operation(Kind::kGet);
  operation->result = result;
  return access.issue(std::move(operation), access.target_buffer().bytes());
}

// The operation must be a predefined one that takes elements of the target's type.
int check_operation(Op handle, const TypedBuffer& target_buffer, OpRef* op) {
  const OpObject* object = this_rank().ops.find(handle);
  if (object == nullptr) {
    return fail(MPI_ERR_OP, handle == MPI_OP_NULL ? "the operation is MPI_OP_NULL"
                                                  : "no such operation, or it was freed");
  }
  if (!object->is_predefined()) {
    return fail(MPI_ERR_OP, "only predefined operations can be applied to a window");
  }
  const DatatypeObject* element = element_of(*target_buffer.type);
  if (element == nullptr) {
    return fail(MPI_ERR_TYPE, "the target's datatype is not made of one predefined type");
  }
  if (op_is_valid_for_accumulate(*object, *element) != MPI_SUCCESS) {
    return fail(MPI_ERR_OP, "the operation does not take elements of this datatype");
  }
  *op = OpRef(object);
  return MPI_SUCCESS;
}

// With `result`, also returns the previous contents of the target.
int accumulate_at(const OriginArguments& origin, const OriginArguments* result,
                  const TargetArguments& target, Op op) {
  TargetAccess access;
  TypedBuffer source;
  TypedBuffer before;
  const bool brings_data = op != MPI_NO_OP;
  if (brings_data) MPI_TRY(check_origin(origin, &source));
  if (result != nullptr) MPI_TRY(check_origin(*result, &before));
  MPI_TRY(access.open(target));
  OpRef operation_object;
  MPI_TRY(check_operation(op, access.target_buffer(), &operation_object));
  if (access.is_empty() || (result == nullptr && source.bytes() == 0)) {
    return access.issue(nullptr, 0);
  }
  MPI_TRY(check_fits(source.bytes(), access.target_buffer().bytes(), "at the target"));
  if (result != nullptr) {
    MPI_TRY(check_fits(access.target_buffer().bytes(), before.bytes(), "for the result"));
  }
  auto operation = access.operation(result != nullptr ? Kind::kFetch : Kind::kAccumulate);
  operation->op = std::move(operation_object);
  operation->result = before;
  if (brings_data) operation->copy_data(source.address, source.count, *source.type);
  return access.issue(std::move(operation), source.bytes() + before.bytes());
}

// The types that MPI 4.1, section 12.3.4.3, allows in MPI_Compare_and_swap.
bool is_comparable(const DatatypeObject& type) {
  if (!type.is_predefined()) return false;
  switch (type_class_of(type)) {
    case TypeClass::kCInteger:
    case TypeClass::kFortranInteger:
    case TypeClass::kLogical:
    case TypeClass::kMultiLanguage:
    case TypeClass::kByte:
      return true;
    default:
      return false;
  }
}

}  // namespace

int Put(const void* origin_addr, Count origin_count, Datatype origin_datatype, int target_rank,
        Aint target_disp, Count target_count, Datatype target_datatype, Win win) {
  return put({origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype, win});
}

int Rput(const void* origin_addr, Count origin_count, Datatype origin_datatype, int target_rank,
         Aint target_disp, Count target_count, Datatype target_datatype, Win win,
         Request* request) {
  return put({origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype, win, request});
}

int Get(void* origin_addr, Count origin_count, Datatype origin_datatype, int target_rank,
        Aint target_disp, Count target_count, Datatype target_datatype, Win win) {
  return get({origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype, win});
}

int Rget(void* origin_addr, Count origin_count, Datatype origin_datatype, int target_rank,
         Aint target_disp, Count target_count, Datatype target_datatype, Win win,
         Request* request) {
  return get({origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype, win, request});
}

int Accumulate(const void* origin_addr, Count origin_count, Datatype origin_datatype,
               int target_rank, Aint target_disp, Count target_count, Datatype target_datatype,
               Op op, Win win) {
  return accumulate_at({origin_addr, origin_count, origin_datatype}, nullptr,
                       {target_rank, target_disp, target_count, target_datatype, win}, op);
}

int Raccumulate(const void* origin_addr, Count origin_count, Datatype origin_datatype,
                int target_rank, Aint target_disp, Count target_count, Datatype target_datatype,
                Op op, Win win, Request* request) {
  return accumulate_at({origin_addr, origin_count, origin_datatype}, nullptr,
                       {target_rank, target_disp, target_count, target_datatype, win, request}, op);
}

int Get_accumulate(const void* origin_addr, Count origin_count, Datatype origin_datatype,
                   void* result_addr, Count result_count, Datatype result_datatype, int target_rank,
                   Aint target_disp, Count target_count, Datatype target_datatype, Op op, Win win) {
  const OriginArguments result{result_addr, result_count, result_datatype};
  return accumulate_at({origin_addr, origin_count, origin_datatype}, &result,
                       {target_rank, target_disp, target_count, target_datatype, win}, op);
}

int Rget_accumulate(const void* origin_addr, Count origin_count, Datatype origin_datatype,
                    void* result_addr, Count result_count, Datatype result_datatype,
                    int target_rank, Aint target_disp, Count target_count, Datatype target_datatype,
                    Op op, Win win, Request* request) {
  const OriginArguments result{result_addr, result_count, result_datatype};
  return accumulate_at({origin_addr, origin_count, origin_datatype}, &result,
                       {target_rank, target_disp, target_count, target_datatype, win, request}, op);
}

int Fetch_and_op(const void* origin_addr, void* result_addr, Datatype datatype, int target_rank,
                 Aint target_disp, Op op, Win win) {
  const DatatypeObject* type = this_rank().datatypes.find(datatype);
  if (type != nullptr && !type->is_predefined()) {
    return fail(MPI_ERR_TYPE, "the datatype is not a predefined one");
  }
  const OriginArguments result{result_addr, 1, datatype};
  return accumulate_at({origin_addr, 1, datatype}, &result,
                       {target_rank, target_disp, 1, datatype, win}, op);
}

int Compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                     Datatype datatype, int target_rank, Aint target_disp, Win win) {
  TargetAccess access;
  TypedBuffer source;
  TypedBuffer compared;
  TypedBuffer before;
  MPI_TRY(check_origin({origin_addr, 1, datatype}, &source));
  MPI_TRY(check_origin({compare_addr, 1, datatype}, &compared));
  MPI_TRY(check_origin({result_addr, 1, datatype}, &before));
  if (!is_comparable(*source.type)) {
    return fail(MPI_ERR_TYPE, "the datatype is not an integer, logical or byte type");
  }
  MPI_TRY(access.open({target_rank, target_disp, 1, datatype, win}));
  if (access.is_empty()) return MPI_SUCCESS;
  auto operation = access.operation(Kind::kCompareAndSwap);
  operation->result = before;
  const auto bytes = static_cast<size_t>(source.bytes());
  std::vector<char> both(2 * bytes);
  copy_bytes(both.data(), compare_addr, bytes);
  copy_bytes(both.data() + bytes, origin_addr, bytes);
  operation->copy_data(both.data(), static_cast<Count>(both.size()), *predefined_object(MPI_BYTE));
  return access.issue(std::move(operation), 3 * source.bytes());
}

}  // namespace sesame::mpi
