#include "agent/withholding/holdings_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/fake_pod_resources.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/wait.h"

namespace tranche::agent::holdings_watch_test {
namespace {

using test::eventually;
using test::gpu_uuid;
using Held = std::vector<cluster::HeldDevices>;

class HoldingsWatchTest : public testing::Test {
 protected:
  HoldingsWatchTest() {
    machine_ = test::machine_of({test::l20(0)});
    book_.follow({}, machine_, true);
    kubelet_.hold(pod_);
    kubelet_.write_checkpoint();
    book_.learn(pod_);
  }
  HoldingsWatch::Parts parts() {
    return {.book = book_,
            .answers = answers_,
            .clock = clock_,
            .log = log_.log(),
            .look_again = [this] { ++looks_; },
            .renew_checkpoint = [this] { kubelet_.write_checkpoint(); },
            .interval = std::chrono::milliseconds(20)};
  }
  // Whether the watch has an answer about all that is withheld.
  bool asks_about_all() {
    return eventually([&] { return watch_.withheld_for(*book_.granted()); });
  }

  const Held pod_ = {{.pod_namespace = "ns",
                      .pod_name = "a",
                      .container = "c",
                      .resource = "nvidia.com/gpu",
                      .ids = {gpu_uuid(0)}}};
  gpu::Machine machine_;
  SystemClock clock_;
  test::LogRecorder log_;
  test::FakePodResources kubelet_;
  HolderAnswers answers_{kubelet_, clock_};
  std::atomic<int> looks_ = 0;
  Book book_{clock_};
  HoldingsWatch watch_{parts()};
};

TEST_F(HoldingsWatchTest, AsksWhoHoldsWhatIsWithheld) {
  ASSERT_TRUE(asks_about_all());
  EXPECT_EQ(holdings::pod_name(book_.granted()->at(0)), "ns/a");
  EXPECT_GE(looks_, 1);
}

TEST_F(HoldingsWatchTest, FindsTheEndOfTheLastHolderThoughTheCheckpointIsOld) {
  ASSERT_TRUE(asks_about_all());
  const int before = looks_;
  kubelet_.hold({});
  EXPECT_TRUE(eventually([&] { return book_.granted()->empty(); }));
  EXPECT_TRUE(eventually([&] { return looks_ > before; }));
}

TEST_F(HoldingsWatchTest, WithoutAnAnswerNothingIsFree) {
  kubelet_.go_away(true);
  kubelet_.hold({});
  kubelet_.write_checkpoint();
  EXPECT_TRUE(asks_about_all()) << "it is told all the same";
  EXPECT_EQ(book_.granted()->size(), 1U);
  EXPECT_EQ(log_.count("kubelet does not tell who holds devices"), 1);
  kubelet_.go_away(false);
  EXPECT_TRUE(eventually([&] { return book_.granted()->empty(); }));
}

TEST_F(HoldingsWatchTest, DoesNotAskWhileNothingIsWithheldAndKubeletHasNamedAll) {
  const int before = kubelet_.asked();
  const offer::Grant young{.resource = {"nvidia.com/gpu"}, .ids = {gpu_uuid(0)}, .envs = {}};
  EXPECT_EQ(before, 0);
  ASSERT_TRUE(book_.reserve(young));
  book_.commit(young);
  EXPECT_TRUE(eventually([&] { return !book_.has_unnamed(); })) << "a new grant is looked for";
  EXPECT_EQ(looks_, 0) << "and concerns nobody";
}

}  // namespace
}  // namespace tranche::agent::holdings_watch_test
