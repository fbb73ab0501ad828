// Calls entry points of the MPICH interface as a program would, with fakes behind them.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/calls/call.h"

using namespace sesame::mpi;

extern "C" {
int MPI_Send(const void*, int, Datatype, int, int, Comm);
int PMPI_Send(const void*, int, Datatype, int, int, Comm);
int MPI_Send_c(const void*, Count, Datatype, int, int, Comm);
int MPI_Gatherv(const void*, int, Datatype, void*, const int*, const int*, Datatype, int, Comm);
int MPI_Gatherv_c(const void*, Count, Datatype, void*, const Count*, const Aint*, Datatype, int,
                  Comm);
int MPI_Get_count(const Status*, Datatype, int*);
int MPI_Get_count_c(const Status*, Datatype, Count*);
int MPI_Type_contiguous(int, Datatype, Datatype*);
int MPI_Type_contiguous_c(Count, Datatype, Datatype*);
int MPI_Type_hvector(int, int, Aint, Datatype, Datatype*);
int MPI_Type_get_extent(Datatype, Aint*, Aint*);
int MPI_Type_ub(Datatype, Aint*);
int MPI_Pack(const void*, int, Datatype, void*, int, int*, Comm);
int MPI_Comm_free(Comm*);
int MPI_Op_create(Function, int, Op*);
int MPI_Op_create_c(Function, int, Op*);
int MPI_Comm_join(int, Comm*);
int MPI_T_pvar_start(void*, void*);
int MPI_Address(void*, Aint*);
int MPI_Get_library_version(char*, int*);
Comm MPI_Comm_f2c(Fint);
int MPI_Dist_graph_create_adjacent(Comm, int, const int*, const int*, int, const int*, const int*,
                                   Info, int, Comm*);
int MPII_Comm_get_attr(Comm, int, void*, int*, AttributeType);
int MPIR_Dup_fn(int, int, void*, void*, void*, int*);
extern int* const MPI_UNWEIGHTED;
}

namespace {
// What the fakes below were called with, and what they give back.
Count seen_count;
std::vector<Count> seen_counts;
std::vector<Count> seen_displacements;
CallbackKind seen_kind;
bool seen_large;
const int* seen_weights;
Count result_count;
int result_error;
}  // namespace

namespace sesame::mpi {

extern int seen_keyval;  // fakes/attributes.cc

int Send(const void*, Count count, Datatype, int, int, Comm) {
  seen_count = count;
  return result_error;
}
int Gatherv(const void*, Count, Datatype, void*, IntArray counts, IntArray displacements, Datatype,
            int, Comm) {
  seen_counts = counts.copy(2);
  seen_displacements = displacements.copy(2);
  return MPI_SUCCESS;
}
int Get_count(const Status*, Datatype, Count* count) {
  *count = result_count;
  return MPI_SUCCESS;
}
int Type_get_extent(Datatype, Count* lower_bound, Count* extent) {
  *lower_bound = -8;
  *extent = 100;
  return MPI_SUCCESS;
}
int Type_contiguous(Count, Datatype, Datatype*, bool large) {
  seen_large = large;
  return MPI_SUCCESS;
}
int Type_create_hvector(Count, Count, Count, Datatype, Datatype*, bool large) {
  seen_large = large;
  return MPI_SUCCESS;
}
int Pack(const void*, Count, Datatype, void*, Count, Count* position, Comm) {
  *position += 12;
  return MPI_SUCCESS;
}
int Comm_free(Comm* comm) {
  *comm = MPI_COMM_NULL;
  return MPI_ERR_COMM;
}
int Op_create(Function, CallbackKind kind, int, Op*) {
  seen_kind = kind;
  return MPI_SUCCESS;
}
int Dist_graph_create_adjacent(Comm, int, const int*, const int* weights, int, const int*,
                               const int*, Info, int, Comm*) {
  seen_weights = weights;
  return MPI_SUCCESS;
}
int Get_address(const void* location, Aint* address) {
  *address = reinterpret_cast<Aint>(location);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi

namespace {

TEST(MpichEntries, SendPassesItsCountAndFinishesOnTheCommunicator) {
  result_error = MPI_ERR_RANK;
  EXPECT_EQ(MPI_Send(nullptr, 3, MPI_INT, 99, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  EXPECT_EQ(seen_count, 3);
  EXPECT_EQ(last_call.id, CallId::Send);
  EXPECT_EQ(last_call.handler, "comm");
  EXPECT_EQ(last_call.object, MPI_COMM_WORLD);
  result_error = MPI_SUCCESS;
}

TEST(MpichEntries, LargeCountsArriveWhole) {
  EXPECT_EQ(MPI_Send_c(nullptr, Count{5} << 32, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(seen_count, Count{5} << 32);
  EXPECT_EQ(last_call.id, CallId::Send);
}

TEST(MpichEntries, ConstructorsOfDatatypesKnowWhichFormWasCalled) {
  Datatype type = MPI_DATATYPE_NULL;
  seen_large = false;
  MPI_Type_contiguous_c(2, MPI_INT, &type);
  EXPECT_TRUE(seen_large);
  MPI_Type_contiguous(2, MPI_INT, &type);
  EXPECT_FALSE(seen_large);
  seen_large = true;
  MPI_Type_hvector(2, 1, 8, MPI_INT, &type);
  EXPECT_FALSE(seen_large);
}

TEST(MpichEntries, TheProfilingNameIsTheSameFunction) { EXPECT_EQ(&MPI_Send, &PMPI_Send); }

TEST(MpichEntries, ArraysOfBothWidthsAreReadAsTheyAre) {
  const int counts[] = {1, 2}, displacements[] = {10, -20};
  MPI_Gatherv(nullptr, 0, MPI_INT, nullptr, counts, displacements, MPI_INT, 0, MPI_COMM_WORLD);
  EXPECT_EQ(seen_counts, (std::vector<Count>{1, 2}));
  EXPECT_EQ(seen_displacements, (std::vector<Count>{10, -20}));
  const Count large_counts[] = {Count{1} << 40, 2};
  const Aint large_displacements[] = {Aint{1} << 41, -3};
  MPI_Gatherv_c(nullptr, 0, MPI_INT, nullptr, large_counts, large_displacements, MPI_INT, 0,
                MPI_COMM_WORLD);
  EXPECT_EQ(seen_counts, (std::vector<Count>{Count{1} << 40, 2}));
  EXPECT_EQ(seen_displacements, (std::vector<Count>{Count{1} << 41, -3}));
}

TEST(MpichEntries, ACountThatDoesNotFitIsUndefined) {
  Status status{};
  int count = 0;
  result_count = INT_MAX;
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT_EQ(count, INT_MAX);
  result_count = Count{INT_MAX} + 1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT_EQ(count, MPI_UNDEFINED);
  Count large = 0;
  MPI_Get_count_c(&status, MPI_BYTE, &large);
  EXPECT_EQ(large, Count{INT_MAX} + 1);
}

TEST(MpichEntries, APositionIsPassedInAndReturned) {
  int position = 30;
  MPI_Pack(nullptr, 0, MPI_INT, nullptr, 100, &position, MPI_COMM_WORLD);
  EXPECT_EQ(position, 42);
}

TEST(MpichEntries, ExtentsAreAddressSized) {
  Aint lower_bound = 0, extent = 0, upper_bound = 0;
  MPI_Type_get_extent(MPI_INT, &lower_bound, &extent);
  EXPECT_EQ(lower_bound, -8);
  EXPECT_EQ(extent, 100);
  MPI_Type_ub(MPI_INT, &upper_bound);
  EXPECT_EQ(upper_bound, 92);
}

TEST(MpichEntries, AFreedCommunicatorsHandlerIsStillCalled) {
  Comm comm = static_cast<int>(0x84000003);
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_ERR_COMM);
  EXPECT_EQ(last_call.object, static_cast<int>(0x84000003));
  EXPECT_EQ(comm, MPI_COMM_NULL);
}

TEST(MpichEntries, OperationsSayHowTheyTakeTheirCount) {
  Op op = MPI_OP_NULL;
  MPI_Op_create(nullptr, 1, &op);
  EXPECT_EQ(seen_kind, CallbackKind::kC);
  MPI_Op_create_c(nullptr, 1, &op);
  EXPECT_EQ(seen_kind, CallbackKind::kCLargeCount);
}

TEST(MpichEntries, DeprecatedNamesDoWhatTheModernOnesDo) {
  Aint address = 0;
  int variable = 0;
  MPI_Address(&variable, &address);
  EXPECT_EQ(address, reinterpret_cast<Aint>(&variable));
  EXPECT_EQ(last_call.id, CallId::Address);
}

TEST(MpichEntries, AFunctionThatDoesNotExistYetNamesItself) {
  try {
    MPI_Comm_join(0, nullptr);
    FAIL() << "MPI_Comm_join returned";
  } catch (const NotImplemented& call) {
    EXPECT_STREQ(call_name(call.id), "MPI_Comm_join");
  }
}

TEST(MpichEntries, ToolFunctionsCallNoErrorHandler) {
  MPI_T_pvar_start(nullptr, nullptr);
  EXPECT_EQ(last_call.handler, "not finished");
}

TEST(MpichEntries, TheLibraryNamesItself) {
  char version[8192];
  int length = 0;
  MPI_Get_library_version(version, &length);
  EXPECT_EQ(std::string(version).size(), static_cast<size_t>(length));
  EXPECT_NE(std::string(version).find("Sesame"), std::string::npos);
}

TEST(MpichEntries, GraphWeightsThatAreNoneAreKnownInside) {
  EXPECT_EQ(::MPI_UNWEIGHTED, sesame::mpi::MPI_UNWEIGHTED);
  EXPECT_NE(::MPI_UNWEIGHTED, nullptr);
}

TEST(MpichEntries, FortransGraphWeightsThatAreNoneAreNullAndKnownInside) {
  const auto create = [](int degree, const int* weights) {
    Comm comm = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, nullptr, weights, 0, nullptr, nullptr,
                                   MPI_INFO_NULL, 0, &comm);
    return seen_weights;
  };
  const int weights[] = {1, 2};
  EXPECT_EQ(create(2, nullptr), sesame::mpi::MPI_UNWEIGHTED);
  EXPECT_EQ(create(0, nullptr), nullptr);
  EXPECT_EQ(create(2, weights), weights);
}

TEST(MpichEntries, FortransPredefinedKeyvalsAreOneMore) {
  const auto get = [](int keyval) {
    MPII_Comm_get_attr(MPI_COMM_WORLD, keyval, nullptr, nullptr, AttributeType::kAddressInteger);
    return seen_keyval;
  };
  EXPECT_EQ(get(1681915906), MPI_TAG_UB);  // MPI_TAG_UB of mpif.h
  EXPECT_EQ(get(1681915918), MPI_APPNUM);  // MPI_APPNUM of mpif.h
  EXPECT_EQ(get(MPI_TAG_UB), MPI_TAG_UB);
  EXPECT_EQ(get(0x64400010), 0x64400010);
}

// ---- Callbacks ----

void add_ints(void* in, void* inout, int* length, Datatype* datatype) {
  EXPECT_EQ(*datatype, MPI_INT);
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

TEST(MpichCallbacks, AUserOperationGetsItsElements) {
  const int in[] = {1, 2, 3};
  int inout[] = {10, 20, 30};
  callbacks().invoke_op(reinterpret_cast<Function>(add_ints), CallbackKind::kC, in, inout, 3,
                        MPI_INT);
  EXPECT_EQ(inout[0], 11);
  EXPECT_EQ(inout[2], 33);
}

Count chunks;
Count chunk_elements;
void* last_chunk;
void count_chunks(void*, void* inout, int* length, Datatype*) {
  ++chunks;
  chunk_elements += *length;
  last_chunk = inout;
}

TEST(MpichCallbacks, AnOperationWithIntCountsGetsLongVectorsInParts) {
  const Count count = 2 * Count{INT_MAX} + 5;
  char* base = reinterpret_cast<char*>(0x1000);
  callbacks().invoke_op(reinterpret_cast<Function>(count_chunks), CallbackKind::kC, base, base,
                        count, MPI_INT);
  EXPECT_EQ(chunks, 3);
  EXPECT_EQ(chunk_elements, count);
  // The fake type's extent is 100.
  EXPECT_EQ(last_chunk, base + 2 * Count{INT_MAX} * 100);
}

TEST(MpichCallbacks, ANullCopyFunctionKeepsNothingAndTheDuplicatingOneKeepsTheValue) {
  int value = 0;
  void* copy = nullptr;
  bool keep = true;
  EXPECT_EQ(callbacks().copy_attribute({}, AttributeOwner::kComm, MPI_COMM_WORLD, 1, nullptr,
                                       AttributeType::kPointer, &value, &copy, &keep),
            MPI_SUCCESS);
  EXPECT_FALSE(keep);
  callbacks().copy_attribute({reinterpret_cast<Function>(MPIR_Dup_fn), nullptr},
                             AttributeOwner::kComm, MPI_COMM_WORLD, 1, nullptr,
                             AttributeType::kPointer, &value, &copy, &keep);
  EXPECT_TRUE(keep);
  EXPECT_EQ(copy, &value);
}

int fortran_proxy(Function, int object, int, void*, AttributeType type, void* value, void** copy,
                  int* flag) {
  EXPECT_EQ(object, MPI_COMM_SELF);
  EXPECT_EQ(type, AttributeType::kInteger);
  *copy = static_cast<char*>(value) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

TEST(MpichCallbacks, FortranCopyFunctionsAreCalledThroughTheirProxy) {
  const ProxiedFunction function = {reinterpret_cast<Function>(1),
                                    reinterpret_cast<Function>(fortran_proxy)};
  void* copy = nullptr;
  bool keep = false;
  callbacks().copy_attribute(function, AttributeOwner::kComm, MPI_COMM_SELF, 1, nullptr,
                             AttributeType::kInteger, reinterpret_cast<void*>(41), &copy, &keep);
  EXPECT_TRUE(keep);
  EXPECT_EQ(copy, reinterpret_cast<void*>(42));
}

void fortran_cancel(void*, Fint* complete, Fint* error) { *error = *complete ? 0 : MPI_ERR_OTHER; }

TEST(MpichCallbacks, FortranRequestFunctionsReturnTheirErrorThroughTheLastArgument) {
  const auto function = reinterpret_cast<Function>(fortran_cancel);
  EXPECT_EQ(callbacks().grequest_cancel(function, CallbackKind::kFortran, nullptr, false),
            MPI_ERR_OTHER);
  EXPECT_EQ(callbacks().grequest_cancel(function, CallbackKind::kFortran, nullptr, true),
            MPI_SUCCESS);
}

}  // namespace
