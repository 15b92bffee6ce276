#pragma once
// Readers for objects of which a snapshot keeps more than other code needs, or which only the
// snapshot reads.

#include <string_view>

#include "base/result.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::cluster {

Result<SnapshotPod> parse_snapshot_pod(std::string_view json);
Result<SnapshotNamespace> parse_namespace(std::string_view json);
Result<ResourceQuota> parse_resource_quota(std::string_view json);
Result<DisruptionBudget> parse_disruption_budget(std::string_view json);
Result<SnapshotClaim> parse_snapshot_claim(std::string_view json);
Result<DeviceClass> parse_device_class(std::string_view json);

}  // namespace tranche::cluster
