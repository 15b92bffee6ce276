#include "config/file/trusted_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/load.h"

namespace tranche::config::trusted_paths_test {
namespace {

using testing::HasSubstr;

Sources with(const std::string& flags) {
  return {.file_text = "version: v1\nflags: " + flags + "\n", .file_name = "c"};
}

struct Case {
  const char* name;
  const char* flags;
};

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, AFileNamesNoPathThatIsNotTrusted) {
  const auto loaded = load(with(GetParam().flags));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(loaded.error().what, HasSubstr("c:2: flags."));
}

INSTANTIATE_TEST_SUITE_P(
    Paths, Refused,
    testing::Values(
        Case{"a_pods_volume", "{plugin: {nvidiaCTKPath: /var/lib/kubelet/pods/u/nvidia-ctk}}"},
        Case{"tmp", "{plugin: {nvidiaCTKPath: /tmp/nvidia-ctk}}"},
        Case{"relative", "{plugin: {nvidiaCTKPath: usr/bin/nvidia-ctk}}"},
        Case{"dots", "{plugin: {nvidiaCTKPath: /usr/bin/../../tmp/nvidia-ctk}}"},
        Case{"a_dot", "{plugin: {nvidiaCTKPath: /usr/bin/./nvidia-ctk}}"},
        Case{"doubled_slash", "{plugin: {nvidiaCTKPath: //usr/bin/nvidia-ctk}}"},
        Case{"only_begins_alike", "{plugin: {nvidiaCTKPath: /usr/binary/nvidia-ctk}}"},
        Case{"another_program", "{plugin: {nvidiaCTKPath: /usr/bin/bash}}"},
        Case{"a_folder", "{plugin: {nvidiaCTKPath: /usr/bin/}}"},
        Case{"empty", "{plugin: {nvidiaCTKPath: ''}}"},
        Case{"below_its_own_driver_root",
             "{nvidiaDriverRoot: /tmp, plugin: {nvidiaCTKPath: /tmp/usr/bin/nvidia-ctk}}"},
        Case{"driver_root", "{nvidiaDriverRoot: /tmp/driver}"},
        Case{"dev_root", "{nvidiaDevRoot: /tmp/dev}"},
        Case{"driver_root_of_the_container",
             "{plugin: {containerDriverRoot: /driver-root/tmp/driver}}"},
        Case{"mps_root", "{mpsRoot: /var/lib/kubelet/pods/u/volumes}"},
        Case{"mps_root_of_the_host", "{mpsRoot: /}"},
        Case{"mps_root_where_containers_write",
             "{mpsRoot: /run/nvidia/mps/nvidia.com/gpu.shared/pipe}"},
        Case{"labels_over_a_cdi_file", "{gfd: {outputFile: /var/run/cdi/nvidia.yaml}}"},
        Case{"labels_by_dots",
             "{gfd: {outputFile: /etc/kubernetes/node-feature-discovery/features.d/../x}}"},
        Case{"a_secret_as_a_label", "{gfd: {machineTypeFile: /etc/shadow}}"},
        Case{"a_serial_number_as_a_label",
             "{gfd: {machineTypeFile: /sys/class/dmi/id/product_serial}}"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(TrustedPaths, WhatNvidiaUsesIsTaken) {
  for (const auto* flags : {
           "{plugin: {nvidiaCTKPath: /usr/bin/nvidia-ctk}}",
           "{plugin: {nvidiaCTKPath: /usr/bin/nvidia-cdi-hook}}",
           "{plugin: {nvidiaCTKPath: /usr/local/nvidia/toolkit/nvidia-cdi-hook}}",
           "{nvidiaDriverRoot: /run/nvidia/driver}",
           "{nvidiaDriverRoot: /, nvidiaDevRoot: /}",
           "{plugin: {containerDriverRoot: /driver-root}}",
           "{mpsRoot: /run/nvidia/mps}",
           "{mpsRoot: /run/nvidia/mps/}",
           "{mpsRoot: ''}",
           "{gfd: {outputFile: ''}}",
           "{gfd: {outputFile: /etc/kubernetes/node-feature-discovery/features.d/other}}",
           "{gfd: {machineTypeFile: /sys/class/dmi/id/product_name}}",
       }) {
    const auto loaded = load(with(flags));
    EXPECT_TRUE(loaded) << flags << ": " << loaded.error().what;
  }
}

TEST(TrustedPaths, TheChartNamesOtherFolders) {
  auto sources = with("{plugin: {nvidiaCTKPath: /srv/toolkit/nvidia-ctk}}");
  EXPECT_FALSE(load(sources));
  sources.environment["TRANCHE_TRUSTED_FOLDERS"] = "/srv/toolkit";
  EXPECT_TRUE(load(sources));
  sources.file_text = "version: v1\nflags: {plugin: {nvidiaCTKPath: /usr/bin/nvidia-ctk}}\n";
  EXPECT_FALSE(load(sources)) << "these alone";
}

// NVIDIA's feature discovery may use the same file, and has no other paths.
TEST(TrustedPaths, FeatureDiscoveryRefusesItsOwnToo) {
  auto sources = with("{gfd: {outputFile: /tmp/gfd}}");
  sources.program = Program::kFeatureDiscovery;
  EXPECT_FALSE(load(sources));
  sources.environment["TRANCHE_TRUSTED_FOLDERS"] = "/tmp";
  EXPECT_TRUE(load(sources));
  sources.environment.clear();
  sources.flags = {{"output-file", "/tmp/gfd"}};
  EXPECT_TRUE(load(sources)) << "the flag holds, not the file";
}

TEST(TrustedPaths, AHookBelowTheDriverRootOfAFlagIsTaken) {
  auto sources = with("{plugin: {nvidiaCTKPath: /srv/driver/usr/bin/nvidia-ctk}}");
  sources.environment["NVIDIA_DRIVER_ROOT"] = "/srv/driver";
  EXPECT_TRUE(load(sources));
}

TEST(TrustedPaths, FlagsAndEnvironmentAreFree) {
  auto sources = with("{plugin: {nvidiaCTKPath: /tmp/nvidia-ctk}}");
  sources.flags = {{"nvidia-cdi-hook-path", "/srv/any/program"}};
  const auto loaded = load(sources);
  ASSERT_TRUE(loaded) << "the flag holds, and the file's path is not used";
  EXPECT_EQ(loaded->config.flags.plugin.nvidia_ctk_path, "/srv/any/program");
}

}  // namespace
}  // namespace tranche::config::trusted_paths_test
