#include "kube/watch_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::kube::watch_lines_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LineSplitter, PutsPiecesTogether) {
  LineSplitter splitter(10);
  std::vector<std::string> lines;
  EXPECT_TRUE(splitter.feed("ab", lines));
  EXPECT_THAT(lines, IsEmpty());
  EXPECT_TRUE(splitter.feed("c\nde\n\nf", lines));
  EXPECT_THAT(lines, ElementsAre("abc", "de"));
  EXPECT_TRUE(splitter.feed("\n", lines));
  EXPECT_THAT(lines, ElementsAre("abc", "de", "f"));
}

TEST(LineSplitter, RefusesLongLines) {
  std::vector<std::string> lines;
  EXPECT_TRUE(LineSplitter(4).feed("abcd\nabcd\n", lines));
  EXPECT_FALSE(LineSplitter(4).feed("abcde", lines));
  EXPECT_FALSE(LineSplitter(4).feed("abcde\n", lines));
  LineSplitter splitter(4);
  EXPECT_TRUE(splitter.feed("abc", lines));
  EXPECT_FALSE(splitter.feed("de", lines));
}

TEST(Request, Targets) {
  EXPECT_EQ((Request{"get", cluster::kLease, {"x", "a b"}}).target(),
            "/apis/coordination.k8s.io/v1/namespaces/x/leases/a%20b");
  EXPECT_EQ((Request{"list", cluster::kPod, {}}).target(), "/api/v1/pods");
  EXPECT_EQ((Request{"create", cluster::kPod, {"x", ""}}).target(), "/api/v1/namespaces/x/pods");
  EXPECT_EQ((Request{"patch", cluster::kNode, {"", "n"}, "status"}).target(),
            "/api/v1/nodes/n/status");
  EXPECT_EQ(query_of({{"a", "1"}, {"b", ""}, {"c", "x&y=z/"}}), "a=1&c=x%26y%3Dz%2F");
  EXPECT_EQ((Request{"patch", cluster::kClusterPolicy, {"", "p"}, "status"}).describe(),
            "patch clusterpolicies/status.nvidia.com p");
}

}  // namespace
}  // namespace tranche::kube::watch_lines_test
