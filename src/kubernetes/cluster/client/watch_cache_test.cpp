#include "cluster/client/watch_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::cluster::watch_cache_test {
namespace {

using std::chrono::milliseconds;
using test::eventually;
using testing::ElementsAre;
using testing::HasSubstr;

std::string config_map(const std::string& name, const std::string& value) {
  return R"({"metadata":{"namespace":"x","name":")" + name + R"("},"data":{"k":")" + value + "\"}}";
}

class WatchCacheTest : public testing::Test {
 protected:
  ~WatchCacheTest() override { cache_.reset(); }

  void start(WatchCache::Options options) {
    options.backoff = {milliseconds(1), milliseconds(4)};
    cache_ = std::make_unique<WatchCache>(
        objects_, std::move(options), [this](const CacheChange& change) { note(change); },
        log_.log());
  }
  void start() { start({kConfigMap, {.ns = "x"}}); }

  void note(const CacheChange& change) {
    constexpr auto kNames = std::to_array<const char*>({"added", "modified", "deleted", "synced"});
    const std::scoped_lock lock(mutex_);
    std::string line = kNames.at(static_cast<std::size_t>(change.type));
    if (change.type != ChangeType::kSynced) line += ' ' + change.object.key.name;
    changes_.push_back(std::move(line));
  }
  std::vector<std::string> changes() const {
    const std::scoped_lock lock(mutex_);
    return changes_;
  }
  bool told(const std::string& change) const {
    const auto all = changes();
    return std::ranges::find(all, change) != all.end();
  }
  std::size_t count(const std::string& prefix) const {
    const auto calls = objects_.calls();
    return static_cast<std::size_t>(
        std::ranges::count_if(calls, [&](const auto& call) { return call.starts_with(prefix); }));
  }
  std::vector<std::string> lists() const {
    auto calls = objects_.calls();
    std::erase_if(calls, [](const auto& call) { return !call.starts_with("list"); });
    return calls;
  }
  bool watching() const { return objects_.open_watches() == 1; }

  mutable std::mutex mutex_;
  std::vector<std::string> changes_;
  test::LogRecorder log_;
  test::FakeObjects objects_;
  std::unique_ptr<WatchCache> cache_;
};

TEST_F(WatchCacheTest, ListsThenFollows) {
  objects_.put(kConfigMap, config_map("a", "1"));
  objects_.put(kConfigMap, config_map("b", "1"));
  objects_.put(kConfigMap, R"({"metadata":{"namespace":"other","name":"c"}})");
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  EXPECT_THAT(changes(), ElementsAre("added a", "added b", "synced"));
  objects_.put(kConfigMap, config_map("a", "2"));
  objects_.erase(kConfigMap, {"x", "b"});
  objects_.put(kConfigMap, config_map("d", "1"));
  ASSERT_TRUE(eventually([&] { return told("added d"); }));
  EXPECT_THAT(changes(),
              ElementsAre("added a", "added b", "synced", "modified a", "deleted b", "added d"));
  EXPECT_TRUE(cache_->synced());
  EXPECT_EQ(cache_->failure(), std::nullopt);
  ASSERT_TRUE(cache_->find({"x", "a"}));
  EXPECT_THAT(cache_->find({"x", "a"})->json, HasSubstr(R"("k":"2")"));
  EXPECT_FALSE(cache_->find({"x", "b"}));
  EXPECT_EQ(cache_->all().size(), 2U);
}

TEST_F(WatchCacheTest, EmptyListIsSyncedToo) {
  start();
  ASSERT_TRUE(eventually([&] { return told("synced"); }));
  EXPECT_TRUE(cache_->all().empty());
}

TEST_F(WatchCacheTest, GoesOnFromTheLastVersionWhenTheStreamEnds) {
  objects_.put(kConfigMap, config_map("a", "1"));
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  const auto seen = objects_.put(kConfigMap, config_map("a", "2")).resource_version;
  ASSERT_TRUE(eventually([&] { return told("modified a"); }));
  objects_.close_watches();
  ASSERT_TRUE(eventually([&] { return count("watch configmaps " + seen) == 1 && watching(); }));
  objects_.put(kConfigMap, config_map("b", "1"));
  ASSERT_TRUE(eventually([&] { return told("added b"); }));
  EXPECT_EQ(count("list"), 1U);
}

TEST_F(WatchCacheTest, BookmarkMovesTheVersion) {
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  const auto version =
      objects_.put(kPod, R"({"metadata":{"namespace":"x","name":"p"}})").resource_version;
  objects_.send_bookmarks();
  objects_.close_watches();
  ASSERT_TRUE(eventually([&] { return count("watch configmaps " + version) == 1; }));
}

TEST_F(WatchCacheTest, ListsAgainWhenTheVersionIsTooOld) {
  objects_.put(kConfigMap, config_map("a", "1"));
  objects_.put(kConfigMap, config_map("b", "1"));
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  // While the list is refused, things happen that no watch will report.
  objects_.refuse("list", kConfigMap, {Code::kUnavailable, "away"});
  objects_.compact();
  ASSERT_TRUE(eventually([&] { return cache_->failure().has_value(); }));
  objects_.erase(kConfigMap, {"x", "a"});
  objects_.put(kConfigMap, config_map("b", "2"));
  objects_.put(kConfigMap, config_map("c", "1"));
  EXPECT_TRUE(cache_->find({"x", "a"})) << "what is known stays while the server is away";
  objects_.recover();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  EXPECT_THAT(changes(),
              ElementsAre("added a", "added b", "synced", "deleted a", "modified b", "added c"));
}

// A thousand agents list at once when an API server comes back. It answers them from its cache.
TEST_F(WatchCacheTest, ListsFromTheServersCacheAndNothingOlderThanWasSeen) {
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  EXPECT_EQ(count("list configmaps x not before 0"), 1U);
  const auto seen = objects_.put(kConfigMap, config_map("a", "1")).resource_version;
  ASSERT_TRUE(eventually([&] { return told("added a"); }));
  objects_.compact();
  ASSERT_TRUE(eventually([&] { return count("list") == 2 && watching(); }));
  EXPECT_EQ(count("list configmaps x not before " + seen), 1U);
}

TEST_F(WatchCacheTest, WhileTheServerIsAwayTheNextListIsFromItsCacheToo) {
  objects_.refuse("list", kConfigMap, {Code::kUnavailable, "away"}, 3);
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  EXPECT_EQ(count("list configmaps x not before 0"), 4U);
}

TEST_F(WatchCacheTest, AServerThatHasNothingSoNewIsAskedForTheStateOfNow) {
  for (const Code code : {Code::kTimeout, Code::kFailedPrecondition, Code::kUnsupported}) {
    objects_.refuse("list", kConfigMap, {code, "too large resource version"}, 1);
    start();
    ASSERT_TRUE(eventually([&] { return watching(); }));
    EXPECT_EQ(lists().back(), "list configmaps x");
    cache_.reset();
  }
}

TEST_F(WatchCacheTest, MadeAnewUnderTheSameNameIsDeletedAndAdded) {
  objects_.put(kConfigMap, config_map("a", "1"));
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  objects_.refuse("list", kConfigMap, {Code::kUnavailable, "away"});
  objects_.compact();
  ASSERT_TRUE(eventually([&] { return cache_->failure().has_value(); }));
  objects_.erase(kConfigMap, {"x", "a"});
  objects_.put(kConfigMap, config_map("a", "1"));
  objects_.recover();
  ASSERT_TRUE(eventually([&] { return changes().size() == 4; }));
  EXPECT_THAT(changes(), ElementsAre("added a", "synced", "deleted a", "added a"));
}

TEST_F(WatchCacheTest, AFailureIsSaidOnceAndItsEndToo) {
  objects_.refuse("list", kConfigMap,
                  {Code::kPermission, "list configmaps: 403 Forbidden", "grant it"});
  start();
  ASSERT_TRUE(eventually([&] { return count("list") >= 5; }));
  EXPECT_EQ(log_.count("cannot follow configmaps in namespace x"), 1);
  EXPECT_EQ(log_.count("403 Forbidden; grant it"), 1);
  EXPECT_FALSE(cache_->synced());
  EXPECT_EQ(cache_->failure()->code, Code::kPermission);
  objects_.recover();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  ASSERT_TRUE(eventually([&] { return log_.count("followed again") == 1; }));
  EXPECT_EQ(cache_->failure(), std::nullopt);
}

TEST_F(WatchCacheTest, AnotherFailureIsSaidAnew) {
  objects_.refuse("list", kConfigMap, {Code::kUnavailable, "first"}, 3);
  objects_.refuse("list", kConfigMap, {Code::kUnavailable, "second"}, 3);
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  EXPECT_EQ(log_.count("first"), 1);
  EXPECT_EQ(log_.count("second"), 1);
}

TEST_F(WatchCacheTest, RefusedWatchIsListedAgainInTime) {
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  objects_.refuse("watch", kConfigMap, {Code::kPermission, "watch configmaps: 403"});
  objects_.close_watches();
  ASSERT_TRUE(eventually([&] { return cache_->failure().has_value(); }));
  objects_.put(kConfigMap, config_map("a", "1"));
  ASSERT_TRUE(eventually([&] { return told("added a"); }));
  EXPECT_EQ(log_.count("watch configmaps: 403"), 1);
  EXPECT_TRUE(cache_->failure());
}

TEST_F(WatchCacheTest, KindThatIsNotServedMayCountAsEmpty) {
  objects_.serve(kClusterPolicy, false);
  start({.kind = kClusterPolicy, .kind_may_be_missing = true});
  ASSERT_TRUE(eventually([&] { return told("synced"); }));
  EXPECT_EQ(cache_->failure(), std::nullopt);
  objects_.serve(kClusterPolicy, true);
  objects_.put(kClusterPolicy, R"({"metadata":{"name":"p"}})");
  ASSERT_TRUE(eventually([&] { return told("added p") && watching(); }));
  objects_.serve(kClusterPolicy, false);
  ASSERT_TRUE(eventually([&] { return told("deleted p"); }));
  EXPECT_EQ(log_.lines().size(), 0U);
}

TEST_F(WatchCacheTest, KindThatIsNotServedIsElseAFailure) {
  objects_.serve(kClusterPolicy, false);
  start({.kind = kClusterPolicy});
  ASSERT_TRUE(eventually([&] { return cache_->failure().has_value(); }));
  EXPECT_EQ(cache_->failure()->code, Code::kNotFound);
}

TEST_F(WatchCacheTest, DropsManagedFieldsUnlessAskedToKeepThem) {
  objects_.put(kConfigMap,
               R"({"metadata":{"namespace":"x","name":"a","managedFields":[{"manager":"m"}]}})");
  start();
  ASSERT_TRUE(eventually([&] { return told("synced"); }));
  EXPECT_THAT(cache_->find({"x", "a"})->json, testing::Not(HasSubstr("managedFields")));
  start({.kind = kConfigMap, .keep_managed_fields = true});
  ASSERT_TRUE(eventually([&] { return cache_->synced(); }));
  EXPECT_THAT(cache_->find({"x", "a"})->json, HasSubstr("managedFields"));
}

TEST_F(WatchCacheTest, KeepsAndTellsOnlyWhatIsAskedFor) {
  objects_.put(kConfigMap, config_map("a", "1"));
  start({.kind = kConfigMap, .reduce = [](const std::string& text) {
           return std::string(text.contains("managedFields") ? "whole" : "little");
         }});
  ASSERT_TRUE(eventually([&] { return cache_->synced(); }));
  EXPECT_EQ(cache_->find({"x", "a"})->json, "little");
}

TEST_F(WatchCacheTest, ALongListComesInPages) {
  start({.kind = kConfigMap, .in_pages = true});
  ASSERT_TRUE(eventually([&] { return watching(); }));
  objects_.compact();
  ASSERT_TRUE(eventually(
      [&] { return std::ranges::count(objects_.calls(), std::string("list configmaps")) == 2; }));
}

TEST_F(WatchCacheTest, SelectionByName) {
  objects_.put(kConfigMap, config_map("a", "1"));
  objects_.put(kConfigMap, config_map("b", "1"));
  start({kConfigMap, {.ns = "x", .field_selector = "metadata.name=a"}});
  ASSERT_TRUE(eventually([&] { return watching(); }));
  objects_.put(kConfigMap, config_map("b", "2"));
  objects_.put(kConfigMap, config_map("a", "2"));
  ASSERT_TRUE(eventually([&] { return told("modified a"); }));
  EXPECT_THAT(changes(), ElementsAre("added a", "synced", "modified a"));
}

TEST_F(WatchCacheTest, WaitsLongerAfterEachFailure) {
  WatchCache::Options options{.kind = kConfigMap};
  // The longest shortening, so that the test does not take longer than it must.
  options.random = [] { return 0.999; };
  objects_.refuse("list", kConfigMap, {Code::kUnavailable, "away"}, 8);
  start(std::move(options));
  ASSERT_TRUE(eventually([&] { return cache_->synced(); }));
  EXPECT_EQ(count("list"), 9U);
}

TEST_F(WatchCacheTest, EndsWhereverItIs) {
  start();
  ASSERT_TRUE(eventually([&] { return watching(); }));
  cache_.reset();
  EXPECT_EQ(objects_.open_watches(), 0U);

  // In the middle of a wait of an hour.
  objects_.refuse("list", kConfigMap, {Code::kUnavailable, "away"});
  WatchCache::Options options{.kind = kConfigMap};
  options.backoff = {std::chrono::hours(1), std::chrono::hours(1)};
  WatchCache waiting(objects_, std::move(options), {}, log_.log());
  ASSERT_TRUE(eventually([&] { return waiting.failure().has_value(); }));
}

}  // namespace
}  // namespace tranche::cluster::watch_cache_test
