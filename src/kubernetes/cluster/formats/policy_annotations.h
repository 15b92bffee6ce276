#pragma once
// What the controller tells every agent in addition to a ConfigMap's keys, as annotations of that
// ConfigMap (docs/takeover.md): they override the corresponding flags of the agent.

namespace tranche::cluster {

// The key for nodes without the label; absent: the agent's --default-config.
inline constexpr const char* kDefaultAnnotation = "tranche.dev/default-config";
inline constexpr const char* kFallbackAnnotation = "tranche.dev/fallback-strategies";
inline constexpr const char* kMigStrategyAnnotation = "tranche.dev/mig-strategy";
// Why no GPU should be advertised: another program serves the nodes.
inline constexpr const char* kWithholdAnnotation = "tranche.dev/withhold";

}  // namespace tranche::cluster
