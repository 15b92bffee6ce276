#pragma once
// For the tests of lint: the names of a driver, and lint's findings about one file.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "explain/lint/lint.h"

namespace tranche::lint::testing_ {

inline Surroundings around() {
  using cluster::SemanticVersion;
  const cluster::SliceDevice gpu{
      .name = "gpu-0",
      .attributes = {{"type", std::string("gpu")},
                     {"uuid", std::string("GPU-0")},
                     {"productName", std::string("NVIDIA L20")},
                     {"cudaComputeCapability", SemanticVersion{"8.9.0"}},
                     {"numaNode", std::int64_t{0}},
                     {"healthy", true},
                     {"resource.kubernetes.io/pcieRoot", std::string("pci0000:10")}},
      .capacity = {{"memory", {48305799168, {}}}, {"compute", {100, {}}}}};
  return {.names = DeviceNames::of({{.name = "n", .driver = "gpu.nvidia.com", .devices = {gpu}}})};
}

inline FileResult lint_one(std::string text, Surroundings surroundings = around()) {
  return lint({{.name = "file.yaml", .text = std::move(text)}}, std::move(surroundings)).at(0);
}

// "12 error spec.x: what; fix"
inline std::vector<std::string> texts_of(const FileResult& result) {
  std::vector<std::string> texts;
  for (const auto& one : result.findings) {
    texts.push_back(std::to_string(one.line) + ' ' + to_string(one.level) + ' ' + one.path + ": " +
                    one.what + "; " + one.fix);
  }
  return texts;
}

}  // namespace tranche::lint::testing_
