#include "admission/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "support/admission.h"

namespace tranche::admission::review_test {
namespace {

using namespace test;
using nlohmann::json;
using testing::HasSubstr;

json review(const json& object, const json& before = nullptr,
            const std::string& operation = "CREATE") {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "705ab4f5-6393-11e8-b7cc-42010a800002"},
            {"namespace", "shop"},
            {"operation", operation},
            {"object", object},
            {"oldObject", before},
            {"dryRun", false}}}};
}

Result<Rewritten> judged(const json& body, const Fleet& fleet = dra_fleet()) {
  const auto text = body.dump();
  const auto read = read_review(text);
  if (!read) return std::unexpected(read.error());
  return judge(*read, fleet, {});
}

TEST(Review, IsRead) {
  auto body = review(pod({container("main", "0.5")}));
  body["request"]["dryRun"] = true;
  const auto text = body.dump();
  const auto read = read_review(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
  EXPECT_EQ(read->ns, "shop");
  EXPECT_EQ(read->operation, "CREATE");
  EXPECT_TRUE(read->is_dry_run);
  EXPECT_FALSE(read->before);
}

json patched(const json& object, const Rewritten& result) {
  return object.patch(json::parse(result.patch));
}

struct NoReview {
  const char* name;
  std::string body;
  const char* said;
};

TEST(Review, IsRefusedIfMalformed) {
  auto without_uid = review({});
  without_uid["request"].erase("uid");
  auto long_uid = review({});
  long_uid["request"]["uid"] = std::string(129, 'u');
  auto beta = review({});
  beta["apiVersion"] = "admission.k8s.io/v1beta1";
  auto odd = review({});
  odd["request"]["dryRun"] = "yes";
  const NoReview cases[] = {
      {"nothing", "", "AdmissionReview"},
      {"torn", R"({"apiVersion": "adm)", "AdmissionReview"},
      {"list", "[]", "it is a list"},
      {"another version", beta.dump(), "it is no AdmissionReview of admission.k8s.io/v1"},
      {"no request", R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})", "request"},
      {"no uid", without_uid.dump(), "uid"},
      {"long uid", long_uid.dump(), "is no uid"},
      {"a field of another kind", odd.dump(), "dryRun"},
      {"too long", std::string(kLongestReview + 1, ' '), "are read"},
  };
  for (const auto& one : cases) {
    const auto read = read_review(one.body);
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(read.error().what, HasSubstr(one.said)) << one.name;
  }
}

TEST(Review, OfAFractionIsRewritten) {
  const auto result = judged(review(pod({container("main", "0.5")})));
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->templates.size(), 1U);
  const auto answer = json::parse(allowed("u-1", *result))["response"];
  EXPECT_EQ(answer["uid"], "u-1");
  EXPECT_EQ(answer["allowed"], true);
  EXPECT_EQ(answer["patchType"], "JSONPatch");
  EXPECT_EQ(decode_base64(answer["patch"].get<std::string>()), result->patch);
  EXPECT_FALSE(answer.contains("warnings"));
}

TEST(Review, OfOtherObjectsIsAllowedUnchanged) {
  const auto asks = pod({container("main", "0.5")});
  auto labelled = asks;
  labelled["metadata"]["labels"]["a"] = "b";
  auto of_status = review(asks, asks, "UPDATE");
  of_status["request"]["subResource"] = "status";
  auto service = asks;
  service["kind"] = "Service";
  const struct {
    const char* name;
    json body;
  } cases[] = {{"deletion", review(nullptr, asks, "DELETE")},
               {"connection", review(asks, nullptr, "CONNECT")},
               {"subresource", of_status},
               {"metadata of a Pod", review(labelled, asks, "UPDATE")},
               {"another kind", review(service)},
               {"no object", review(nullptr)}};
  for (const auto& one : cases) {
    const auto result = judged(one.body, Fleet{});
    ASSERT_TRUE(result) << one.name << result.error().message();
    EXPECT_EQ(result->patch, "[]") << one.name;
    EXPECT_FALSE(json::parse(allowed("u", *result))["response"].contains("patch")) << one.name;
  }
}

TEST(Review, OfAnUpdateKnowsTheObjectBefore) {
  // kubectl applied a manifest with a fraction, and now one without.
  const auto last = "kubectl.kubernetes.io/last-applied-configuration";
  const auto asked = deployment(pod({container("main", "0.5")}));
  const auto asks_no_longer = deployment(pod({{{"name", "main"}}}));
  auto before = patched(asked, *rewritten(asked, dra_fleet()));
  auto after = before;
  before["metadata"]["annotations"][last] = asked.dump();
  after["metadata"]["annotations"][last] = asks_no_longer.dump();
  const auto result = judged(review(after, before, "UPDATE"));
  ASSERT_TRUE(result) << result.error().message();
  const auto spec = patched(after, *result)["spec"]["template"]["spec"];
  EXPECT_FALSE(spec.contains("resourceClaims")) << spec;
}

TEST(Review, RefusalsHaveMatchingStatus) {
  const struct {
    Code code;
    int status;
    const char* reason;
  } cases[] = {
      {Code::kInvalidArgument, 422, "Invalid"},    {Code::kFailedPrecondition, 403, "Forbidden"},
      {Code::kAlreadyExists, 403, "Forbidden"},    {Code::kUnavailable, 503, "ServiceUnavailable"},
      {Code::kTimeout, 503, "ServiceUnavailable"}, {Code::kInternal, 500, "InternalError"}};
  for (const auto& one : cases) {
    const auto answer = json::parse(refused("u", {one.code, "it is wrong", "write it so"}));
    EXPECT_EQ(answer["apiVersion"], "admission.k8s.io/v1");
    EXPECT_EQ(answer["kind"], "AdmissionReview");
    EXPECT_EQ(answer["response"]["allowed"], false);
    EXPECT_EQ(answer["response"]["status"]["code"], one.status);
    EXPECT_EQ(answer["response"]["status"]["reason"], one.reason);
    EXPECT_EQ(answer["response"]["status"]["message"], "it is wrong; write it so");
  }
}

TEST(Review, WarningsAreFewAndShort) {
  const Rewritten many{.patch = "[]",
                       .warnings = std::vector<std::string>(20, std::string(999, 'w'))};
  const auto warnings = json::parse(allowed("u", many))["response"]["warnings"];
  ASSERT_EQ(warnings.size(), 8U);
  EXPECT_EQ(warnings[0].get<std::string>().size(), 256U);
}

TEST(Review, ThatCannotBeMetHasAReason) {
  const auto result = judged(review(pod({container("main", "0.5")})), Fleet{});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(result.error().message(), HasSubstr("kubectl label node NODE tranche.dev/mode=dra"));
}

}  // namespace
}  // namespace tranche::admission::review_test
