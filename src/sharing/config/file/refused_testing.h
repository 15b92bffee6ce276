#pragma once
// Invalid configurations with their error messages, for the tests of the configuration and of
// `tranche lint`, which must report the same errors.

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::config::refused_testing {

struct Case {
  const char* name;
  std::string text;
  // Each is the beginning of one line of the error, and there are no other lines. The file is
  // f.yaml.
  std::vector<std::string> errors;
  Code code = Code::kInvalidArgument;
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

inline std::string shared(std::string_view entry) {
  return "sharing:\n  timeSlicing:\n    resources:\n    - " + std::string(entry) + "\n";
}

inline const std::string kEntry = "f.yaml:4: sharing.timeSlicing.resources[0]";

inline std::vector<Case> types() {
  return {
      Case{"version", "version: v2\nflags: 5\n", {"unknown version: v2 (f.yaml:1: version); "}},
      Case{"version_number",
           "version: 1",
           {"f.yaml:1: version: cannot unmarshal number into a string, found '1'; "}},
      Case{"string_number",
           "flags: {plugin: {cdiAnnotationPrefix: 7}}",
           {"f.yaml:1: flags.plugin.cdiAnnotationPrefix: cannot unmarshal number into a string, "
            "found '7'; "}},
      Case{"string_float",
           "flags: {mpsRoot: 1.5}",
           {"f.yaml:1: flags.mpsRoot: cannot unmarshal number into a string, found '1.5'; "}},
      Case{"string_bool",
           "flags: {migStrategy: off}",
           {"f.yaml:1: flags.migStrategy: cannot unmarshal bool into a string, found 'off'; "}},
      Case{"strings_number",
           "flags: {plugin: {deviceListStrategy: [envvar, 7]}}",
           {"f.yaml:1: flags.plugin.deviceListStrategy: invalid deviceListStrategy: cannot "
            "unmarshal number into a string, found '7'; "}},
      Case{"pattern_number",
           "resources: {gpus: [{pattern: 7, name: gpu}]}",
           {"f.yaml:1: resources.gpus[0].pattern: cannot unmarshal number into a string, found "
            "'7'; "}},
      Case{"list_at_top", "- a\n", {"f.yaml:1: cannot unmarshal array into a mapping; "}},
      Case{"scalar_at_top",
           "text",
           {"f.yaml:1: cannot unmarshal string into a mapping, found 'text'; "}},
      Case{"flags_list", "flags: []", {"f.yaml:1: flags: cannot unmarshal array into a mapping; "}},
      Case{"plugin_scalar",
           "flags:\n  plugin: x\n",
           {"f.yaml:2: flags.plugin: cannot unmarshal string into a mapping, found 'x'; "}},
      Case{"bool_quoted",
           "flags: {failOnInitError: 'true'}",
           {"f.yaml:1: flags.failOnInitError: cannot unmarshal string into a bool, found 'true'; "
            "write true or false, without quotes"}},
      Case{"bool_number",
           "flags: {gdsEnabled: 1}",
           {"f.yaml:1: flags.gdsEnabled: cannot unmarshal number into a bool, found '1'; "}},
      Case{"string_list",
           "flags: {migStrategy: [single]}",
           {"f.yaml:1: flags.migStrategy: cannot unmarshal array into a string; "}},
      Case{"strings_with_mapping",
           "flags: {plugin: {deviceListStrategy: [{a: b}]}}",
           {"f.yaml:1: flags.plugin.deviceListStrategy: invalid deviceListStrategy: cannot "
            "unmarshal object into a string; "}},
      Case{"strings_null",
           "flags: {plugin: {deviceListStrategy: {}}}",
           {"f.yaml:1: flags.plugin.deviceListStrategy: invalid deviceListStrategy: cannot "
            "unmarshal object into a list of strings; "}},
      Case{"interval",
           "flags: {gfd: {sleepInterval: sometimes}}",
           {"f.yaml:1: flags.gfd.sleepInterval: time: invalid duration \"sometimes\"; write a "
            "duration"}},
      Case{"interval_beyond_64_bits",
           "flags: {gfd: {sleepInterval: 1e30}}",
           {"f.yaml:1: flags.gfd.sleepInterval: time: invalid duration \"1e30\"; write a "
            "duration"}},
      Case{"interval_no_number",
           "flags: {gfd: {sleepInterval: .inf}}",
           {"f.yaml:1: flags.gfd.sleepInterval: time: invalid duration \".inf\"; write a "
            "duration"}},
      Case{"imex_scalar",
           "imex: {channelIDs: 0}",
           {"f.yaml:1: imex.channelIDs: cannot unmarshal number into a list of whole numbers, "
            "found '0'; "}},
      Case{"imex_text",
           "imex: {channelIDs: [a]}",
           {"f.yaml:1: imex.channelIDs: cannot unmarshal string into a whole number, found "
            "'a'; "}},
      Case{"honor_quoted",
           "tranche: {honorIgnoredFields: 'true'}",
           {"f.yaml:1: tranche.honorIgnoredFields: cannot unmarshal string into a bool, found "
            "'true'"}},
      Case{"on_change_word",
           "tranche: {onChange: evict}",
           {"f.yaml:1: tranche.onChange: unknown value 'evict'; write withhold or asNvidia"}},
  };
}

inline std::vector<Case> sharing_rules() {
  return {
      Case{"time_slicing_null",
           "sharing:\n  timeSlicing:\n",
           {"f.yaml:2: sharing.timeSlicing: no resources specified; "}},
      Case{"time_slicing_empty",
           "sharing: {timeSlicing: {}}",
           {"f.yaml:1: sharing.timeSlicing: no resources specified; "}},
      Case{"mps_empty", "sharing: {mps: {}}", {"f.yaml:1: sharing.mps: no resources specified; "}},
      Case{"resources_null",
           "sharing:\n  timeSlicing:\n    resources:\n",
           {"f.yaml:3: sharing.timeSlicing.resources: no resources specified; "}},
      Case{"resources_empty",
           "sharing: {timeSlicing: {resources: []}}",
           {"f.yaml:1: sharing.timeSlicing.resources: no resources specified; "}},
      Case{"resources_mapping",
           "sharing: {timeSlicing: {resources: {name: gpu}}}",
           {"f.yaml:1: sharing.timeSlicing.resources: cannot unmarshal object into a list; "}},
      Case{"time_slicing_list",
           "sharing: {timeSlicing: []}",
           {"f.yaml:1: sharing.timeSlicing: cannot unmarshal array into a mapping; "}},
      Case{"entry_scalar",
           shared("gpu"),
           {kEntry + ": cannot unmarshal string into a mapping, found 'gpu'; "}},
      Case{"entry_null",
           shared("~"),
           {kEntry + ": no resource name specified; ", kEntry + ": no replicas specified; "}},
      Case{"no_name", shared("{replicas: 2}"), {kEntry + ": no resource name specified; "}},
      Case{"name_in_other_case",
           shared("{Name: gpu, replicas: 2}"),
           {kEntry + ": no resource name specified; "}},
      Case{"no_replicas", shared("{name: gpu}"), {kEntry + ": no replicas specified; "}},
      Case{"name_null",
           shared("{name: null, replicas: 2}"),
           {kEntry + ".name: incorrect format for resource name 'nvidia.com/': "}},
      Case{"replicas_null",
           shared("{name: gpu, replicas: null}"),
           {kEntry + ".replicas: number of replicas must be >= 2, found null; "}},
      Case{"devices_fraction",
           shared("{name: gpu, replicas: 2, devices: 1.5}"),
           {kEntry + ".devices: unrecognized type for devices spec: 1.5; "}},
      Case{"devices_bool",
           shared("{name: gpu, replicas: 2, devices: true}"),
           {kEntry + ".devices: unrecognized type for devices spec: true; "}},
      Case{"replicas_zero",
           shared("{name: gpu, replicas: 0}"),
           {kEntry + ".replicas: number of replicas must be >= 2, found 0; "}},
      Case{"replicas_negative",
           shared("{name: gpu, replicas: -2}"),
           {kEntry + ".replicas: number of replicas must be >= 2, found -2; "}},
      Case{"replicas_quoted",
           shared("{name: gpu, replicas: '4'}"),
           {kEntry + ".replicas: cannot unmarshal string into a whole number, found '4'; "}},
      Case{"replicas_fraction",
           shared("{name: gpu, replicas: 2.5}"),
           {kEntry + ".replicas: cannot unmarshal number into a whole number, found '2.5'; "}},
      Case{"replicas_text",
           shared("{name: gpu, replicas: many}"),
           {kEntry + ".replicas: cannot unmarshal string into a whole number, found 'many'; "}},
      Case{"replicas_enormous",
           shared("{name: gpu, replicas: 1000000}"),
           {kEntry + ".replicas: 1000000 replicas of one device are more than kubelet can be "
                     "told; write at most 65536"}},
      Case{"name_of_other_vendor",
           shared("{name: amd.com/gpu, replicas: 2}"),
           {kEntry + ".name: incorrect format for resource name 'nvidia.com/amd.com/gpu': "}},
      Case{"name_list",
           shared("{name: [gpu], replicas: 2}"),
           {kEntry + ".name: cannot unmarshal array into a string; "}},
      Case{"name_too_long",
           shared("{name: " + std::string(60, 'a') + ", replicas: 2}"),
           {kEntry + ".name: resource name 'nvidia.com/"}},
      Case{"rename_invalid",
           shared("{name: gpu, replicas: 2, rename: GPU}"),
           {kEntry + ".rename: incorrect format for resource name 'nvidia.com/GPU': "}},
      Case{"name_too_long_for_shared",
           "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: " +
               std::string(50, 'a') + ", replicas: 2}]}}",
           {"f.yaml:1: sharing.timeSlicing.resources[0].name: resource name"}},
      Case{"rename_null",
           shared("{name: gpu, replicas: 2, rename: null}"),
           {kEntry + ".rename: incorrect format for resource name 'nvidia.com/': "}},
      Case{"rename_empty",
           shared("{name: gpu, replicas: 2, rename: ''}"),
           {kEntry + ".rename: incorrect format for resource name 'nvidia.com/': "}},
      Case{"rename_number",
           shared("{name: gpu, replicas: 2, rename: 7}"),
           {kEntry + ".rename: cannot unmarshal number into a string, found '7'; "}},
      Case{"name_number",
           shared("{name: 7, replicas: 2}"),
           {kEntry + ".name: cannot unmarshal number into a string, found '7'; "}},
      Case{"devices_null",
           shared("{name: gpu, replicas: 2, devices: null}"),
           {kEntry + ".devices: devices set as '' but the only valid string input is 'all'; "}},
      Case{"devices_word",
           shared("{name: gpu, replicas: 2, devices: some}"),
           {kEntry + ".devices: devices set as 'some' but the only valid string input is 'all'; "}},
      Case{"devices_zero",
           shared("{name: gpu, replicas: 2, devices: 0}"),
           {kEntry + ".devices: devices set as '0' but a count of devices must be > 0; "}},
      Case{"devices_quoted_count",
           shared("{name: gpu, replicas: 2, devices: '2'}"),
           {kEntry + ".devices: devices set as '2' but the only valid string input is 'all'; "}},
      Case{"devices_mapping",
           shared("{name: gpu, replicas: 2, devices: {a: 1}}"),
           {kEntry + ".devices: unrecognized type for devices spec: a mapping; "}},
      Case{"devices_item",
           shared("{name: gpu, replicas: 2, devices: [0, GPU-1]}"),
           {kEntry + ".devices[1]: unsupported type for device in devices list; "}},
      Case{"devices_item_beyond_64_bits",
           shared("{name: gpu, replicas: 2, devices: [99999999999999999999]}"),
           {kEntry + ".devices[0]: unsupported type for device in devices list; "}},
      Case{"devices_item_negative",
           shared("{name: gpu, replicas: 2, devices: [-1]}"),
           {kEntry + ".devices[0]: unsupported type for device in devices list; "}},
      Case{"devices_empty_honoured",
           "tranche: {honorIgnoredFields: true}\nsharing: {timeSlicing: {resources: [{name: gpu, "
           "replicas: 2, devices: []}]}}",
           {"f.yaml:2: sharing.timeSlicing.resources[0].devices: the list of devices is empty; "}},
      Case{"rename_by_default_quoted",
           "sharing: {timeSlicing: {renameByDefault: 'yes', resources: [{name: gpu, replicas: "
           "2}]}}",
           {"f.yaml:1: sharing.timeSlicing.renameByDefault: cannot unmarshal string into a bool, "
            "found 'yes'"}},
      Case{"pattern_without_name",
           "resources: {gpus: [{pattern: '*'}]}",
           {"f.yaml:1: resources.gpus[0]: resources must have a 'name' field set; "}},
      Case{"name_without_pattern",
           "resources: {mig: [{name: gpu}]}",
           {"f.yaml:1: resources.mig[0]: resources must have a 'pattern' field set; "}},
      Case{"pattern_name_invalid",
           "resources: {gpus: [{pattern: '*', name: A}]}",
           {"f.yaml:1: resources.gpus[0].name: incorrect format for resource name "
            "'nvidia.com/A': "}},
      Case{"pattern_scalar",
           "resources: {gpus: [x]}",
           {"f.yaml:1: resources.gpus[0]: cannot unmarshal string into a mapping, found "}},
      Case{"patterns_mapping",
           "resources: {gpus: {}}",
           {"f.yaml:1: resources.gpus: cannot unmarshal object into a list; "}},
  };
}

inline std::vector<Case> values() {
  return {
      Case{"list_strategy",
           "flags:\n  plugin:\n    deviceListStrategy: [envvar, cdi]\n",
           {"invalid --device-list-strategy option: invalid strategy: cdi (f.yaml:3: "
            "flags.plugin.deviceListStrategy); "},
           Code::kFailedPrecondition},
      Case{"list_strategy_with_comma",
           "flags: {plugin: {deviceListStrategy: 'envvar,cdi-cri'}}",
           {"invalid --device-list-strategy option: invalid strategy: envvar,cdi-cri (f.yaml:1: "},
           Code::kFailedPrecondition},
      Case{"id_strategy",
           "flags: {plugin: {deviceIDStrategy: name}}",
           {"invalid --device-id-strategy option: name (f.yaml:1: "
            "flags.plugin.deviceIDStrategy); "},
           Code::kFailedPrecondition},
      Case{"policy",
           "flags: {plugin: {sharedDevicesAllocationPolicy: random}}",
           {"invalid --shared-devices-allocation-policy option: random (f.yaml:1: "},
           Code::kFailedPrecondition},
      Case{"discovery",
           "flags: {deviceDiscoveryStrategy: vfio}",
           {"invalid --device-discovery-strategy option vfio (f.yaml:1: "
            "flags.deviceDiscoveryStrategy); write auto, nvml or tegra"},
           Code::kFailedPrecondition},
      Case{"mig_strategy",
           "flags: {migStrategy: double}",
           {"unknown MIG strategy: double (f.yaml:1: flags.migStrategy); "},
           Code::kFailedPrecondition},
      Case{"discovery_to_come",
           "flags: {deviceDiscoveryStrategy: tegra}",
           {"device discovery strategy tegra is not supported yet (f.yaml:1: "
            "flags.deviceDiscoveryStrategy); write auto or nvml"},
           Code::kFailedPrecondition},
      Case{"mig_strategy_empty",
           "flags: {migStrategy: ''}",
           {"unknown MIG strategy:  (f.yaml:1: flags.migStrategy); "},
           Code::kFailedPrecondition},
      Case{"imex_channel",
           "imex: {channelIDs: [1]}",
           {"invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or [0]; found "
            "[1] "
            "(f.yaml:1: imex.channelIDs); "},
           Code::kFailedPrecondition},
      Case{"imex_channels",
           "imex: {channelIDs: [0, 1]}",
           {"invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or [0]; found "
            "[0 1] "},
           Code::kFailedPrecondition},
      Case{"mps_without_root",
           "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}",
           {"using MPS requires --mps-root to be specified (flags.mpsRoot); "},
           Code::kFailedPrecondition},
      Case{"mps_root_that_containers_write",
           "flags: {mpsRoot: /tmp/mps}",
           {"f.yaml:1: flags.mpsRoot: /tmp/mps is in no folder from which a file may name one "},
           Code::kFailedPrecondition},
      Case{"path_from_the_working_folder",
           "flags: {nvidiaDriverRoot: run/nvidia/driver}",
           {"f.yaml:1: flags.nvidiaDriverRoot: \"run/nvidia/driver\" is no absolute path "},
           Code::kFailedPrecondition},
      Case{"mps_with_mixed",
           "flags: {mpsRoot: /opt/nvidia/m, migStrategy: mixed}\n"
           "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}",
           {"using --mig-strategy=mixed is not supported with MPS (f.yaml:1: "
            "flags.migStrategy); "},
           Code::kFailedPrecondition},
      // NVIDIA reports only the first of these; we report all, in its order.
      Case{"order_of_rules",
           "flags:\n  migStrategy: a\n  deviceDiscoveryStrategy: b\n  plugin:\n"
           "    sharedDevicesAllocationPolicy: c\n    deviceIDStrategy: d\n"
           "    deviceListStrategy: e\nimex:\n  channelIDs: [7]\n"
           "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}\n",
           {"invalid --device-list-strategy option: invalid strategy: e (f.yaml:7: ",
            "invalid --device-id-strategy option: d (f.yaml:6: ",
            "invalid --shared-devices-allocation-policy option: c (f.yaml:5: ",
            "using MPS requires --mps-root",
            "invalid --device-discovery-strategy option b (f.yaml:3",
            "unknown MIG strategy: a (f.yaml:2: ", "invalid IMEX channel IDs: "},
           Code::kFailedPrecondition},
      Case{"parsing_and_values_together",
           "flags: {migStrategy: a, gdsEnabled: b}\n" + shared("{name: gpu}"),
           {"f.yaml:1: flags.gdsEnabled", "f.yaml:5: sharing.timeSlicing.resources[0]",
            "unknown MIG strategy: a (f.yaml:1: flags.migStrategy); "}},
  };
}

// A text under tranche.limits.
struct Refused {
  const char* name;
  std::string limits;
  std::vector<std::string> errors;  // beginnings of lines, after "f.yaml:2: tranche.limits"
};

inline void PrintTo(const Refused& c, std::ostream* out) { *out << c.name; }

inline std::vector<Refused> limits() {
  return {
      Refused{"scalar", "strict", {": cannot unmarshal string into a mapping"}},
      Refused{"empty", "{}", {": no enforcement specified, so nothing would be limited"}},
      Refused{"no_enforcement", "{memory: 4Gi}", {": no enforcement specified"}},
      Refused{"no_entries", "{resources: []}", {": no enforcement specified"}},
      Refused{"entry_without_enforcement",
              "{resources: [{name: gpu}]}",
              {".resources[0]: no enforcement specified"}},
      Refused{"entry_without_name",
              "{enforcement: strict, resources: [{memory: 4Gi}]}",
              {".resources[0]: no resource name specified"}},
      Refused{"entry_scalar",
              "{enforcement: strict, resources: [gpu]}",
              {".resources[0]: cannot unmarshal string into a mapping"}},
      Refused{"resources_mapping",
              "{enforcement: strict, resources: {name: gpu}}",
              {".resources: cannot unmarshal object into a list"}},
      Refused{"twice",
              "{enforcement: strict, resources: [{name: gpu}, {name: nvidia.com/gpu}]}",
              {".resources[1]: nvidia.com/gpu has an entry already, in line 2"}},
      Refused{"bad_name",
              "{enforcement: strict, resources: [{name: G_P_U}]}",
              {".resources[0].name: "}},
      Refused{"enforcement", "{enforcement: hard}", {".enforcement: unknown enforcement: hard"}},
      Refused{"memory_word",
              "{enforcement: strict, memory: half}",
              {".memory: 'half' is no amount of memory"}},
      Refused{"memory_zero", "{enforcement: strict, memory: 0}", {".memory: with no memory"}},
      Refused{"memory_without_its_unit",
              "{enforcement: elastic, memory: 8, memoryHard: 46068}",
              {".memory: '8' is 8 bytes, and less than 1 MiB", ".memoryHard: '46068' is 46068"}},
      Refused{"memory_part_of_a_byte",
              "{enforcement: strict, memory: 0.5}",
              {".memory: '0.5' is 1 bytes, and less than 1 MiB"}},
      Refused{"memory_negative",
              "{enforcement: strict, memory: -1Gi}",
              {".memory: '-1Gi' is no amount of memory"}},
      Refused{"memory_list",
              "{enforcement: strict, memory: [1]}",
              {".memory: cannot unmarshal array into a string"}},
      Refused{"hard_word",
              "{enforcement: elastic, memoryHard: all}",
              {".memoryHard: 'all' is no amount of memory"}},
      Refused{"percents",
              "{enforcement: strict, memory: 0%, compute: 101%}",
              {".memory: '0%' is no part", ".compute: '101%' is no part"}},
      Refused{"percent_forms",
              "{enforcement: strict, memory: 1.25%, compute: .5%}",
              {".memory: '1.25%' is no part", ".compute: '.5%' is no part"}},
      Refused{"percent_point",
              "{enforcement: strict, memory: '5.%', compute: '%'}",
              {".memory: '5.%' is no part", ".compute: '%' is no part"}},
      Refused{"percent_huge",
              "{enforcement: strict, memory: 99999999999999999999%}",
              {".memory: '99999999999999999999%' is no part"}},
      Refused{"compute_quantity",
              "{enforcement: strict, compute: 4Gi}",
              {".compute: '4Gi' is no share"}},
      Refused{"words",
              "{enforcement: strict, policy: fifo, class: high, unregistered: kill}",
              {".policy: unknown policy: fifo", ".class: unknown class: high",
               ".unregistered: unknown unregistered: kill"}},
      Refused{"priority_classes_mapping",
              "{enforcement: strict, priorityClasses: {serving: normal}}",
              {".priorityClasses: cannot unmarshal object into a list"}},
      Refused{"priority_classes_entries",
              "{enforcement: strict, policy: priority, priorityClasses: [{class: normal}, "
              "{name: a}, {name: b, class: high}, {name: c, class: normal}, "
              "{name: c, class: best-effort}]}",
              {".priorityClasses[0]: no PriorityClass specified",
               ".priorityClasses[1]: no class specified",
               ".priorityClasses[2].class: unknown class: high",
               ".priorityClasses[4]: c has a class already"}},
      Refused{"oversubscribe_text",
              "{enforcement: strict, oversubscribe: 'true'}",
              {".oversubscribe: cannot unmarshal string into a bool, found 'true'"}},
  };
}

// Promises that no device can keep.
inline std::vector<Case> promises() {
  const auto limits = [](std::string_view text) {
    return "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\ntranche: {limits: {" +
           std::string(text) + "}}";
  };
  return {
      Case{
          "hard_less_than_memory",
          "version: v1\ntranche: {limits: {enforcement: elastic, memory: 8Gi, memoryHard: 4Gi}}",
          {"f.yaml:2: tranche.limits.memoryHard: `memoryHard` 4Gi is less than `memory` 8Gi; raise "
           "it, or remove it"},
          Code::kFailedPrecondition},
      Case{"hard_less_than_memory_in_percent",
           limits("enforcement: elastic, memory: 25%, memoryHard: 12.5%"),
           {"f.yaml:2: tranche.limits.memoryHard: `memoryHard` 12.5% is less than `memory` 25%; "},
           Code::kFailedPrecondition},
      Case{"hard_of_all_less_than_memory_of_one",
           limits("enforcement: elastic, memory: 1Gi, memoryHard: 2Gi, resources: [{name: gpu, "
                  "memory: 3Gi}]"),
           {"f.yaml:2: tranche.limits.resources[0].memory: `memoryHard` 2Gi is less than `memory` "
            "3Gi; "},
           Code::kFailedPrecondition},
      Case{"elastic_of_one_entry",
           limits("enforcement: strict, memory: 2Gi, memoryHard: 1Gi, resources: [{name: gpu, "
                  "enforcement: elastic}]"),
           {"f.yaml:2: tranche.limits.resources[0].memory: `memoryHard` 1Gi is less than `memory` "
            "2Gi; "},
           Code::kFailedPrecondition},
      Case{"memory_of_all_replicas",
           limits("enforcement: strict, memory: 30%"),
           {"f.yaml:2: tranche.limits.memory: 4 tranches of 30% are more than the memory of a "
            "device; lower `memory` or `replicas`, or say `oversubscribe: true`"},
           Code::kFailedPrecondition},
      Case{"time_of_all_replicas",
           limits("enforcement: strict, resources: [{name: gpu, compute: 50%}]"),
           {"f.yaml:2: tranche.limits.resources[0].compute: 4 tranches of 50% are more than the "
            "time of a device; lower `compute` or"},
           Code::kFailedPrecondition},
  };
}

// All of the above.
inline std::vector<Case> all() {
  std::vector<Case> cases;
  for (auto&& some : {types(), sharing_rules(), values(), promises()}) {
    cases.insert(cases.end(), some.begin(), some.end());
  }
  for (const auto& one : limits()) {
    cases.push_back({one.name, "tranche:\n  limits: " + one.limits + "\n", {}});
  }
  return cases;
}

}  // namespace tranche::config::refused_testing
