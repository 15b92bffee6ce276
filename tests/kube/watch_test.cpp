// Watches: streams in pieces, their ends, and their events.

#include <chrono>
#include <mutex>
#include <thread>

#include "cluster/client/watch_cache.h"
#include "kube/client_fixture.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::test::watch_test {
namespace {

using namespace cluster;
using testing::ElementsAre;
using testing::HasSubstr;

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
std::string bookmark(const std::string& version) {
  return event("BOOKMARK",
               R"({"kind":"ConfigMap","metadata":{"resourceVersion":")" + version + R"("}})");
}

class WatchTest : public ClientTest {
 protected:
  Result<WatchEnd> watch(const std::string& version = "5", std::stop_token stop = {}) {
    return client_->watch(
        kConfigMap, {{.ns = "x"}, version}, [this](WatchEvent event) { note(std::move(event)); },
        std::move(stop));
  }
  void note(WatchEvent event) {
    constexpr auto kNames = std::to_array<const char*>({"added", "modified", "deleted", "at"});
    std::string line = kNames.at(static_cast<std::size_t>(event.type));
    if (!event.object.key.name.empty()) line += ' ' + event.object.key.name;
    const std::scoped_lock lock(mutex_);
    events_.push_back(line + ' ' + event.object.resource_version);
  }
  std::vector<std::string> events() {
    const std::scoped_lock lock(mutex_);
    return events_;
  }

  std::mutex mutex_;
  std::vector<std::string> events_;
  StubServer server_;
  std::unique_ptr<kube::Client> client_ = open(server_.credentials());
};

TEST_F(WatchTest, TellsEventsInOrderHoweverTheyAreCut) {
  const auto all = event("ADDED", config_map("a", "6")) + event("MODIFIED", config_map("a", "7")) +
                   bookmark("9") + event("DELETED", config_map("a", "10"));
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < all.size(); at += 7) pieces.push_back(all.substr(at, 7));
  server_.answer({.chunks = pieces});
  const auto end = watch();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(*end, WatchEnd::kClosed);
  EXPECT_THAT(events(), ElementsAre("at 5", "added a 6", "modified a 7", "at 9", "deleted a 10"));
  EXPECT_EQ(server_.asked().target,
            "/api/v1/namespaces/x/configmaps?watch=true&allowWatchBookmarks=true&"
            "resourceVersion=5&timeoutSeconds=300");
}

TEST_F(WatchTest, EventsAreToldAsTheyCome) {
  server_.answer({.chunks = {event("ADDED", config_map("a", "6"))}, .hold = true});
  std::stop_source source;
  Result<WatchEnd> end;
  std::jthread watcher([&] { end = watch("5", source.get_token()); });
  ASSERT_TRUE(eventually([&] { return events().size() == 2; }));
  EXPECT_THAT(events(), ElementsAre("at 5", "added a 6"));
  const auto asked_at = std::chrono::steady_clock::now();
  source.request_stop();
  watcher.join();
  RecordProperty("stop_ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                                 std::chrono::steady_clock::now() - asked_at)
                                                 .count()));
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, WatchEnd::kStopped);
}

TEST_F(WatchTest, AnOpenStreamSaysSoBeforeItsFirstEvent) {
  server_.answer({.chunked = true, .hold = true});
  std::stop_source source;
  std::jthread watcher([&] { watch("5", source.get_token()); });
  ASSERT_TRUE(eventually([&] { return events().size() == 1; }));
  EXPECT_THAT(events(), ElementsAre("at 5"));
  source.request_stop();
}

TEST_F(WatchTest, TooOldAtOnceAndInTheStream) {
  server_.answer(refusal(410, "Expired", "too old resource version: 5 (90)"));
  EXPECT_EQ(watch(), WatchEnd::kExpired);
  EXPECT_TRUE(events().empty());
  server_.answer({.chunks = {event("ERROR", refusal(410, "Expired", "too old").body)}});
  EXPECT_EQ(watch(), WatchEnd::kExpired);
}

TEST_F(WatchTest, RefusalsAndErrors) {
  const struct {
    const char* name;
    Answer answer;
    Code code;
    const char* what;
    const char* hint;
  } cases[] = {
      {"403",
       refusal(403, "Forbidden",
               R"(configmaps is forbidden: User "kate" cannot watch resource "configmaps" in API )"
               R"(group "" in the namespace "x")"),
       Code::kPermission, "watch configmaps in namespace x: 403 Forbidden",
       "grant watch on configmaps in namespace x to user \"kate\""},
      {"404",
       {.status = 404, .body = "404 page not found"},
       Code::kNotFound,
       "404 page not found",
       "install the definition of configmaps v1"},
      {"error in the stream",
       {.chunks = {event("ERROR", refusal(500, "InternalError", "etcd is away").body)}},
       Code::kUnavailable,
       "500 Internal Server Error: etcd is away",
       ""},
      {"no JSON", {.chunks = {"<html>\n"}}, Code::kUnavailable, "broken event: no JSON", ""},
      {"no object",
       {.chunks = {"{\"type\":\"ADDED\"}\n"}},
       Code::kUnavailable,
       "it has no object",
       ""},
      {"unknown type",
       {.chunks = {event("MOVED", config_map("a"))}},
       Code::kUnavailable,
       "type \"MOVED\"",
       ""},
      {"bookmark of nothing",
       {.chunks = {event("BOOKMARK", "{}")}},
       Code::kUnavailable,
       "no resourceVersion",
       ""},
  };
  for (const auto& test : cases) {
    server_.answer(test.answer);
    const auto end = watch();
    ASSERT_FALSE(end) << test.name;
    EXPECT_EQ(end.error().code, test.code) << test.name;
    EXPECT_THAT(end.error().what, HasSubstr(test.what)) << test.name;
    EXPECT_THAT(end.error().hint, HasSubstr(test.hint)) << test.name;
  }
}

TEST_F(WatchTest, AStreamThatIsCutIsTakenUpAgain) {
  server_.answer(
      {.chunks = {event("ADDED", config_map("a", "6")), R"({"type":"MOD)"}, .cut = true});
  EXPECT_EQ(watch(), WatchEnd::kClosed);
  EXPECT_THAT(events(), ElementsAre("at 5", "added a 6"));
}

TEST_F(WatchTest, AnEventHasALimit) {
  kube::Client::Options options;
  options.max_object_bytes = 1000;
  client_ = open(server_.credentials(), options);
  server_.answer({.chunks = {"abcdefghij"}, .hold = true, .repeat = 200});
  const auto end = watch();
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().what, HasSubstr("an event is longer than 1000 bytes"));
}

TEST_F(WatchTest, ALongSilenceEndsTheStream) {
  kube::Client::Options options;
  options.watch_time = std::chrono::seconds(1);
  client_ = open(server_.credentials(), options);
  server_.answer({.chunked = true, .hold = true});
  EXPECT_EQ(watch(), WatchEnd::kClosed);
}

TEST_F(WatchTest, AHandlerMayUseTheClient) {
  server_.answer({.chunks = {event("ADDED", config_map("a", "6"))}});
  server_.answer({.body = config_map("a", "6")});
  int read = 0;
  const auto end = client_->watch(kConfigMap, {{.ns = "x"}, "5"},
                                  [&](const WatchEvent& told) {
                                    if (told.type == WatchEventType::kAdded)
                                      read += client_->get(kConfigMap, told.object.key) ? 1 : 0;
                                  },
                                  {});
  EXPECT_EQ(end, WatchEnd::kClosed);
  EXPECT_EQ(read, 1);
}

TEST_F(WatchTest, ACacheOverItFollowsAServerThatGoesAndReturns) {
  LogRecorder log;
  const std::string list = R"({"metadata":{"resourceVersion":"5"},"items":[]})";
  server_.answer({.status = 403, .body = "no"});
  server_.answer({.body = list});
  server_.answer({.chunks = {event("ADDED", config_map("a", "6"))}});
  server_.answer(refusal(410, "Expired", "too old"));
  server_.answer({.body = R"({"metadata":{"resourceVersion":"20"},"items":[]})"});
  server_.answer({.chunks = {event("ADDED", config_map("b", "21"))}, .hold = true});
  WatchCache::Options options{kConfigMap, {.ns = "x"}};
  options.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
  const WatchCache cache(*client_, std::move(options), {}, log.log());
  ASSERT_TRUE(eventually([&] { return cache.find({"x", "b"}).has_value(); }));
  EXPECT_FALSE(cache.find({"x", "a"}));
  EXPECT_EQ(log.count("cannot follow configmaps in namespace x"), 1);
  EXPECT_EQ(log.count("followed again"), 1);
}

}  // namespace
}  // namespace tranche::test::watch_test
