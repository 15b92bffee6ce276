#include "controller/claim_renewer.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"

namespace tranche::controller::claim_renewer_test {
namespace {

using nlohmann::json;

const cluster::Kind& kClaim = cluster::kResourceClaim;
const cluster::ObjectKey kOld{.ns = "shop", .name = "old"};

// Runs `after_get` after each read of a claim.
class Raced final : public cluster::Objects {
 public:
  explicit Raced(test::FakeObjects& objects) : objects_(objects) {}

  std::function<void()> after_get;

  Result<cluster::Object> get(const cluster::Kind& kind, const cluster::ObjectKey& key,
                              const cluster::Call& call) override {
    auto got = objects_.get(kind, key, call);
    if (after_get) after_get();
    return got;
  }
  Result<void> remove(const cluster::Kind& kind, const cluster::ObjectKey& key,
                      const cluster::Preconditions& conditions,
                      const cluster::Call& call) override {
    return objects_.remove(kind, key, conditions, call);
  }
  Result<cluster::ObjectList> list(const cluster::Kind&, const cluster::ListOptions&,
                                   const cluster::Call&) override {
    return not_asked();
  }
  Result<cluster::WatchEnd> watch(const cluster::Kind&, const cluster::WatchOptions&,
                                  const cluster::WatchHandler&, std::stop_token) override {
    return not_asked();
  }
  Result<cluster::Object> create(const cluster::Kind& kind, const std::string& ns,
                                 std::string_view text, const cluster::Call& call) override {
    return objects_.create(kind, ns, text, call);
  }
  Result<cluster::Object> update(const cluster::Kind&, const cluster::ObjectKey&, std::string_view,
                                 const std::string&, const cluster::Call&) override {
    return not_asked();
  }
  Result<cluster::Object> patch(const cluster::Kind&, const cluster::ObjectKey&,
                                const cluster::Patch&, const cluster::Call&) override {
    return not_asked();
  }
  Result<cluster::Object> apply(const cluster::Kind&, const cluster::ObjectKey&,
                                const cluster::Apply&, const cluster::Call&) override {
    return not_asked();
  }
  Result<void> evict(const cluster::ObjectKey&, const std::string&, const cluster::Call&) override {
    return not_asked();
  }

 private:
  static std::unexpected<Error> not_asked() { return fail(Code::kInternal, "nobody asks this"); }

  test::FakeObjects& objects_;
};

admission::ClaimTemplate half_of(const std::vector<admission::DraModel>& models) {
  return admission::claim_template({{.memory = {}, .percent = 50}},
                                   {.dra_models = models, .replicas = {}}, {})
      .value();
}

const admission::DraModel kL20{.product = "NVIDIA L20", .memory = Bytes::from_mib(46068)};
const admission::DraModel kT4{.product = "Tesla T4", .memory = Bytes::from_mib(15360)};

class ClaimRenewerTest : public testing::Test {
 protected:
  void put_claim(const json& patch = json::object()) {
    json claim = json::parse(half_of({kL20}).json)["spec"];
    claim["metadata"]["name"] = kOld.name;
    claim["metadata"]["namespace"] = kOld.ns;
    claim["metadata"]["ownerReferences"] = {{{"kind", "Pod"}, {"controller", true}}};
    claim.merge_patch(patch);
    objects_.put(kClaim, claim.dump());
  }
  json claim() const {
    const auto text = objects_.text(kClaim, kOld);
    return text.empty() ? json() : json::parse(text);
  }
  // The number of models that the claim names.
  std::size_t models() const {
    const auto now = claim();
    return now.is_null() ? 0 : now["spec"]["devices"]["requests"][0]["firstAvailable"].size();
  }
  Result<void> renew(const std::vector<admission::DraModel>& models) {
    return renewer_.renew({{kOld, {half_of(models), kFor}}}, {});
  }

  const ClaimedFor kFor{
      .claim = kOld.name, .pod_claim = "tranche-gpu-main", .pod = "p", .pod_uid = "u-1"};
  test::FakeObjects objects_;
  Raced raced_{objects_};
  test::FakeClock clock_;
  test::LogRecorder log_;
  ClaimRenewer renewer_{raced_, clock_, log_.log()};
};

TEST_F(ClaimRenewerTest, AClaimThatLacksAModelIsReplacedUnderItsName) {
  put_claim();
  const auto before = claim()["metadata"]["uid"];
  ASSERT_TRUE(renew({kT4, kL20}));
  const auto now = claim();
  EXPECT_EQ(models(), 2U);
  EXPECT_NE(now["metadata"]["uid"], before);
  EXPECT_EQ(now["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"],
            "tranche-gpu-main");
  EXPECT_EQ(now["metadata"]["labels"]["tranche.dev/gpu-share"], "true");
  const json owner = {
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "p"}, {"uid", "u-1"}, {"controller", true}};
  EXPECT_EQ(now["metadata"]["ownerReferences"], json::array({owner}));
  EXPECT_EQ(log_.count("made anew for Pod p"), 1);
  ASSERT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(objects_.count_calls("remove"), 1);
}

TEST_F(ClaimRenewerTest, AGoodClaimIsReadOnce) {
  put_claim();
  ASSERT_TRUE(renew({kL20}));
  ASSERT_TRUE(renew({kL20}));
  EXPECT_EQ(objects_.count_calls("get resourceclaims"), 1);
  ASSERT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(models(), 2U) << "until the template is another";
}

// The scheduler allocates the claim between our read and our deletion.
TEST_F(ClaimRenewerTest, AClaimAllocatedInBetweenStays) {
  put_claim();
  raced_.after_get = [&] { put_claim({{"status", {{"allocation", json::object()}}}}); };
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(objects_.count_calls("remove resourceclaims"), 1);
  EXPECT_EQ(models(), 1U);
  // An earlier allocation does not count for ever: the scheduler may deallocate.
  raced_.after_get = {};
  put_claim();
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(models(), 2U);
}

TEST_F(ClaimRenewerTest, AnotherClaimOfTheSameNameStays) {
  put_claim();
  raced_.after_get = [&] {
    objects_.erase(kClaim, kOld);
    put_claim();
  };
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(models(), 1U);
}

TEST_F(ClaimRenewerTest, AFailedDeletionIsLoggedAndRetried) {
  put_claim();
  objects_.refuse("remove", kClaim, Error{.code = Code::kPermission, .what = "no right"}, 1);
  const auto failed = renew({kT4, kL20});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("ResourceClaim shop/old"), std::string::npos);
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(models(), 2U);
}

// Others used up the quota since: the Pod is not left without a claim.
TEST_F(ClaimRenewerTest, ARefusedCreationIsRetried) {
  put_claim();
  objects_.refuse("create", kClaim, Error{.code = Code::kPermission, .what = "quota"}, 2);
  EXPECT_FALSE(renew({kT4, kL20}));
  EXPECT_FALSE(renew({kT4, kL20}));
  EXPECT_TRUE(renewer_.next());
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(models(), 2U);
  EXPECT_FALSE(renewer_.next());
}

TEST_F(ClaimRenewerTest, AMissingClaimIsCreatedIfKubernetesDoesNot) {
  ASSERT_TRUE(renew({kL20}));
  EXPECT_TRUE(claim().is_null()) << "Kubernetes may be making it";
  EXPECT_TRUE(renewer_.next());
  clock_.advance(ClaimRenewer::kMissing);
  ASSERT_TRUE(renew({kL20}));
  EXPECT_EQ(models(), 1U);
}

TEST_F(ClaimRenewerTest, AClaimThatItsPodDoesNotNameIsDeleted) {
  put_claim();
  ASSERT_TRUE(renew({kT4, kL20}));
  // Unknown what it would be now: the Pod names it, and it stays.
  ASSERT_TRUE(renewer_.renew({{kOld, {std::nullopt, kFor}}}, {}));
  EXPECT_FALSE(claim().is_null());
  ASSERT_TRUE(renewer_.renew({}, {}));
  EXPECT_TRUE(claim().is_null());
}

TEST_F(ClaimRenewerTest, AClaimWithAGpuIsKept) {
  put_claim();
  ASSERT_TRUE(renew({kT4, kL20}));
  auto now = claim();
  now["status"]["allocation"] = json::object();
  objects_.put(kClaim, now.dump());
  ASSERT_TRUE(renewer_.renew({}, {}));
  EXPECT_FALSE(claim().is_null());
}

}  // namespace
}  // namespace tranche::controller::claim_renewer_test
