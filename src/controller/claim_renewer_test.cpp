#include "controller/claim_renewer.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/fake_objects.h"
#include "support/log_recorder.h"

namespace tranche::controller::claim_renewer_test {
namespace {

using nlohmann::json;

const cluster::Kind& kClaim = cluster::kResourceClaim;
const cluster::ObjectKey kOld{.ns = "shop", .name = "old"};

// Where somebody does something after each look at a claim.
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
  Result<cluster::Object> create(const cluster::Kind&, const std::string&, std::string_view,
                                 const cluster::Call&) override {
    return not_asked();
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
  bool is_there() const { return !objects_.text(kClaim, kOld).empty(); }
  Result<void> renew(const std::vector<admission::DraModel>& models) {
    return renewer_.renew({{kOld, half_of(models)}}, {});
  }

  test::FakeObjects objects_;
  Raced raced_{objects_};
  test::LogRecorder log_;
  ClaimRenewer renewer_{raced_, log_.log()};
};

TEST_F(ClaimRenewerTest, AClaimThatLacksAModelGoes) {
  put_claim();
  ASSERT_TRUE(renew({kT4, kL20}));
  EXPECT_FALSE(is_there());
  EXPECT_TRUE(renew({kT4, kL20})) << "it is gone, and Kubernetes has made no other yet";
}

TEST_F(ClaimRenewerTest, AClaimThatIsGoodIsReadOnce) {
  put_claim();
  ASSERT_TRUE(renew({kL20}));
  ASSERT_TRUE(renew({kL20}));
  EXPECT_EQ(objects_.count_calls("get resourceclaims"), 1);
  ASSERT_TRUE(renew({kT4, kL20}));
  EXPECT_FALSE(is_there()) << "until the template is another";
}

// The scheduler allocates it between our look and our deletion.
TEST_F(ClaimRenewerTest, AClaimThatIsAllocatedAtThatMomentStays) {
  put_claim();
  raced_.after_get = [&] { put_claim({{"status", {{"allocation", json::object()}}}}); };
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_EQ(objects_.count_calls("remove resourceclaims"), 1);
  EXPECT_TRUE(is_there());
  // What it saw is not what counts for ever: the scheduler may take it back.
  raced_.after_get = {};
  put_claim();
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_FALSE(is_there());
}

TEST_F(ClaimRenewerTest, AnotherOfTheSameNameStays) {
  put_claim();
  raced_.after_get = [&] {
    objects_.erase(kClaim, kOld);
    put_claim();
  };
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_TRUE(is_there());
}

TEST_F(ClaimRenewerTest, OneThatCannotBeDeletedIsSaidAndKeepsNoOther) {
  put_claim();
  objects_.refuse("remove", kClaim, Error{.code = Code::kPermission, .what = "no right"}, 1);
  const auto failed = renew({kT4, kL20});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("ResourceClaim shop/old"), std::string::npos);
  EXPECT_TRUE(renew({kT4, kL20}));
  EXPECT_FALSE(is_there());
}

}  // namespace
}  // namespace tranche::controller::claim_renewer_test
