// Every accepted form of configuration v1, field by field.

#include "config/file/load.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace tranche::config::load_test {
namespace {

struct Case {
  const char* name;
  Sources sources;
  // Changes a default Config into the one expected.
  std::function<void(Config&)> expected;
  std::vector<const char*> warnings = {};  // each is in one of the warnings, and there are no more
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Sources file(std::string text) { return {.file_text = std::move(text), .file_name = "f.yaml"}; }

class Load : public testing::TestWithParam<Case> {};

TEST_P(Load, Gives) {
  const auto& param = GetParam();
  const auto loaded = load(param.sources);
  ASSERT_TRUE(loaded) << loaded.error().what;
  Config expected;
  param.expected(expected);
  EXPECT_EQ(loaded->config, expected) << loaded->json;
  ASSERT_EQ(loaded->warnings.size(), param.warnings.size())
      << (loaded->warnings.empty() ? "" : loaded->warnings.front().message);
  for (std::size_t i = 0; i < param.warnings.size(); ++i) {
    EXPECT_NE(loaded->warnings[i].message.find(param.warnings[i]), std::string::npos)
        << loaded->warnings[i].message;
  }
}

const auto kNothing = [](Config&) {};
constexpr const char* kEmpty =
    "f.yaml is empty: nothing is shared; write 'version: v1' if that is meant";

// One shared resource in the settled configuration.
ReplicatedResources gpus(int replicas, int line, std::optional<ResourceName> rename = {}) {
  return {.resources = {{.name = {"nvidia.com/gpu"},
                         .rename = std::move(rename),
                         .replicas = replicas,
                         .line = line}}};
}

std::string shared(std::string_view entry) {
  return "sharing: {timeSlicing: {resources: [" + std::string(entry) + "]}}";
}

std::string all_devices(std::string_view devices) {
  return "tranche: {honorIgnoredFields: true}\n" +
         shared("{name: gpu, replicas: 2, devices: " + std::string(devices) + "}");
}

auto with_devices(const Devices& devices) {
  return [devices](Config& c) {
    c.tranche.honor_ignored_fields = true;
    c.sharing.time_slicing = gpus(2, 2);
    c.sharing.time_slicing->resources[0].devices = devices;
  };
}

INSTANTIATE_TEST_SUITE_P(
    Whole, Load,
    testing::Values(
        Case{"no_file", {}, kNothing}, Case{"empty_file", file(""), kNothing, {kEmpty}},
        Case{"comments_only", file("# nothing\n"), kNothing, {kEmpty}},
        Case{"null_document", file("---\nnull\n"), kNothing, {kEmpty}},
        Case{"empty_mapping", file("{}"), kNothing, {kEmpty}},
        Case{"version", file("version: v1"), kNothing},
        Case{"version_empty", file("version: ''"), kNothing},
        Case{"version_null", file("version:"), kNothing, {kEmpty}},
        Case{"null_parts",
             file("flags:\nresources:\nsharing:\nimex:\ntranche:\n"),
             kNothing,
             {kEmpty}},
        Case{"parts_commented_out",
             file("version: v1\nflags: {}\nsharing:\n#  timeSlicing: {}\ntranche:\n  limits:\n"),
             kNothing,
             {"f.yaml:3: sharing: nothing is written under it, so it has no effect; write under it",
              "f.yaml:6: tranche.limits: nothing is written under it"}},
        Case{"only_the_second_document",
             file("---\n# none\n---\nflags: {migStrategy: single}\n"),
             kNothing,
             {kEmpty, "f.yaml:4: another document begins here, and the first one alone is read"}},
        Case{"null_values",
             file("flags: {migStrategy: null, plugin: null, gfd: {oneshot: null}}"),
             kNothing,
             {"f.yaml:1: flags.plugin: nothing is written under it"}},
        Case{"first_document_counts",
             file("flags: {migStrategy: single}\n---\nflags: {migStrategy: mixed}\n"),
             [](Config& c) { c.flags.mig_strategy = MigStrategy::kSingle; },
             {"f.yaml:3: another document begins here, and the first one alone is read; write "
              "one "}},
        Case{"json", file(R"({"version": "v1", "flags": {"migStrategy": "mixed",
                           "failOnInitError": false}})"),
             [](Config& c) {
               c.flags.mig_strategy = MigStrategy::kMixed;
               c.flags.fail_on_init_error = false;
             }},
        Case{"yaml_merge",
             file("flags:\n  plugin: &p {deviceIDStrategy: index}\n  gfd: {}\n"
                  "imex: {}\nsharing: {}\n"),
             [](Config& c) { c.flags.plugin.device_id_strategy = DeviceIdStrategy::kIndex; }}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Fields, Load,
    testing::Values(
        Case{"every_flag", file(R"(
flags:
  migStrategy: single
  failOnInitError: false
  mpsRoot: /run/nvidia/mps
  nvidiaDriverRoot: /run/nvidia/driver
  nvidiaDevRoot: /run/nvidia/driver/dev-root
  gdrcopyEnabled: true
  gdsEnabled: true
  mofedEnabled: true
  useNodeFeatureAPI: true
  deviceDiscoveryStrategy: nvml
  plugin:
    passDeviceSpecs: true
    deviceListStrategy: [volume-mounts, cdi-cri]
    deviceIDStrategy: index
    cdiAnnotationPrefix: my.domain/
    nvidiaCTKPath: /opt/nvidia/nvidia-cdi-hook
    containerDriverRoot: /
    sharedDevicesAllocationPolicy: packed
  gfd:
    oneshot: true
    noTimestamp: true
    sleepInterval: 1m30s
    outputFile: ""
    machineTypeFile: /opt/nvidia/machine
imex:
  channelIDs: [0]
  required: true
)"),
             [](Config& c) {
               c.flags = {.mig_strategy = MigStrategy::kSingle,
                          .fail_on_init_error = false,
                          .mps_root = "/run/nvidia/mps",
                          .nvidia_driver_root = "/run/nvidia/driver",
                          .nvidia_dev_root = "/run/nvidia/driver/dev-root",
                          .gdrcopy_enabled = true,
                          .gds_enabled = true,
                          .mofed_enabled = true,
                          .use_node_feature_api = true,
                          .device_discovery_strategy = DiscoveryStrategy::kNvml};
               c.flags.plugin = {.pass_device_specs = true,
                                 .device_list_strategies = {DeviceListStrategy::kVolumeMounts,
                                                            DeviceListStrategy::kCdiCri},
                                 .device_id_strategy = DeviceIdStrategy::kIndex,
                                 .cdi_annotation_prefix = "my.domain/",
                                 .nvidia_ctk_path = "/opt/nvidia/nvidia-cdi-hook",
                                 .container_driver_root = "/",
                                 .shared_devices_allocation_policy = AllocationPolicy::kPacked};
               c.flags.gfd = {.oneshot = true,
                              .no_timestamp = true,
                              .sleep_interval = std::chrono::seconds(90),
                              .output_file = "",
                              .machine_type_file = "/opt/nvidia/machine"};
               c.imex = {.channel_ids = {0}, .required = true};
             }},
        Case{"keys_without_case",
             file("FLAGS: {MIGSTRATEGY: single, Plugin: {deviceidstrategy: index}}\n"
                  "IMEX: {ChannelIds: [0]}\n"),
             [](Config& c) {
               c.flags.mig_strategy = MigStrategy::kSingle;
               c.flags.plugin.device_id_strategy = DeviceIdStrategy::kIndex;
               c.imex.channel_ids = {0};
             }},
        Case{"one_list_strategy_as_string",
             file("flags: {plugin: {deviceListStrategy: cdi-annotations}}"),
             [](Config& c) {
               c.flags.plugin.device_list_strategies = {DeviceListStrategy::kCdiAnnotations};
             }},
        Case{"dev_root_follows_driver_root", file("flags: {nvidiaDriverRoot: /opt/nvidia}"),
             [](Config& c) {
               c.flags.nvidia_driver_root = c.flags.nvidia_dev_root = "/opt/nvidia";
             }},
        Case{"yaml_booleans", file("flags: {gdsEnabled: yes, failOnInitError: off}"),
             [](Config& c) {
               c.flags.gds_enabled = true;
               c.flags.fail_on_init_error = false;
             }},
        Case{"quoted_number_is_a_string", file("flags: {plugin: {cdiAnnotationPrefix: '12'}}"),
             [](Config& c) { c.flags.plugin.cdi_annotation_prefix = "12"; }},
        Case{"interval_infinite", file("flags: {gfd: {sleepInterval: infinite}}"),
             [](Config& c) { c.flags.gfd.sleep_interval = std::nullopt; }},
        Case{"interval_number_is_nanoseconds", file("flags: {gfd: {sleepInterval: 2000000000}}"),
             [](Config& c) { c.flags.gfd.sleep_interval = std::chrono::seconds(2); }},
        Case{"interval_too_short",
             file("flags: {gfd: {sleepInterval: 60}}"),
             [](Config& c) { c.flags.gfd.sleep_interval = std::chrono::seconds(1); },
             {"f.yaml:1: flags.gfd.sleepInterval: 60 ns is too short and taken as 1s"}},
        Case{"interval_number_with_a_fraction", file("flags: {gfd: {sleepInterval: 2000000000.9}}"),
             [](Config& c) { c.flags.gfd.sleep_interval = std::chrono::seconds(2); }},
        Case{"interval_a_fraction_of_a_nanosecond",
             file("flags: {gfd: {sleepInterval: 1.5}}"),
             [](Config& c) { c.flags.gfd.sleep_interval = std::chrono::seconds(1); },
             {"f.yaml:1: flags.gfd.sleepInterval: 1 ns is too short and taken as 1s"}},
        Case{"imex_null", file("imex: {channelIDs: [null]}"),
             [](Config& c) { c.imex.channel_ids = {0}; }},
        Case{"imex_empty", file("imex: {channelIDs: []}"), kNothing},
        Case{"imex_required_of_none",
             file("imex: {required: true}"),
             [](Config& c) { c.imex.required = true; },
             {"f.yaml:1: imex.required: no channel is asked for, so this has no effect"}},
        Case{"strategies_empty",
             file("flags: {plugin: {deviceListStrategy: []}}"),
             kNothing,
             {"f.yaml:1: flags.plugin.deviceListStrategy: the list is empty, so envvar is used"}}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    SharingForms, Load,
    testing::Values(
        Case{"short_name", file(shared("{name: gpu, replicas: 2}")),
             [](Config& c) { c.sharing.time_slicing = gpus(2, 1); }},
        Case{"replicas_as_float", file(shared("{name: gpu, replicas: 4.0}")),
             [](Config& c) { c.sharing.time_slicing = gpus(4, 1); }},
        Case{"replicas_with_underscore", file(shared("{name: gpu, replicas: 1_0}")),
             [](Config& c) { c.sharing.time_slicing = gpus(10, 1); }},
        Case{"same_resource_twice",
             file(shared("{name: gpu, replicas: 2}, {name: nvidia.com/gpu, replicas: 3}")),
             [](Config& c) {
               c.sharing.time_slicing = gpus(2, 1);
               c.sharing.time_slicing->resources.push_back(gpus(3, 1).resources[0]);
             }},
        Case{"rename_by_default",
             file("sharing:\n  timeSlicing:\n    renameByDefault: true\n"
                  "    failRequestsGreaterThanOne: true\n"
                  "    resources:\n    - name: gpu\n      replicas: 4\n"),
             [](Config& c) {
               c.sharing.time_slicing = gpus(4, 6, ResourceName{"nvidia.com/gpu.shared"});
               c.sharing.time_slicing->rename_by_default = true;
               c.sharing.time_slicing->fail_requests_greater_than_one = true;
             }},
        Case{"one_replica",
             file(shared("{name: gpu, replicas: 1}")),
             [](Config& c) { c.sharing.time_slicing = gpus(1, 1); },
             {"f.yaml:1: sharing.timeSlicing.resources[0].replicas: 1 replica means that "
              "nvidia.com/gpu is not shared"}},
        Case{"one_replica_is_not_renamed",
             file("sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, "
                  "replicas: 1}]}}"),
             [](Config& c) {
               c.sharing.time_slicing = gpus(1, 1);
               c.sharing.time_slicing->rename_by_default = true;
             },
             {"not shared"}},
        Case{"mps_fails_above_one_by_default",
             file("flags: {mpsRoot: /opt/nvidia/m}\nsharing: {mps: {resources: [{name: gpu, "
                  "replicas: 2}]}}"),
             [](Config& c) {
               c.flags.mps_root = "/opt/nvidia/m";
               c.sharing.mps = gpus(2, 2);
               c.sharing.mps->fail_requests_greater_than_one = true;
             }},
        Case{"mps_explicit_false",
             file("flags: {mpsRoot: /opt/nvidia/m}\nsharing: {mps: {failRequestsGreaterThanOne: "
                  "false, "
                  "resources: [{name: gpu, replicas: 2}]}}"),
             [](Config& c) {
               c.flags.mps_root = "/opt/nvidia/m";
               c.sharing.mps = gpus(2, 2);
             }},
        Case{"mps_null_is_unset",
             file("sharing: {mps: null}"),
             kNothing,
             {"f.yaml:1: sharing.mps: nothing is written under it"}},
        Case{"both_mps_wins",
             file("flags: {mpsRoot: /opt/nvidia/m}\nsharing:\n"
                  "  timeSlicing: {resources: [{name: gpu, replicas: 3}]}\n"
                  "  mps: {resources: [{name: gpu, replicas: 2}]}\n"),
             [](Config& c) {
               c.flags.mps_root = "/opt/nvidia/m";
               c.sharing.time_slicing = gpus(3, 3);
               c.sharing.mps = gpus(2, 4);
               c.sharing.mps->fail_requests_greater_than_one = true;
             },
             {"f.yaml:3: sharing.timeSlicing: ignored, because sharing.mps in line 4 is set too"}},
        Case{"mps_unshared_needs_no_root",
             file("sharing: {mps: {resources: [{name: gpu, replicas: 1}]}}"),
             [](Config& c) {
               c.sharing.mps = gpus(1, 1);
               c.sharing.mps->fail_requests_greater_than_one = true;
             },
             {"not shared"}}),
    [](const auto& test) { return std::string(test.param.name); });

constexpr const char* kUuid = "01234567-89ab-cdef-0123-456789abcdef";

INSTANTIATE_TEST_SUITE_P(
    IgnoredFields, Load,
    testing::Values(
        Case{"rename_ignored",
             file(shared("{name: gpu, replicas: 2, rename: big}")),
             [](Config& c) { c.sharing.time_slicing = gpus(2, 1); },
             {"f.yaml:1: sharing.timeSlicing.resources[0].rename: Setting the 'rename' field in "
              "sharing.timeSlicing.resources is not yet supported in the config. Ignoring...; set "
              "'tranche: {honorIgnoredFields: true}'"}},
        Case{
            "rename_ignored_for_the_default",
            file("sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: "
                 "2, rename: big}]}}"),
            [](Config& c) {
              c.sharing.time_slicing = gpus(2, 1, ResourceName{"nvidia.com/gpu.shared"});
              c.sharing.time_slicing->rename_by_default = true;
            },
            {"Setting the 'rename' field"}},
        Case{"rename_honoured",
             file("tranche: {honorIgnoredFields: true}\nsharing: {timeSlicing: {renameByDefault: "
                  "true, resources: [{name: gpu, replicas: 2, rename: big}]}}"),
             [](Config& c) {
               c.tranche.honor_ignored_fields = true;
               c.sharing.time_slicing = gpus(2, 2, ResourceName{"nvidia.com/big"});
               c.sharing.time_slicing->rename_by_default = true;
             }},
        Case{"devices_ignored",
             file(shared("{name: gpu, replicas: 2, devices: [0]}")),
             [](Config& c) { c.sharing.time_slicing = gpus(2, 1); },
             {"f.yaml:1: sharing.timeSlicing.resources[0].devices: Customizing the 'devices' "
              "field"}},
        Case{"devices_all_is_no_wish", file(shared("{name: gpu, replicas: 2, devices: all}")),
             [](Config& c) { c.sharing.time_slicing = gpus(2, 1); }},
        Case{"devices_count", file(all_devices("3")), with_devices(DeviceCount{3})},
        Case{"devices_numbers", file(all_devices("[0, 2]")), with_devices(DeviceList{{"0", "2"}})},
        Case{"devices_null_is_0", file(all_devices("[~, 1]")),
             with_devices(DeviceList{{"0", "1"}})},
        Case{"devices_more_than_any_node_has", file(all_devices("3000000000")),
             with_devices(DeviceCount{INT32_MAX})},
        Case{"devices_strings",
             file(all_devices(std::string("[\"1\", \"0:1\", GPU-") + kUuid + ", MIG-" + kUuid +
                              ", MIG-GPU-" + kUuid + "/1/0]")),
             with_devices(DeviceList{{"1", "0:1", std::string("GPU-") + kUuid,
                                      std::string("MIG-") + kUuid,
                                      std::string("MIG-GPU-") + kUuid + "/1/0"}})},
        Case{"resources_ignored",
             file("resources: {gpus: [{pattern: '*', name: gpu}], mig: [{pattern: 1g.5gb, name: "
                  "small}]}"),
             kNothing,
             {"f.yaml:1: resources.gpus: Customizing the 'resources' field is not yet supported in "
              "the config. Ignoring...",
              "f.yaml:1: resources.mig: Customizing the 'resources' field"}},
        Case{"resources_honoured",
             file("tranche: {honorIgnoredFields: true}\nresources: {gpus: [{pattern: '*T4', name: "
                  "t4}], mig: [{pattern: 1g.5gb, name: small}]}"),
             [](Config& c) {
               c.tranche.honor_ignored_fields = true;
               c.gpus = {{"*T4", {"nvidia.com/t4"}}};
               c.migs = {{"1g.5gb", {"nvidia.com/small"}}};
             }},
        Case{"on_change_withhold", file("tranche: {onChange: withhold}"), kNothing},
        Case{"on_change_empty", file("tranche: {onChange: }"), kNothing},
        Case{"on_change_as_nvidia", file("tranche: {onChange: asNvidia}"),
             [](Config& c) { c.tranche.on_change = OnChange::kAsNvidia; }}),
    [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Suspicious, Load,
    testing::Values(
        Case{"unknown_key_near",
             file("flags:\n  migStrategie: single\n"),
             kNothing,
             {"f.yaml:2: flags.migStrategie: unknown key, ignored; did you mean 'migStrategy'?"}},
        Case{"unknown_key_far",
             file("imex: {x: 1}"),
             kNothing,
             {"f.yaml:1: imex.x: unknown key, ignored; remove it, known here: channelIDs, "
              "required"}},
        Case{"unknown_top", file("foo:\n  bar: 1\n"), kNothing, {"f.yaml:1: foo: unknown key"}},
        Case{"unknown_of_ours",
             file("tranche:\n  honourIgnoredFields: true\n"),
             kNothing,
             {"f.yaml:2: tranche.honourIgnoredFields: unknown key, ignored; did you mean "
              "'honorIgnoredFields'?"}},
        Case{"case_counts_in_entries",
             file(shared("{name: gpu, replicas: 2, Devices: [0]}")),
             [](Config& c) { c.sharing.time_slicing = gpus(2, 1); },
             {"f.yaml:1: sharing.timeSlicing.resources[0].Devices: unknown key, ignored; did you "
              "mean 'devices'?"}},
        Case{"duplicate_last_wins",
             file("flags:\n  migStrategy: single\n  migStrategy: mixed\n"),
             [](Config& c) { c.flags.mig_strategy = MigStrategy::kMixed; },
             {"f.yaml:3: migStrategy: duplicate key, also in line 2, the last one counts"}},
        Case{"two_spellings_exact_wins",
             file("flags:\n  migStrategy: single\n  MIGSTRATEGY: mixed\n"),
             [](Config& c) { c.flags.mig_strategy = MigStrategy::kSingle; },
             {"f.yaml:3: flags.MIGSTRATEGY: the same key as 'migStrategy' in line 2, ignored"}},
        Case{"two_spellings_exact_comes_last",
             file("flags:\n  MIGSTRATEGY: mixed\n  migStrategy: single\n"),
             [](Config& c) { c.flags.mig_strategy = MigStrategy::kSingle; },
             {"f.yaml:2: flags.MIGSTRATEGY: the same key as 'migStrategy' in line 3, ignored"}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tranche::config::load_test
