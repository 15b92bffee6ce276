#include "mps/capability.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace tranche::mps {
namespace {

constexpr int kStaticPartitions = 13010;
// CUDA's numbers: 1000 for each major release, and 10 for each minor one.
constexpr int kFirstVersion = 1000;
constexpr int kLastVersion = 99'990;
constexpr std::string_view kBeforeNumber = "version: ";

std::string cuda(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string program(const Capability& capability) {
  return capability.cuda_version > 0
             ? fmt::format("nvidia-cuda-mps-control of {}", cuda(capability.cuda_version))
             : std::string("nvidia-cuda-mps-control, which does not tell its version,");
}

// "protocols 2 and 3"
std::string spoken(const Capability& capability) {
  std::vector<int> numbers;
  for (const Protocol* one : protocols()) {
    if (speaks(capability, *one)) numbers.push_back(one->number());
  }
  return fmt::format("protocol{} {}", numbers.size() == 1 ? "" : "s", fmt::join(numbers, " and "));
}

// Why protocol `number` cannot be used; empty: it can.
std::string protocol_objection(int number, const Capability& capability) {
  const Protocol& protocol = protocol_of(number);
  if (protocol.number() != number) return fmt::format("this tranche has no protocol {}", number);
  if (speaks(capability, protocol)) return {};
  const auto [version, driver] = protocol.since();
  return fmt::format("{} has no protocol {} (that is {}, driver {}, and later)",
                     program(capability), number, cuda(version), driver);
}

}  // namespace

Capability read_version(std::string_view output) {
  Capability capability;
  const auto at = output.find(kBeforeNumber);
  if (at == output.npos) return capability;
  output.remove_prefix(at + kBeforeNumber.size());
  int version = 0;
  const auto [end, error] = std::from_chars(output.data(), output.data() + output.size(), version);
  const bool is_whole =
      error == std::errc() && !std::string_view(end, output.end()).starts_with('.');
  if (!is_whole || version < kFirstVersion || version > kLastVersion) return capability;
  capability.cuda_version = version;
  capability.static_partitions = version >= kStaticPartitions;
  return capability;
}

bool speaks(const Capability& capability, const Protocol& protocol) {
  return capability.cuda_version >= protocol.since().cuda_version;
}

std::string describe(const Capability& capability) {
  if (capability.cuda_version == 0) return "of unknown version: " + spoken(capability);
  return fmt::format("of {}: {}{}", cuda(capability.cuda_version), spoken(capability),
                     capability.static_partitions ? ", static SM partitions" : "");
}

Settled settle(const config::MpsControlRules& wanted, const Capability& capability) {
  Settled settled{.rules = wanted, .fallbacks = {}};
  if (const auto objection = protocol_objection(wanted.protocol, capability); !objection.empty()) {
    settled.rules.protocol = protocols().front()->number();
    settled.fallbacks.push_back(fmt::format("tranche.mps.protocol: {}; protocol {} is used",
                                            objection, settled.rules.protocol));
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
