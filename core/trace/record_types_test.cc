#include "core/trace/record_types.h"

#include <gtest/gtest.h>

#include <set>

namespace sesame::trace {
namespace {

TEST(RecordTypes, HaveDistinctIdsAndNames) {
  std::set<int> ids;
  std::set<std::string_view> names;
  for (const RecordType& type : record_types()) {
    EXPECT_TRUE(ids.insert(type.id).second) << type.name;
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
  }
  EXPECT_TRUE(names.contains("call"));
  EXPECT_TRUE(names.contains("message"));
}

TEST(RecordTypes, SayWhatEveryFieldMeans) {
  for (const RecordType& type : record_types()) {
    EXPECT_FALSE(type.meaning.empty()) << type.name;
    bool has_timestamp = false;
    for (const FieldType& field : type.fields) {
      EXPECT_FALSE(field.meaning.empty()) << type.name << "." << field.name;
      if (field.name.ends_with("_ps")) EXPECT_EQ(field.unit, "ps") << field.name;
      has_timestamp |= field.name == type.timestamp_field;
    }
    EXPECT_TRUE(has_timestamp) << type.name;
  }
}

TEST(RecordTypes, AreFoundByTheirId) {
  for (const RecordType& type : record_types()) EXPECT_EQ(find_record_type(type.id), &type);
  EXPECT_EQ(find_record_type(0), nullptr);
  EXPECT_EQ(find_record_type(255), nullptr);
}

}  // namespace
}  // namespace sesame::trace
