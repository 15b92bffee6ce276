#pragma once
// The names that users write, and those that we write into their Pods.

#include <string_view>

namespace tranche::admission {

// The resource of which a container may request a fraction.
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";

// Annotations of the Pod or of a workload's Pod template, written by its author (share.h).
inline constexpr std::string_view kMemoryAnnotation = "tranche.dev/gpu-memory";
inline constexpr std::string_view kComputeAnnotation = "tranche.dev/gpu-compute";
// "true": the shares of all containers are on one GPU.
inline constexpr std::string_view kTogetherAnnotation = "tranche.dev/gpu-together";

// Annotation that we write: what the containers had requested (record.h).
inline constexpr std::string_view kRecordAnnotation = "tranche.dev/gpu-fractions";

// Prefix of our ResourceClaimTemplates' names and of our claims' names in a Pod.
inline constexpr std::string_view kOurPrefix = "tranche-gpu";
// Label with value "true" on our ResourceClaimTemplates and the claims made from them.
inline constexpr std::string_view kShareLabel = "tranche.dev/gpu-share";

}  // namespace tranche::admission
