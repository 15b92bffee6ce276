#include "kube/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::kube::status_test {
namespace {

using cluster::kNode;
using cluster::kNodeFeature;
using testing::HasSubstr;

std::string forbidden(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '"' ? "\\\"" : std::string(1, c);
  return R"({"kind":"Status","message":")" + escaped + R"(","reason":"Forbidden","code":403})";
}

TEST(Refusal, NamesTheMissingRule) {
  const struct {
    const char* name;
    Request request;
    std::string said;
    const char* hint;
  } cases[] = {
      {"namespaced",
       {"get", kNodeFeature, {"gpu", "f"}},
       R"(nodefeatures.nfd.k8s-sigs.io "f" is forbidden: User "system:serviceaccount:gpu:agent" cannot get resource "nodefeatures" in API group "nfd.k8s-sigs.io" in the namespace "gpu")",
       "grant get on nodefeatures of nfd.k8s-sigs.io (or on f alone) in namespace gpu to "
       "serviceaccount gpu:agent (credentials: the test)"},
      {"an apply that lacks create",
       {"patch", kNodeFeature, {"gpu", "f"}},
       R"(nodefeatures.nfd.k8s-sigs.io "f" is forbidden: User "kate" cannot create resource "nodefeatures" in API group "nfd.k8s-sigs.io" in the namespace "gpu")",
       "grant create on nodefeatures of nfd.k8s-sigs.io in namespace gpu to user \"kate\" "
       "(credentials: the test)"},
      {"subresource, all the cluster",
       {"patch", kNode, {"", "n"}, "status"},
       R"(nodes "n" is forbidden: User "kate" cannot patch resource "nodes/status" in API group "" at the cluster scope)",
       "grant patch on nodes/status (or on n alone) in all the cluster to user \"kate\" "
       "(credentials: the test)"},
      {"an admission policy has another remedy",
       {"patch", kNode, {"", "n"}},
       R"(nodes "n" is forbidden: ValidatingAdmissionPolicy 'tranche' denied request: not your node)",
       ""},
      {"no text", {"patch", kNode, {"", "n"}}, "", ""},
  };
  for (const auto& test : cases) {
    const auto error = refusal(test.request, 403, forbidden(test.said), "the test");
    EXPECT_EQ(error.code, Code::kPermission) << test.name;
    EXPECT_EQ(error.hint, test.hint) << test.name;
  }
}

TEST(Refusal, CodesAndTexts) {
  const Request get{"get", kNode, {"", "n"}};
  const struct {
    long status;
    const char* body;
    Code code;
    const char* what;
  } cases[] = {
      {400, "", Code::kInvalidArgument, "get nodes n: 400 Bad Request: no message"},
      {401, "{}", Code::kPermission, "get nodes n: 401 Unauthorized: {}"},
      {404, "404 page not found\n", Code::kNotFound, "404 Not Found: 404 page not found"},
      {405, "", Code::kUnsupported, "405 Method Not Allowed"},
      {409, R"({"reason":"AlreadyExists","message":"m"})", Code::kAlreadyExists, "409 Conflict: m"},
      {409, R"({"reason":"Conflict","message":"m"})", Code::kFailedPrecondition, "409 Conflict: m"},
      {410, "", Code::kFailedPrecondition, "410 Gone"},
      {413, "", Code::kInvalidArgument, "413 Request Entity Too Large"},
      {415, "", Code::kUnsupported, "415"},
      {418, "teapot", Code::kInvalidArgument, "get nodes n: 418: teapot"},
      {422, "", Code::kInvalidArgument, "422"},
      {429, "", Code::kUnavailable, "429"},
      {500,
       "a\tb\x01"
       "c",
       Code::kUnavailable, "500 Internal Server Error: a b c"},
      {503, "", Code::kUnavailable, "503"},
      {504, "", Code::kTimeout, "504"},
      {302, "", Code::kUnavailable, "302: no message"},
  };
  for (const auto& test : cases) {
    const auto error = refusal(get, test.status, test.body, "x");
    EXPECT_EQ(error.code, test.code) << test.status;
    EXPECT_THAT(error.what, HasSubstr(test.what)) << test.status;
  }
}

TEST(Refusal, MissingObjectIsNoMissingKind) {
  const Request get{"get", kNodeFeature, {"x", "f"}};
  EXPECT_EQ(refusal(get, 404, R"({"message":"not found","details":{"name":"f"}})", "x").hint, "");
  EXPECT_THAT(refusal(get, 404, "404 page not found", "x").hint,
              HasSubstr("install the definition of nodefeatures.nfd.k8s-sigs.io v1alpha1"));
}

TEST(Refusal, ABudgetThatBlocksAnEvictionIsNamed) {
  const Request evict{"create", cluster::kPod, {"shop", "web-1"}, "eviction"};
  const auto said = [](const std::string& cause) {
    return R"({"message":"Cannot evict pod as it would violate the pod's disruption budget.",
      "reason":"TooManyRequests","details":{"causes":[)" +
           cause + "]}}";
  };
  const struct {
    const char* name;
    long status;
    std::string body;
    const char* what;
  } cases[] = {
      {"of a budget", 429, said(R"({"reason":"DisruptionBudget",
         "message":"The disruption budget web needs 2 healthy pods and has 2 currently"})"),
       "PodDisruptionBudget shop/web allows no eviction now: it needs 2 healthy pods and has 2 "
       "currently"},
      {"a new one", 429, said(R"({"reason":"DisruptionBudget",
         "message":"The disruption budget web is still being processed by the server."})"),
       "PodDisruptionBudget shop/web allows no eviction now: it is still being processed by the "
       "server."},
      {"of several", 500,
       R"({"message":"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."})",
       "several PodDisruptionBudgets select it, and Kubernetes evicts no such Pod"},
  };
  for (const auto& one : cases) {
    const auto error = refusal(evict, one.status, one.body, "x");
    EXPECT_EQ(error.code, Code::kUnavailable) << one.name;
    EXPECT_EQ(error.what, one.what) << one.name;
    EXPECT_EQ(error.hint, "make room in it: kubectl get pdb -n shop") << one.name;
  }
  // A busy server is not a budget.
  const auto busy = refusal(evict, 429, R"({"message":"too many requests"})", "x");
  EXPECT_THAT(busy.what, HasSubstr("429 Too Many Requests: too many requests"));
  EXPECT_THAT(busy.hint, HasSubstr("busy"));
  EXPECT_THAT(refusal(evict, 429, said(R"({"reason":"DisruptionBudget"})"), "x").what,
              HasSubstr("429"));
}

TEST(Refusal, LongTextsAreNotCutWithinACharacter) {
  const auto error = refusal({"get", kNode, {"", "n"}}, 400, std::string(499, 'x') + "\u00e4", "x");
  EXPECT_THAT(error.what, testing::EndsWith("x ..."));
}

TEST(Refusal, LongTextsAreCut) {
  const auto error = refusal({"get", kNode, {"", "n"}}, 400, std::string(100'000, 'x'), "x");
  EXPECT_LT(error.what.size(), 600U);
}

}  // namespace
}  // namespace tranche::kube::status_test
