#include "agent/dra/claim_preparer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "agent/dra/testing.h"
#include "cdi/claim_spec.h"
#include "dra/pool.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/fake_pod_resources.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::claim_preparer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";
constexpr const char* kOther = "1b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1b";
constexpr const char* kShare = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f";
constexpr const char* kPodUid = "2b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1c";
const std::string kRecord = std::string(kUid) + ".json";
constexpr const char* kMpsResource = "nvidia.com/gpu";
constexpr const char* kShare2 = "8d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e00";

std::string claim_json(const std::string& name, const std::string& uid, const std::string& share,
                       int mib, int percent) {
  return fmt::format(
      R"({{"metadata": {{"namespace": "team", "name": "{}", "uid": "{}"}},
          "status": {{"allocation": {{"devices": {{"results": [
            {{"request": "gpu/l20", "driver": "gpu.nvidia.com", "pool": "gpu-n1", "device": "gpu-0",
              "shareID": "{}", "consumedCapacity": {{"memory": "{}Mi", "compute": "{}"}}}}]}}}}}}}})",
      name, uid, share, mib, percent);
}

class ClaimPreparerTest : public testing::Test {
 protected:
  ClaimPreparerTest() {
    book_.open(true);
    ClaimNode node;
    node.machine = test::machine_of({test::l20(0)});
    node.files.driver_version = "550.163.01";
    node.files.nodes = {{"/dev/nvidia0", {}}, {"/dev/nvidiactl", {}}};
    node.limits = offer::LimitMounts{"/lib.so", "/preload", "/tenants"};
    node.facts = {.driver = "gpu.nvidia.com", .node = "n1", .pool = "gpu-n1", .boot = "boot-1"};
    node_ = std::make_shared<const ClaimNode>(std::move(node));
    objects_.put(cluster::kResourceClaim, claim_json("half", kUid, kShare, 23034, 50));
    objects_.put(cluster::kResourceClaim, claim_json("other", kOther, kShare2, 23034, 50));
  }

  ClaimPreparer preparer() { return preparer(store_); }
  ClaimPreparer preparer(ClaimStore& store) {
    return ClaimPreparer(
        {.objects = drains_ ? nullptr : &objects_,
         .kubelet = kubelet_,
         .store = store,
         .book = book_,
         .node = [this] { return node_; },
         .listed = [this] { return listed_; },
         .make = {.add_tenant = [this](const std::string& id, const GrantLimits& limits,
                                       bool renewed) -> Result<void> {
                    if (disk_full_) return fail(Code::kIo, "disk full");
                    if (renewed) tenants_.erase(id);
                    tenants_.emplace(id, limits);
                    return {};
                  },
                  .remove_tenant = [this](const std::string& id) -> Result<void> {
                    if (disk_full_) return fail(Code::kIo, "disk full");
                    tenants_.erase(id);
                    return {};
                  },
                  .instances = maker_,
                  .cdi_root = cdi_,
                  .work =
                      drains_ ? ClaimMaker::Ports::Work::kUndoes : ClaimMaker::Ports::Work::kMakes,
                  .log = log_.log()},
         .pod = [this](const std::string& uid, auto /*end*/) { return pod_of(uid); },
         .changed = [this] { ++changes_; },
         .log = log_.log()},
        wait_);
  }
  std::optional<cluster::Pod> pod_of(const std::string& uid) const {
    return pod_ && pod_->uid == uid ? pod_ : std::nullopt;
  }
  void put_joint_claims() {
    const auto reserve = [](std::string claim) {
      constexpr std::string_view kStatus = R"("status": {)";
      claim.insert(
          claim.find(kStatus) + kStatus.size(),
          fmt::format(R"("reservedFor": [{{"resource": "pods", "name": "p", "uid": "{}"}}],)",
                      kPodUid));
      return claim;
    };
    objects_.put(cluster::kResourceClaim, reserve(claim_json("half", kUid, kShare, 10000, 50)));
    objects_.put(cluster::kResourceClaim, reserve(claim_json("other", kOther, kShare2, 5000, 10)));
    pod_ = cluster::Pod{.ns = "team",
                        .name = "p",
                        .uid = kPodUid,
                        .containers = {{.name = "main", .claims = {{"a"}, {"b"}}}},
                        .claims = {{"a", "half", "t"}, {"b", "other", "t"}}};
  }
  // MPS shares the GPU; its daemon serves unless there is a trouble.
  void share_by_mps(const std::string& trouble = "", const std::string& resource = kMpsResource) {
    auto node = *node_;
    const auto& uuid = node.machine.gpus[0].uuid.value;
    node.enforcers.gpus[uuid] = {.enforcer = MemoryEnforcer::kMps, .mps = resource};
    node.facts.mps = {{uuid, resource}};
    node.facts.mps_troubles.clear();
    if (!trouble.empty()) node.facts.mps_troubles = {{uuid, trouble}};
    node.mps = {{resource, {.open = true}}};
    node.mps_root = "/run/nvidia/mps";
    node_ = std::make_shared<const ClaimNode>(std::move(node));
  }
  void share_no_more_by_mps() {
    auto node = *node_;
    node.enforcers.gpus.clear();
    node.facts.mps.clear();
    node_ = std::make_shared<const ClaimNode>(std::move(node));
  }
  // "GPU-...=1000M"
  std::string limit(int mib) const {
    return fmt::format("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT={}={}M", node_->machine.gpus[0].uuid.value,
                       mib);
  }
  std::string file_text(const char* uid) const {
    return FsRoot().read(cdi_ / fmt::format("k8s.gpu.nvidia.com-claim-{}.json", uid)).value();
  }
  void reboot() {
    auto node = *node_;
    node.facts.boot = "boot-2";
    node_ = std::make_shared<const ClaimNode>(std::move(node));
  }
  // Cuts the record in two. Returns what it was.
  std::string damage(const std::string& uid) const {
    const auto file = claims_ / (uid + ".json");
    auto text = FsRoot().read(file).value();
    EXPECT_TRUE(FsRoot().write_atomic(file, text.substr(0, text.size() / 2)));
    return text;
  }
  std::vector<std::string> files() const { return cdi::claims_with_files(FsRoot(), cdi_).value(); }
  std::vector<std::string> records() const {
    auto names = FsRoot().list(claims_).value_or(std::vector<std::string>());
    std::erase(names, "lock");
    return names;
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  test::FakeObjects objects_;
  test::FakePodResources kubelet_;
  const std::filesystem::path claims_ = dir_.path() / "claims";
  const std::filesystem::path cdi_ = dir_.path() / "cdi";
  ClaimStore store_{claims_, log_.log()};
  test::FakeClock clock_;
  Book book_{clock_};
  int changes_ = 0;
  std::chrono::milliseconds wait_{0};                        // for a claim that is being undone
  std::optional<std::vector<cluster::SliceDevice>> listed_;  // nullopt: not known yet
  std::shared_ptr<const ClaimNode> node_;
  InstanceMaker* maker_ = nullptr;
  std::map<std::string, GrantLimits> tenants_;
  std::optional<cluster::Pod> pod_;
  bool disk_full_ = false;
  bool drains_ = false;  // an agent without --dra
};

const dra::ClaimName kHalf{"team", "half", kUid};

TEST_F(ClaimPreparerTest, AShareHasItsTenantItsFileAndItsRecordUntilItEnds) {
  auto driver = preparer();
  const auto prepared = driver.prepare(kHalf);
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ(prepared->devices.at(0).share_id, kShare);
  ASSERT_THAT(tenants_, ElementsAre(Pair(kShare, prepared->devices[0].limits.value())));
  EXPECT_THAT(files(), ElementsAre(kUid));
  const auto spec = nlohmann::json::parse(
      FsRoot().read(cdi_ / fmt::format("k8s.gpu.nvidia.com-claim-{}.json", kUid)).value());
  EXPECT_EQ(spec["devices"][0]["name"], fmt::format("{}-gpu-0-{}", kUid, kShare));
  EXPECT_THAT(spec["devices"][0].dump(), HasSubstr(fmt::format("/tenants/{}", kShare)));
  EXPECT_THAT(records(), ElementsAre(std::string(kUid) + ".json"));

  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(tenants_, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_TRUE(driver.unprepare(kHalf)) << "kubelet may ask again";
}

TEST_F(ClaimPreparerTest, TheKernelKeepsAShareAndTheRuntimesHookAsksFirst) {
  auto node = *node_;
  node.enforcers.gpus[node.machine.gpus[0].uuid.value] = {.enforcer = MemoryEnforcer::kKernel,
                                                          .hook = true};
  node.hook = cdi::Hook{.hook_name = "createRuntime", .path = "/state/hook/tranche-limit-hook"};
  node_ = std::make_shared<const ClaimNode>(std::move(node));
  ASSERT_TRUE(preparer().prepare(kHalf));
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).enforcer, MemoryEnforcer::kKernel);
  EXPECT_THAT(file_text(kUid), HasSubstr("/state/hook/tranche-limit-hook"));
  EXPECT_TRUE(cdi::is_in_a_claim_file(FsRoot(), cdi_, "/state/hook/tranche-limit-hook"));
  EXPECT_FALSE(cdi::is_in_a_claim_file(FsRoot(), cdi_, "/state/hook/other"));
}

// The scheduler of Kubernetes 1.36 gives the rest where some are in use.
TEST_F(ClaimPreparerTest, AClaimForAllGpusGetsAllOrNone) {
  auto claim = claim_json("half", kUid, kShare, 46068, 100);
  claim.insert(claim.find(R"("status")"), R"("spec": {"devices": {"requests": [{"name": "gpu",
      "firstAvailable": [{"name": "l20", "deviceClassName": "gpu.nvidia.com",
                          "allocationMode": "All"}]}]}}, )");
  objects_.put(cluster::kResourceClaim, claim);
  objects_.put(cluster::kDeviceClass, R"({"metadata": {"name": "gpu.nvidia.com"}, "spec": {}})");
  const auto early = preparer().prepare(kHalf);
  ASSERT_FALSE(early) << "what the node has is not known yet";
  EXPECT_EQ(early.error().code, Code::kUnavailable);

  const auto two = test::machine_of({test::l20(0), test::l20(1)});
  listed_ = dra::make_pool(two, {.shares = true}).gpus;
  const auto some = preparer().prepare(kHalf);
  ASSERT_FALSE(some);
  EXPECT_THAT(some.error().message(), HasSubstr("request gpu/l20 asks for all devices, and the "
                                                "scheduler left out gpu-1"));
  EXPECT_THAT(records(), IsEmpty());

  listed_ = dra::make_pool(node_->machine, {.shares = true}).gpus;
  EXPECT_TRUE(preparer().prepare(kHalf));
}

// Kubelet forgets, the agent restarts, the claim's status changes: the answer stays the same.
TEST_F(ClaimPreparerTest, TheSameClaimAgainGivesTheSame) {
  const auto first = preparer().prepare(kHalf).value();
  objects_.put(cluster::kResourceClaim, claim_json("half", kUid, kShare2, 1024, 10));
  ClaimStore other(claims_, log_.log());
  auto again = preparer(other);
  EXPECT_EQ(again.prepare(kHalf).value(), first);
  objects_.erase(cluster::kResourceClaim, {"team", "half"});
  EXPECT_EQ(again.prepare(kHalf).value(), first) << "not even the object is needed";
}

TEST_F(ClaimPreparerTest, WhatACrashLeftIsMadeByTheNextCall) {
  auto driver = preparer();
  disk_full_ = true;
  const auto failed = driver.prepare(kHalf);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().what, HasSubstr("disk full"));
  EXPECT_THAT(records(), SizeIs(1)) << "stored first";
  EXPECT_THAT(files(), IsEmpty());
  disk_full_ = false;
  ASSERT_TRUE(driver.prepare(kHalf));
  EXPECT_THAT(files(), SizeIs(1));
  EXPECT_THAT(tenants_, SizeIs(1));

  disk_full_ = true;
  EXPECT_FALSE(driver.unprepare(kHalf));
  EXPECT_THAT(records(), SizeIs(1)) << "the record goes last";
  disk_full_ = false;
  EXPECT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(ClaimPreparerTest, ASecondHalfFitsAndAThirdShareDoesNot) {
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  ASSERT_TRUE(driver.prepare({"team", "other", kOther}));
  constexpr const char* kThird = "2b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1c";
  objects_.put(cluster::kResourceClaim,
               claim_json("third", kThird, "9d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e00", 1024, 1));
  const auto third = driver.prepare({"team", "third", kThird});
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().what, HasSubstr("gpu-0 is held by claim team/"));
  EXPECT_THAT(records(), SizeIs(2));
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_TRUE(driver.prepare({"team", "third", kThird}));
}

// During a handover two agents run: one may undo what the other prepared.
TEST_F(ClaimPreparerTest, AnotherAgentSeesWhatThisOneDid) {
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  ClaimStore theirs(claims_, log_.log());
  EXPECT_THAT(theirs.lock().value().all().value(), SizeIs(1));
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(theirs.lock().value().all().value(), IsEmpty());
}

TEST_F(ClaimPreparerTest, RefusesAClaimThatIsAnotherOrGone) {
  auto driver = preparer();
  const auto anew = driver.prepare({"team", "half", kOther});
  ASSERT_FALSE(anew);
  EXPECT_THAT(anew.error().what, HasSubstr("made anew since"));
  const auto gone = driver.prepare({"team", "nobody", kUid});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  objects_.refuse("get", cluster::kResourceClaim, {Code::kUnavailable, "away"}, 1);
  EXPECT_EQ(driver.prepare(kHalf).error().code, Code::kUnavailable);
  EXPECT_TRUE(driver.unprepare({"team", "half", "../../etc/passwd"}));
  EXPECT_THAT(records(), IsEmpty());
  node_ = nullptr;
  EXPECT_EQ(driver.prepare(kHalf).error().code, Code::kUnavailable);
}

// Kubelet fails the Pod with the error, rather than starting it without a GPU.
TEST_F(ClaimPreparerTest, AClaimOfAnotherNodeIsNotPreparedAsNothing) {
  auto elsewhere = claim_json("half", kUid, kShare, 23034, 50);
  elsewhere.replace(elsewhere.find("gpu-n1"), 6, "gpu-n2");
  objects_.put(cluster::kResourceClaim, elsewhere);
  const auto refused = preparer().prepare(kHalf);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("it is of pool gpu-n2, and this node, n1"));
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_TRUE(book_.claims().empty());
}

TEST_F(ClaimPreparerTest, AfterARebootNothingIsPrepared) {
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  const auto stray = cdi::ClaimFile{fmt::format("k8s.gpu.nvidia.com-claim-{}.json", kOther), "{}"};
  ASSERT_TRUE(cdi::write_claim_file(FsRoot(), cdi_, stray));
  ASSERT_TRUE(driver.restore());
  EXPECT_THAT(files(), ElementsAre(kUid)) << "the same boot; the stray file goes";
  reboot();
  ASSERT_TRUE(driver.restore());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_THAT(tenants_, IsEmpty());
  EXPECT_EQ(driver.prepare(kHalf).value().boot, "boot-2") << "kubelet asks for running Pods anew";
}

TEST_F(ClaimPreparerTest, ARecordOfAnotherBootIsReplaced) {
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  reboot();
  EXPECT_EQ(driver.prepare(kHalf).value().boot, "boot-2");
  EXPECT_THAT(records(), SizeIs(1));
}

// Kubelet prepares no claim of a running Pod again: its containers start anew from the CDI file.
TEST_F(ClaimPreparerTest, ADamagedRecordIsMadeAgainFromTheClaim) {
  const auto before = preparer().prepare(kHalf).value();
  const auto file = file_text(kUid);
  const auto record = damage(kUid);
  kubelet_.hold_claims({{"team", "p", "main", {"team", "half"}}});
  ClaimStore fresh(claims_, log_.log());
  auto driver = preparer(fresh);
  ASSERT_TRUE(driver.restore());
  EXPECT_THAT(book_.unreadable(), IsEmpty());
  EXPECT_THAT(book_.claims(), ElementsAre(before));
  EXPECT_EQ(file_text(kUid), file);
  EXPECT_EQ(FsRoot().read(claims_ / kRecord).value(), record);
  EXPECT_EQ(log_.count("cannot be read: torn"), 1);
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(tenants_, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(ClaimPreparerTest, WhileNobodyTellsWhatALostRecordHadItsFileStays) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  damage(kUid);
  ClaimStore fresh(claims_, log_.log());
  auto driver = preparer(fresh);
  kubelet_.go_away(true);
  EXPECT_FALSE(driver.restore()) << "and is tried again";
  EXPECT_FALSE(book_.restored()) << "so its GPU is given to nobody";
  kubelet_.go_away(false);
  ASSERT_TRUE(driver.restore()) << "a kubelet that has just started names none";
  EXPECT_THAT(book_.unreadable(), ElementsAre(kUid)) << "so no tenant is removed";
  EXPECT_THAT(files(), ElementsAre(kUid));
  EXPECT_THAT(records(), ElementsAre(kRecord));
  objects_.refuse("get", cluster::kResourceClaim, {Code::kUnavailable, "away"});
  EXPECT_FALSE(driver.unprepare(kHalf));
  EXPECT_THAT(files(), ElementsAre(kUid));
  objects_.recover();
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(tenants_, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(ClaimPreparerTest, OfALostClaimThatIsGoneNothingStays) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  damage(kUid);
  objects_.erase(cluster::kResourceClaim, {"team", "half"});
  ClaimStore fresh(claims_, log_.log());
  ASSERT_TRUE(preparer(fresh).restore());
  ASSERT_TRUE(preparer(fresh).unprepare(kHalf));
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
}

// After a downgrade: the newer release comes back and reads it.
TEST_F(ClaimPreparerTest, ARecordOfANewerReleaseStaysAndItsGpuIsHeld) {
  const auto before = preparer().prepare(kHalf).value();
  auto newer = FsRoot().read(claims_ / kRecord).value();
  newer.replace(newer.find("checkpoint/v1"), 13, "checkpoint/v2");
  ASSERT_TRUE(FsRoot().write_atomic(claims_ / kRecord, newer));
  kubelet_.hold_claims({{"team", "p", "main", {"team", "half"}}});
  ClaimStore fresh(claims_, log_.log());
  auto driver = preparer(fresh);
  ASSERT_TRUE(driver.restore());
  EXPECT_THAT(book_.claims(), ElementsAre(before));
  EXPECT_EQ(driver.prepare(kHalf).value(), before);
  EXPECT_EQ(FsRoot().read(claims_ / kRecord).value(), newer);
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(records(), IsEmpty());
}

// One that is there by mistake stops no other claim, and goes with its own.
TEST_F(ClaimPreparerTest, AFolderOrAFifoInPlaceOfARecordStopsNoOtherClaim) {
  const auto other = claims_ / (std::string(kOther) + ".json");
  for (const bool is_fifo : {false, true}) {
    ASSERT_TRUE(FsRoot().make_directories(is_fifo ? claims_ : other / "full"));
    if (is_fifo) {
      ASSERT_EQ(::mkfifo(other.c_str(), 0600), 0);
    }
    ClaimStore fresh(claims_, log_.log());
    auto driver = preparer(fresh);
    ASSERT_TRUE(driver.restore());
    ASSERT_TRUE(driver.prepare(kHalf));
    ASSERT_TRUE(driver.unprepare(kHalf));
    ASSERT_TRUE(driver.unprepare({"team", "other", kOther}));
    EXPECT_THAT(records(), IsEmpty());
  }
}

TEST_F(ClaimPreparerTest, AFileThatCannotBeRemovedStopsNoOtherClaim) {
  ASSERT_TRUE(FsRoot().make_directories(
      cdi_ / fmt::format("k8s.gpu.nvidia.com-claim-{}.json", kOther) / "full"));
  ASSERT_TRUE(preparer().restore());
  EXPECT_EQ(log_.count("cannot be removed"), 1);
}

// Its containers may run, and which GPU they have is not known.
TEST_F(ClaimPreparerTest, WithoutDraAClaimWhoseRecordIsDamagedIsHeldUntilItEnds) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  drains_ = true;
  ASSERT_TRUE(FsRoot().write_atomic(claims_ / (std::string(kUid) + ".json"), "torn"));
  ClaimStore next(claims_, log_.log());
  auto driver = preparer(next);
  ASSERT_TRUE(driver.restore());
  EXPECT_THAT(book_.unreadable(), ElementsAre(kUid));
  EXPECT_EQ(book_.claimed(), std::nullopt);
  EXPECT_THAT(files(), ElementsAre(kUid));
  ASSERT_TRUE(driver.restore()) << "the next start";
  EXPECT_THAT(book_.unreadable(), ElementsAre(kUid));
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(book_.unreadable(), IsEmpty());
  EXPECT_TRUE(book_.claimed());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(ClaimPreparerTest, WithoutDraClaimsOnlyEnd) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  const auto file = file_text(kUid);
  drains_ = true;
  auto driver = preparer();
  ASSERT_TRUE(driver.restore());
  EXPECT_EQ(book_.claims().size(), 1U);
  EXPECT_EQ(file_text(kUid), file) << "nothing is made anew";
  EXPECT_EQ(driver.prepare(kHalf).value().devices.at(0).share_id, kShare);
  const auto other = driver.prepare({"team", "other", kOther});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("takes no claims any more"));
  EXPECT_THAT(records(), SizeIs(1));
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_THAT(tenants_, IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
}

// The scheduler gives a device out again before kubelet has ended the containers of the deleted
// Pod.
TEST_F(ClaimPreparerTest, WaitsForAClaimThatIsEnding) {
  wait_ = std::chrono::seconds(30);
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  objects_.put(cluster::kResourceClaim, claim_json("other", kOther, kShare2, 46068, 100));
  const std::jthread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(driver.unprepare(kHalf));
  });
  const auto whole = driver.prepare({"team", "other", kOther});
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_THAT(records(), ElementsAre(std::string(kOther) + ".json"));
}

// When the Pod is deleted, kubelet cancels the call and has the claim undone while the call waits.
TEST_F(ClaimPreparerTest, AClaimThatEndsWhileItsCallWaitsLeavesNothing) {
  wait_ = std::chrono::seconds(30);
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  objects_.put(cluster::kResourceClaim, claim_json("other", kOther, kShare2, 46068, 100));
  const dra::ClaimName other{"team", "other", kOther};
  Result<dra::PreparedClaim> late = fail(Code::kInternal, "not called yet");
  {
    const std::jthread waiting([&] { late = driver.prepare(other); });
    ASSERT_TRUE(test::eventually([&] { return book_.claims().size() == 2; }));
    ASSERT_TRUE(driver.unprepare(other));
    ASSERT_TRUE(driver.unprepare(kHalf));
  }
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().what, HasSubstr("has ended meanwhile"));
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_THAT(book_.claims(), IsEmpty());
  EXPECT_TRUE(driver.prepare(other)) << "a later call is another";
}

TEST_F(ClaimPreparerTest, NothingIsPreparedWhereTheNodeTakesNoClaims) {
  auto driver = preparer();
  const auto first = driver.prepare(kHalf);
  ASSERT_TRUE(first);
  book_.open(false);
  EXPECT_EQ(driver.prepare({"team", "other", kOther}).error().code, Code::kUnavailable);
  EXPECT_TRUE(driver.prepare(kHalf)) << "what is prepared stays";
  EXPECT_THAT(records(), SizeIs(1));
}

// After a change of the mode, containers may still hold devices of the device plugin.
TEST_F(ClaimPreparerTest, WhatTheDevicePluginGaveIsNotGivenToAClaim) {
  auto driver = preparer();
  const auto uuid = node_->machine.gpus[0].uuid.value;
  book_.follow({}, node_->machine, false);
  book_.learn({{"", "", "main", "nvidia.com/gpu", {uuid + "::1"}}});
  book_.apply({.began = clock_.now(),
               .listed = {{"default", "a", "main", "nvidia.com/gpu", {uuid + "::1"}}},
               .remembered = std::vector<cluster::HeldDevices>()});
  const auto refused = driver.prepare(kHalf);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what,
              HasSubstr("gpu-0 is held by the device plugin's containers: default/a"));
  EXPECT_EQ(book_.claim_on(uuid), std::nullopt);
  EXPECT_THAT(records(), IsEmpty());
  clock_.advance(std::chrono::minutes(1));
  book_.apply(
      {.began = clock_.now(), .listed = {}, .remembered = std::vector<cluster::HeldDevices>()});
  EXPECT_TRUE(driver.prepare(kHalf)) << "they have ended";
}

// --- MIG instances made for claims --------------------------------------------------------------

class CutClaimTest : public ClaimPreparerTest {
 protected:
  CutClaimTest() {
    put_node("boot-1");
    objects_.put(cluster::kResourceClaim, place_json("half", kUid, "gpu-0-mig-3g40gb-9-4"));
    objects_.put(cluster::kResourceClaim, place_json("other", kOther, "gpu-0"));
    maker_ = &instances_;
  }
  void put_node(const std::string& boot) {
    auto node = *node_;
    node.machine = cut_.read();
    node.facts.boot = boot;
    node.facts.partitionable = {cut_.uuid(0), cut_.uuid(1)};
    node.files.nodes = {{"/dev/nvidiactl", {}}};
    node_ = std::make_shared<const ClaimNode>(std::move(node));
  }
  static std::string place_json(const std::string& name, const std::string& uid,
                                const std::string& device) {
    return fmt::format(
        R"({{"metadata": {{"namespace": "team", "name": "{}", "uid": "{}"}},
            "status": {{"allocation": {{"devices": {{"results": [{{"request": "mig",
              "driver": "gpu.nvidia.com", "pool": "gpu-n1", "device": "{}"}}]}}}}}}}})",
        name, uid, device);
  }

  cut_node_testing::CutNode cut_;
  InstanceMaker instances_ = cut_.maker();
};

TEST_F(CutClaimTest, AnInstanceIsMadeForItsClaimAndGoesWithIt) {
  auto driver = preparer();
  const auto prepared = driver.prepare(kHalf);
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ(cut_.layout(0), "3g.40gb");
  EXPECT_EQ(prepared->devices.at(0).uuid, "MIG-0-2-1");
  EXPECT_EQ(book_.claim_on("MIG-0-2-1"), "team/half");
  const auto spec =
      FsRoot().read(cdi_ / fmt::format("k8s.gpu.nvidia.com-claim-{}.json", kUid)).value();
  EXPECT_THAT(spec, HasSubstr("/dev/nvidia-caps/nvidia-cap1"));
  EXPECT_EQ(driver.prepare(kHalf).value(), *prepared) << "kubelet asks again";

  const auto whole = driver.prepare({"team", "other", kOther});
  ASSERT_FALSE(whole);
  EXPECT_THAT(whole.error().message(), HasSubstr("gpu-0 is held by claim team/half"));
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_EQ(cut_.layout(0), "MIG off");
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_TRUE(driver.prepare({"team", "other", kOther})) << "and back to a whole GPU";
}

// The record is written first, so the claim owns whatever the driver did.
TEST_F(CutClaimTest, WhatFailedIsMadeLaterOrUndone) {
  auto driver = preparer();
  cut_.control.fail_calls("create_compute_instance", {Code::kUnavailable, "no"});
  EXPECT_FALSE(driver.prepare(kHalf));
  EXPECT_THAT(records(), SizeIs(1));
  EXPECT_THAT(driver.cut_by_others().value(), IsEmpty());
  cut_.control.heal();
  ASSERT_TRUE(driver.prepare(kHalf));
  cut_.control.fail_calls("destroy_gpu_instance", {Code::kFailedPrecondition, "in use"});
  EXPECT_FALSE(driver.unprepare(kHalf));
  EXPECT_THAT(records(), SizeIs(1));
  EXPECT_TRUE(book_.claim_on(cut_.uuid(0).value));
  cut_.control.heal();
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_EQ(cut_.layout(0), "MIG off");
}

TEST_F(CutClaimTest, AnAgentThatStartsFindsItsInstances) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  ASSERT_TRUE(cut_.maker().make(cut_.place(1, cut_node_testing::k1g, 0), cut_.machine));
  put_node("boot-1");
  const auto calls = cut_.control.calls().size();
  ASSERT_TRUE(preparer().restore());
  for (std::size_t i = calls; i < cut_.control.calls().size(); ++i) {
    EXPECT_THAT(cut_.control.calls()[i], testing::StartsWith("read ")) << "nothing is changed";
  }
  EXPECT_EQ(book_.claims().at(0).devices.at(0).uuid, "MIG-0-2-1");
  EXPECT_THAT(preparer().cut_by_others().value(), ElementsAre(cut_.uuid(1)));
}

TEST_F(CutClaimTest, TheInstanceOfADamagedRecordIsItsClaimsAgain) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  damage(kUid);
  put_node("boot-1");
  {
    auto node = *node_;
    node.facts.partitionable = {};  // as at a start
    node_ = std::make_shared<const ClaimNode>(std::move(node));
  }
  kubelet_.hold_claims({{"team", "p", "main", {"team", "half"}}});
  ClaimStore fresh(claims_, log_.log());
  auto driver = preparer(fresh);
  ASSERT_TRUE(driver.restore());
  EXPECT_EQ(book_.claim_on("MIG-0-2-1"), "team/half");
  EXPECT_THAT(driver.cut_by_others().value(), IsEmpty());
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_EQ(cut_.layout(0), "MIG off");
}

TEST_F(CutClaimTest, TheInstanceOfALostClaimGoesWithIt) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  damage(kUid);
  put_node("boot-1");
  ClaimStore fresh(claims_, log_.log());
  auto driver = preparer(fresh);
  ASSERT_TRUE(driver.restore());
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_EQ(cut_.layout(0), "MIG off");
  EXPECT_THAT(driver.cut_by_others().value(), IsEmpty());
}

// A reboot removes instances. One in the same place afterwards is somebody else's.
TEST_F(CutClaimTest, AfterARebootNoInstanceIsRemoved) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  put_node("boot-2");
  ASSERT_TRUE(preparer().restore());
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_EQ(cut_.layout(0), "3g.40gb");
}

TEST_F(CutClaimTest, AfterARebootNoInstanceIsRemovedForALostRecordEither) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  damage(kUid);
  std::filesystem::remove_all(cdi_);  // it is in memory
  put_node("boot-2");
  ClaimStore fresh(claims_, log_.log());
  auto driver = preparer(fresh);
  ASSERT_TRUE(driver.restore());
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_EQ(cut_.layout(0), "3g.40gb");
}

// dra.dynamicMig is turned off under it, or DRA.
TEST_F(CutClaimTest, AnInstanceThatMayNotBeRemovedStaysAndItsClaimEnds) {
  for (const bool drains : {false, true}) {
    SCOPED_TRACE(drains);
    auto* const maker = maker_;
    ASSERT_TRUE(preparer().prepare(kHalf));
    maker_ = nullptr;
    drains_ = drains;
    ASSERT_TRUE(preparer().unprepare(kHalf));
    EXPECT_THAT(records(), IsEmpty());
    EXPECT_EQ(log_.count("its MIG instance stays"), drains ? 2 : 1);
    EXPECT_EQ(cut_.layout(0), "3g.40gb");
    maker_ = maker;
    drains_ = false;
  }
}

TEST_F(CutClaimTest, AnAgentThatMayMakeNonePreparesAgainWhatIsThere) {
  const auto made = preparer().prepare(kHalf);
  ASSERT_TRUE(made);
  put_node("boot-1");  // reads the instance
  maker_ = nullptr;
  EXPECT_EQ(preparer().prepare(kHalf).value(), *made);
  objects_.put(cluster::kResourceClaim, place_json("other", kOther, "gpu-0-mig-3g40gb-9-0"));
  const auto refused = preparer().prepare({"team", "other", kOther});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("dra.dynamicMig"));
}

TEST_F(ClaimPreparerTest, WhatLeavesServiceForAMigChangeIsNotGiven) {
  auto driver = preparer();
  auto node = *node_;
  node.leaving = {node.machine.gpus[0].uuid.value};
  const auto before = std::exchange(node_, std::make_shared<const ClaimNode>(std::move(node)));
  const auto refused = driver.prepare(kHalf);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("gpu-0 leaves service"));
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_THAT(book_.claims(), IsEmpty());
  node_ = before;
  EXPECT_TRUE(driver.prepare(kHalf));
}

TEST_F(ClaimPreparerTest, AfterAStartTheFilesAreThoseOfThisRelease) {
  ASSERT_TRUE(preparer().prepare(kHalf));
  auto node = *node_;
  node.limits = offer::LimitMounts{"/newer.so", "/preload", "/tenants"};
  node_ = std::make_shared<const ClaimNode>(std::move(node));
  ASSERT_TRUE(preparer().restore());
  const auto text =
      FsRoot().read(cdi_ / fmt::format("k8s.gpu.nvidia.com-claim-{}.json", kUid)).value();
  EXPECT_THAT(text, HasSubstr("/newer.so"));
  EXPECT_TRUE(book_.restored());
  EXPECT_GT(changes_, 0);
}

const dra::ClaimName kOtherClaim{"team", "other", kOther};

TEST_F(ClaimPreparerTest, TwoSharesOfOneGpuInOneContainerAreOneTenantWithTheirSum) {
  put_joint_claims();
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  ASSERT_THAT(tenants_, SizeIs(1));
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(10000));
  const auto second = driver.prepare(kOtherClaim);
  ASSERT_TRUE(second) << second.error().message();
  ASSERT_THAT(tenants_, SizeIs(1));
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(15000));
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).permille, 600U);
  for (const auto* const uid : {kUid, kOther}) {
    EXPECT_THAT(file_text(uid), HasSubstr(fmt::format("/run/tranche/{}", kShare)));
    EXPECT_THAT(file_text(uid), testing::Not(HasSubstr(fmt::format("/run/tranche/{}", kShare2))));
  }
  // Kubelet's second call gets the same answer, and nothing is counted twice.
  EXPECT_EQ(driver.prepare(kOtherClaim).value(), *second);
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(15000));
}

TEST_F(ClaimPreparerTest, OfAJointTenantTheOtherClaimsPartStays) {
  for (const auto& [ends, stays, mib] :
       {std::tuple{kHalf, kOtherClaim, 5000U}, std::tuple{kOtherClaim, kHalf, 10000U}}) {
    put_joint_claims();
    auto driver = preparer();
    ASSERT_TRUE(driver.prepare(kHalf) && driver.prepare(kOtherClaim));
    ASSERT_TRUE(driver.unprepare(ends));
    ASSERT_THAT(tenants_, SizeIs(1));
    EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(mib));
    ASSERT_TRUE(preparer().restore());
    EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(mib));
    ASSERT_TRUE(driver.unprepare(stays));
    EXPECT_THAT(tenants_, IsEmpty());
    EXPECT_THAT(records(), IsEmpty());
  }
}

TEST_F(ClaimPreparerTest, AJointTenantIsUndoneWholeAfterAReboot) {
  put_joint_claims();
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf) && driver.prepare(kOtherClaim));
  reboot();
  ASSERT_TRUE(preparer().restore());
  EXPECT_THAT(tenants_, IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
}

// The record exists and names the tenant.
TEST_F(ClaimPreparerTest, AJointTenantThatCouldNotBeWrittenIsWrittenByTheNextCall) {
  put_joint_claims();
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  disk_full_ = true;
  EXPECT_FALSE(driver.prepare(kOtherClaim));
  EXPECT_THAT(records(), SizeIs(2));
  disk_full_ = false;
  ASSERT_TRUE(driver.prepare(kOtherClaim));
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(15000));
  EXPECT_THAT(file_text(kOther), HasSubstr(fmt::format("/run/tranche/{}", kShare)));
  // What was lowered is not raised when kubelet asks again, as it does on its start.
  tenants_.at(kShare).devices[0].memory = Bytes::from_mib(1);
  ASSERT_TRUE(driver.prepare(kHalf) && driver.prepare(kOtherClaim) &&
              preparer().restore().has_value());
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(1));
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).memory, Bytes::from_mib(5000));
}

TEST_F(ClaimPreparerTest, SharesWhoseContainersAreNotKnownWaitForTheNextCall) {
  put_joint_claims();
  const auto pod = std::exchange(pod_, std::nullopt);
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf)) << "alone it needs no Pod";
  const auto refused = driver.prepare(kOtherClaim);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(records(), SizeIs(1));
  pod_ = pod;
  EXPECT_TRUE(driver.prepare(kOtherClaim));
}

// Only clients of MPS can use a GPU that it serves.
TEST_F(ClaimPreparerTest, TheContainersOfAGpuThatMpsServesAreItsClients) {
  share_by_mps();
  auto driver = preparer();
  const auto prepared = driver.prepare(kHalf);
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ(prepared->devices.at(0).mps, kMpsResource);
  const auto file = file_text(kUid);
  EXPECT_THAT(file, HasSubstr("CUDA_MPS_PIPE_DIRECTORY=/mps/nvidia.com/gpu/pipe"));
  EXPECT_THAT(file, HasSubstr("/run/nvidia/mps/nvidia.com/gpu/pipe"));
  EXPECT_THAT(file, HasSubstr("/run/nvidia/mps/shm"));
  EXPECT_THAT(file, HasSubstr(limit(23034)));
  EXPECT_THAT(file, HasSubstr("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50"));
  const auto& held = tenants_.at(kShare);
  EXPECT_EQ(held.devices.at(0).enforcer, MemoryEnforcer::kMps);
  EXPECT_EQ(held.devices.at(0).permille, std::nullopt) << "MPS shares the compute";
  EXPECT_EQ(held.priority, Priority::kLatencyCritical);
}

TEST_F(ClaimPreparerTest, WhileMpsDoesNotServeNothingIsPrepared) {
  share_by_mps("its MPS control daemon does not serve");
  auto driver = preparer();
  const auto refused = driver.prepare(kHalf);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().what,
              HasSubstr("gpu-0: nvidia.com/gpu: its MPS control daemon does not serve"));
  EXPECT_THAT(records(), IsEmpty());
  share_by_mps();
  EXPECT_TRUE(driver.prepare(kHalf)) << "kubelet tries again";
  // What is prepared stays so, whatever becomes of the daemon.
  share_by_mps("its MPS control daemon does not serve");
  EXPECT_TRUE(driver.prepare(kHalf));
}

// New containers get what the node has now; until then the limiter holds them.
TEST_F(ClaimPreparerTest, WhenMpsComesOrGoesTheFilesOfPreparedClaimsFollow) {
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  EXPECT_THAT(file_text(kUid), testing::Not(HasSubstr("CUDA_MPS")));
  share_by_mps();
  ASSERT_TRUE(driver.prepare({"team", "other", kOther}));
  ASSERT_TRUE(preparer().restore());
  EXPECT_THAT(file_text(kUid), HasSubstr("CUDA_MPS_PIPE_DIRECTORY"));
  EXPECT_EQ(tenants_.at(kShare).devices.at(0).permille, 500U) << "its processes may be no clients";
  EXPECT_EQ(tenants_.at(kShare2).devices.at(0).permille, std::nullopt);
  share_no_more_by_mps();
  ASSERT_TRUE(preparer().restore());
  for (const auto* const uid : {kUid, kOther}) {
    EXPECT_THAT(file_text(uid), testing::Not(HasSubstr("CUDA_MPS"))) << uid;
  }
}

// For a variable in both files the last one wins, in unknown order.
TEST_F(ClaimPreparerTest, BothFilesOfAJointTenantSayTheSumToMps) {
  share_by_mps();
  put_joint_claims();
  auto driver = preparer();
  ASSERT_TRUE(driver.prepare(kHalf));
  EXPECT_THAT(file_text(kUid), HasSubstr(limit(10000)));
  ASSERT_TRUE(driver.prepare(kOtherClaim));
  for (const auto* const uid : {kUid, kOther}) {
    EXPECT_THAT(file_text(uid), HasSubstr(limit(15000))) << uid;
    EXPECT_THAT(file_text(uid), HasSubstr("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=60")) << uid;
  }
  ASSERT_TRUE(preparer().restore());
  EXPECT_THAT(file_text(kUid), HasSubstr(limit(15000)));
  ASSERT_TRUE(driver.unprepare(kHalf));
  EXPECT_THAT(file_text(kOther), HasSubstr(limit(5000)));
}

}  // namespace
}  // namespace tranche::agent::claim_preparer_test
