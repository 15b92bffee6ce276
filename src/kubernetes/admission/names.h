#pragma once
// The words that users type, and those that we write into their Pods. Each stands here once.

#include <string_view>

namespace tranche::admission {

// Of this resource a container may ask a fraction.
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";

// Annotations of the Pod, or of a workload's Pod template, that its author writes (share.h).
inline constexpr std::string_view kMemoryAnnotation = "tranche.dev/gpu-memory";
inline constexpr std::string_view kComputeAnnotation = "tranche.dev/gpu-compute";
// "true": the shares of all containers lie on one GPU.
inline constexpr std::string_view kTogetherAnnotation = "tranche.dev/gpu-together";

// What we write there: what the containers had asked for (record.h).
inline constexpr std::string_view kRecordAnnotation = "tranche.dev/gpu-fractions";

// Names of our ResourceClaimTemplates and of our claims in a Pod begin so.
inline constexpr std::string_view kOurPrefix = "tranche-gpu";
// A label of our ResourceClaimTemplates, and of the claims that are made from them: "true".
inline constexpr std::string_view kShareLabel = "tranche.dev/gpu-share";

}  // namespace tranche::admission
