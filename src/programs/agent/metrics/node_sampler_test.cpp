#include "agent/metrics/node_sampler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "agent/config/config_standing.h"
#include "agent/hardware/last_xids.h"
#include "offer/make_offer.h"
#include "offer/testing.h"
#include "support/fake_clock.h"
#include "support/fake_process_reader.h"
#include "support/fake_telemetry_reader.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::agent::node_sampler_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kUid = "a0000000-0000-4000-8000-000000000000";
constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

class NodeSamplerTest : public testing::Test {
 protected:
  NodeSamplerTest() {
    process(1, "/init.scope");
    process(::getpid(), "/system.slice/tranche.service");
    state_.machine = machine_;
    offer_ = std::make_shared<const offer::Offer>(offer::make_offer(
        machine_, offer::testing::time_slicing({offer::testing::entry("gpu", 4)}), {}));
    book_.follow(*offer_, machine_, true);
    read(315);
    telemetry_.set(gpu::SlowReading{.uuid = gpu_, .figures = {.energy_mj = 7}});
    open();
  }
  void open() {
    sampler_.emplace(NodeSampler::Ports{.telemetry = telemetry_,
                                        .processes = processes_,
                                        .book = book_,
                                        .ask_kubelet = [this] { return kubelet_answers_; },
                                        .pods = [this] { return pods_; },
                                        .set_tiers = {},
                                        .host = host_,
                                        .arbiter_dir = {},
                                        .node = "n1",
                                        .clock = clock_});
  }
  void process(pid_t pid, const std::string& group) const {
    const auto folder = fmt::format("/proc/{}", pid);
    ASSERT_TRUE(host_.make_directories(folder));
    ASSERT_TRUE(host_.write_atomic(
        folder + "/stat",
        fmt::format("{} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n", pid)));
    ASSERT_TRUE(host_.write_atomic(folder + "/cgroup", "0::" + group + "\n"));
  }
  // The GPU has this much in use, all of process 10.
  void read(std::uint64_t mib) {
    const gpu::MemoryFigures memory{.total = Bytes::from_mib(15360),
                                    .used = Bytes::from_mib(mib),
                                    .free = Bytes::from_mib(15360 - mib)};
    telemetry_.set(gpu::FastReading{.uuid = gpu_, .figures = {.memory = memory}});
    processes_.set(gpu_, {{.pid = 10, .memory = Bytes::from_mib(mib)}});
  }
  // A Pod's container holds a replica, and has process 10.
  void give() {
    const std::string id(64, 'c');
    process(10, fmt::format("/kubepods/besteffort/pod{}/{}", kUid, id));
    cluster::Pod pod{.ns = "team", .name = "train", .uid = kUid};
    pod.container_ids[id] = "c";
    pods_ = std::make_shared<const std::vector<cluster::Pod>>(std::vector{pod});
    const offer::Grant grant{
        .resource = {"nvidia.com/gpu"}, .ids = {offer::replica_id(gpu_, 0)}, .envs = {}};
    ASSERT_TRUE(book_.reserve(grant));
    book_.commit(grant);
    book_.apply({.began = clock_.now(),
                 .listed = {{.pod_namespace = "team",
                             .pod_name = "train",
                             .container = "c",
                             .resource = "nvidia.com/gpu",
                             .ids = {offer::replica_id(gpu_, 0)}}},
                 .remembered = std::vector<cluster::HeldDevices>()});
  }
  void sample(int times = 1) {
    for (int i = 0; i < times; ++i) {
      sampler_->sample();
      clock_.advance(1s);
    }
  }
  bool works(const std::string& name) const {
    const auto figures = sampler_->figures();
    const auto check = std::ranges::find(figures->checks, name, &usage::Check::name);
    return check != figures->checks.end() && check->works;
  }

  const std::string gpu_ = test::gpu_uuid(0);
  const gpu::Machine machine_ = test::machine_of(1, test::t4);
  test::TempDir dir_;
  FsRoot host_{dir_.path()};
  test::FakeClock clock_;
  test::FakeTelemetryReader telemetry_;
  test::FakeProcessReader processes_;
  Book book_{clock_};
  State state_;
  std::shared_ptr<const offer::Offer> offer_;
  std::shared_ptr<const std::vector<cluster::Pod>> pods_;
  bool kubelet_answers_ = true;
  std::optional<NodeSampler> sampler_;
};

TEST_F(NodeSamplerTest, BeforeTheHardwareIsReadThereIsNothing) {
  sampler_->sample();
  EXPECT_EQ(sampler_->figures(), nullptr);
}

TEST_F(NodeSamplerTest, FastFiguresAreOfEachSampleAndSlowOnesOfEachTenth) {
  sampler_->follow(state_, offer_);
  sample(11);
  EXPECT_EQ(telemetry_.fast_readings(), 11);
  EXPECT_EQ(telemetry_.slow_readings(), 2);
  const auto figures = sampler_->figures();
  EXPECT_EQ(figures->node, "n1");
  ASSERT_EQ(figures->gpus.size(), 1U);
  EXPECT_EQ(figures->gpus[0].fast->figures.memory->used, Bytes::from_mib(315));
  EXPECT_EQ(figures->gpus[0].slow->figures.energy_mj, 7U);
  EXPECT_EQ(figures->fast_age, 1s);
  EXPECT_EQ(figures->slow_age, 1s);
}

TEST_F(NodeSamplerTest, APodHasWhatItsProcessesUseAndItsPeakStays) {
  give();
  sampler_->follow(state_, offer_);
  sample();
  read(100);
  sample();
  const auto figures = sampler_->figures();
  ASSERT_EQ(figures->containers.size(), 1U);
  const auto& one = figures->containers[0];
  EXPECT_EQ(one.pod, "train");
  EXPECT_EQ(one.memory_used, 100 * kMib);
  EXPECT_EQ(one.memory_peak, 315 * kMib);
  EXPECT_EQ(one.compute_estimated, 0ns);
  EXPECT_TRUE(works("pods") && works("driver") && works("host-processes") && works("kubelet"));
  EXPECT_TRUE(works("control-groups"));
  process(11, "/kubepods/besteffort/strange");
  processes_.set(gpu_, {{.pid = 10}, {.pid = 11}});
  sample();
  EXPECT_FALSE(works("control-groups")) << "it is in some Pod";
}

TEST_F(NodeSamplerTest, WhatIsHeldIsJoinedAnewWhenItOrAPodChanges) {
  book_.restore(std::map<std::string, dra::PreparedClaim>(), machine_, {});
  give();
  sampler_->follow(state_, offer_);
  sample(2);
  ASSERT_EQ(sampler_->figures()->containers.size(), 1U);
  const auto before = book_.granted();
  cluster::HeldDevices held{.pod_namespace = "team",
                            .pod_name = "train",
                            .container = "c",
                            .resource = "nvidia.com/gpu",
                            .ids = {offer::replica_id(gpu_, 0)}};
  const auto answer = [&] {
    book_.apply({.began = clock_.now(),
                 .listed = {held},
                 .remembered = std::vector<cluster::HeldDevices>()});
  };
  answer();
  EXPECT_EQ(book_.granted(), before) << "kubelet said the same";
  held.container = "d";
  answer();
  sample();
  ASSERT_EQ(sampler_->figures()->containers.size(), 2U) << "its process is still in the other";
  EXPECT_EQ(sampler_->figures()->containers[1].container, "d");
  pods_ = std::make_shared<const std::vector<cluster::Pod>>();
  sample();
  EXPECT_TRUE(sampler_->figures()->containers.empty());
}

TEST_F(NodeSamplerTest, ProcessesHaveNamesAndOwners) {
  give();
  process(20, "/system.slice/cuda.service");
  processes_.set(gpu_, {{.pid = 10, .memory = Bytes::from_mib(300)}, {.pid = 20}, {.pid = 30}});
  sampler_->follow(state_, offer_);
  sample();
  processes_.set(gpu_, {{.pid = 10, .memory = Bytes::from_mib(300), .busy = 250ms}, {.pid = 20}});
  sample();
  const auto figures = sampler_->figures();
  ASSERT_EQ(figures->processes.size(), 2U);
  EXPECT_EQ(figures->processes[0], (usage::ProcessUsage{.pid = 10,
                                                        .name = "x",
                                                        .device = gpu_,
                                                        .owner = usage::ProcessOwner::kContainer,
                                                        .ns = "team",
                                                        .pod = "train",
                                                        .container = "c",
                                                        .memory = 300 * kMib,
                                                        .busy = 0.25}));
  EXPECT_EQ(figures->processes[1].owner, usage::ProcessOwner::kHost);
  EXPECT_EQ(figures->processes[1].memory, std::nullopt);
  ASSERT_EQ(figures->containers.size(), 1U);
  EXPECT_EQ(figures->containers[0].compute_share, 0.25);
}

TEST_F(NodeSamplerTest, APodThatHasEndedIsGoneAtOnce) {
  give();
  auto ended = pods_->front();
  ended.phase = "Succeeded";
  pods_ = std::make_shared<const std::vector<cluster::Pod>>(std::vector{ended});
  sampler_->follow(state_, offer_);
  sample();
  EXPECT_TRUE(sampler_->figures()->containers.empty());
}

TEST_F(NodeSamplerTest, WithoutThePodsWhatTheyUseIsUnknown) {
  give();
  pods_ = nullptr;
  kubelet_answers_ = false;
  sampler_->follow(state_, offer_);
  sample();
  const auto figures = sampler_->figures();
  ASSERT_EQ(figures->containers.size(), 1U);
  EXPECT_FALSE(figures->containers[0].attributed);
  EXPECT_EQ(figures->containers[0].memory_used, std::nullopt);
  EXPECT_FALSE(works("pods"));
  EXPECT_FALSE(works("kubelet"));
}

TEST_F(NodeSamplerTest, WithoutTheNodesProcessIdsAnEmptyListSaysNothing) {
  process(1, "/");
  process(::getpid(), "/");
  open();
  give();
  processes_.set(gpu_, {});
  sampler_->follow(state_, offer_);
  sample();
  const auto figures = sampler_->figures();
  ASSERT_EQ(figures->containers.size(), 1U);
  EXPECT_FALSE(figures->containers[0].attributed);
  EXPECT_EQ(figures->containers[0].memory_used, std::nullopt);
  EXPECT_EQ(figures->memory.at(0).unknown, 315 * kMib);
  EXPECT_FALSE(works("host-processes"));
  EXPECT_TRUE(works("driver"));
}

TEST_F(NodeSamplerTest, ADriverThatHangsLeavesTheLastFiguresForAWhile) {
  sampler_->follow(state_, offer_);
  sample();
  telemetry_.fail_gpu(gpu_, Error{Code::kTimeout, "hangs"});
  processes_.fail_with(Error{Code::kTimeout, "hangs"});
  sample(20);
  auto figures = sampler_->figures();
  EXPECT_TRUE(figures->gpus[0].fast);
  EXPECT_EQ(figures->fast_age, 21s);
  EXPECT_FALSE(works("driver"));
  ASSERT_EQ(figures->memory.size(), 1U);
  EXPECT_EQ(figures->memory[0].unknown, 315 * kMib);
  sample(20);
  figures = sampler_->figures();
  EXPECT_FALSE(figures->gpus[0].fast);
  EXPECT_EQ(figures->fast_age, std::nullopt);
  EXPECT_TRUE(figures->memory.empty());
  telemetry_.heal(gpu_);
  processes_.recover();
  sample();
  EXPECT_TRUE(sampler_->figures()->gpus[0].fast);
}

TEST_F(NodeSamplerTest, ASampleThatDoesNotReturnTakesItsFiguresAlong) {
  give();
  sampler_->follow(state_, offer_);
  sample();
  clock_.advance(40s);
  const auto figures = sampler_->figures();
  EXPECT_EQ(figures->fast_age, 41s);
  EXPECT_FALSE(figures->gpus[0].fast);
  EXPECT_TRUE(figures->containers.empty());
  EXPECT_FALSE(works("driver"));
}

TEST_F(NodeSamplerTest, TheLastXidStays) {
  state_.set(LastXids{{{gpu_, 79}}});
  sampler_->follow(state_, offer_);
  sample();
  EXPECT_EQ(sampler_->figures()->gpus[0].last_xid, 79U);
}

TEST_F(NodeSamplerTest, WhetherTheConfigurationIsTheOneAskedForIsPassedOn) {
  sampler_->follow(state_, offer_);
  sample();
  EXPECT_EQ(sampler_->figures()->configuration, std::nullopt) << "not known yet";
  state_.set(ConfigStanding{ConfigStanding::Is::kOlder});
  sampler_->follow(state_, offer_);
  sample();
  EXPECT_EQ(sampler_->figures()->configuration, metrics::Configuration::kOlder);
}

TEST_F(NodeSamplerTest, ALostGpuIsNotRead) {
  state_.machine = test::machine_of({test::t4(0).lost()});
  sampler_->follow(state_, offer_);
  sample();
  const auto figures = sampler_->figures();
  ASSERT_EQ(figures->gpus.size(), 1U);
  EXPECT_FALSE(figures->gpus[0].fast);
  EXPECT_TRUE(figures->memory.empty());
}

}  // namespace
}  // namespace tranche::agent::node_sampler_test
