#include "cli/snapshot/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cli::snapshot_report_test {
namespace {

using testing::ElementsAre;

TEST(SnapshotReport, CountsAndNamesConfigMaps) {
  cluster::Snapshot snapshot;
  EXPECT_EQ(contents_of(snapshot),
            "0 Nodes, 0 GPUNodes, 0 Pods, 0 ResourceSlices, 0 ResourceClaims, 0 DeviceClasses, "
            "0 ConfigMaps");
  snapshot.nodes = {{.node = {.name = "n"}, .configuration = std::nullopt}};
  snapshot.config_maps = {{.key = {"gpu", "a"}}, {.key = {"gpu", "b"}}};
  EXPECT_EQ(contents_of(snapshot),
            "1 Node, 0 GPUNodes, 0 Pods, 0 ResourceSlices, 0 ResourceClaims, 0 DeviceClasses, "
            "2 ConfigMaps (gpu/a, gpu/b)");
}

TEST(SnapshotReport, AKindThatTheClusterDoesNotServeIsNotMissing) {
  cluster::Snapshot snapshot;
  snapshot.gaps = {{"gputiers.tranche.dev", "", Code::kNotFound, "not served"},
                   {"configmaps", "gpu/a", Code::kNotFound, "not found"},
                   {"pods", "", Code::kPermission, "forbidden\n; grant list on pods"}};
  EXPECT_THAT(missing_lines(snapshot),
              ElementsAre("configmaps gpu/a could not be read: not found",
                          "pods could not be read: forbidden?; grant list on pods"));
}

}  // namespace
}  // namespace tranche::cli::snapshot_report_test
