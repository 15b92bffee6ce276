#include "agent/dra/drain_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"
#include "support/fake_pod_resources.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::drain_servers_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::set<std::string>;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";

class DrainServersTest : public testing::Test {
 protected:
  class FakeServer final : public dra::Server {
   public:
    FakeServer(std::multiset<std::string>& serving, std::string name)
        : serving_(serving), name_(std::move(name)) {
      serving_.insert(name_);
    }
    ~FakeServer() override { serving_.erase(serving_.find(name_)); }
    bool intact() const override { return true; }

   private:
    std::multiset<std::string>& serving_;
    const std::string name_;
  };

  void pass(std::chrono::seconds time) { clock_.advance(time); }

  test::TempDir dir_;
  test::LogRecorder log_;
  test::FakeClock clock_;
  Book book_{clock_};
  ClaimStore store_{dir_.path() / "claims", log_.log()};
  std::shared_ptr<const ClaimNode> node_ = std::make_shared<const ClaimNode>();
  test::FakePodResources kubelet_;
  ClaimPreparer preparer_{{.objects = nullptr,
                           .kubelet = kubelet_,
                           .store = store_,
                           .book = book_,
                           .node = [this] { return node_; },
                           .listed = {},
                           .make = {.add_tenant = {},
                                    .remove_tenant = {},
                                    .instances = nullptr,
                                    .cdi_root = dir_.path() / "cdi",
                                    .work = ClaimMaker::Ports::Work::kUndoes,
                                    .log = log_.log()},
                           .pod = {},
                           .changed = {},
                           .log = log_.log()}};
  std::multiset<std::string> serving_;
  dra::Driver* driver_ = nullptr;  // of the server started last
  DrainServers servers_{
      {.preparer = preparer_,
       .start = [this](const std::string& name, dra::Driver& driver,
                       const dra::HealthBoard&) -> Result<std::unique_ptr<dra::Server>> {
         driver_ = &driver;
         return std::make_unique<FakeServer>(serving_, name);
       },
       .clock = clock_,
       .log = log_.log()}};
};

TEST_F(DrainServersTest, ANameIsServedWhenKubeletHasForgottenItUntilItsLastClaimHasEnded) {
  EXPECT_TRUE(servers_.is_idle());
  ASSERT_TRUE(servers_.look({"old.example.com"}));
  EXPECT_FALSE(servers_.is_idle());
  EXPECT_THAT(serving_, IsEmpty()) << "its slices are there yet";
  pass(DrainServers::kWipe);
  ASSERT_TRUE(servers_.look({"old.example.com"}));
  EXPECT_THAT(serving_, ElementsAre("old.example.com"));
  pass(std::chrono::hours(1));
  ASSERT_TRUE(servers_.look({"old.example.com"}));
  ASSERT_TRUE(servers_.look({}));
  EXPECT_THAT(serving_, ElementsAre("old.example.com")) << "kubelet may ask again";
  pass(DrainServers::kLinger);
  ASSERT_TRUE(servers_.look({}));
  EXPECT_THAT(serving_, IsEmpty());
  EXPECT_TRUE(servers_.is_idle());
  EXPECT_EQ(log_.count("the last claim has ended that was prepared under the name old.example"), 1);
}

TEST_F(DrainServersTest, EveryNameHasAServer) {
  ASSERT_TRUE(servers_.look({"a", "b"}));
  pass(DrainServers::kWipe);
  ASSERT_TRUE(servers_.look({"a", "b"}));
  EXPECT_THAT(serving_, ElementsAre("a", "b"));
}

TEST_F(DrainServersTest, NothingNewIsPreparedThereAndAnUnknownClaimIsUndone) {
  ASSERT_TRUE(servers_.look({"a"}));
  pass(DrainServers::kWipe);
  ASSERT_TRUE(servers_.look({"a"}));
  const auto prepared = driver_->prepare({"team", "half", kUid});
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message(), HasSubstr("takes no claims any more"));
  EXPECT_TRUE(driver_->unprepare({"team", "half", kUid}));
}

}  // namespace
}  // namespace tranche::agent::drain_servers_test
