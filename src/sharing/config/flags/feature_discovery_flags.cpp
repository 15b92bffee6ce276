// NVIDIA's flags of `tranche labels`: those of gpu-feature-discovery. The agent accepts those that
// affect its labels.

#include "config/flags/tables.h"

namespace tranche::config {
namespace {

constexpr auto kFeatureDiscoveryFlags = std::to_array<FlagSpec>({
    {.name = "mig-strategy",
     .environment = kNames<"GFD_MIG_STRATEGY", "MIG_STRATEGY">,
     .field = "flags.migStrategy",
     .default_text = "none",
     .choices = kNames<"none", "single", "mixed">,
     .help = "how MIG devices are labelled: none, single or mixed",
     .uses = kDiscovery},
    {.name = "fail-on-init-error",
     .environment = kNames<"GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR">,
     .field = "flags.failOnInitError",
     .type = FlagType::kBool,
     .default_text = "true",
     .help = "end with an error when the driver cannot be initialised; false: label what is known",
     .uses = kDiscovery},
    {.name = "config-file",
     .environment = kNames<"GFD_CONFIG_FILE", "CONFIG_FILE">,
     .path = PathKind::kFile,
     .help = "configuration file, or a folder of them such as a mounted ConfigMap",
     .uses = kDiscovery},
    {.name = "oneshot",
     .environment = kNames<"GFD_ONESHOT">,
     .field = "flags.gfd.oneshot",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "write the labels once and end",
     .uses = kDiscovery},
    {.name = "no-timestamp",
     .environment = kNames<"GFD_NO_TIMESTAMP">,
     .field = "flags.gfd.noTimestamp",
     .type = FlagType::kBool,
     .default_text = "false",
     .help = "leave out the label nvidia.com/gfd.timestamp",
     .uses = kNode},
    {.name = "sleep-interval",
     .environment = kNames<"GFD_SLEEP_INTERVAL">,
     .field = "flags.gfd.sleepInterval",
     .type = FlagType::kDuration,
     .default_text = "60s",
     .help = "time between two labellings, such as 60s, or infinite",
     .uses = kNode},
    {.name = "output-file",
     .aliases = kNames<"output", "o">,
     // In other programs -o is the output format.
     .alias_uses = kUseFeatureDiscovery,
     .environment = kNames<"GFD_OUTPUT_FILE">,
     .field = "flags.gfd.outputFile",
     .default_text = "/etc/kubernetes/node-feature-discovery/features.d/gfd",
     .path = PathKind::kFile,
     .help = "file for the labels, read by node-feature-discovery; empty: standard output",
     .uses = kNode | kUseCleanup},
    {.name = "machine-type-file",
     .environment = kNames<"GFD_MACHINE_TYPE_FILE">,
     .field = "flags.gfd.machineTypeFile",
     .default_text = "/sys/class/dmi/id/product_name",
     .path = PathKind::kFile,
     .help = "file that holds the machine's type",
     .uses = kNode},
    {.name = "use-node-feature-api",
     .environment = kNames<"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API">,
     .field = "flags.useNodeFeatureAPI",
     .type = FlagType::kBool,
     .default_text = "true",
     .help = "publish labels as a NodeFeature object instead of a file (by the agent only when it "
             "is set)",
     .uses = kNode | kUseCleanup},
    {.name = "kube-api-qps",
     .environment = kNames<"KUBE_API_QPS">,
     .type = FlagType::kFloat,
     .default_text = "5",
     .help = "requests a second to the API server",
     .uses = kDiscovery},
    {.name = "kube-api-burst",
     .environment = kNames<"KUBE_API_BURST">,
     .type = FlagType::kInt,
     .default_text = "10",
     .help = "requests to the API server at once",
     .uses = kDiscovery},
});

}  // namespace

std::span<const FlagSpec> feature_discovery_flags() { return kFeatureDiscoveryFlags; }

}  // namespace tranche::config
