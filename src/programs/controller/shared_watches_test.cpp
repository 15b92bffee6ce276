#include "controller/shared_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::shared_watches_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

// Records what it receives.
class Listener {
 public:
  Watch::OnChange observer() {
    return [this](const cluster::CacheChange& change) {
      const std::scoped_lock lock(mutex_);
      const bool is_end = change.type == cluster::ChangeType::kSynced;
      const bool is_gone = change.type == cluster::ChangeType::kDeleted;
      observed_.push_back(is_end ? "synced" : (is_gone ? "-" : "+") + change.object.key.name);
    };
  }
  std::vector<std::string> observed() const {
    const std::scoped_lock lock(mutex_);
    return observed_;
  }
  bool has_observed(std::size_t count) const {
    return test::eventually([&] { return observed().size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> observed_;
};

class SharedWatchesTest : public testing::Test {
 protected:
  void put_node(const std::string& name) {
    objects_.put(cluster::kNode, R"({"metadata":{"name":")" + name + R"("}})");
  }

  test::FakeObjects objects_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  Listener first_;
  Listener second_;
};

TEST_F(SharedWatchesTest, EqualSelectionsShareOneWatch) {
  put_node("a");
  const Watch one(watches_, {.kind = cluster::kNode}, first_.observer());
  ASSERT_TRUE(first_.has_observed(2));
  const Watch two(watches_, {.kind = cluster::kNode}, second_.observer());
  EXPECT_THAT(second_.observed(), ElementsAre("+a", "synced")) << "what is known, at once";
  put_node("b");
  ASSERT_TRUE(first_.has_observed(3));
  ASSERT_TRUE(second_.has_observed(3));
  EXPECT_EQ(two.all().size(), 2U);
  EXPECT_TRUE(two.find({.name = "b"}));
  EXPECT_EQ(objects_.count_calls("list nodes"), 1);
}

TEST_F(SharedWatchesTest, AnotherSelectionOrReductionIsAnotherWatch) {
  const Watch all(watches_, {.kind = cluster::kNode}, first_.observer());
  const Watch some(watches_, {.kind = cluster::kNode, .selection = {.label_selector = "a=b"}},
                   second_.observer());
  const Reduction nothing{.name = "nothing",
                          .make = [](const std::string&) { return std::string(); }};
  put_node("a");
  Listener third;
  const Watch short_ones(watches_, {.kind = cluster::kNode, .reduce = nothing}, third.observer());
  ASSERT_TRUE(third.has_observed(2));
  ASSERT_TRUE(first_.has_observed(2));
  EXPECT_EQ(short_ones.find({.name = "a"})->json, "");
  EXPECT_NE(all.find({.name = "a"})->json, "");
  EXPECT_TRUE(test::eventually([&] { return some.synced(); }));
  EXPECT_TRUE(some.all().empty());
}

TEST_F(SharedWatchesTest, ADestroyedListenerReceivesNothingAndOthersContinue) {
  auto one = std::make_unique<Watch>(watches_, Watched{.kind = cluster::kNode}, first_.observer());
  auto two = std::make_unique<Watch>(watches_, Watched{.kind = cluster::kNode}, second_.observer());
  ASSERT_TRUE(second_.has_observed(1));
  one.reset();
  put_node("a");
  ASSERT_TRUE(second_.has_observed(2));
  EXPECT_THAT(first_.observed(), ElementsAre("synced"));
  two.reset();
  EXPECT_EQ(objects_.open_watches(), 0U) << "the last one ends the watch";
  const Watch again(watches_, {.kind = cluster::kNode}, first_.observer());
  EXPECT_TRUE(first_.has_observed(3));
  EXPECT_THAT(first_.observed(), ElementsAre("synced", "+a", "synced"));
}

// The listener uses an object that is destroyed right after.
TEST_F(SharedWatchesTest, NoListenerIsCalledOnceItsWatchIsDestroyed) {
  const Watch stays(watches_, {.kind = cluster::kNode}, first_.observer());
  std::atomic<bool> is_done = false;
  const std::jthread changes([&] {
    for (int i = 0; !is_done; ++i) put_node("n" + std::to_string(i % 5));
  });
  for (int i = 0; i < 100; ++i) {
    auto is_there = std::make_unique<std::atomic<bool>>(true);
    {
      const Watch brief(watches_, {.kind = cluster::kNode},
                        [&](const cluster::CacheChange&) { EXPECT_TRUE(*is_there); });
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    *is_there = false;
  }
  is_done = true;
}

TEST_F(SharedWatchesTest, TroubleIsTheFirstWatchs) {
  const Watch nodes(watches_, {.kind = cluster::kNode}, first_.observer());
  ASSERT_TRUE(first_.has_observed(1));
  EXPECT_EQ(trouble_of({&nodes, nullptr}), std::nullopt);
  objects_.hold_watches(cluster::kPod, true);
  objects_.refuse("list", cluster::kPod, {Code::kUnavailable, "away"});
  const Watch pods(watches_, {.kind = cluster::kPod}, second_.observer());
  EXPECT_TRUE(test::eventually([&] { return trouble_of({&nodes, &pods}) == "away"; }));
  objects_.recover();
  EXPECT_TRUE(test::eventually([&] { return !trouble_of({&nodes, &pods}); }));
}

}  // namespace
}  // namespace tranche::controller::shared_watches_test
