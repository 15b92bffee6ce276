// Arbitrary text as a manifest, without a cluster and with one. A finding must have a text. A
// corrected file must be YAML and need no other correction. The same text as a CEL expression: its
// corrected form must need no other correction either.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/yaml.h"
#include "explain/lint/cel.h"
#include "explain/lint/lint.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

lint::Surroundings surroundings(bool is_cluster) {
  const cluster::SliceDevice gpu{
      .name = "gpu-0",
      .attributes = {{"uuid", std::string("GPU-0")},
                     {"cudaComputeCapability", cluster::SemanticVersion{"8.9.0"}},
                     {"numaNode", std::int64_t{0}},
                     {"resource.kubernetes.io/pcieRoot", std::string("x")}},
      .capacity = {{"memory", {1U << 30U, {}}}, {"compute", {100, {}}}}};
  lint::Surroundings around{.names = lint::DeviceNames::of(
                                {{.name = "n", .driver = "gpu.nvidia.com", .devices = {gpu}}})};
  if (!is_cluster) return around;
  around.names_are_the_clusters = true;
  around.offered = {{"nvidia.com/gpu", 8}};
  around.classes = {"gpu.nvidia.com"};
  return around;
}

void check_file(std::string_view text, const lint::Surroundings& around) {
  const auto first = lint::lint({{"file", std::string(text)}}, around).at(0);
  for (const auto& one : first.findings) require(!one.what.empty() && one.line >= 0);
  if (!first.corrected) return;
  require(yaml::parse_all(*first.corrected, "again").has_value());
  const auto again = lint::lint({{"file", *first.corrected}}, around).at(0);
  require(!again.corrected);
}

void check_expression(std::string_view text, const lint::Surroundings& around) {
  const auto first = lint::check_cel(text, around);
  for (const auto& one : first.findings) require(!one.what.empty());
  for (const auto& one : lint::check_cel(first.expression, around).findings) {
    require(!one.corrected || first.expression.size() > lint::kLongestCel);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kAlone = surroundings(false);
  static const auto kCluster = surroundings(true);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto* around : {&kAlone, &kCluster}) {
    check_file(text, *around);
    check_expression(text, *around);
  }
  return 0;
}
