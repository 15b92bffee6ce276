#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kArbiterFlags = std::to_array<FlagSpec>({
    {.name = "driver-root-ctr-path",
     .aliases = kNames<"container-driver-root">,
     .environment = kNames<"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT">,
     .default_text = "/driver-root",
     .path = PathKind::kFolder,
     .help = "where the driver root is mounted in this container",
     .uses = kUseArbiter | kUseDoctor},
    {.name = "cgroup-root",
     .environment = kNames<"TRANCHE_CGROUP_ROOT">,
     .default_text = "/sys/fs/cgroup",
     .path = PathKind::kFolder,
     .help = "the node's cgroup v2 tree, where the kernel is to limit memory (kernelLimits of the "
             "configuration)",
     .uses = kUseArbiter},
    {.name = "tenants",
     .environment = kNames<"TRANCHE_TENANTS">,
     .default_text = "/var/lib/tranche/tenants",
     .path = PathKind::kFolder,
     .help = "folder in which the agent keeps what each container was promised",
     .uses = kUseArbiter},
    {.name = "state-dir",
     .environment = kNames<"TRANCHE_ARBITER_STATE_DIR">,
     .default_text = "/run/tranche-arbiter",
     .path = PathKind::kFolder,
     .help = "folder of the arbiter's own, in memory (tmpfs): who holds what, and status.json",
     .uses = kUseArbiter},
    {.name = "stall-after",
     .environment = kNames<"TRANCHE_STALL_AFTER">,
     .type = FlagType::kDuration,
     .default_text = "10s",
     .help = "how long a container may wait for the GPU while others run, or one launch may last, "
             "before it is recorded as an incident; 0: never",
     .uses = kUseArbiter},
    {.name = "check",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "for a probe: end with 0 if the arbiter of this --state-dir lives",
     .uses = kUseArbiter},
});

}  // namespace

std::span<const FlagSpec> arbiter_flags() { return kArbiterFlags; }

}  // namespace tranche::config
