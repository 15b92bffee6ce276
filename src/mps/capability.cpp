#include "mps/capability.h"

#include <fmt/format.h>

#include <charconv>

namespace tranche::mps {
namespace {

constexpr int kProtocol3 = 13040;
constexpr int kStaticPartitions = 13010;
constexpr std::string_view kBeforeNumber = "version: ";

std::string cuda(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string program(const Capability& capability) {
  return capability.cuda_version > 0
             ? fmt::format("nvidia-cuda-mps-control of {}", cuda(capability.cuda_version))
             : std::string("nvidia-cuda-mps-control, which does not tell its version,");
}

}  // namespace

Capability read_version(std::string_view output) {
  Capability capability;
  const auto at = output.find(kBeforeNumber);
  if (at == output.npos) return capability;
  output.remove_prefix(at + kBeforeNumber.size());
  int version = 0;
  const auto [end, error] = std::from_chars(output.data(), output.data() + output.size(), version);
  if (error != std::errc() || version < 1000) return capability;
  capability.cuda_version = version;
  capability.protocol_3 = version >= kProtocol3;
  capability.static_partitions = version >= kStaticPartitions;
  return capability;
}

std::string describe(const Capability& capability) {
  if (capability.cuda_version == 0) return "of unknown version: protocol 2";
  return fmt::format("of {}: {}{}", cuda(capability.cuda_version),
                     capability.protocol_3 ? "protocols 2 and 3" : "protocol 2",
                     capability.static_partitions ? ", static SM partitions" : "");
}

Settled settle(const config::MpsControlRules& wanted, const Capability& capability) {
  Settled settled{.rules = wanted, .fallbacks = {}};
  if (wanted.protocol == 3 && !capability.protocol_3) {
    settled.rules.protocol = 2;
    settled.fallbacks.push_back(
        fmt::format("tranche.mps.protocol: {} has no protocol 3 (that is {}, driver r615, and "
                    "later); protocol 2 is used",
                    program(capability), cuda(kProtocol3)));
  }
  const bool partitions = !std::holds_alternative<std::monostate>(wanted.sm_partitions);
  if (partitions && !capability.static_partitions) {
    settled.rules.sm_partitions = std::monostate();
    settled.fallbacks.push_back(
        fmt::format("tranche.mps.smPartitions: {} has no static SM partitions (that is {} and "
                    "later); clients are limited by percentages",
                    program(capability), cuda(kStaticPartitions)));
  }
  return settled;
}

}  // namespace tranche::mps
