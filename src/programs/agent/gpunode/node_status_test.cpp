#include "agent/gpunode/node_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_standing.h"
#include "agent/hardware/leaving.h"
#include "agent/limits/limit_standing.h"
#include "agent/mps/mps_standing.h"
#include "agent/plugins/driver_standing.h"
#include "agent/withholding/held_standing.h"
#include "offer/make_offer.h"
#include "offer/testing.h"
#include "support/machines.h"

namespace tranche::agent::node_status_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NodeStatusTest : public testing::Test {
 protected:
  cluster::GpuNodeStatus made() {
    auto offer = offer::make_offer(*state_.machine, state_.config, state_.health);
    offer.held = held_;
    return make_status({.state = state_,
                        .offer = offer,
                        .held = holdings::Holdings(holdings_),
                        .driver_name = driver_});
  }
  void machine(const std::vector<test::GpuBuilder>& gpus) {
    state_.machine = test::machine_of(gpus);
  }

  State state_;
  std::vector<offer::HeldDevice> held_;
  std::vector<holdings::Holding> holdings_;
  std::string driver_ = "gpu.nvidia.com";
};

TEST_F(NodeStatusTest, TheMachineIsDescribed) {
  machine({test::a100_40gb(0).mig({"1g.5gb", "2g.10gb"}), test::t4(1)});
  const auto status = made();
  EXPECT_THAT(status.agent, HasSubstr("tranche "));
  EXPECT_EQ(status.mode, cluster::NodeMode::kDevicePlugin);
  EXPECT_EQ(status.driver, "570.158.01");
  EXPECT_EQ(status.cuda, "12.8");
  ASSERT_EQ(status.gpus.size(), 2U);
  EXPECT_EQ(status.gpus[0].uuid, test::gpu_uuid(0));
  EXPECT_EQ(status.gpus[0].pci, "0000:10:00.0");
  EXPECT_EQ(status.gpus[0].mig, "enabled");
  ASSERT_EQ(status.gpus[0].instances->size(), 2U);
  EXPECT_EQ(status.gpus[0].instances->at(1),
            (cluster::GpuNodeInstance{.uuid = test::mig_uuid(0, 1),
                                      .profile = "2g.10gb",
                                      .slot = 1,
                                      .memory = Bytes::from_mib(10240)}));
  EXPECT_EQ(status.gpus[1].mig, "unsupported");
  EXPECT_THAT(*status.gpus[1].instances, IsEmpty());
}

TEST_F(NodeStatusTest, InstancesThatTheDriverDoesNotTellAreNotNone) {
  machine({test::a100_40gb(0).mig({})});
  state_.machine->gpus[0].mig_refused = "it needs CAP_SYS_ADMIN";
  const auto status = made();
  EXPECT_EQ(status.gpus[0].instances, std::nullopt);
  EXPECT_THAT(status.reasons,
              ElementsAre(cluster::GpuNodeReason{test::gpu_uuid(0), "it needs CAP_SYS_ADMIN"}));
}

TEST_F(NodeStatusTest, EachTrancheIsHealthyUnhealthyOrWithheld) {
  machine({test::l20(0), test::l20(1)});
  state_.config = offer::testing::time_slicing({offer::testing::entry("gpu", 4)});
  state_.health = {{test::gpu_uuid(1), "XID 79"}};
  auto offer = offer::make_offer(*state_.machine, state_.config, state_.health);
  offer.resources[0].tranches[0].withheld = true;
  const auto status = make_status(
      {.state = state_, .offer = offer, .held = holdings::Holdings(), .driver_name = driver_});
  ASSERT_EQ(status.resources.size(), 1U);
  const auto& resource = status.resources[0];
  EXPECT_EQ(resource.sharing, "time-slicing");
  EXPECT_EQ(resource.tranches, 8);
  EXPECT_EQ(resource.healthy, 3);
  EXPECT_EQ(resource.unhealthy, 4);
  EXPECT_EQ(resource.withheld, 1);
  EXPECT_THAT(resource.devices, ElementsAre(cluster::GpuNodeDevice{test::gpu_uuid(0), 4, 1},
                                            cluster::GpuNodeDevice{test::gpu_uuid(1), 4, 0}));
  EXPECT_EQ(status.gpus[1].unhealthy, "XID 79");
  EXPECT_EQ(status.summary.gpus, 2);
  EXPECT_EQ(status.summary.healthy_gpus, 1);
  EXPECT_EQ(status.summary.tranches, 8);
  EXPECT_EQ(status.summary.model, "L20");
}

TEST_F(NodeStatusTest, InModeDraTheDevicesAreWhatClaimsTake) {
  machine({test::a100_40gb(0).mig({"1g.5gb"}), test::t4(1)});
  state_.edit<NodeModeStanding>().mode = cluster::NodeMode::kDra;
  auto offer = offer::make_offer(*state_.machine, state_.config, state_.health);
  for (auto& resource : offer.resources) resource.tranches.clear();  // as offer_by_mode() does
  const auto status = make_status(
      {.state = state_, .offer = offer, .held = holdings::Holdings(), .driver_name = driver_});
  EXPECT_EQ(status.mode, cluster::NodeMode::kDra);
  ASSERT_EQ(status.resources.size(), 1U);
  EXPECT_EQ(status.resources[0].name, "gpu.nvidia.com");
  EXPECT_EQ(status.resources[0].sharing, "claims");
  EXPECT_THAT(status.resources[0].devices,
              ElementsAre(cluster::GpuNodeDevice{test::mig_uuid(0, 0), 1, 0},
                          cluster::GpuNodeDevice{test::gpu_uuid(1), 1, 0}));
}

TEST_F(NodeStatusTest, BeforeTheNodeIsReadTheModeIsNotKnown) {
  machine({test::l20(0)});
  state_.edit<NodeModeStanding>().undecided = true;
  EXPECT_EQ(made().mode, std::nullopt);
}

TEST_F(NodeStatusTest, WhoHoldsWhatByEachWire) {
  using holdings::State;
  using holdings::Use;
  using holdings::Wire;
  machine({test::l20(0)});
  const struct {
    const char* name;
    Wire wire;
    Use use;
    State state;
    std::string words;
  } cases[] = {
      {"a whole GPU", Wire::kDevicePlugin, Use::kWhole, State::kInUse,
       "device-plugin whole in-use"},
      {"a replica", Wire::kDevicePlugin, Use::kTimeSliced, State::kReserved,
       "device-plugin time-sliced reserved"},
      {"a claim", Wire::kClaim, Use::kShared, State::kGiven, "claim shared given"},
      {"a client of MPS", Wire::kClaim, Use::kMps, State::kInUse, "claim mps in-use"},
      {"without a grant", Wire::kNone, Use::kShared, State::kInUse, "none shared in-use"},
  };
  for (const auto& one : cases) {
    holdings_ = {{.device = test::gpu_uuid(0),
                  .gpu = test::gpu_uuid(0),
                  .part = DeviceLimits{.uuid = test::gpu_uuid(0),
                                       .memory = Bytes::from_mib(1024),
                                       .weight = 3,
                                       .permille = 250,
                                       .borrowing = Borrowing{.hard = Bytes::from_mib(2048),
                                                              .device = Bytes::from_mib(46068)},
                                       .enforcer = MemoryEnforcer::kKernel},
                  .wire = one.wire,
                  .resource = {"nvidia.com/gpu"},
                  .id = "id",
                  .claim = "c",
                  .request = "r",
                  .tenant = "t",
                  .ns = "team",
                  .pod = "p",
                  .pod_uid = "u",
                  .container = "main",
                  .use = one.use,
                  .state = one.state}};
    const auto status = made();
    ASSERT_EQ(status.holdings.size(), 1U) << one.name;
    const auto& held = status.holdings[0];
    EXPECT_EQ(held.wire + ' ' + held.use + ' ' + held.state, one.words) << one.name;
    EXPECT_EQ(held, (cluster::GpuNodeHolding{
                        .device = test::gpu_uuid(0),
                        .gpu = test::gpu_uuid(0),
                        .part = cluster::GpuNodePart{.memory = Bytes::from_mib(1024),
                                                     .weight = 3,
                                                     .permille = 250,
                                                     .borrows_up_to = Bytes::from_mib(2048),
                                                     .enforcer = "kernel"},
                        .wire = held.wire,
                        .resource = "nvidia.com/gpu",
                        .id = "id",
                        .claim = "c",
                        .request = "r",
                        .tenant = "t",
                        .ns = "team",
                        .pod = "p",
                        .pod_uid = "u",
                        .container = "main",
                        .use = held.use,
                        .state = held.state}))
        << one.name;
    EXPECT_EQ(status.summary.held, one.wire == Wire::kNone ? 0 : 1) << one.name;
  }
}

TEST_F(NodeStatusTest, WhatIsWithheldHasItsReason) {
  machine({test::l20(0)});
  held_ = {{.resource = {"nvidia.com/gpu"},
            .uuid = test::gpu_uuid(0),
            .index = "0",
            .withheld = 1,
            .tranches = 1,
            .by = {{.ns = "team", .pod = "old"}}}};
  const auto status = made();
  ASSERT_EQ(status.withheld.size(), 1U);
  EXPECT_EQ(status.withheld[0].resource, "nvidia.com/gpu");
  EXPECT_THAT(status.withheld[0].devices, ElementsAre("GPU 0 (" + test::gpu_uuid(0) + ")"));
  EXPECT_THAT(status.withheld[0].reason, HasSubstr("team/old"));
}

TEST_F(NodeStatusTest, ReasonsComeFromEveryPart) {
  machine({test::l20(0)});
  state_.machine->warnings = {"hardware warning"};
  state_.edit<DriverStanding>().trouble = Error{Code::kNotFound, "no libcuda"};
  state_.edit<LimitStanding>().trouble = "no arbiter";
  state_.edit<MpsStandings>()[{"nvidia.com/gpu"}].trouble = "no daemon";
  state_.edit<HeldStanding>().trouble = "kubelet is silent";
  state_.edit<MigStanding>().changing[test::gpu_uuid(0)] = {};
  state_.edit<NodeModeStanding>().label_trouble = "tranche.dev/mode is hybrid";
  state_.edit<ClaimStanding>().held = {
      {{.device = test::gpu_uuid(0), .claim = "half", .ns = "team"},
       {.device = "MIG-1", .claim = "half", .ns = "team"}}};
  std::vector<std::string> found;
  for (const auto& [about, message] : made().reasons) found.push_back(about + ": " + message);
  EXPECT_THAT(
      found,
      ElementsAre("hardware: hardware warning",
                  test::gpu_uuid(0) + ": its MIG layout is being changed", "driver: no libcuda",
                  "limits: no arbiter", "nvidia.com/gpu: no daemon", "holdings: kubelet is silent",
                  "mode: tranche.dev/mode is hybrid",
                  "claims: claims of when the node was in mode dra still hold GPUs: team/half"));
}

TEST_F(NodeStatusTest, LinksAreBetweenGpusThatAreThere) {
  machine({test::l20(0), test::l20(2)});
  auto links = std::make_shared<offer::Links>();
  links->gpu_uuids = {test::gpu_uuid(2), test::gpu_uuid(1), test::gpu_uuid(0)};
  links->topology = gpu::Topology(3);
  links->topology.set(0, 2, {gpu::P2pLevel::kSystem, 4});
  links->topology.set_switch_links(0, 12);
  state_.links = links;
  const auto status = made();
  EXPECT_THAT(status.links, ElementsAre(cluster::GpuNodeLink{0, 2, "system", 4}));
  EXPECT_EQ(status.gpus[1].nvswitch_links, 12);
}

TEST_F(NodeStatusTest, TextsOfOthersAreBoundedAndPrintable) {
  machine({test::l20(0)});
  holdings_ = {{.ns = std::string(1000, 'n'), .pod = "evil\n\x1b[31m\xff"}};
  const auto status = made();
  EXPECT_EQ(status.holdings[0].ns.size(), kLongestName);
  EXPECT_TRUE(status.holdings[0].ns.ends_with("n..."));
  EXPECT_EQ(status.holdings[0].pod, "evil??[31m?");
  // What is written must be read back the same, or it would be written for ever.
  const auto text = to_json(cluster::GpuNode{.name = "n", .status = status});
  EXPECT_EQ(cluster::parse_gpu_node(text)->status, status);
}

TEST_F(NodeStatusTest, TheModelFitsItsColumn) {
  const struct {
    const char* name;
    std::vector<std::string> models;
    const char* shown;
  } cases[] = {
      {"none", {}, ""},
      {"one", {"NVIDIA A100-SXM4-80GB"}, "A100-SXM4-80GB"},
      {"the same twice", {"Tesla T4", "Tesla T4"}, "Tesla T4"},
      {"two", {"NVIDIA L20", "Tesla T4"}, "L20 and 1 more"},
      {"long", {"NVIDIA RTX PRO 6000 Blackwell Server Edition"}, "RTX PRO 6000 Blackwel..."},
      {"long and others",
       {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "a", "b"},
       "RTX PRO 60... and 2 more"},
  };
  for (const auto& one : cases) {
    std::vector<test::GpuBuilder> gpus;
    for (const auto& model : one.models) {
      gpus.push_back(test::l20(static_cast<int>(gpus.size())).name(model));
    }
    machine(gpus);
    const auto shown = made().summary.model;
    EXPECT_LE(shown.size(), 24U) << one.name;
    EXPECT_EQ(shown, one.shown) << one.name;
  }
}

}  // namespace
}  // namespace tranche::agent::node_status_test
