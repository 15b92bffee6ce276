#pragma once
// One object after the other without names (anonymize.h). Each function is called twice, see
// renamer.h.

#include "cluster/snapshot/renamer.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::cluster {

void rename(const Renamer& renamer, SnapshotNode& node);
void rename(const Renamer& renamer, SnapshotPod& pod);
void rename(const Renamer& renamer, SnapshotClaim& claim);
void rename(const Renamer& renamer, ResourceSlice& slice);
void rename(const Renamer& renamer, DeviceClass& device_class);
void rename(const Renamer& renamer, GpuNode& node);
void rename(const Renamer& renamer, ConfigMap& map);
void rename(const Renamer& renamer, ClusterPolicy& policy);
void rename(const Renamer& renamer, GpuTier& tier);
void rename(const Renamer& renamer, SnapshotNamespace& value);
void rename(const Renamer& renamer, ResourceQuota& quota);
void rename(const Renamer& renamer, DisruptionBudget& budget);
void rename(const Renamer& renamer, Gap& gap);

// Annotations hold texts in forms of ours: those that are known are read, renamed and written
// again, others are left out.
void rename_annotations(const Renamer& renamer, StringMap& annotations);
// YAML without comments; what is no YAML is left out.
void rename_yaml(const Renamer& renamer, std::string& text);

}  // namespace tranche::cluster
