#include "agent/mig/mig_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::mig_clients_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* kDcgm = "nvidia.com/gpu.deploy.dcgm";
constexpr const char* kPlugin = "nvidia.com/gpu.deploy.device-plugin";

cluster::Pod client(const std::string& name, const char* label) {
  cluster::Pod pod{.ns = "gpu-operator", .name = name};
  pod.phase = "Running";
  pod.owners = {{.kind = "DaemonSet", .name = name}};
  pod.node_selector = {{label, "true"}};
  return pod;
}

TEST(MigClients, ArePausedAndGoOn) {
  const cluster::Node on{.labels = {{kDcgm, "true"}, {kPlugin, "false"}}};
  NodeWriter::Values labels;
  pause_clients(true, on, {}, labels);
  EXPECT_THAT(labels, ElementsAre(Pair(kDcgm, kPausedForMig)));
  labels.clear();
  pause_clients(false, {.labels = {{kDcgm, kPausedForMig}}}, {}, labels);
  EXPECT_THAT(labels, ElementsAre(Pair(kDcgm, "true")));
}

TEST(MigClients, ALabelThatPlacesTheAgentItselfIsNotPaused) {
  NodeWriter::Values labels;
  pause_clients(true, {.labels = {{kPlugin, "true"}}}, {{kPlugin, "true"}}, labels);
  EXPECT_THAT(labels, IsEmpty());
}

TEST(MigClients, ThoseThatThePauseEndsAreWaitedFor) {
  auto ended = client("ended", kDcgm);
  ended.phase = "Succeeded";
  auto single = client("single", kDcgm);
  single.owners.clear();
  const std::vector<cluster::Pod> pods = {client("dcgm", kDcgm), client("ours", kPlugin),
                                          client("other", "nvidia.com/gpu.present"), ended, single};
  EXPECT_THAT(clients_left(pods, {{kPlugin, "true"}}), ElementsAre("gpu-operator/dcgm"));
}

}  // namespace
}  // namespace tranche::agent::mig_clients_test
