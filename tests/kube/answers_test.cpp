// What the client requests, and what it makes of the responses.

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "kube/client_fixture.h"
#include "support/log_recorder.h"

namespace tranche::test::answers_test {
namespace {

using namespace cluster;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

const ObjectKey kKey{"x", "a"};

class AnswersTest : public ClientTest {
 protected:
  StubServer server_;
  std::unique_ptr<kube::Client> client_ = open(server_.credentials());
};

TEST_F(AnswersTest, Get) {
  server_.answer({.body = config_map("a", "7")});
  const auto object = client_->get(kConfigMap, kKey);
  ASSERT_TRUE(object) << object.error().message();
  EXPECT_EQ(object->key, kKey);
  EXPECT_EQ(object->resource_version, "7");
  const auto asked = server_.asked();
  EXPECT_EQ(asked.method, "GET");
  EXPECT_EQ(asked.target, "/api/v1/namespaces/x/configmaps/a");
  EXPECT_EQ(asked.headers.at("authorization"), "Bearer secret");
  EXPECT_EQ(asked.headers.at("accept"), "application/json");
  EXPECT_EQ(asked.headers.at("user-agent"), "tranche");
}

TEST_F(AnswersTest, OneConnectionServesManyCalls) {
  for (int i = 0; i < 3; ++i) {
    server_.answer({.body = config_map("a")});
    ASSERT_TRUE(client_->get(kConfigMap, kKey));
    EXPECT_EQ(server_.asked().connection, 1);
  }
}

TEST_F(AnswersTest, AReviewIsAnsweredAndHasNoName) {
  server_.answer({.status = 201, .body = R"({"status":{"authenticated":true}})"});
  const auto answer = client_->review(kTokenReview, R"({"spec":{"token":"x"}})");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, R"({"status":{"authenticated":true}})");
  const auto asked = server_.asked();
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.target, "/apis/authentication.k8s.io/v1/tokenreviews");
}

// HTTP/2 is tested with a real API server (tests/e2e/test_takeover.py); the stub has none.
TEST_F(AnswersTest, TheProtocolIsLoggedOnce) {
  LogRecorder log;
  const auto client = open(server_.credentials(), {.log = &log.log()});
  EXPECT_EQ(log.count("answers over"), 0);
  for (int i = 0; i < 2; ++i) {
    server_.answer({.body = config_map("a")});
    ASSERT_TRUE(client->get(kConfigMap, kKey));
  }
  EXPECT_EQ(log.count("API server " + server_.credentials().server + " answers over HTTP/1.1"), 1);
}

TEST_F(AnswersTest, ListReadsAllPages) {
  server_.answer({.body = R"({"metadata":{"resourceVersion":"9","continue":"to/ken="},"items":[
    {"metadata":{"name":"a","namespace":"x","resourceVersion":"1"}}]})"});
  server_.answer({.body = R"({"metadata":{"resourceVersion":"9"},"items":[
    {"metadata":{"name":"b","namespace":"x","resourceVersion":"2"}}]})"});
  const auto list = client_->list(
      kConfigMap, {.ns = "x", .label_selector = "a in (b,c)", .field_selector = "metadata.name=a"});
  ASSERT_TRUE(list) << list.error().message();
  EXPECT_EQ(list->resource_version, "9");
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[1].key.name, "b");
  EXPECT_EQ(server_.asked().target,
            "/api/v1/namespaces/x/configmaps?limit=500&labelSelector=a%20in%20%28b%2Cc%29&"
            "fieldSelector=metadata.name%3Da");
  EXPECT_THAT(server_.asked().target, HasSubstr("limit=500&continue=to%2Fken%3D&labelSelector"));
}

TEST_F(AnswersTest, ListThatGotTooOldBetweenPagesStartsAgain) {
  server_.answer({.body = R"({"metadata":{"resourceVersion":"9","continue":"t"},"items":[
    {"metadata":{"name":"old","namespace":"x"}}]})"});
  server_.answer(refusal(410, "Expired", "The provided continue parameter is too old"));
  server_.answer({.body = R"({"metadata":{"resourceVersion":"12"},"items":[
    {"metadata":{"name":"new","namespace":"x"}}]})"});
  const auto list = client_->list(kConfigMap, {.ns = "x"});
  ASSERT_TRUE(list) << list.error().message();
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->items[0].key.name, "new");
  EXPECT_EQ(list->resource_version, "12");
}

TEST_F(AnswersTest, Create) {
  server_.answer({.status = 201, .body = config_map("a")});
  ASSERT_TRUE(client_->create(kConfigMap, "x", config_map("a")));
  const auto asked = server_.asked();
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.target, "/api/v1/namespaces/x/configmaps?fieldManager=tranche");
  EXPECT_EQ(asked.headers.at("content-type"), "application/json");
  EXPECT_EQ(asked.body, config_map("a"));
  EXPECT_FALSE(asked.headers.contains("expect"));
}

TEST_F(AnswersTest, UpdateOfASubresource) {
  server_.answer({.body = R"({"metadata":{"name":"p"}})"});
  ASSERT_TRUE(client_->update(kClusterPolicy, {"", "p"}, "{}", "status"));
  const auto asked = server_.asked();
  EXPECT_EQ(asked.method, "PUT");
  EXPECT_EQ(asked.target, "/apis/nvidia.com/v1/clusterpolicies/p/status?fieldManager=tranche");
}

TEST_F(AnswersTest, Patches) {
  const struct {
    PatchType type;
    const char* content_type;
  } cases[] = {{PatchType::kMerge, "application/merge-patch+json"},
               {PatchType::kJson, "application/json-patch+json"},
               {PatchType::kStrategic, "application/strategic-merge-patch+json"}};
  for (const auto& test : cases) {
    server_.answer({.body = R"({"metadata":{"name":"n"}})"});
    ASSERT_TRUE(client_->patch(kNode, {"", "n"}, {test.type, R"({"a":1})", "status", "me"}));
    const auto asked = server_.asked();
    EXPECT_EQ(asked.method, "PATCH");
    EXPECT_EQ(asked.target, "/api/v1/nodes/n/status?fieldManager=me");
    EXPECT_EQ(asked.headers.at("content-type"), test.content_type);
    EXPECT_EQ(asked.body, R"({"a":1})");
  }
}

TEST_F(AnswersTest, Apply) {
  server_.answer({.body = config_map("a")});
  ASSERT_TRUE(client_->apply(kConfigMap, kKey, {.json = "{}", .force = true}));
  const auto asked = server_.asked();
  EXPECT_EQ(asked.method, "PATCH");
  EXPECT_EQ(asked.headers.at("content-type"), "application/apply-patch+yaml");
  EXPECT_EQ(asked.target, "/api/v1/namespaces/x/configmaps/a?fieldManager=tranche&force=true");
}

TEST_F(AnswersTest, RemoveWithPreconditions) {
  server_.answer({.body = R"({"kind":"Status","status":"Success"})"});
  ASSERT_TRUE(client_->remove(kConfigMap, kKey, {.uid = "u1", .resource_version = "5"}));
  const auto asked = server_.asked();
  EXPECT_EQ(asked.method, "DELETE");
  EXPECT_EQ(json::parse(asked.body)["preconditions"],
            json::parse(R"({"uid":"u1","resourceVersion":"5"})"));
  EXPECT_FALSE(client_->remove(kConfigMap, kKey, {.uid = "u\"1"}));
}

TEST_F(AnswersTest, WhatIsRefusedIsSaidWithItsRemedy) {
  const struct {
    const char* name;
    Answer answer;
    Code code;
    const char* what;
    const char* hint;
  } cases[] = {
      {"401", refusal(401, "Unauthorized", "Unauthorized"), Code::kPermission,
       "get configmaps x/a: 401 Unauthorized: Unauthorized",
       "does not accept the credentials of the test"},
      {"403",
       refusal(403, "Forbidden",
               R"(configmaps "a" is forbidden: User "system:serviceaccount:gpu:agent" cannot get )"
               R"(resource "configmaps" in API group "" in the namespace "x")"),
       Code::kPermission, "403 Forbidden: configmaps \"a\" is forbidden",
       "grant get on configmaps (or on a alone) in namespace x to serviceaccount gpu:agent"},
      {"404", refusal(404, "NotFound", "configmaps \"a\" not found"), Code::kNotFound,
       "404 Not Found: configmaps \"a\" not found", ""},
      {"409", refusal(409, "Conflict", "the object has been modified"), Code::kFailedPrecondition,
       "409 Conflict: the object has been modified", "read it again"},
      {"422", refusal(422, "Invalid", "data: Invalid value"), Code::kInvalidArgument,
       "422 Unprocessable Entity: data: Invalid value", ""},
      {"proxy",
       {.status = 400, .body = "<html>\nno</html>"},
       Code::kInvalidArgument,
       "400 Bad Request: <html> no</html>",
       ""},
      {"redirect",
       {.status = 302, .headers = {{"Location", "https://elsewhere/"}}},
       Code::kUnavailable,
       "302",
       ""},
      {"huge refusal",
       {.status = 400, .body = "abcdefgh", .repeat = 10000},
       Code::kUnsupported,
       "longer than 65536 bytes",
       ""},
  };
  for (const auto& test : cases) {
    server_.answer(test.answer);
    const auto object = client_->get(kConfigMap, kKey);
    ASSERT_FALSE(object) << test.name;
    EXPECT_EQ(object.error().code, test.code) << test.name;
    EXPECT_THAT(object.error().what, HasSubstr(test.what)) << test.name;
    EXPECT_THAT(object.error().hint, HasSubstr(test.hint)) << test.name;
  }
}

TEST_F(AnswersTest, CreateOfWhatExists) {
  server_.answer(refusal(409, "AlreadyExists", "configmaps \"a\" already exists"));
  EXPECT_EQ(client_->create(kConfigMap, "x", config_map("a")).error().code, Code::kAlreadyExists);
}

TEST_F(AnswersTest, ReadsAreTriedAgain) {
  server_.answer({.drop = true});
  server_.answer({.status = 503, .body = "starting"});
  server_.answer({.body = config_map("a"), .cut = true});
  server_.answer({.body = config_map("a")});
  const auto object = client_->get(kConfigMap, kKey);
  EXPECT_TRUE(object) << object.error().message();
}

TEST_F(AnswersTest, AWriteThatMayHaveHappenedIsNotTriedAgain) {
  server_.answer({.drop = true});
  server_.answer({.body = config_map("a")});
  const auto created = client_->create(kConfigMap, "x", config_map("a"));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kUnavailable);
  EXPECT_THAT(created.error().what, HasSubstr("create configmaps in namespace x"));
}

TEST_F(AnswersTest, AWriteThatWasTurnedAwayIsTriedAgain) {
  server_.answer({.status = 429, .body = "busy", .headers = {{"Retry-After", "1"}}});
  server_.answer({.body = config_map("a")});
  const auto created = client_->create(kConfigMap, "x", config_map("a"));
  EXPECT_TRUE(created) << created.error().message();
}

TEST_F(AnswersTest, RetryAfterLongerThanTheDeadlineIsNotWaitedFor) {
  server_.answer({.status = 429, .body = "busy", .headers = {{"Retry-After", "3600"}}});
  const auto object = client_->get(kConfigMap, kKey, {.deadline = seconds(20)});
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kUnavailable);
  EXPECT_THAT(object.error().what, HasSubstr("429 Too Many Requests: busy"));
}

TEST_F(AnswersTest, GivesUpAfterFiveAttempts) {
  for (int i = 0; i < 5; ++i) server_.answer({.status = 500, .body = "broken"});
  const auto object = client_->get(kConfigMap, kKey);
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().what, HasSubstr("500 Internal Server Error: broken (5 attempts)"));
}

TEST_F(AnswersTest, SilenceEndsAtTheDeadline) {
  server_.answer({.silent = true});
  const auto read = client_->get(kConfigMap, kKey, {.deadline = milliseconds(300)});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kTimeout);
  EXPECT_EQ(read.error().hint, "");
  server_.answer({.silent = true});
  const auto written =
      client_->create(kConfigMap, "x", config_map("a"), {.deadline = milliseconds(300)});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().hint, HasSubstr("may have happened"));
}

TEST_F(AnswersTest, AStopRequestEndsACallUnderWay) {
  server_.answer({.silent = true});
  std::stop_source source;
  std::jthread stopper([&] {
    server_.asked();  // the request has arrived
    source.request_stop();
  });
  const auto object = client_->get(kConfigMap, kKey,
                                   {.deadline = std::chrono::hours(1), .stop = source.get_token()});
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().what, HasSubstr("stopped"));
}

TEST_F(AnswersTest, AStopRequestEndsTheWaitBetweenAttempts) {
  std::stop_source source;
  server_.answer({.status = 429, .headers = {{"Retry-After", "30"}}});
  std::jthread stopper([&] {
    server_.asked();
    source.request_stop();
  });
  EXPECT_FALSE(client_->get(kConfigMap, kKey,
                            {.deadline = std::chrono::hours(1), .stop = source.get_token()}));
}

TEST_F(AnswersTest, ANonObjectIsRefused) {
  const struct {
    const char* name;
    Answer answer;
    const char* what;
  } cases[] = {
      {"HTML", {.body = "<html>welcome</html>"}, "no JSON"},
      {"torn", {.body = R"({"metadata":{"name":"a")"}, "no JSON"},
      {"nameless", {.body = "{}"}, "metadata.name is missing"},
      {"empty", {.body = ""}, "no JSON"},
  };
  for (const auto& test : cases) {
    server_.answer(test.answer);
    const auto object = client_->get(kConfigMap, kKey);
    ASSERT_FALSE(object) << test.name;
    EXPECT_EQ(object.error().code, Code::kUnavailable) << test.name;
    EXPECT_THAT(object.error().what, AllOf(HasSubstr("get configmaps x/a: "), HasSubstr(test.what)))
        << test.name;
    EXPECT_THAT(object.error().hint, HasSubstr("is this the address of an API server?"));
  }
}

TEST_F(AnswersTest, HugeAnswersAreCutOff) {
  kube::Client::Options options;
  options.max_object_bytes = 1000;
  options.max_list_bytes = 2000;
  const auto client = open(server_.credentials(), options);
  server_.answer({.body = "abcdefghij", .repeat = 101});
  const auto object = client->get(kConfigMap, kKey);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, Code::kUnsupported);
  EXPECT_THAT(object.error().what, HasSubstr("longer than 1000 bytes"));
  // Whoever may create objects may create large ones: fewer are requested, down to one.
  for (int i = 0; i < 4; ++i) server_.answer({.chunks = {"abcdefghij"}, .repeat = 201});
  EXPECT_THAT(client->list(kConfigMap, {}).error().what, HasSubstr("longer than 2000 bytes"));
  (void)server_.asked();
  for (const auto* limit : {"limit=500", "limit=62", "limit=7", "limit=1"}) {
    EXPECT_THAT(server_.asked().target, HasSubstr(limit));
  }
}

TEST_F(AnswersTest, APageThatIsTooLongIsReadInSmallerOnes) {
  kube::Client::Options options;
  options.max_list_bytes = 2000;
  const auto client = open(server_.credentials(), options);
  server_.answer({.body = R"({"metadata":{"resourceVersion":"9","continue":"t"},"items":[
    {"metadata":{"name":"a","namespace":"x"}}]})"});
  server_.answer({.body = "abcdefghij", .repeat = 201});
  server_.answer({.body = R"({"metadata":{"resourceVersion":"9"},"items":[
    {"metadata":{"name":"b","namespace":"x"}}]})"});
  std::vector<std::pair<std::string, bool>> taken;
  const auto version =
      client->list_pages(kConfigMap, {.ns = "x"}, [&](std::vector<Object> page, bool first) {
        for (const auto& object : page) taken.emplace_back(object.key.name, first);
        return Result<void>();
      });
  ASSERT_TRUE(version) << version.error().message();
  EXPECT_EQ(*version, "9");
  EXPECT_EQ(taken, (std::vector<std::pair<std::string, bool>>{{"a", true}, {"b", false}}));
  (void)server_.asked();
  EXPECT_THAT(server_.asked().target, HasSubstr("limit=500&continue=t"));
  EXPECT_THAT(server_.asked().target, HasSubstr("limit=62&continue=t"));
}

TEST_F(AnswersTest, WhoTakesPagesEndsTheListByAnError) {
  server_.answer({.body = R"({"metadata":{"resourceVersion":"9","continue":"t"},"items":[
    {"metadata":{"name":"a","namespace":"x"}}]})"});
  const auto version = client_->list_pages(kConfigMap, {.ns = "x"}, [](auto, bool) -> Result<void> {
    return fail(Code::kInternal, "enough");
  });
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().what, "enough");
}

TEST_F(AnswersTest, NamesThatWouldLeadElsewhereAreRefused) {
  const struct {
    const char* name;
    Result<Object> result;
  } cases[] = {
      {"no name", client_->get(kConfigMap, {"x", ""})},
      {"dots", client_->get(kConfigMap, {"x", ".."})},
      {"slash", client_->get(kConfigMap, {"x", "a/b"})},
      {"slash in the namespace", client_->get(kConfigMap, {"x/y", "a"})},
      {"no namespace", client_->get(kConfigMap, {"", "a"})},
      {"namespace of a node", client_->get(kNode, {"x", "n"})},
  };
  for (const auto& test : cases) {
    ASSERT_FALSE(test.result) << test.name;
    EXPECT_EQ(test.result.error().code, Code::kInvalidArgument) << test.name;
  }
}

TEST_F(AnswersTest, SeveralThreadsAtOnce) {
  constexpr int kThreads = 8;
  for (int i = 0; i < kThreads * 5; ++i) server_.answer({.body = config_map("a")});
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) good += client_->get(kConfigMap, kKey) ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(good, kThreads * 5);
}

// The caller waits for a disruption budget, for seconds or for hours.
TEST_F(AnswersTest, AnEvictionIsRequestedOnce) {
  server_.answer({.status = 429,
                  .body = R"({"kind":"Status","message":"Cannot evict pod as it would violate the )"
                          R"(pod's disruption budget.","reason":"TooManyRequests","details":)"
                          R"({"causes":[{"reason":"DisruptionBudget","message":"The disruption )"
                          R"(budget web needs 2 healthy pods and has 2 currently"}]}})",
                  .headers = {{"Retry-After", "1"}}});
  const auto blocked = client_->evict({"x", "p"}, "u-1");
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().code, Code::kUnavailable);
  EXPECT_THAT(blocked.error().what, HasSubstr("PodDisruptionBudget x/web allows no eviction now"));
  EXPECT_THAT(blocked.error().hint, HasSubstr("kubectl get pdb -n x"));
  const auto asked = server_.asked();
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.target, "/api/v1/namespaces/x/pods/p/eviction");
  const auto body = json::parse(asked.body);
  EXPECT_EQ(body["apiVersion"], "policy/v1");
  EXPECT_EQ(body["kind"], "Eviction");
  EXPECT_EQ(body["metadata"]["name"], "p");
  EXPECT_EQ(body["deleteOptions"]["preconditions"]["uid"], "u-1");
  server_.answer({.status = 201, .body = R"({"kind":"Status","status":"Success"})"});
  EXPECT_TRUE(client_->evict({"x", "p"}, "u-1"));
}

}  // namespace
}  // namespace tranche::test::answers_test
