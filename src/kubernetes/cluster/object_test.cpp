#include "cluster/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cluster::object_test {
namespace {

using testing::HasSubstr;

TEST(ParseObject, KeepsTheTextAndReadsWhatEverybodyNeeds) {
  const std::string text =
      R"({"kind":"ConfigMap","metadata":{"name":"a","namespace":"x","uid":"u1","resourceVersion":"7"},"data":{"k":"v"}})";
  const auto object = parse_object("  " + text + "\n");
  ASSERT_TRUE(object);
  EXPECT_EQ(*object, (Object{{"x", "a"}, "u1", "7", text}));
  EXPECT_EQ(object->key.to_string(), "x/a");
  EXPECT_EQ((ObjectKey{"", "n"}).to_string(), "n");
}

TEST(ParseObject, SaysWhatIsWrong) {
  const struct {
    const char* name;
    const char* text;
    const char* why;
  } cases[] = {
      {"no JSON", "<html>", "object: no JSON: byte 0"},
      {"a list", "[]", "object: it is a list"},
      {"no metadata", "{}", "object: metadata.name is missing"},
      {"no name", R"({"metadata":{"namespace":"x"}})", "object: metadata.name is missing"},
      {"name is a number", R"({"metadata":{"name":1}})",
       "object: metadata.name is a number where a text is expected"},
      {"metadata is a list", R"({"metadata":[]})",
       "object: metadata is a list where an object is expected"},
  };
  for (const auto& test : cases) {
    const auto object = parse_object(test.text);
    ASSERT_FALSE(object) << test.name;
    EXPECT_EQ(object.error().code, Code::kInvalidArgument) << test.name;
    EXPECT_THAT(object.error().what, HasSubstr(test.why)) << test.name;
  }
}

TEST(ParseList, CompletesItsItems) {
  const auto page = parse_list(kDaemonSet, R"({"kind":"DaemonSetList",
    "metadata":{"resourceVersion":"9","continue":"more"},
    "items":[{"metadata":{"name":"a","namespace":"x","resourceVersion":"3"}},
             {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"b"}}]})");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, "more");
  EXPECT_EQ(page->list.resource_version, "9");
  ASSERT_EQ(page->list.items.size(), 2U);
  EXPECT_EQ(
      page->list.items[0].json,
      R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a","namespace":"x","resourceVersion":"3"}})");
  EXPECT_EQ(page->list.items[1].json,
            R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"b"}})");
  EXPECT_TRUE(parse_object(page->list.items[0].json));
}

TEST(ParseList, EmptyIsNotBroken) {
  const auto empty = parse_list(kPod, R"({"metadata":{"resourceVersion":"9"},"items":[]})");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->list.items.empty());
  EXPECT_TRUE(empty->next.empty());
  // Go writes an empty list as null.
  const auto null = parse_list(kPod, R"({"metadata":{"resourceVersion":"9"},"items":null})");
  ASSERT_TRUE(null);
  EXPECT_TRUE(null->list.items.empty());
}

TEST(ParseList, SaysWhatIsWrong) {
  const struct {
    const char* name;
    const char* text;
    const char* why;
  } cases[] = {
      {"no JSON", "{", "list of pods: no JSON"},
      {"a Status", R"({"kind":"Status"})", "list of pods: items is missing"},
      {"items no list", R"({"items":{}})", "items is an object where a list is expected"},
      {"item no object", R"({"items":[1]})", "items has a number where an object is expected"},
      {"item without name", R"({"items":[{"metadata":{"name":"a"}},{"metadata":{}}]})",
       "items[1].metadata.name is missing"},
  };
  for (const auto& test : cases) {
    const auto page = parse_list(kPod, test.text);
    ASSERT_FALSE(page) << test.name;
    EXPECT_THAT(page.error().what, HasSubstr(test.why)) << test.name;
  }
}

TEST(WithoutManagedFields, CutsThemOutWhereverTheyStand) {
  const struct {
    const char* name;
    const char* text;
    const char* expected;
  } cases[] = {
      {"first", R"({"metadata":{"managedFields":[{"a":"]}"}],"name":"n"}})",
       R"({"metadata":{"name":"n"}})"},
      {"middle", R"({"metadata":{"name":"n","managedFields":[] , "uid":"u"}})",
       R"({"metadata":{"name":"n", "uid":"u"}})"},
      {"last", R"({"metadata":{"name":"n" , "managedFields":[] }})",
       R"({"metadata":{"name":"n"  }})"},
      {"only", R"({"metadata":{"managedFields":[]}})", R"({"metadata":{}})"},
      {"twice", R"({"metadata":{"managedFields":1,"managedFields":2}})", R"({"metadata":{}})"},
      {"elsewhere", R"({"spec":{"managedFields":[]},"metadata":{}})",
       R"({"spec":{"managedFields":[]},"metadata":{}})"},
      {"none", R"({"metadata":{"name":"n"}})", R"({"metadata":{"name":"n"}})"},
      {"no JSON", "no", "no"},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(without_managed_fields(test.text), test.expected) << test.name;
  }
}

TEST(Kind, NamesItselfAsKubectlDoes) {
  EXPECT_EQ(kConfigMap.api_version(), "v1");
  EXPECT_EQ(kConfigMap.resource(), "configmaps");
  EXPECT_EQ(kNodeFeature.api_version(), "nfd.k8s-sigs.io/v1alpha1");
  EXPECT_EQ(kNodeFeature.resource(), "nodefeatures.nfd.k8s-sigs.io");
}

}  // namespace
}  // namespace tranche::cluster::object_test
