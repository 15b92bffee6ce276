#pragma once
// A started stand-in in a folder of its own, with a clock that stands still and no log output.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "lab/fake_plugin.h"
#include "lab/kubelet/kubelet.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace tranche::test {

inline constexpr const char* kGpu = "example.com/gpu";
inline constexpr auto kDeadline = std::chrono::seconds(20);

class KubeletTest : public testing::Test {
 protected:
  KubeletTest() {
    const auto started = kubelet.start();
    if (!started) throw std::runtime_error(started.error().message());
  }

  std::filesystem::path plugins() const { return dir.path() / "device-plugins"; }

  // A plugin that kubelet has the devices of.
  std::unique_ptr<FakePlugin> connect(FakePlugin::Options options) {
    const std::string resource = options.resource;
    std::vector<lab::Device> expected = options.devices;
    std::ranges::sort(expected, {}, &lab::Device::id);
    auto plugin = std::make_unique<FakePlugin>(plugins(), std::move(options));
    const auto registered = plugin->register_with_kubelet();
    EXPECT_TRUE(registered) << registered.error().what;
    EXPECT_TRUE(kubelet.wait_for([&] { return kubelet.devices(resource) == expected; }, kDeadline));
    return plugin;
  }

  static std::vector<lab::Device> devices(const lab::Ids& ids) {
    std::vector<lab::Device> out;
    for (const std::string& id : ids) out.push_back({.id = id});
    return out;
  }

  static lab::Pod pod(std::string name, int count) {
    return {.name = std::move(name), .containers = {{.name = "c", .limits = {{kGpu, count}}}}};
  }

  TempDir dir;
  FakeClock clock;
  Log log{LogLevel::kError, [](LogLevel, std::string_view) {}};
  lab::Kubelet kubelet{{.root = dir.path()}, clock, log};
};

}  // namespace tranche::test
