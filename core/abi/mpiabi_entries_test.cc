// Calls entry points of the MPI 5 standard interface as a program would, with fakes behind them.
// Numbers on the program's side are those of the standard, written out.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/abi/translate.h"
#include "core/mpi/api.h"
#include "core/mpi/calls/call.h"

using namespace sesame::abi;

namespace {
constexpr AbiComm kWorld{0x101};
constexpr AbiDatatype kInt{0x209}, kDouble{0x214};
constexpr int kProcNull = -3, kAnySource = -1, kAnyTag = -2;
}  // namespace

extern "C" {
int MPI_Send(const void*, int, AbiDatatype, int, int, AbiComm);
int MPI_Recv(void*, int, AbiDatatype, int, int, AbiComm, AbiStatus*);
int MPI_Waitall(int, AbiRequest*, AbiStatus*);
int MPI_Test(AbiRequest*, int*, AbiStatus*);
int MPI_Comm_split(AbiComm, int, int, AbiComm*);
int MPI_Comm_compare(AbiComm, AbiComm, int*);
int MPI_Comm_get_attr(AbiComm, int, void*, int*);
int MPI_Alltoallw(const void*, const int*, const int*, const AbiDatatype*, void*, const int*,
                  const int*, const AbiDatatype*, AbiComm);
int MPI_Type_get_contents(AbiDatatype, int, int, int, int*, Aint*, AbiDatatype*);
int MPI_Get_count(const AbiStatus*, AbiDatatype, int*);
int MPI_Error_class(int, int*);
int MPI_Init_thread(int*, char***, int, int*);
int MPI_Group_translate_ranks(AbiGroup, int, const int*, AbiGroup, int*);
int MPI_Buffer_detach(void*, int*);
int MPI_Dist_graph_create_adjacent(AbiComm, int, const int*, const int*, int, const int*,
                                   const int*, AbiInfo, int, AbiComm*);
int MPI_Comm_toint(AbiComm);
AbiComm MPI_Comm_fromint(int);
}

// ---- The fakes ----

namespace {
struct Seen {
  const void* buffer;
  Datatype datatype;
  int peer;
  int tag;
  Comm comm;
  std::vector<Datatype> types;
  std::vector<Request> requests;
  int thread_level;
  bool has_status;
  const int* weights;
  std::vector<int> ranks;
} seen;
int result_error;
const int kTheHost = MPI_PROC_NULL;
const int kLastUsedCode = MPI_ERR_LASTCODE + 3;
constexpr Comm kNewComm = static_cast<int>(0x84000007);
}  // namespace

namespace sesame::mpi {

int Send(const void* buffer, Count, Datatype datatype, int peer, int tag, Comm comm) {
  seen.buffer = buffer;
  seen.datatype = datatype;
  seen.peer = peer;
  seen.tag = tag;
  seen.comm = comm;
  return result_error;
}
int Recv(void*, Count, Datatype, int peer, int tag, Comm, Status* status) {
  seen.peer = peer;
  seen.tag = tag;
  seen.has_status = status != MPI_STATUS_IGNORE;
  if (!seen.has_status) return MPI_SUCCESS;
  status->MPI_SOURCE = MPI_PROC_NULL;
  status->MPI_TAG = MPI_ANY_TAG;
  status->set_byte_count(Count{3} << 33);
  return MPI_SUCCESS;
}
int Waitall(int count, Request* requests, Status* statuses) {
  seen.requests.assign(requests, requests + count);
  for (int i = 0; i < count; ++i) {
    requests[i] = MPI_REQUEST_NULL;
    statuses[i].MPI_SOURCE = i;
    statuses[i].MPI_TAG = 10 + i;
    statuses[i].MPI_ERROR = i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  }
  return MPI_ERR_IN_STATUS;
}
int Test(Request*, int* flag, Status*) {
  *flag = 0;
  return MPI_SUCCESS;
}
int Comm_split(Comm, int, int, Comm* comm) {
  *comm = seen.peer == 1 ? MPI_COMM_NULL : kNewComm;
  return MPI_SUCCESS;
}
int Comm_compare(Comm, Comm, int* result) {
  *result = MPI_CONGRUENT;
  return MPI_SUCCESS;
}
int Comm_get_attr(Comm, int keyval, void* value, int* flag) {
  *flag = 1;
  *static_cast<const int**>(value) = keyval == MPI_HOST ? &kTheHost : &kLastUsedCode;
  return MPI_SUCCESS;
}
int Comm_size(Comm, int* size) {
  *size = 20;
  return MPI_SUCCESS;
}
int Alltoallw(const void*, IntArray, IntArray, const Datatype*, void*, IntArray, IntArray,
              const Datatype* types, Comm) {
  seen.types.assign(types, types + 20);
  return MPI_SUCCESS;
}
int Type_get_envelope_c(Datatype, Count* integers, Count* addresses, Count* large_counts,
                        Count* datatypes, int* combiner) {
  *integers = 4 + 4 * 2;
  *addresses = *large_counts = 0;
  *datatypes = 1;
  *combiner = MPI_COMBINER_DARRAY;
  return MPI_SUCCESS;
}
// size, rank, ndims, gsizes, distribs, dargs, psizes, order
int Type_get_contents(Datatype, int, int, int, int* integers, Aint*, Datatype* types) {
  const int contents[] = {6,
                          1,
                          2,
                          100,
                          200,
                          MPI_DISTRIBUTE_BLOCK,
                          MPI_DISTRIBUTE_CYCLIC,
                          MPI_DISTRIBUTE_DFLT_DARG,
                          4,
                          2,
                          3,
                          MPI_ORDER_FORTRAN};
  std::memcpy(integers, contents, sizeof(contents));
  types[0] = MPI_DOUBLE;
  return MPI_SUCCESS;
}
int Get_count(const Status* status, Datatype, Count* count) {
  *count = status->byte_count() >> 33;
  return MPI_SUCCESS;
}
int Error_class(int code, int* error_class) {
  *error_class = code;
  return MPI_SUCCESS;
}
int Init_thread(int*, char***, int required, int* provided) {
  seen.thread_level = required;
  *provided = MPI_THREAD_SERIALIZED;
  return MPI_SUCCESS;
}
int Group_translate_ranks(Group, int n, const int* from, Group, int* to) {
  seen.ranks.assign(from, from + n);
  to[0] = MPI_PROC_NULL;
  to[1] = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int Buffer_detach(void* buffer, Count* size) {
  *static_cast<void**>(buffer) = MPI_BUFFER_AUTOMATIC;
  *size = 0;
  return MPI_SUCCESS;
}
int Dist_graph_create_adjacent(Comm, int, const int*, const int* weights, int, const int*,
                               const int*, Info, int, Comm*) {
  seen.weights = weights;
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi

// ---- Tests ----

namespace {

TEST(MpiAbiConstants, EveryConstantGoesInAndComesBack) {
  int constants = 0;
#define SESAME_ABI_CONSTANT(kind, name, value)                                             \
  EXPECT_EQ(constant_in<ConstantKind::kind>(value, kInvalid), sesame::mpi::name) << #name; \
  EXPECT_EQ(constant_out<ConstantKind::kind>(sesame::mpi::name, kInvalid),                 \
            static_cast<int>(value))                                                       \
      << #name;                                                                            \
  ++constants;
#include "core/abi/mpiabi_constants.def"
#undef SESAME_ABI_CONSTANT
  EXPECT_GT(constants, 240);
}

TEST(MpiAbiEntries, SendTranslatesHandlesRankAndErrorClass) {
  result_error = MPI_ERR_TAG;
  int data = 0;
  EXPECT_EQ(MPI_Send(&data, 1, kDouble, kProcNull, 5, kWorld), 4);
  EXPECT_EQ(seen.buffer, &data);
  EXPECT_EQ(seen.datatype, MPI_DOUBLE);
  EXPECT_EQ(seen.peer, MPI_PROC_NULL);
  EXPECT_EQ(seen.tag, 5);
  EXPECT_EQ(seen.comm, MPI_COMM_WORLD);
  EXPECT_EQ(last_call.object, MPI_COMM_WORLD);
  EXPECT_EQ(last_call.error, MPI_ERR_TAG);
  result_error = MPI_ERR_TRUNCATE;
  EXPECT_EQ(MPI_Send(&data, 1, kDouble, 0, 5, kWorld), 15);
  result_error = MPI_SUCCESS;
}

TEST(MpiAbiEntries, WhatTheStandardDoesNotDefineIsInvalidInside) {
  MPI_Send(nullptr, 1, AbiDatatype{0x204}, -7, -1, AbiComm{0x200});
  EXPECT_EQ(seen.datatype, 0);
  EXPECT_EQ(seen.comm, 0);
  EXPECT_EQ(seen.peer, kInvalid);
  EXPECT_EQ(seen.tag, kInvalid);
}

TEST(MpiAbiEntries, BufferConstantsAreTranslated) {
  MPI_Send(reinterpret_cast<void*>(1), 0, kInt, 0, 0, kWorld);
  EXPECT_EQ(seen.buffer, MPI_IN_PLACE);
  MPI_Send(reinterpret_cast<void*>(2), 0, kInt, 0, 0, kWorld);
  EXPECT_EQ(seen.buffer, MPI_BUFFER_AUTOMATIC);
  MPI_Send(nullptr, 0, kInt, 0, 0, kWorld);
  EXPECT_EQ(seen.buffer, MPI_BOTTOM);
  void* buffer = nullptr;
  int size = -1;
  MPI_Buffer_detach(&buffer, &size);
  EXPECT_EQ(buffer, reinterpret_cast<void*>(2));
}

TEST(MpiAbiEntries, AStatusComesBackWithItsCountAndKeepsItsErrorField) {
  AbiStatus status{};
  status.MPI_ERROR = 4711;
  MPI_Recv(nullptr, 1, kInt, kAnySource, kAnyTag, kWorld, &status);
  EXPECT_EQ(seen.peer, MPI_ANY_SOURCE);
  EXPECT_EQ(seen.tag, MPI_ANY_TAG);
  EXPECT_EQ(status.MPI_SOURCE, kProcNull);
  EXPECT_EQ(status.MPI_TAG, kAnyTag);
  EXPECT_EQ(status.MPI_ERROR, 4711);
  int count = 0;
  MPI_Get_count(&status, kInt, &count);
  EXPECT_EQ(count, 3);
  MPI_Recv(nullptr, 1, kInt, 0, 0, kWorld, nullptr);
  EXPECT_FALSE(seen.has_status);
}

TEST(MpiAbiEntries, ATestThatFindsNothingLeavesTheStatusAlone) {
  AbiRequest request{0xac000001};
  AbiStatus status{};
  status.MPI_SOURCE = 42;
  int flag = 1;
  MPI_Test(&request, &flag, &status);
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(status.MPI_SOURCE, 42);
  EXPECT_EQ(request.value, 0xac000001);
}

TEST(MpiAbiEntries, ArraysOfRequestsAndStatusesAreTranslated) {
  std::vector<AbiRequest> requests(40, AbiRequest{0x180});
  requests[1] = AbiRequest{0xac000001};
  std::vector<AbiStatus> statuses(40);
  EXPECT_EQ(MPI_Waitall(40, requests.data(), statuses.data()), 19);
  EXPECT_EQ(seen.requests[0], MPI_REQUEST_NULL);
  EXPECT_EQ(seen.requests[1], static_cast<int>(0xac000001));
  EXPECT_EQ(requests[1].value, 0x180u);
  EXPECT_EQ(statuses[39].MPI_SOURCE, 39);
  EXPECT_EQ(statuses[39].MPI_TAG, 49);
  EXPECT_EQ(statuses[1].MPI_ERROR, 15);
  EXPECT_EQ(statuses[2].MPI_ERROR, 0);
}

TEST(MpiAbiEntries, NewHandlesKeepTheirNumberAndNullIsTheStandards) {
  AbiComm comm{0};
  seen.peer = 0;
  MPI_Comm_split(kWorld, 0, 0, &comm);
  EXPECT_EQ(comm.value, 0x84000007u);
  EXPECT_EQ(comm_in(comm), kNewComm);
  EXPECT_EQ(MPI_Comm_fromint(MPI_Comm_toint(comm)).value, comm.value);
  seen.peer = 1;
  MPI_Comm_split(kWorld, 0, 0, &comm);
  EXPECT_EQ(comm.value, 0x100u);
  EXPECT_EQ(MPI_Comm_toint(kWorld), 0x101);
}

TEST(MpiAbiEntries, ResultsThatAreConstantsAreTranslated) {
  int result = 0;
  MPI_Comm_compare(kWorld, kWorld, &result);
  EXPECT_EQ(result, 202);
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, 4096, &provided);
  EXPECT_EQ(seen.thread_level, MPI_THREAD_MULTIPLE);
  EXPECT_EQ(provided, 2048);
  const int ranks[] = {kProcNull, 3};
  int translated[2];
  MPI_Group_translate_ranks(AbiGroup{0x109}, 2, ranks, AbiGroup{0x109}, translated);
  EXPECT_EQ(seen.ranks, (std::vector<int>{MPI_PROC_NULL, 3}));
  EXPECT_EQ(translated[0], kProcNull);
  EXPECT_EQ(translated[1], -32766);
}

TEST(MpiAbiEntries, ErrorClassesOfTheProgramFollowTheStandardsLastOne) {
  int error_class = 0;
  MPI_Error_class(0x3fff + 5, &error_class);
  EXPECT_EQ(error_class, 0x3fff + 5);
  EXPECT_EQ(error_in(0x3fff + 5), MPI_ERR_LASTCODE + 5);
  MPI_Error_class(7, &error_class);
  EXPECT_EQ(error_class, 7);
  EXPECT_EQ(error_in(7), MPI_ERR_REQUEST);
}

TEST(MpiAbiEntries, PredefinedAttributesThatAreConstantsPointToTheStandardsValue) {
  const int* value = nullptr;
  int flag = 0;
  MPI_Comm_get_attr(kWorld, 503, &value, &flag);
  EXPECT_EQ(*value, kProcNull);
  MPI_Comm_get_attr(kWorld, 506, &value, &flag);
  EXPECT_EQ(*value, 0x3fff + 3);
}

TEST(MpiAbiEntries, TypesOfAnAlltoallwAreAsManyAsTheCommunicatorHasRanks) {
  std::vector<AbiDatatype> types(20, kInt);
  types[19] = kDouble;
  MPI_Alltoallw(reinterpret_cast<void*>(1), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                types.data(), kWorld);
  EXPECT_EQ(seen.types[0], MPI_INT);
  EXPECT_EQ(seen.types[19], MPI_DOUBLE);
}

TEST(MpiAbiEntries, ContentsOfADistributedArrayHaveTheStandardsConstants) {
  int integers[12];
  AbiDatatype types[1];
  MPI_Type_get_contents(AbiDatatype{0xcc000001}, 12, 0, 1, integers, nullptr, types);
  const int expected[] = {6, 1, 2, 100, 200, 17, 18, 19, 4, 2, 3, 15};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(integers[i], expected[i]) << i;
  EXPECT_EQ(types[0].value, 0x214u);
}

TEST(MpiAbiEntries, GraphWeightsThatAreNoneAreKnownInside) {
  AbiComm comm{0};
  MPI_Dist_graph_create_adjacent(kWorld, 0, nullptr, reinterpret_cast<int*>(10), 0, nullptr,
                                 nullptr, AbiInfo{0x130}, 0, &comm);
  EXPECT_EQ(seen.weights, MPI_UNWEIGHTED);
  MPI_Dist_graph_create_adjacent(kWorld, 0, nullptr, reinterpret_cast<int*>(11), 0, nullptr,
                                 nullptr, AbiInfo{0x130}, 0, &comm);
  EXPECT_EQ(seen.weights, MPI_WEIGHTS_EMPTY);
}

// ---- Callbacks ----

void check_type(void*, void* inout, int* length, AbiDatatype* datatype) {
  EXPECT_EQ(datatype->value, 0x214u);
  *static_cast<int*>(inout) = *length;
}

TEST(MpiAbiCallbacks, AUserOperationSeesTheStandardsDatatype) {
  int length = 0;
  callbacks().invoke_op(reinterpret_cast<Function>(check_type), CallbackKind::kC, nullptr, &length,
                        7, MPI_DOUBLE);
  EXPECT_EQ(length, 7);
}

TEST(MpiAbiCallbacks, TheDuplicatingCopyFunctionIsTheNumberOne) {
  int value = 0;
  void* copy = nullptr;
  bool keep = false;
  callbacks().copy_attribute({reinterpret_cast<Function>(1), nullptr}, AttributeOwner::kComm,
                             MPI_COMM_WORLD, 1, nullptr, AttributeType::kPointer, &value, &copy,
                             &keep);
  EXPECT_TRUE(keep);
  EXPECT_EQ(copy, &value);
}

int refuse(AbiComm comm, int, void*, void*) {
  EXPECT_EQ(comm.value, 0x102u);
  return 16;  // MPI_ERR_OTHER
}

TEST(MpiAbiCallbacks, ADeleteFunctionSeesItsObjectAndItsErrorIsOurs) {
  EXPECT_EQ(callbacks().delete_attribute({reinterpret_cast<Function>(refuse), nullptr},
                                         AttributeOwner::kComm, MPI_COMM_SELF, 1, nullptr,
                                         AttributeType::kPointer, nullptr),
            MPI_ERR_OTHER);
}

int handled_code;
void handle(AbiComm* comm, int* code, ...) {
  EXPECT_EQ(comm->value, 0x101u);
  handled_code = *code;
  if (handled_code == 15) *code = 2;
}

TEST(MpiAbiCallbacks, AnErrorHandlerSeesTheStandardsErrorClass) {
  const auto call = [](int error) {
    return callbacks().comm_errhandler(reinterpret_cast<Function>(handle), MPI_COMM_WORLD, error);
  };
  EXPECT_EQ(call(MPI_ERR_COUNT), MPI_ERR_COUNT);
  EXPECT_EQ(handled_code, 2);
  EXPECT_EQ(call(MPI_ERR_TRUNCATE), MPI_ERR_COUNT);
  EXPECT_EQ(handled_code, 15);
}

int query(void*, AbiStatus* status) {
  status->MPI_SOURCE = -32766;
  status->MPI_TAG = 9;
  return 0;
}

TEST(MpiAbiCallbacks, AGeneralisedRequestFillsAStatus) {
  Status status{};
  status.set_byte_count(48);
  EXPECT_EQ(callbacks().grequest_query(reinterpret_cast<Function>(query), CallbackKind::kC, nullptr,
                                       &status),
            MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_UNDEFINED);
  EXPECT_EQ(status.MPI_TAG, 9);
  EXPECT_EQ(status.byte_count(), 48);
}

}  // namespace
