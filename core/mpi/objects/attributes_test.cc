#include "core/mpi/objects/attributes.h"

#include <gtest/gtest.h>

#include "core/mpi/api.h"
#include "core/mpi/objects/object_tables.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

// The functions that the tests pass to MPI append their calls to this.
std::vector<std::string> events;

int copy_plus_one(int, int, void*, void* value, void* copy, int* flag) {
  events.push_back("copy " + std::to_string(reinterpret_cast<Aint>(value)));
  *static_cast<void**>(copy) = static_cast<char*>(value) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
int note_delete(int, int, void* value, void*) {
  events.push_back("delete " + std::to_string(reinterpret_cast<Aint>(value)));
  return MPI_SUCCESS;
}
int refuse(int, int, void*, void*) { return 7; }

void* number(Aint value) { return reinterpret_cast<void*>(value); }

int make_keyval(int (*remove)(int, int, void*, void*)) {
  int keyval = MPI_KEYVAL_INVALID;
  EXPECT_EQ(Comm_create_keyval(reinterpret_cast<Function>(copy_plus_one),
                               reinterpret_cast<Function>(remove), &keyval, nullptr),
            MPI_SUCCESS);
  return keyval;
}

void on_one_rank(const std::function<void()>& body) {
  events.clear();
  SimulatedJob job(1);
  job.run([&](int) {
    body();
    EXPECT_EQ(Finalize(), MPI_SUCCESS);
  });
}

TEST(Attributes, PredefinedOnesArePointersToIntegers) {
  SimulatedJob job(3);
  job.run([](int) {
    int* value = nullptr;
    int flag = 0;
    Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    ASSERT_EQ(flag, 1);
    EXPECT_GE(*value, 32767);
    Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    EXPECT_EQ(*value, 3);
    EXPECT_EQ(Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, nullptr), MPI_ERR_KEYVAL);
    Aint integer = 0;
    Comm_get_attribute(MPI_COMM_WORLD, MPI_HOST, AttributeType::kInteger, &integer, &flag);
    EXPECT_EQ(integer, MPI_PROC_NULL);
  });
}

TEST(Attributes, AreCopiedByDupAndDeletedByFree) {
  on_one_rank([] {
    const int keyval = make_keyval(note_delete);
    Comm_set_attr(MPI_COMM_SELF, keyval, number(40));
    Comm copy;
    ASSERT_EQ(Comm_dup(MPI_COMM_SELF, &copy), MPI_SUCCESS);
    void* value = nullptr;
    int flag = 0;
    Comm_get_attr(copy, keyval, &value, &flag);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(value, number(41));
    Comm_free(&copy);
    EXPECT_EQ(events, (std::vector<std::string>{"copy 40", "delete 41"}));
  });
  EXPECT_EQ(events.back(), "delete 40") << "MPI_Finalize deletes those of MPI_COMM_SELF";
}

TEST(Attributes, OfSelfAreDeletedLastSetFirst) {
  on_one_rank([] {
    for (Aint i = 1; i <= 3; ++i) Comm_set_attr(MPI_COMM_SELF, make_keyval(note_delete), number(i));
  });
  EXPECT_EQ(events, (std::vector<std::string>{"delete 3", "delete 2", "delete 1"}));
}

TEST(Attributes, SettingAgainDeletesTheOldValue) {
  on_one_rank([] {
    int keyval = make_keyval(note_delete);
    Comm_set_attr(MPI_COMM_WORLD, keyval, number(1));
    Comm_set_attr(MPI_COMM_WORLD, keyval, number(2));
    EXPECT_EQ(events, (std::vector<std::string>{"delete 1"}));
    EXPECT_EQ(Comm_delete_attr(MPI_COMM_WORLD, keyval), MPI_SUCCESS);
    EXPECT_EQ(events.back(), "delete 2");
    int flag = 1;
    void* value = nullptr;
    Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
    EXPECT_EQ(flag, 0);
  });
}

TEST(Attributes, DeleteFunctionThatFailsKeepsTheCommunicator) {
  on_one_rank([] {
    const int keyval = make_keyval(refuse);
    Comm copy;
    Comm_dup(MPI_COMM_WORLD, &copy);
    Comm_set_attr(copy, keyval, number(1));
    EXPECT_EQ(Comm_free(&copy), MPI_ERR_OTHER);
    int size = 0;
    EXPECT_EQ(Comm_size(copy, &size), MPI_SUCCESS);
  });
}

TEST(Attributes, OutliveTheirKeyval) {
  on_one_rank([] {
    int keyval = make_keyval(note_delete);
    Comm copy;
    Comm_dup(MPI_COMM_WORLD, &copy);
    Comm_set_attr(copy, keyval, number(5));
    Comm_set_attr(MPI_COMM_WORLD, keyval, number(6));
    int saved = keyval;
    Comm_free_keyval(&keyval);
    EXPECT_EQ(keyval, MPI_KEYVAL_INVALID);
    EXPECT_NE(make_keyval(note_delete), saved) << "the handle is in use";
    Comm_free(&copy);
    EXPECT_EQ(Comm_delete_attr(MPI_COMM_WORLD, saved), MPI_SUCCESS);
    EXPECT_EQ(events, (std::vector<std::string>{"delete 5", "delete 6"}));
    EXPECT_EQ(Comm_free_keyval(&saved), MPI_ERR_KEYVAL) << "nothing uses it any more";
  });
}

TEST(Attributes, KeyvalsOfAnotherKindOfObjectAreRefused) {
  on_one_rank([] {
    int keyval = MPI_KEYVAL_INVALID;
    Type_create_keyval(nullptr, nullptr, &keyval, nullptr);
    EXPECT_EQ(Comm_set_attr(MPI_COMM_WORLD, keyval, nullptr), MPI_ERR_KEYVAL);
    EXPECT_EQ(Type_set_attr(MPI_INT, keyval, number(3)), MPI_SUCCESS);
    void* value = nullptr;
    int flag = 0;
    Type_get_attr(MPI_INT, keyval, &value, &flag);
    EXPECT_EQ(value, number(3));
    EXPECT_EQ(Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, nullptr), MPI_ERR_KEYVAL);
  });
}

TEST(Attributes, FortranIntegersReachCByTheirAddress) {
  on_one_rank([] {
    const int keyval = make_keyval(nullptr);
    Comm_set_attribute(MPI_COMM_WORLD, keyval, AttributeType::kInteger, number(17));
    int* value = nullptr;
    int flag = 0;
    Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
    ASSERT_EQ(flag, 1);
    EXPECT_EQ(*value, 17);
    Aint integer = 0;
    Comm_get_attribute(MPI_COMM_WORLD, keyval, AttributeType::kInteger, &integer, &flag);
    EXPECT_EQ(integer, 17);
  });
}

}  // namespace
}  // namespace sesame::mpi
