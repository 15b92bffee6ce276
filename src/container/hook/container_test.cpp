#include "hook/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::hook::container_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OciState, SaysProcessAndBundle) {
  const auto state = parse_state(
      R"({"ociVersion":"1.0.2","id":"c1","status":"creating","pid":4242,"bundle":"/run/b","annotations":{"a":"b"}})");
  ASSERT_TRUE(state) << state.error().message();
  EXPECT_EQ(*state, (State{4242, "/run/b"}));
}

TEST(OciState, WithoutThemIsRefused) {
  for (const char* text :
       {"", "{}", "[]", R"({"pid":1})", R"({"pid":0,"bundle":"/b"})", R"({"pid":-4,"bundle":"/b"})",
        R"({"pid":1,"bundle":"b"})", R"({"pid":"1","bundle":"/b"})", R"({"pid":1,"bundle":7})",
        R"({"pid":99999999999,"bundle":"/b"})", R"({"pid":42e42,"bundle":"/b"})",
        R"({"pid":4.5,"bundle":"/b"})", R"({"pid":1,"bundle":"/b")"}) {
    EXPECT_FALSE(parse_state(text)) << text;
  }
}

Result<Container> config(const std::string& text) {
  const std::filesystem::path tenants[] = {"/t", "/data/t"};
  return parse_config(text, "/run/b", tenants);
}

TEST(OciConfig, TheRootIsTheBundlesOrAnywhere) {
  EXPECT_EQ(config(R"({"root":{"path":"rootfs"}})").value().rootfs, "/run/b/rootfs");
  EXPECT_EQ(config(R"({"root":{"path":"/var/overlay/merged"}})").value().rootfs,
            "/var/overlay/merged");
}

TEST(OciConfig, TenantsAreTheMountsOfTheirFolders) {
  const auto found = config(R"({"root":{"path":"rootfs"},"mounts":[
      {"destination":"/proc","type":"proc","source":"proc"},
      {"destination":"/dev"},
      {"destination":"/run/tranche/a-1","source":"/t/a-1"},
      {"destination":"/run/tranche/b","source":"/t/b"},
      {"destination":"/elsewhere","source":"/t/b"},
      {"destination":"/run/tranche/f","source":"/data//t/./f"},
      {"destination":"/run/tranche/c","source":"/elsewhere/c"},
      {"destination":"/run/tranche/d","source":"/t/d/e"},
      {"destination":"/run/tranche/e","source":"/t/.."},
      {"destination":"/run/tranche","source":"/t"}]})");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(found->tenants, ElementsAre("a-1", "b", "f"));
}

TEST(OciConfig, WithoutMountsNothingIsLimited) {
  EXPECT_THAT(config(R"({"root":{"path":"r"}})").value().tenants, IsEmpty());
  EXPECT_THAT(config(R"({"root":{"path":"r"},"mounts":null})").value().tenants, IsEmpty());
}

TEST(OciConfig, NonsenseIsRefused) {
  for (const char* text :
       {"", "{}", R"({"root":{}})", R"({"root":{"path":7}})",
        R"({"root":{"path":"r"},"mounts":[{"source":7}]})",
        R"({"root":{"path":"r"},"mounts":[{"source":null}]})",
        R"({"root":{"path":"r"},"mounts":["x"]})", R"({"root":{"path":"r"},"mounts":[null]})",
        R"({"root":{"path":"r"},"mounts":"x"})", R"({"root":{"path":"r"},"x":1e999})",
        R"({"root":{"path":"r"},"x":"\ud800"})", "{\"root\":{\"path\":\"\xff\"}}"}) {
    EXPECT_FALSE(config(text)) << text;
  }
  const auto deep = std::string(300, '[') + std::string(300, ']');
  EXPECT_FALSE(config(R"({"root":{"path":"r"},"x":)" + deep + "}"));
}

// The runtime, which is written in Go, reads it the same way.
TEST(OciConfig, OfEqualKeysTheLastCounts) {
  EXPECT_EQ(config(R"({"root":{"path":"a"},"root":{"path":"b"}})").value().rootfs, "/run/b/b");
}

TEST(OciConfig, RefusalsNameTheField) {
  EXPECT_EQ(config(R"({"root":{"path":"r"},"mounts":[{},{"source":7}]})").error().what,
            "config.json: mounts[1].source is a number where a text is expected");
  EXPECT_EQ(config("{}").error().what, "config.json: root is missing");
  EXPECT_EQ(parse_state(R"({"pid":0,"bundle":"/b"})").error().what,
            "the container's state: it has no process yet");
  EXPECT_EQ(parse_state(R"({"pid":1})").error().what, "the container's state: bundle is missing");
}

}  // namespace
}  // namespace tranche::hook::container_test
