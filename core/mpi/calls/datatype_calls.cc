// The MPI functions on datatypes, packing and reduction operations, as calls of the running rank.
#include "core/mpi/api.h"
#include "core/mpi/calls/attribute_calls.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/attributes.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_query.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

DatatypeTable& types() { return this_rank().datatypes; }

template <CallbackKind kKind>
void invoke(const ProxiedFunction& function, const void* in, void* inout, Count count,
            Datatype datatype) {
  callbacks().invoke_op(function, kKind, in, inout, count, datatype);
}

int check_op(Op handle, const OpObject** op) {
  *op = this_rank().ops.find(handle);
  return *op != nullptr ? MPI_SUCCESS : fail(MPI_ERR_OP, "no such operation, or it was freed");
}

}  // namespace

int Op_create(Function user_fn, CallbackKind callback_kind, int commute, Op* op) {
  OpInvoker invoker = invoke<CallbackKind::kC>;
  if (callback_kind == CallbackKind::kCLargeCount) invoker = invoke<CallbackKind::kCLargeCount>;
  if (callback_kind == CallbackKind::kFortran) invoker = invoke<CallbackKind::kFortran>;
  return this_rank().ops.create(user_fn, invoker, commute != 0,
                                callback_kind != CallbackKind::kCLargeCount, op);
}
void Op_set_proxy(Op op, Function proxy) { this_rank().ops.set_proxy(op, proxy); }
int Op_free(Op* op) { return this_rank().ops.free(op); }
int Op_commutative(Op handle, int* commute) {
  const OpObject* op = nullptr;
  MPI_TRY(check_op(handle, &op));
  *commute = op->is_commutative() ? 1 : 0;
  return MPI_SUCCESS;
}

int Get_address(const void* location, Aint* address) {
  *address = reinterpret_cast<Aint>(location);
  return MPI_SUCCESS;
}
int Get_count(const Status* status, Datatype datatype, Count* count) {
  return get_count(types(), *status, datatype, count);
}
int Get_elements(const Status* status, Datatype datatype, Count* count) {
  return get_elements(types(), *status, datatype, count);
}
int Status_set_elements(Status* status, Datatype datatype, Count count) {
  return status_set_elements(types(), status, datatype, count);
}

int Pack(const void* inbuf, Count incount, Datatype datatype, void* outbuf, Count outsize,
         Count* position, Comm handle) {
  CommObject* comm = nullptr;
  MPI_TRY(check_comm(handle, &comm));
  return pack(types(), inbuf, incount, datatype, outbuf, outsize, position);
}
int Unpack(const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,
           Datatype datatype, Comm handle) {
  CommObject* comm = nullptr;
  MPI_TRY(check_comm(handle, &comm));
  return unpack(types(), inbuf, insize, position, outbuf, outcount, datatype);
}
int Pack_size(Count incount, Datatype datatype, Comm handle, Count* size) {
  CommObject* comm = nullptr;
  MPI_TRY(check_comm(handle, &comm));
  return pack_size(types(), incount, datatype, size);
}
int Pack_external(const char* datarep, const void* inbuf, Count incount, Datatype datatype,
                  void* outbuf, Count outsize, Count* position) {
  return pack_external(types(), datarep, inbuf, incount, datatype, outbuf, outsize, position);
}
int Unpack_external(const char* datarep, const void* inbuf, Count insize, Count* position,
                    void* outbuf, Count outcount, Datatype datatype) {
  return unpack_external(types(), datarep, inbuf, insize, position, outbuf, outcount, datatype);
}
int Pack_external_size(const char* datarep, Count incount, Datatype datatype, Count* size) {
  return pack_external_size(types(), datarep, incount, datatype, size);
}

int Type_contiguous(Count count, Datatype oldtype, Datatype* newtype, bool large) {
  return type_contiguous(types(), count, oldtype, newtype, large);
}
int Type_vector(Count count, Count blocklength, Count stride, Datatype oldtype, Datatype* newtype,
                bool large) {
  return type_vector(types(), count, blocklength, stride, oldtype, newtype, large);
}
int Type_create_hvector(Count count, Count blocklength, Count stride, Datatype oldtype,
                        Datatype* newtype, bool large) {
  return type_create_hvector(types(), count, blocklength, stride, oldtype, newtype, large);
}
int Type_indexed(Count count, IntArray blocklengths, IntArray displacements, Datatype oldtype,
                 Datatype* newtype, bool large) {
  return type_indexed(types(), count, blocklengths, displacements, oldtype, newtype, large);
}
int Type_create_hindexed(Count count, IntArray blocklengths, IntArray displacements,
                         Datatype oldtype, Datatype* newtype, bool large) {
  return type_create_hindexed(types(), count, blocklengths, displacements, oldtype, newtype, large);
}
int Type_create_indexed_block(Count count, Count blocklength, IntArray displacements,
                              Datatype oldtype, Datatype* newtype, bool large) {
  return type_create_indexed_block(types(), count, blocklength, displacements, oldtype, newtype,
                                   large);
}
int Type_create_hindexed_block(Count count, Count blocklength, IntArray displacements,
                               Datatype oldtype, Datatype* newtype, bool large) {
  return type_create_hindexed_block(types(), count, blocklength, displacements, oldtype, newtype,
                                    large);
}
int Type_create_struct(Count count, IntArray blocklengths, IntArray displacements,
                       const Datatype* array_of_types, Datatype* newtype, bool large) {
  return type_create_struct(types(), count, blocklengths, displacements, array_of_types, newtype,
                            large);
}
int Type_create_subarray(int ndims, IntArray sizes, IntArray subsizes, IntArray starts, int order,
                         Datatype oldtype, Datatype* newtype, bool large) {
  return type_create_subarray(types(), ndims, sizes, subsizes, starts, order, oldtype, newtype,
                              large);
}
int Type_create_darray(int size, int rank, int ndims, IntArray gsizes, const int* distribs,
                       const int* dargs, const int* psizes, int order, Datatype oldtype,
                       Datatype* newtype, bool large) {
  return type_create_darray(types(), size, rank, ndims, gsizes, distribs, dargs, psizes, order,
                            oldtype, newtype, large);
}
int Type_create_resized(Datatype oldtype, Count lb, Count extent, Datatype* newtype, bool large) {
  return type_create_resized(types(), oldtype, lb, extent, newtype, large);
}
int Type_create_f90_integer(int r, Datatype* newtype) {
  return type_create_f90_integer(types(), r, newtype);
}
int Type_create_f90_real(int p, int r, Datatype* newtype) {
  return type_create_f90_real(types(), p, r, newtype);
}
int Type_create_f90_complex(int p, int r, Datatype* newtype) {
  return type_create_f90_complex(types(), p, r, newtype);
}
int Type_match_size(int typeclass, int size, Datatype* datatype) {
  return type_match_size(typeclass, size, datatype);
}
int Type_get_value_index(Datatype value_type, Datatype index_type, Datatype* pair_type) {
  return type_get_value_index(types(), value_type, index_type, pair_type);
}
int Type_commit(Datatype* datatype) { return type_commit(types(), datatype); }

int Type_dup(Datatype oldtype, Datatype* newtype) {
  MPI_TRY(type_dup(types(), oldtype, newtype));
  const int error = copy_type_attributes(this_rank(), oldtype, *newtype);
  if (error != MPI_SUCCESS) type_free(types(), newtype);
  return error;
}
int Type_free(Datatype* datatype) {
  if (types().find(*datatype) != nullptr) {
    MPI_TRY(delete_type_attributes(this_rank(), *datatype));
  }
  return type_free(types(), datatype);
}

int Type_size(Datatype datatype, Count* size) { return type_size(types(), datatype, size); }
int Type_get_extent(Datatype datatype, Count* lb, Count* extent) {
  return type_get_extent(types(), datatype, lb, extent);
}
int Type_get_true_extent(Datatype datatype, Count* lb, Count* extent) {
  return type_get_true_extent(types(), datatype, lb, extent);
}
int Type_get_name(Datatype datatype, char* name, int* length) {
  return type_get_name(types(), datatype, name, length);
}
int Type_set_name(Datatype datatype, const char* name) {
  return type_set_name(types(), datatype, name);
}

int Type_get_envelope(Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                      int* combiner) {
  Envelope envelope;
  MPI_TRY(type_get_envelope(types(), datatype, &envelope));
  *num_integers = static_cast<int>(envelope.integers);
  *num_addresses = static_cast<int>(envelope.addresses);
  *num_datatypes = static_cast<int>(envelope.types);
  *combiner = envelope.combiner;
  return MPI_SUCCESS;
}
int Type_get_envelope_c(Datatype datatype, Count* num_integers, Count* num_addresses,
                        Count* num_large_counts, Count* num_datatypes, int* combiner) {
  Envelope envelope;
  MPI_TRY(type_get_envelope(types(), datatype, &envelope, true));
  *num_integers = envelope.integers;
  *num_addresses = envelope.addresses;
  *num_large_counts = envelope.large_counts;
  *num_datatypes = envelope.types;
  *combiner = envelope.combiner;
  return MPI_SUCCESS;
}
int Type_get_contents(Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                      int* integers, Aint* addresses, Datatype* datatypes) {
  const Envelope maxima{max_integers, max_addresses, 0, max_datatypes, 0};
  return type_get_contents(types(), datatype, maxima, integers, addresses, nullptr, datatypes);
}
int Type_get_contents_c(Datatype datatype, Count max_integers, Count max_addresses,
                        Count max_large_counts, Count max_datatypes, int* integers, Aint* addresses,
                        Count* large_counts, Datatype* datatypes) {
  const Envelope maxima{max_integers, max_addresses, max_large_counts, max_datatypes, 0};
  return type_get_contents(types(), datatype, maxima, integers, addresses, large_counts, datatypes,
                           true);
}

}  // namespace sesame::mpi
