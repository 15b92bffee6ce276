// The API server's objects: the same cases on the fake and, if TRANCHE_TEST_KUBECONFIG names a
// kubeconfig with all rights, on a real API server. Objects made there are removed again.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/uuid.h"
#include "cluster/client/modify.h"
#include "cluster/client/watch_cache.h"
#include "cluster/config_map.h"
#include "cluster/event.h"
#include "cluster/lease.h"
#include "cluster/node.h"
#include "cluster/node_feature.h"
#include "cluster/pod.h"
#include "kube/client.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::cluster::objects_contract_test {
namespace {

using nlohmann::json;
using test::eventually;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kKubeconfig = "TRANCHE_TEST_KUBECONFIG";
// Of a user without any right.
constexpr auto kPowerlessKubeconfig = "TRANCHE_TEST_KUBECONFIG_POWERLESS";

std::unique_ptr<kube::Client> open(const char* kubeconfig) {
  kube::Client::Options options;
  options.page = 2;  // so that lists have pages
  auto credentials = kube::load_kubeconfig(kubeconfig);
  if (!credentials) throw std::runtime_error(credentials.error().message());
  auto client = kube::Client::open(*std::move(credentials), options);
  if (!client) throw std::runtime_error(client.error().message());
  return *std::move(client);
}

class ObjectsContract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "fake") {
      auto fake = std::make_unique<test::FakeObjects>();
      fake_ = fake.get();
      objects_ = std::move(fake);
    } else {
      objects_ = open(std::getenv(kKubeconfig));
    }
  }
  void TearDown() override {
    for (const auto& [kind, key] : made_) {
      const auto removed = objects_->remove(kind, key);
      EXPECT_TRUE(removed || removed.error().code == Code::kNotFound) << removed.error().message();
    }
  }

  // An unused name in namespace default; removed at the end.
  ObjectKey name(const std::string& what, const Kind& kind = kConfigMap) {
    ObjectKey key{kind.namespaced ? "default" : "", what + "-" + run_};
    made_.emplace_back(kind, key);
    return key;
  }
  std::string text(const ObjectKey& key, const StringMap& data, const StringMap& labels = {}) {
    ConfigMap map{key};
    map.data = data;
    map.labels = labels;
    map.labels.emplace("run", run_);
    return to_json(map);
  }
  Object create(const ObjectKey& key, const StringMap& data, const StringMap& labels = {}) {
    auto object = objects_->create(kConfigMap, key.ns, text(key, data, labels));
    EXPECT_TRUE(object) << object.error().message();
    return object.value_or(Object());
  }
  StringMap data_of(const Result<Object>& object) {
    EXPECT_TRUE(object) << object.error().message();
    if (!object) return {};
    return parse_config_map(object->json).value_or(ConfigMap{}).data;
  }
  StringMap data_now(const ObjectKey& key) { return data_of(objects_->get(kConfigMap, key)); }
  // The fields that somebody applies.
  std::string applied(const ObjectKey& key, const StringMap& data) {
    return to_json(ConfigMap{.key = key, .data = data});
  }
  ListOptions ours() const { return {.ns = "default", .label_selector = "run=" + run_}; }

  const std::string run_ = random_uuid().substr(0, 8);
  std::vector<std::pair<Kind, ObjectKey>> made_;
  std::unique_ptr<Objects> objects_;
  test::FakeObjects* fake_ = nullptr;
};

std::vector<std::string> names(const ObjectList& list) {
  std::vector<std::string> names;
  for (const auto& object : list.items) names.push_back(object.key.name);
  return names;
}

TEST_P(ObjectsContract, CreateGetRemove) {
  const auto key = name("a");
  const auto made = create(key, {{"k", "1"}});
  EXPECT_EQ(made.key, key);
  EXPECT_FALSE(made.uid.empty());
  EXPECT_FALSE(made.resource_version.empty());
  const auto got = objects_->get(kConfigMap, key);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->uid, made.uid);
  EXPECT_EQ(got->resource_version, made.resource_version);
  EXPECT_EQ(json::parse(got->json)["kind"], "ConfigMap");
  EXPECT_THAT(data_of(got), ElementsAre(testing::Pair("k", "1")));

  const auto again = objects_->create(kConfigMap, key.ns, text(key, {}));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists) << again.error().message();

  ASSERT_TRUE(objects_->remove(kConfigMap, key));
  EXPECT_EQ(objects_->get(kConfigMap, key).error().code, Code::kNotFound);
  EXPECT_EQ(objects_->remove(kConfigMap, key).error().code, Code::kNotFound);
  EXPECT_EQ(objects_->update(kConfigMap, key, text(key, {})).error().code, Code::kNotFound);
  EXPECT_EQ(objects_->patch(kConfigMap, key, {.json = "{}"}).error().code, Code::kNotFound);
}

TEST_P(ObjectsContract, GenerateNameMakesNames) {
  const auto body = json{{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", {{"generateName", "made-" + run_ + "-"}}}}
                        .dump();
  const auto first = objects_->create(kConfigMap, "default", body);
  const auto second = objects_->create(kConfigMap, "default", body);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  made_.emplace_back(kConfigMap, first->key);
  made_.emplace_back(kConfigMap, second->key);
  EXPECT_THAT(first->key.name, testing::StartsWith("made-" + run_ + "-"));
  EXPECT_NE(first->key, second->key);
}

TEST_P(ObjectsContract, UpdateOnlyOfTheVersionThatWasRead) {
  const auto key = name("a");
  const auto first = create(key, {{"k", "1"}});
  auto map = *parse_config_map(first.json);
  map.data["k"] = "2";
  const auto second = objects_->update(kConfigMap, key, to_json(map));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_NE(second->resource_version, first.resource_version);
  EXPECT_EQ(second->uid, first.uid);

  map.data["k"] = "3";  // still of the first version
  const auto stale = objects_->update(kConfigMap, key, to_json(map));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::kFailedPrecondition) << stale.error().message();

  map.resource_version.clear();
  EXPECT_TRUE(objects_->update(kConfigMap, key, to_json(map)));
  EXPECT_EQ(data_now(key).at("k"), "3");
}

TEST_P(ObjectsContract, UpdateOfAnotherObjectOfThatNameIsAConflict) {
  const auto key = name("a");
  auto map = *parse_config_map(create(key, {}).json);
  map.uid = "11111111-2222-3333-4444-555555555555";
  map.resource_version.clear();
  const auto updated = objects_->update(kConfigMap, key, to_json(map));
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().code, Code::kFailedPrecondition) << updated.error().message();
}

TEST_P(ObjectsContract, NothingChangedIsTheSameVersion) {
  const auto key = name("a");
  const auto first = create(key, {{"k", "1"}});
  const auto updated = objects_->update(kConfigMap, key, first.json);
  ASSERT_TRUE(updated);
  EXPECT_EQ(updated->resource_version, first.resource_version);
  const auto patched = objects_->patch(kConfigMap, key, {.json = R"({"data":{"k":"1"}})"});
  ASSERT_TRUE(patched);
  EXPECT_EQ(patched->resource_version, first.resource_version);
}

TEST_P(ObjectsContract, MergePatch) {
  const auto key = name("a");
  create(key, {{"k", "1"}, {"gone", "1"}});
  const auto patched =
      objects_->patch(kConfigMap, key, {.json = R"({"data":{"gone":null,"new":"2"}})"});
  EXPECT_EQ(data_of(patched), (StringMap{{"k", "1"}, {"new", "2"}}));
}

TEST_P(ObjectsContract, JsonPatch) {
  const auto key = name("a");
  create(key, {{"k", "1"}});
  const auto patched = objects_->patch(
      kConfigMap, key, {PatchType::kJson, R"([{"op":"test","path":"/data/k","value":"1"},
                                              {"op":"replace","path":"/data/k","value":"2"}])"});
  EXPECT_EQ(data_of(patched), (StringMap{{"k", "2"}}));
  const auto refused = objects_->patch(
      kConfigMap, key, {PatchType::kJson, R"([{"op":"test","path":"/data/k","value":"1"}])"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << refused.error().message();
}

TEST_P(ObjectsContract, PatchOfAStaleVersion) {
  const auto key = name("a");
  const auto first = create(key, {{"k", "1"}});
  const auto guarded = fmt::format(
      R"({{"metadata":{{"resourceVersion":"{}"}},"data":{{"k":"2"}}}})", first.resource_version);
  EXPECT_TRUE(objects_->patch(kConfigMap, key, {.json = guarded}));
  const auto stale = objects_->patch(kConfigMap, key, {.json = guarded});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::kFailedPrecondition) << stale.error().message();
}

TEST_P(ObjectsContract, BrokenBodiesAreRefused) {
  const auto key = name("a");
  create(key, {});
  EXPECT_EQ(objects_->patch(kConfigMap, key, {.json = "{"}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(objects_->create(kConfigMap, "default", "{").error().code, Code::kInvalidArgument);
  EXPECT_EQ(objects_->update(kConfigMap, key, "{").error().code, Code::kInvalidArgument);
  const auto other = objects_->update(kConfigMap, key, text({"default", "other"}, {}));
  EXPECT_EQ(other.error().code, Code::kInvalidArgument) << other.error().message();
}

TEST_P(ObjectsContract, ApplyOwnsWhatItSet) {
  const auto key = name("a");
  const auto first = objects_->apply(kConfigMap, key, {applied(key, {{"k", "1"}, {"old", "1"}})});
  ASSERT_TRUE(first) << first.error().message();
  const auto same = objects_->apply(kConfigMap, key, {applied(key, {{"k", "1"}, {"old", "1"}})});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->resource_version, first->resource_version);
  // Somebody else's key stays; ours that is no longer applied goes.
  ASSERT_TRUE(objects_->apply(kConfigMap, key, {applied(key, {{"theirs", "1"}}), "somebody"}));
  const auto later = objects_->apply(kConfigMap, key, {applied(key, {{"k", "2"}})});
  EXPECT_EQ(data_of(later), (StringMap{{"k", "2"}, {"theirs", "1"}}));
}

TEST_P(ObjectsContract, ApplyDoesNotTakeOthersFieldsUnlessForced) {
  const auto key = name("a");
  ASSERT_TRUE(objects_->apply(kConfigMap, key, {applied(key, {{"k", "1"}}), "somebody"}));
  const auto refused = objects_->apply(kConfigMap, key, {applied(key, {{"k", "2"}})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition) << refused.error().message();
  EXPECT_EQ(data_now(key).at("k"), "1");
  // The same value can be owned by both.
  EXPECT_TRUE(objects_->apply(kConfigMap, key, {applied(key, {{"k", "1"}})}));
  const auto forced =
      objects_->apply(kConfigMap, key, {.json = applied(key, {{"k", "2"}}), .force = true});
  EXPECT_EQ(data_of(forced).at("k"), "2");
}

TEST_P(ObjectsContract, APatchTakesTheFieldFromWhoAppliedIt) {
  const auto key = name("a");
  ASSERT_TRUE(objects_->apply(kConfigMap, key, {applied(key, {{"k", "1"}})}));
  ASSERT_TRUE(objects_->patch(kConfigMap, key,
                              {.json = R"({"data":{"k":"2"}})", .field_manager = "kubectl-edit"}));
  EXPECT_EQ(objects_->apply(kConfigMap, key, {applied(key, {{"k", "1"}})}).error().code,
            Code::kFailedPrecondition);
}

TEST_P(ObjectsContract, RemoveWithPreconditions) {
  const auto key = name("a");
  const auto made = create(key, {{"k", "1"}});
  EXPECT_EQ(objects_->remove(kConfigMap, key, {.uid = "11111111-2222-3333-4444-555555555555"})
                .error()
                .code,
            Code::kFailedPrecondition);
  ASSERT_TRUE(objects_->patch(kConfigMap, key, {.json = R"({"data":{"k":"2"}})"}));
  EXPECT_EQ(
      objects_->remove(kConfigMap, key, {.resource_version = made.resource_version}).error().code,
      Code::kFailedPrecondition);
  EXPECT_TRUE(objects_->remove(kConfigMap, key, {.uid = made.uid}));
}

TEST_P(ObjectsContract, ListsBySelectors) {
  const auto a = name("a");
  const auto b = name("b");
  const auto c = name("c");
  create(a, {}, {{"gpu", "l20"}});
  create(b, {}, {{"gpu", "t4"}});
  create(c, {});
  const struct {
    const char* name;
    ListOptions options;
    std::vector<std::string> expected;
  } cases[] = {
      {"all of ours", ours(), {a.name, b.name, c.name}},
      {"equal", {"default", ours().label_selector + ",gpu=l20"}, {a.name}},
      {"unequal", {"default", ours().label_selector + ",gpu!=l20"}, {b.name, c.name}},
      {"in", {"default", ours().label_selector + ",gpu in (l20, t4)"}, {a.name, b.name}},
      {"notin", {"default", ours().label_selector + ",gpu notin (l20)"}, {b.name, c.name}},
      {"exists", {"default", "gpu," + ours().label_selector}, {a.name, b.name}},
      {"absent", {"default", "!gpu," + ours().label_selector}, {c.name}},
      {"all namespaces", {"", ours().label_selector}, {a.name, b.name, c.name}},
      {"another namespace", {"kube-system", ours().label_selector}, {}},
      {"by name", {.ns = "default", .field_selector = "metadata.name=" + b.name}, {b.name}},
      {"not older than the last of them",
       {.ns = "default",
        .label_selector = ours().label_selector,
        .not_before = objects_->get(kConfigMap, c)->resource_version},
       {a.name, b.name, c.name}},
      {"by both",
       {.ns = "default", .label_selector = "gpu=l20", .field_selector = "metadata.name=" + b.name},
       {}},
  };
  for (const auto& test : cases) {
    const auto list = objects_->list(kConfigMap, test.options);
    ASSERT_TRUE(list) << test.name << ": " << list.error().message();
    EXPECT_EQ(names(*list), test.expected) << test.name;
    EXPECT_FALSE(list->resource_version.empty()) << test.name;
    for (const auto& object : list->items) {
      EXPECT_EQ(json::parse(object.json)["kind"], "ConfigMap") << test.name;
    }
  }
  // From the server's own cache, which may not know them yet.
  EXPECT_TRUE(objects_->list(kConfigMap, {.ns = "default", .not_before = "0"}));
  EXPECT_EQ(objects_
                ->list(kConfigMap, {.ns = "default", .not_before = "9000000000000000000"},
                       {std::chrono::seconds(1), {}})
                .error()
                .code,
            Code::kTimeout);
  EXPECT_EQ(objects_->list(kConfigMap, {.label_selector = "a=(b"}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(objects_->list(kConfigMap, {.field_selector = "data.k=1"}).error().code,
            Code::kInvalidArgument);
}

// Runs a watch on its own thread and keeps its events.
class Watcher {
 public:
  Watcher(Objects& objects, const Kind& kind, WatchOptions options)
      : thread_([this, &objects, kind, options = std::move(options)](const std::stop_token& stop) {
          end_ = objects.watch(
              kind, options, [this](WatchEvent event) { note(std::move(event)); }, stop);
          ended_ = true;
        }) {}

  // "open", "added NAME", ... without bookmarks.
  std::vector<std::string> told() const {
    const std::scoped_lock lock(mutex_);
    return told_;
  }
  bool ended() const { return ended_; }
  Result<WatchEnd> stop() {
    thread_.request_stop();
    return end();
  }
  Result<WatchEnd> end() {
    if (thread_.joinable()) thread_.join();
    return end_;
  }

 private:
  void note(WatchEvent event) {
    constexpr auto kNames = std::to_array<const char*>({"added", "modified", "deleted"});
    const std::scoped_lock lock(mutex_);
    if (event.type != WatchEventType::kBookmark) {
      told_.push_back(fmt::format("{} {}", kNames.at(static_cast<std::size_t>(event.type)),
                                  event.object.key.name));
    } else if (told_.empty()) {
      told_.emplace_back("open");
    }
  }

  mutable std::mutex mutex_;
  std::vector<std::string> told_;
  Result<WatchEnd> end_ = WatchEnd::kClosed;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;
};

TEST_P(ObjectsContract, WatchGoesOnFromAVersion) {
  const auto a = name("a");
  const auto b = name("b");
  create(a, {{"k", "1"}});
  const auto list = objects_->list(kConfigMap, ours());
  ASSERT_TRUE(list);
  // Before the watch begins: it must be reported all the same.
  ASSERT_TRUE(objects_->patch(kConfigMap, a, {.json = R"({"data":{"k":"2"}})"}));
  Watcher watcher(*objects_, kConfigMap, {ours(), list->resource_version});
  ASSERT_TRUE(eventually([&] { return watcher.told().size() == 2; }));
  create(b, {});
  ASSERT_TRUE(objects_->remove(kConfigMap, a));
  ASSERT_TRUE(eventually([&] { return watcher.told().size() == 4; }));
  EXPECT_THAT(watcher.told(),
              ElementsAre("open", "modified " + a.name, "added " + b.name, "deleted " + a.name));
  EXPECT_FALSE(watcher.ended());
  EXPECT_EQ(watcher.stop(), WatchEnd::kStopped);
}

TEST_P(ObjectsContract, WhatLeavesTheSelectionIsDeletedFromTheWatch) {
  const auto a = name("a");
  create(a, {});
  auto selection = ours();
  selection.label_selector += ",gpu=l20";
  const auto list = objects_->list(kConfigMap, selection);
  ASSERT_TRUE(list);
  EXPECT_THAT(list->items, IsEmpty());
  Watcher watcher(*objects_, kConfigMap, {selection, list->resource_version});
  const auto label = [&](const char* value) {
    return objects_->patch(
        kConfigMap, a, {.json = fmt::format(R"({{"metadata":{{"labels":{{"gpu":{}}}}}}})", value)});
  };
  ASSERT_TRUE(label("\"l20\""));
  ASSERT_TRUE(label("\"t4\""));
  ASSERT_TRUE(label("\"l20\""));
  ASSERT_TRUE(label("null"));
  ASSERT_TRUE(eventually([&] { return watcher.told().size() == 5; }));
  EXPECT_THAT(watcher.told(), ElementsAre("open", "added " + a.name, "deleted " + a.name,
                                          "added " + a.name, "deleted " + a.name));
}

TEST_P(ObjectsContract, WatchOfAVersionThatIsTooOld) {
  create(name("a"), {});
  if (fake_ != nullptr) fake_->compact();
  std::stop_source source;
  const auto end = objects_->watch(
      kConfigMap, {ours(), "1"},
      [&](const WatchEvent& event) {
        // Otherwise it would never end.
        if (event.type != WatchEventType::kBookmark) source.request_stop();
      },
      source.get_token());
  ASSERT_TRUE(end) << end.error().message();
  if (fake_ == nullptr && *end == WatchEnd::kStopped) {
    GTEST_SKIP() << "this API server is so young that it remembers its first version";
  }
  EXPECT_EQ(*end, WatchEnd::kExpired);
}

TEST_P(ObjectsContract, StoppedBeforeItBegan) {
  std::stop_source source;
  source.request_stop();
  const auto key = name("a");
  create(key, {});
  EXPECT_FALSE(objects_->get(kConfigMap, key, {.stop = source.get_token()}));
  EXPECT_EQ(objects_->watch(
                kConfigMap, {}, [](const WatchEvent&) {}, source.get_token()),
            WatchEnd::kStopped);
}

TEST_P(ObjectsContract, KindThatIsNotServed) {
  constexpr Kind kNothing{"tranche.dev", "v1", "nothings", "Nothing", true};
  if (fake_ != nullptr) fake_->serve(kNothing, false);
  EXPECT_EQ(objects_->list(kNothing, {}).error().code, Code::kNotFound);
  EXPECT_EQ(objects_->get(kNothing, {"default", "a"}).error().code, Code::kNotFound);
  EXPECT_EQ(objects_->watch(kNothing, {}, [](const WatchEvent&) {}, {}).error().code,
            Code::kNotFound);
}

TEST_P(ObjectsContract, NodeAndItsStatus) {
  const auto key = name("node", kNode);
  const auto body = json{{"apiVersion", "v1"},
                         {"kind", "Node"},
                         {"metadata", {{"name", key.name}, {"labels", {{"run", run_}}}}},
                         {"spec", {{"unschedulable", true}}}}
                        .dump();
  ASSERT_TRUE(objects_->create(kNode, "", body));
  const auto condition = [&](const char* type, const char* status) {
    return objects_->patch(
        kNode, key,
        {PatchType::kStrategic,
         fmt::format(R"({{"status":{{"conditions":[{{"type":"{}","status":"{}"}}]}}}})", type,
                     status),
         "status"});
  };
  ASSERT_TRUE(condition("TrancheReady", "False"));
  ASSERT_TRUE(condition("Other", "True"));
  ASSERT_TRUE(condition("TrancheReady", "True"));
  // A patch of the object does not reach its status, nor the other way round.
  ASSERT_TRUE(objects_->patch(kNode, key, {.json = R"({"status":{"conditions":null}})"}));
  ASSERT_TRUE(objects_->patch(
      kNode, key, {.json = R"({"spec":{"unschedulable":false}})", .subresource = "status"}));
  const auto object = objects_->get(kNode, key);
  ASSERT_TRUE(object);
  const auto node = parse_node(object->json);
  ASSERT_TRUE(node) << node.error().message();
  StringMap conditions;
  for (const auto& known : node->conditions) conditions.emplace(known.type, known.status);
  EXPECT_EQ(conditions, (StringMap{{"Other", "True"}, {"TrancheReady", "True"}}));
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->labels.at("run"), run_);
}

// As kubelet writes them, so a right to nodes/status is enough.
TEST_P(ObjectsContract, LabelsAndAnnotationsOfANodeAreWrittenWithItsStatus) {
  const auto key = name("node", kNode);
  const json body = {
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", {{"name", key.name}, {"annotations", {{"example.com/other", "stays"}}}}}};
  ASSERT_TRUE(objects_->create(kNode, "", body.dump()));
  const auto patched = [&](const char* metadata) {
    const auto object = objects_->patch(
        kNode, key,
        {.json = fmt::format(R"({{"metadata":{}}})", metadata), .subresource = "status"});
    EXPECT_TRUE(object) << object.error().message();
    return parse_node(objects_->get(kNode, key).value().json).value();
  };
  auto node = patched(
      R"({"labels":{"tranche.dev/evict-requests":"open"},"annotations":{"tranche.dev/evict-requests":"x"}})");
  EXPECT_EQ(node.labels.at("tranche.dev/evict-requests"), "open");
  EXPECT_EQ(node.annotations.at("tranche.dev/evict-requests"), "x");
  node = patched(
      R"({"labels":{"tranche.dev/evict-requests":null},"annotations":{"tranche.dev/evict-requests":null}})");
  EXPECT_FALSE(node.labels.contains("tranche.dev/evict-requests"));
  EXPECT_FALSE(node.annotations.contains("tranche.dev/evict-requests"));
  EXPECT_EQ(node.annotations.at("example.com/other"), "stays");
}

TEST_P(ObjectsContract, APodIsEvictedIfItIsTheOneThatIsMeant) {
  const auto key = name("pod", kPod);
  const json body = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", key.name}, {"namespace", key.ns}}},
      {"spec", {{"containers", json::array({{{"name", "c"}, {"image", "none:1"}}})}}}};
  const auto made = objects_->create(kPod, key.ns, body.dump());
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(objects_->evict(key, "00000000-0000-0000-0000-00000000dead").error().code,
            Code::kFailedPrecondition);
  ASSERT_TRUE(objects_->get(kPod, key));
  const auto evicted = objects_->evict(key, made->uid);
  EXPECT_TRUE(evicted) << evicted.error().message();
  EXPECT_TRUE(eventually([&] {
    const auto now = objects_->get(kPod, key);
    return now ? parse_pod(now->json).value().deleting : now.error().code == Code::kNotFound;
  }));
  EXPECT_EQ(objects_->evict(name("gone", kPod), made->uid).error().code, Code::kNotFound);
}

TEST_P(ObjectsContract, LeaseIsTakenAndGivenUp) {
  Lease lease{name("leader", kLease)};
  lease.holder = "pod-1";
  lease.duration = std::chrono::seconds(15);
  lease.acquired = lease.renewed =
      std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto made = objects_->create(kLease, "default", to_json(lease));
  ASSERT_TRUE(made) << made.error().message();
  auto read = parse_lease(made->json);
  ASSERT_TRUE(read) << read.error().message();
  lease.uid = made->uid;
  lease.resource_version = made->resource_version;
  EXPECT_EQ(*read, lease);

  // Of two writers who saw the same version one succeeds.
  auto first = *read;
  first.holder = "pod-2";
  first.transitions = 1;
  auto second = *read;
  second.holder = "pod-3";
  const auto won = objects_->update(kLease, lease.key, to_json(first));
  ASSERT_TRUE(won) << won.error().message();
  EXPECT_EQ(objects_->update(kLease, lease.key, to_json(second)).error().code,
            Code::kFailedPrecondition);

  // Nobody holds it, and it has no duration.
  Lease given_up{lease.key};
  EXPECT_EQ(objects_->update(kLease, lease.key, to_json(given_up)).error().code,
            Code::kInvalidArgument)
      << "leases are only updated of a version";
  given_up.resource_version = won->resource_version;
  const auto free = objects_->update(kLease, lease.key, to_json(given_up));
  ASSERT_TRUE(free) << free.error().message();
  EXPECT_EQ(parse_lease(free->json)->holder, "");
}

TEST_P(ObjectsContract, EventIsMadeAndHappensAgain) {
  Event event;
  event.regarding = {"v1", "Node", "", "node-" + run_, "node-uid"};
  event.warning = true;
  event.reason = "ConfigRefused";
  event.action = "Configure";
  event.note = std::string(2000, 'n');
  event.reporter = "tranche.dev/agent";
  event.instance = "node-" + run_;
  event.time = std::chrono::system_clock::now();
  const auto key = key_of(event);
  made_.emplace_back(kEvent, key);
  const auto made = objects_->create(kEvent, key.ns, to_json(event));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->key, key);
  EXPECT_EQ(objects_->create(kEvent, key.ns, to_json(event)).error().code, Code::kAlreadyExists);
  const auto again =
      objects_->patch(kEvent, key, {.json = series_patch({2, std::chrono::system_clock::now()})});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(json::parse(again->json)["series"]["count"], 2);
}

TEST_P(ObjectsContract, NodeFeatureOfACustomResourceDefinition) {
  const ObjectKey definition{"", "nodefeatures.nfd.k8s-sigs.io"};
  const auto body = json::parse(R"({"apiVersion":"apiextensions.k8s.io/v1",
    "kind":"CustomResourceDefinition","metadata":{"name":"nodefeatures.nfd.k8s-sigs.io",
      "annotations":{"api-approved.kubernetes.io":"unapproved, for a test"}},
    "spec":{"group":"nfd.k8s-sigs.io","scope":"Namespaced",
      "names":{"kind":"NodeFeature","plural":"nodefeatures","singular":"nodefeature"},
      "versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":
        {"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  const auto defined = objects_->create(kCustomResourceDefinition, "", body.dump());
  if (defined) {
    made_.emplace_back(kCustomResourceDefinition, definition);
  } else {
    ASSERT_EQ(defined.error().code, Code::kAlreadyExists) << defined.error().message();
  }
  ASSERT_TRUE(eventually([&] { return objects_->list(kNodeFeature, {}).has_value(); }));

  NodeFeature feature{{"default", "nvidia-features-for-" + run_}};
  feature.node = run_;
  feature.labels = {{"nvidia.com/gpu.count", "1"}};
  Result<Object> made;
  // The definition may be listed before it can be written to.
  ASSERT_TRUE(eventually([&] {
    made = objects_->create(kNodeFeature, "default", to_json(feature));
    return made.has_value() || made.error().code != Code::kNotFound;
  }));
  ASSERT_TRUE(made) << made.error().message();
  auto read = parse_node_feature(made->json);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->labels, feature.labels);
  EXPECT_EQ(read->node, run_);
  read->labels["nvidia.com/gpu.count"] = "2";
  EXPECT_TRUE(objects_->update(kNodeFeature, read->key, to_json(*read)));
  const auto strategic =
      objects_->patch(kNodeFeature, read->key, {PatchType::kStrategic, R"({"spec":{}})"});
  EXPECT_EQ(strategic.error().code, Code::kUnsupported) << strategic.error().message();
  EXPECT_TRUE(objects_->apply(
      kNodeFeature, read->key,
      {.json = to_json(NodeFeature{.key = read->key, .node = run_, .labels = {{"a", "b"}}}),
       .force = true}));
  EXPECT_TRUE(objects_->remove(kNodeFeature, read->key));
}

TEST_P(ObjectsContract, ModifyByTwoLosesNothing) {
  const auto key = name("a");
  create(key, {{"n", "0"}});
  const auto add = [&] {
    for (int i = 0; i < 5; ++i) {
      const auto done = modify(*objects_, kConfigMap, key,
                               [](const Object& now) -> Result<std::optional<std::string>> {
                                 ASSIGN_OR_RETURN(auto map, parse_config_map(now.json));
                                 map.data["n"] = std::to_string(std::stoi(map.data["n"]) + 1);
                                 return to_json(map);
                               });
      EXPECT_TRUE(done) << done.error().message();
    }
  };
  {
    const std::jthread other(add);
    add();
  }
  EXPECT_EQ(data_now(key).at("n"), "10");
}

TEST_P(ObjectsContract, CacheFollows) {
  const auto a = name("a");
  const auto b = name("b");
  const auto c = name("c");
  const auto d = name("d");
  create(a, {{"k", "1"}});
  create(b, {});
  create(c, {});
  test::LogRecorder log;
  WatchCache::Options options{.kind = kConfigMap, .selection = ours()};
  const WatchCache cache(*objects_, options, {}, log.log());
  ASSERT_TRUE(eventually([&] { return cache.synced(); }));
  EXPECT_EQ(cache.all().size(), 3U) << "two pages";
  ASSERT_TRUE(objects_->patch(kConfigMap, a, {.json = R"({"data":{"k":"2"}})"}));
  ASSERT_TRUE(objects_->remove(kConfigMap, b));
  create(d, {});
  ASSERT_TRUE(eventually([&] { return cache.find(d).has_value(); }));
  EXPECT_THAT(cache.find(a)->json, HasSubstr(R"("k":"2")"));
  EXPECT_THAT(cache.find(a)->json, testing::Not(HasSubstr("managedFields")));
  EXPECT_FALSE(cache.find(b));
  EXPECT_THAT(log.lines(), IsEmpty());
}

// Only a real API server has RBAC, admission and limits.
class RealApiServer : public ObjectsContract {};

TEST_P(RealApiServer, WhatItRefusesIsSaid) {
  const auto bad = objects_->create(kConfigMap, "default", text({"default", "A_b"}, {}));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalidArgument);
  EXPECT_THAT(bad.error().what, HasSubstr("create configmaps in namespace default: 422"));
  const auto nowhere = objects_->create(kConfigMap, "nowhere", text({"nowhere", "a"}, {}));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::kNotFound);
  EXPECT_THAT(nowhere.error().what, HasSubstr("namespaces \"nowhere\" not found"));
  const auto big = objects_->create(kConfigMap, "default",
                                    text({"default", "big"}, {{"k", std::string(3 << 20, 'x')}}));
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code, Code::kInvalidArgument) << big.error().message();
}

TEST_P(RealApiServer, MissingRulesAreNamed) {
  const auto* const kubeconfig = std::getenv(kPowerlessKubeconfig);
  if (kubeconfig == nullptr) GTEST_SKIP() << kPowerlessKubeconfig << " is not set";
  const auto powerless = open(kubeconfig);
  const auto hint = [](const auto& result) {
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kPermission);
    return result ? std::string() : result.error().hint;
  };
  const ObjectKey key{"default", "a"};
  EXPECT_THAT(hint(powerless->get(kConfigMap, key)),
              HasSubstr("grant get on configmaps (or on a alone) in namespace default to "));
  EXPECT_THAT(hint(powerless->list(kConfigMap, {})),
              HasSubstr("grant list on configmaps in all the cluster to "));
  EXPECT_THAT(hint(powerless->create(kLease, "default", to_json(Lease{{"default", "a"}}))),
              HasSubstr("grant create on leases of coordination.k8s.io in namespace default to "));
  EXPECT_THAT(hint(powerless->patch(kNode, {"", "n"}, {.json = "{}", .subresource = "status"})),
              HasSubstr("grant patch on nodes/status (or on n alone) in all the cluster to "));
  EXPECT_THAT(hint(powerless->watch(kPod, {}, [](const WatchEvent&) {}, {})),
              HasSubstr("grant watch on pods in all the cluster to "));
  EXPECT_THAT(hint(powerless->remove(kNode, {"", "n"})),
              HasSubstr("grant delete on nodes (or on n alone) in all the cluster to "));
}

std::string param_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

std::vector<std::string> servers() {
  if (std::getenv(kKubeconfig) == nullptr) return {"fake"};
  return {"fake", "real"};
}
std::vector<std::string> real_servers() {
  if (std::getenv(kKubeconfig) == nullptr) return {};
  return {"real"};
}

INSTANTIATE_TEST_SUITE_P(Objects, ObjectsContract, testing::ValuesIn(servers()), param_name);
INSTANTIATE_TEST_SUITE_P(Objects, RealApiServer, testing::ValuesIn(real_servers()), param_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealApiServer);

}  // namespace
}  // namespace tranche::cluster::objects_contract_test
