#include "agent/grants/grant_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <span>
#include <thread>
#include <utility>

#include "support/fake_clock.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::grant_store_test {
namespace {

offer::Grant grant_of(std::vector<std::string> ids,
                      const std::string& resource = "nvidia.com/gpu") {
  offer::Grant grant;
  grant.resource = {resource};
  grant.envs["NVIDIA_VISIBLE_DEVICES"] = ids.front();
  grant.ids = std::move(ids);
  return grant;
}

std::vector<std::string> first_ids(const GrantStore& store) {
  std::vector<std::string> ids;
  for (const auto& record : store.all()) ids.push_back(record.grant.ids.front());
  std::ranges::sort(ids);
  return ids;
}

class GrantStoreTest : public testing::Test {
 protected:
  std::unique_ptr<GrantStore> open() {
    auto store = GrantStore::open(dir_.path() / "grants", clock_, log_.log());
    EXPECT_TRUE(store) << store.error().what;
    return *std::move(store);
  }
  FsRoot fs() const { return FsRoot(dir_.path() / "grants"); }
  // Kubelet gives the same answer twice.
  void prune(GrantStore& store, const std::vector<cluster::HeldDevices>& held) {
    store.prune({.listed = held, .remembered = held});
    clock_.advance(kAgree);
    store.prune({.listed = held, .remembered = held});
  }

  test::TempDir dir_;
  test::FakeClock clock_;
  test::LogRecorder log_;
};

TEST_F(GrantStoreTest, RestoresWhatWasAdded) {
  std::vector<offer::GrantRecord> before;
  {
    const auto store = open();
    ASSERT_TRUE(store->add(grant_of({"GPU-a::0", "GPU-a::1"})));
    ASSERT_TRUE(store->add(grant_of({"GPU-b::0"})));
    before = store->all();
  }
  EXPECT_EQ(open()->all(), before);
}

TEST_F(GrantStoreTest, WhileItIsHandedOverBothAppendAndNeitherDrops) {
  const auto before = open();
  ASSERT_TRUE(before->add(grant_of({"GPU-a"})));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  before->share();
  const auto next =
      GrantStore::open(dir_.path() / "grants", clock_, log_.log(), {}, GrantStore::Writers::kTwo)
          .value();
  ASSERT_TRUE(before->add(grant_of({"GPU-b"})));
  ASSERT_TRUE(next->add(grant_of({"GPU-c"})));
  prune(*before, {});
  prune(*next, {});
  EXPECT_THAT(first_ids(*next), testing::ElementsAre("GPU-a", "GPU-c"));
  EXPECT_EQ(open()->all().size(), 3U) << "the file lacks none";
  const auto taken = next->own();
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->size(), 1U);
  EXPECT_THAT(taken->front().grant.ids, testing::ElementsAre("GPU-b"));
  EXPECT_THAT(first_ids(*next), testing::ElementsAre("GPU-a", "GPU-b", "GPU-c"));
  EXPECT_FALSE(next->is_shared());
}

TEST_F(GrantStoreTest, OfTwoThatHandOverTheLaterGrantOfAnIdStays) {
  const auto before = open();
  before->share();
  const auto next =
      GrantStore::open(dir_.path() / "grants", clock_, log_.log(), {}, GrantStore::Writers::kTwo)
          .value();
  ASSERT_TRUE(before->add(grant_of({"GPU-a", "GPU-b"})));
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(next->add(grant_of({"GPU-a"})));
  ASSERT_TRUE(next->own());
  EXPECT_THAT(first_ids(*next), testing::ElementsAre("GPU-a"));
  EXPECT_EQ(next->all().front().grant.ids.size(), 1U);
}

TEST_F(GrantStoreTest, AnIdGrantedAnewReplacesItsOldRecord) {
  const auto store = open();
  ASSERT_TRUE(store->add(grant_of({"GPU-a::0"})));
  ASSERT_TRUE(store->add(grant_of({"GPU-a::0"}, "nvidia.com/gpu.shared")));
  ASSERT_TRUE(store->add(grant_of({"GPU-a::0"})));
  EXPECT_EQ(store->all().size(), 2U);
  EXPECT_EQ(open()->all().size(), 2U);
}

TEST_F(GrantStoreTest, PrunesOnlyWhatNobodyHoldsAndIsSettled) {
  const auto store = open();
  ASSERT_TRUE(store->add(grant_of({"GPU-held"})));
  ASSERT_TRUE(store->add(grant_of({"GPU-gone"})));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  ASSERT_TRUE(store->add(grant_of({"GPU-young"})));
  const std::vector<cluster::HeldDevices> held = {
      {"ns", "pod", "c", "nvidia.com/gpu", {"GPU-held"}},
      {"ns", "pod", "c", "nvidia.com/other", {"GPU-gone"}},
  };
  prune(*store, held);
  EXPECT_EQ(first_ids(*store), (std::vector<std::string>{"GPU-held", "GPU-young"}));
  EXPECT_EQ(first_ids(*open()), (std::vector<std::string>{"GPU-held", "GPU-young"}));
}

// A disk that takes `left` more bytes of grants.jsonl until it is freed.
class FullDisk {
 public:
  FullDisk(const std::filesystem::path& file, std::size_t left) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{.rlim_cur = std::filesystem::file_size(file) + left,
                      .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  }
  ~FullDisk() {
    free();
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  void free() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

offer::Grant tenant_of_ids(const std::string& tenant, std::vector<std::string> ids) {
  auto grant = grant_of(std::move(ids));
  grant.tenant = tenant;
  return grant;
}

std::vector<std::string> tenants(const GrantStore& store) {
  std::vector<std::string> ids;
  for (const auto& record : store.all()) ids.emplace_back(record.grant.tenant);
  return ids;
}

using Names = std::vector<std::string>;

// Kubelet asks for an init container and the container before either starts.
TEST_F(GrantStoreTest, TheTenantsOfOnePodAreKeptTogether) {
  const auto store = open();
  ASSERT_TRUE(store->add(tenant_of_ids("init", {"GPU-a::0"})));
  clock_.advance(std::chrono::seconds(2));
  ASSERT_TRUE(store->add(tenant_of_ids("main", {"GPU-a::0", "GPU-a::1"})));
  EXPECT_EQ(tenants(*store), (Names{"init", "main"}));
  EXPECT_EQ(tenants(*open()), (Names{"init", "main"}));

  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  prune(*store, {{"ns", "pod", "c", "nvidia.com/gpu", {"GPU-a::0"}}});
  EXPECT_EQ(tenants(*store), (Names{"init", "main"}));
  // The next Pod gets one of their ids, so both are dropped.
  ASSERT_TRUE(store->add(tenant_of_ids("next", {"GPU-a::0", "GPU-a::2"})));
  EXPECT_EQ(tenants(*store), (Names{"next"}));
  EXPECT_EQ(tenants(*open()), (Names{"next"}));
}

TEST_F(GrantStoreTest, ASupersededTenantGoesWithItsPod) {
  const auto store = open();
  ASSERT_TRUE(store->add(tenant_of_ids("init", {"GPU-a::0"})));
  ASSERT_TRUE(store->add(tenant_of_ids("main", {"GPU-a::0"})));
  ASSERT_TRUE(store->add(tenant_of_ids("other", {"GPU-a::1"})));
  clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
  prune(*store, {{"ns", "pod", "c", "nvidia.com/gpu", {"GPU-a::1"}}});
  EXPECT_EQ(tenants(*store), (Names{"other"}));
}

TEST_F(GrantStoreTest, ATornLineIsSetAsideAndReported) {
  {
    const auto store = open();
    ASSERT_TRUE(store->add(grant_of({"GPU-a"})));
    ASSERT_TRUE(store->add(grant_of({"GPU-b"})));
  }
  const auto text = fs().read("/grants.jsonl").value();
  ASSERT_TRUE(fs().write_atomic("/grants.jsonl", text.substr(0, text.size() - 10)));
  EXPECT_EQ(first_ids(*open()), std::vector<std::string>{"GPU-a"});
  EXPECT_EQ(log_.count("cannot be read"), 1);
  EXPECT_FALSE(fs().read("/rejected.jsonl").value().empty());
  EXPECT_EQ(first_ids(*open()), std::vector<std::string>{"GPU-a"});
  EXPECT_EQ(log_.count("cannot be read"), 1) << "reported once";
}

TEST_F(GrantStoreTest, ALastLineWithoutItsEndIsMended) {
  {
    const auto store = open();
    ASSERT_TRUE(store->add(grant_of({"GPU-a"})));
  }
  const auto text = fs().read("/grants.jsonl").value();
  ASSERT_TRUE(fs().write_atomic("/grants.jsonl", text.substr(0, text.size() - 1)));
  ASSERT_TRUE(open()->add(grant_of({"GPU-b"})));
  EXPECT_EQ(first_ids(*open()), (std::vector<std::string>{"GPU-a", "GPU-b"}));
  EXPECT_EQ(log_.count("cannot be read"), 0);
}

TEST_F(GrantStoreTest, TheFileStaysBounded) {
  const auto store = open();
  for (int i = 0; i < 9000; ++i) {
    ASSERT_TRUE(store->add(grant_of({"GPU-" + std::to_string(i % 4)})));
  }
  EXPECT_EQ(store->all().size(), 4U);
  const auto text = fs().read("/grants.jsonl").value();
  EXPECT_LT(std::ranges::count(text, '\n'), 4200);
}

using Step = GrantFile::Step;
using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

struct AtStep {
  const char* name;
  Step step;
};
constexpr AtStep kReplacementSteps[] = {
    {"Create", Step::kCreate},   {"Fill", Step::kFill},     {"Sync", Step::kSync},
    {"CatchUp", Step::kCatchUp}, {"Rename", Step::kRename}, {"Renamed", Step::kRenamed},
};

class GrantStoreReplaced : public GrantStoreTest, public testing::WithParamInterface<AtStep> {
 protected:
  // Opens a store with the grants GPU-gone and GPU-held; then prune() replaces the file.
  std::unique_ptr<GrantStore> open_with(GrantFile::OnStep on_step) {
    {
      const auto store = open();
      EXPECT_TRUE(store->add(grant_of({"GPU-gone"})));
      EXPECT_TRUE(store->add(grant_of({"GPU-held"})));
    }
    clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
    auto store = GrantStore::open(dir_.path() / "grants", clock_, log_.log(), std::move(on_step));
    EXPECT_TRUE(store);
    return *std::move(store);
  }
  void prune_all_but_held(GrantStore& store) {
    prune(store, {{"ns", "pod", "c", "nvidia.com/gpu", {"GPU-held"}}});
  }
  std::vector<std::string> after_a_kill() {
    const auto copy = dir_.path() / ("copy" + std::to_string(copies_++));
    std::filesystem::copy(dir_.path() / "grants", copy, std::filesystem::copy_options::recursive);
    const auto store = GrantStore::open(copy, clock_, log_.log()).value();
    EXPECT_FALSE(store->incomplete());
    return first_ids(*store);
  }
  std::size_t files() const { return fs().list("/").value().size(); }

 private:
  int copies_ = 0;
};

// A killed agent loses nothing between any two steps, and one whose disk hangs there still answers.
// A line is remembered (kSync), so there is something to catch up with.
TEST_P(GrantStoreReplaced, AGrantNeitherWaitsNorIsLost) {
  std::promise<void> reached;
  std::promise<void> disk;
  GrantStore* opened = nullptr;
  bool first = true;
  const auto store = open_with([&](Step step) -> Result<void> {
    if (step == Step::kSync) {
      EXPECT_TRUE(opened->add(grant_of({"GPU-late"})));
    }
    if (step != GetParam().step || !std::exchange(first, false)) return {};
    reached.set_value();
    disk.get_future().wait();
    return {};
  });
  opened = store.get();
  std::jthread pruner([&] { prune_all_but_held(*store); });
  reached.get_future().wait();
  EXPECT_TRUE(store->add(grant_of({"GPU-new"}))) << "while the pruner's disk hangs";
  EXPECT_TRUE(store->add(grant_of({"GPU-held"}, "nvidia.com/gpu.shared")));
  const auto restored = after_a_kill();
  EXPECT_THAT(restored, IsSupersetOf(first_ids(*store)));
  disk.set_value();
  pruner.join();
  ASSERT_TRUE(store->add(grant_of({"GPU-last"})));
  EXPECT_EQ(first_ids(*store),
            (std::vector<std::string>{"GPU-held", "GPU-held", "GPU-last", "GPU-late", "GPU-new"}));
  EXPECT_EQ(after_a_kill(), first_ids(*store));
  EXPECT_EQ(files(), 1U) << "no temporary file is left";
}

class GrantStoreNotReplaced : public GrantStoreReplaced {};

TEST_P(GrantStoreNotReplaced, WhatFailsLosesNothingAndIsTriedAgain) {
  GrantStore* opened = nullptr;
  bool fails = true;
  const auto store = open_with([&](Step step) -> Result<void> {
    if (step == Step::kSync && fails) {
      EXPECT_TRUE(opened->add(grant_of({"GPU-late"})));
    }
    if (step == GetParam().step && fails) return fail(Code::kUnavailable, "no space left");
    return {};
  });
  opened = store.get();
  prune_all_but_held(*store);
  prune_all_but_held(*store);
  EXPECT_EQ(log_.count("no space left"), 1) << "told once";
  ASSERT_TRUE(store->add(grant_of({"GPU-new"})));
  const auto restored = after_a_kill();
  EXPECT_THAT(restored, IsSupersetOf(first_ids(*store)));
  EXPECT_THAT(restored, Contains("GPU-gone")) << "the file is what it was";
  EXPECT_EQ(files(), 1U) << "no temporary file is left";
  fails = false;
  prune_all_but_held(*store);
  EXPECT_EQ(after_a_kill(), first_ids(*store));
  EXPECT_THAT(first_ids(*store), Not(Contains("GPU-gone")));
}

std::string name_of(const testing::TestParamInfo<AtStep>& at) { return at.param.name; }
INSTANTIATE_TEST_SUITE_P(Steps, GrantStoreReplaced, testing::ValuesIn(kReplacementSteps), name_of);
INSTANTIATE_TEST_SUITE_P(Steps, GrantStoreNotReplaced,
                         testing::ValuesIn(std::span(kReplacementSteps).first<5>()), name_of);

TEST_F(GrantStoreTest, AGrantWaitsForNoOthersWrite) {
  std::promise<void> reached;
  std::promise<void> disk;
  std::atomic<bool> first = true;
  const auto store =
      GrantStore::open(dir_.path() / "grants", clock_, log_.log(), [&](Step) -> Result<void> {
        if (!first.exchange(false)) return {};
        reached.set_value();
        disk.get_future().wait();
        return {};
      }).value();
  std::jthread other([&] { EXPECT_TRUE(store->add(grant_of({"GPU-a::0"}))); });
  reached.get_future().wait();
  EXPECT_TRUE(store->add(grant_of({"GPU-a::1"})));
  // The same id again, which kubelet never does: second in the file, as in memory.
  std::jthread again([&] { EXPECT_TRUE(store->add(tenant_of_ids("again", {"GPU-a::0"}))); });
  EXPECT_EQ(store->all().size(), 2U);
  disk.set_value();
  other.join();
  again.join();
  EXPECT_EQ(tenants(*store), (Names{"", "again"}));
  EXPECT_EQ(tenants(*open()), (Names{"", "again"}));
}

TEST_F(GrantStoreTest, AGrantThatCannotBeWrittenIsNotRecorded) {
  bool fails = false;
  const auto store =
      GrantStore::open(dir_.path() / "grants", clock_, log_.log(), [&](Step) -> Result<void> {
        if (fails) return fail(Code::kUnavailable, "disk");
        return {};
      }).value();
  ASSERT_TRUE(store->add(grant_of({"GPU-a"})));
  fails = true;
  EXPECT_FALSE(store->add(tenant_of_ids("t", {"GPU-b"})));
  fails = false;
  ASSERT_TRUE(store->add(grant_of({"GPU-c"})));
  EXPECT_EQ(first_ids(*store), (Names{"GPU-a", "GPU-c"}));
  EXPECT_EQ(first_ids(*open()), (Names{"GPU-a", "GPU-c"}));
}

// As NVIDIA's plugin does, which stores nothing.
TEST_F(GrantStoreTest, AGrantWithoutLimitsIsAnsweredOnAFullDiskAndStoredLater) {
  const auto store = open();
  ASSERT_TRUE(store->add(grant_of({"GPU-a"})));
  {
    const FullDisk disk(dir_.path() / "grants" / "grants.jsonl", 10);
    EXPECT_TRUE(store->add(grant_of({"GPU-b"})));
    EXPECT_TRUE(store->add(grant_of({"GPU-c"})));
    store->save();
    EXPECT_FALSE(store->standing());
    EXPECT_EQ(first_ids(*store), (Names{"GPU-a", "GPU-b", "GPU-c"}));
    EXPECT_EQ(log_.lines().size(), 1U) << "said once";
    EXPECT_EQ(log_.count("grants are not stored: write"), 1);
  }
  store->save();
  EXPECT_TRUE(store->standing());
  EXPECT_EQ(log_.count("grants are stored again"), 1);
  EXPECT_EQ(first_ids(*open()), (Names{"GPU-a", "GPU-b", "GPU-c"}));
}

TEST_F(GrantStoreTest, OnAFullDiskThereIsNothingWrongWithWhatIsStored) {
  {
    ASSERT_TRUE(open()->add(grant_of({"GPU-a"})));
  }
  const auto file = dir_.path() / "grants" / "grants.jsonl";
  const auto good = fs().read("/grants.jsonl").value();
  ASSERT_TRUE(fs().write_atomic("/grants.jsonl", good + "torn"));
  {
    const FullDisk disk(file, 0);
    rlimit none{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &none), 0);
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    const auto store = open();
    EXPECT_EQ(first_ids(*store), Names{"GPU-a"});
    EXPECT_TRUE(store->incomplete());
    EXPECT_EQ(fs().read("/grants.jsonl").value(), good + "torn") << "nothing is lost";
  }
  const auto store = open();
  EXPECT_EQ(fs().read("/rejected.jsonl").value(), "torn\n");
  EXPECT_EQ(fs().read("/grants.jsonl").value(), good);
}

TEST_F(GrantStoreTest, ALineThatAFullDiskCutsOffLeavesNothing) {
  const auto store = open();
  ASSERT_TRUE(store->add(grant_of({"GPU-a"})));
  {
    const FullDisk disk(dir_.path() / "grants" / "grants.jsonl", 10);
    EXPECT_FALSE(store->add(tenant_of_ids("b", {"GPU-b"})));
  }
  EXPECT_EQ(first_ids(*store), Names{"GPU-a"});
  EXPECT_FALSE(open()->incomplete()) << "as if it had been killed now";
  ASSERT_TRUE(store->add(grant_of({"GPU-c"})));
  const auto again = open();
  EXPECT_EQ(first_ids(*again), (Names{"GPU-a", "GPU-c"}));
  EXPECT_FALSE(again->incomplete());
  EXPECT_EQ(log_.count("cannot be read"), 0);
}

// The disk gets room between the cut-off write and its repair.
TEST_F(GrantStoreTest, AGrantWrittenBehindACutOffLineIsALineOfItsOwn) {
  {
    ASSERT_TRUE(open()->add(grant_of({"GPU-a"})));
  }
  GrantStore* opened = nullptr;
  FullDisk* disk = nullptr;
  const auto store =
      GrantStore::open(dir_.path() / "grants", clock_, log_.log(), [&](Step step) -> Result<void> {
        if (step != Step::kCutOff) return {};
        disk->free();
        EXPECT_TRUE(opened->add(grant_of({"GPU-c"})));
        return {};
      }).value();
  opened = store.get();
  FullDisk full(dir_.path() / "grants" / "grants.jsonl", 10);
  disk = &full;
  EXPECT_FALSE(store->add(tenant_of_ids("b", {"GPU-b"})));
  const auto again = open();
  EXPECT_EQ(first_ids(*again), (Names{"GPU-a", "GPU-c"}));
  EXPECT_FALSE(again->incomplete());
}

TEST_F(GrantStoreTest, ManyAddWhileOthersPrune) {
  constexpr int kThreads = 4;
  constexpr int kGrants = 50;
  const auto store = open();
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kGrants; ++i) {
        EXPECT_TRUE(store->add(grant_of({"GPU-x::" + std::to_string(thread)})));
        EXPECT_TRUE(store->add(grant_of({fmt::format("GPU-{}::{}", thread, i)})));
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(store->add(grant_of({"GPU-old"})));
    clock_.advance(GrantStore::kSettle + std::chrono::seconds(1));
    std::vector<cluster::HeldDevices> holders;
    for (const auto& record : store->all()) {
      if (record.grant.ids.front() == "GPU-old") continue;
      holders.push_back({"ns", "pod", "c", record.grant.resource.value, record.grant.ids});
    }
    prune(*store, holders);
  }
  threads.clear();
  EXPECT_EQ(open()->all().size(), store->all().size());
  EXPECT_EQ(first_ids(*open()), first_ids(*store));
}

TEST_F(GrantStoreTest, AFolderThatCannotBeMadeIsTriedAgain) {
  const FsRoot root(dir_.path());
  ASSERT_TRUE(root.write_atomic("/file", "x"));
  const auto dir = dir_.path() / "file" / "grants";
  const auto store = GrantStore::open(dir, clock_, log_.log()).value();
  EXPECT_FALSE(store->standing());
  EXPECT_TRUE(store->add(grant_of({"GPU-a"})));
  EXPECT_FALSE(store->add(tenant_of_ids("t", {"GPU-b"})));
  EXPECT_EQ(log_.count("--state-dir"), 1);
  ASSERT_TRUE(root.remove("/file"));
  store->save();
  EXPECT_TRUE(store->standing());
  EXPECT_TRUE(store->add(tenant_of_ids("t", {"GPU-b"})));
  const auto again = GrantStore::open(dir, clock_, log_.log()).value();
  EXPECT_EQ(first_ids(*again), (Names{"GPU-a", "GPU-b"}));
}

TEST_F(GrantStoreTest, GrantsThatCannotBeReadAreAnError) {
  ASSERT_TRUE(fs().make_directories("/grants.jsonl"));
  EXPECT_FALSE(GrantStore::open(dir_.path() / "grants", clock_, log_.log()));
}

}  // namespace
}  // namespace tranche::agent::grant_store_test
