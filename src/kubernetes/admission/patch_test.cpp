#include "admission/patch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::admission::patch_test {
namespace {

std::string difference(const std::string& now, const std::string& wanted) {
  json::Value operations = json::Value::array();
  add_difference("", *json::parse(now), *json::parse(wanted), operations);
  return operations.text();
}

TEST(Patch, HasOnlyTheDifferences) {
  struct Case {
    const char* name;
    const char* now;
    const char* wanted;
    const char* patch;
  };
  const Case cases[] = {
      {"nothing", R"({"a":1,"b":[1]})", R"({"b":[1],"a":1})", "[]"},
      {"escapes", R"({"nvidia.com/gpu":1,"a~b":1})", "{}",
       R"([{"op":"remove","path":"/nvidia.com~1gpu"},{"op":"remove","path":"/a~0b"}])"},
      {"a member more", "{}", R"({"a":{"b":1}})", R"([{"op":"add","path":"/a","value":{"b":1}}])"},
      {"another value", R"({"a":{"b":1}})", R"({"a":{"b":2}})",
       R"([{"op":"replace","path":"/a/b","value":2}])"},
      {"another kind", R"({"a":null})", R"({"a":{}})",
       R"([{"op":"replace","path":"/a","value":{}}])"},
      {"an element more", R"({"a":[1]})", R"({"a":[1,2]})",
       R"([{"op":"add","path":"/a/-","value":2}])"},
      {"an element less", R"({"a":[1,2,3,4]})", R"({"a":[2,4]})",
       R"([{"op":"remove","path":"/a/2"},{"op":"remove","path":"/a/0"}])"},
      {"an element changed", R"([{"n":1},{"n":2}])", R"([{"n":1},{"n":3}])",
       R"([{"op":"replace","path":"/1/n","value":3}])"},
      {"less and changed", R"({"a":[1,2,3]})", R"({"a":[4]})",
       R"([{"op":"replace","path":"/a","value":[4]}])"},
      {"a key twice: the last counts", R"({"a":1,"a":2})", R"({"a":2})", "[]"},
      {"an escaped key", R"({"\u0061":1})", R"({"a":1})", "[]"},
  };
  for (const auto& [name, now, wanted, patch] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(difference(now, wanted), patch);
  }
}

nlohmann::json drawn_value(int depth) {
  switch (*rc::gen::inRange(0, depth == 0 ? 2 : 4)) {
    case 0:
      return *rc::gen::inRange(0, 3);
    case 1:
      return *rc::gen::element<std::string>("", "a", "b/~");
    case 2: {
      auto list = nlohmann::json::array();
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) list.push_back(drawn_value(depth - 1));
      return list;
    }
    default: {
      auto object = nlohmann::json::object();
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
        object[*rc::gen::element<std::string>("a", "b/c", "~", "", "d")] = drawn_value(depth - 1);
      }
      return object;
    }
  }
}

RC_GTEST_PROP(PatchProperties, MakesTheOneOfTheOther, ()) {
  const auto now = drawn_value(3);
  const auto wanted = drawn_value(3);
  const auto patch = nlohmann::json::parse(difference(now.dump(), wanted.dump()));
  RC_ASSERT(now.patch(patch) == wanted);
  RC_ASSERT(patch.empty() == (now == wanted));
}

}  // namespace
}  // namespace tranche::admission::patch_test
