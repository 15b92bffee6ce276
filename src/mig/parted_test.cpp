#include "mig/parted.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/yaml.h"
#include "gpu/mig_tables.h"

namespace tranche::mig::parted_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

std::string file_with(std::string_view entry) {
  return fmt::format("version: v1\nmig-configs:\n  one:\n    - {}\n", entry);
}

Result<PartedFile> parse(std::string_view text) { return parse_parted(text, "layouts.yaml"); }

std::string refusal(std::string_view text) {
  const auto file = parse(text);
  if (file) return "accepted";
  EXPECT_EQ(file.error().code, Code::kInvalidArgument);
  return file.error().message();
}

// The value of the key of the scenario's ConfigMap.
std::string scenario() {
  std::ifstream file("tests/data/scenarios/platform/mig-parted-config.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const auto map = yaml::parse(text.str(), "config map");
  return map->root.find("data")->find("config.yaml")->scalar;
}

gpu::Gpu gpu_of(int index, const char* model) {
  const auto* known = gpu::find_mig_model(model);
  const auto device = std::stoul(std::string(known->pci_device_ids[0]), nullptr, 16);
  return {.index = index,
          .uuid = {fmt::format("GPU-{}", index)},
          .name = std::string(known->product_names.empty() ? model : known->product_names[0]),
          .pci_ids = {.device = static_cast<std::uint32_t>(device << 16U) | 0x10DEU,
                      .subsystem = 0x147F10DE},
          .mig_mode = gpu::MigMode::kDisabled,
          .mig_geometry = known->geometry};
}
gpu::Gpu t4(int index) {
  return {.index = index, .uuid = {fmt::format("GPU-{}", index)}, .name = "Tesla T4"};
}
gpu::Machine machine(std::vector<gpu::Gpu> gpus) { return {.gpus = std::move(gpus)}; }
gpu::Machine four(const char* model = "a100-80gb") {
  return machine({gpu_of(0, model), gpu_of(1, model), gpu_of(2, model), gpu_of(3, model)});
}

// "0: MIG off", "1: 2g.20gb 3, 1g.10gb 1", one line a GPU; an error's message.
std::vector<std::string> wishes(const PartedFile& file, const std::string& name,
                                const gpu::Machine& of) {
  const auto wishes = wishes_of(file, name, of);
  if (!wishes) return {wishes.error().message()};
  std::vector<std::string> lines;
  for (const auto& [gpu, wish] : *wishes) {
    std::string line = gpu.value.substr(4) + ":" + (wish.enabled ? "" : " MIG off");
    for (const auto& [profile, count] : wish.devices) line += fmt::format(" {} {}", profile, count);
    lines.push_back(line);
  }
  return lines;
}
std::vector<std::string> wishes(std::string_view entry, const gpu::Machine& of) {
  const auto file = parse(file_with(entry));
  if (!file) return {file.error().message()};
  return wishes(*file, "one", of);
}

TEST(Parted, ReadsTheScenario) {
  const auto file = parse(scenario());
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_THAT(wishes(*file, "all-1g.10gb", four()),
              ElementsAre("0: 1g.10gb 7", "1: 1g.10gb 7", "2: 1g.10gb 7", "3: 1g.10gb 7"));
  EXPECT_THAT(wishes(*file, "all-balanced", machine({gpu_of(0, "a100-80gb")})),
              ElementsAre("0: 1g.10gb 2 2g.20gb 1 3g.40gb 1"));
  EXPECT_THAT(wishes(*file, "mixed-workload", four()),
              ElementsAre("0: MIG off", "1: 1g.10gb 1 2g.20gb 3", "2: 1g.10gb 1 2g.20gb 3",
                          "3: 1g.10gb 1 2g.20gb 3"));
}

TEST(Parted, ReadsEveryField) {
  const auto file = parse(R"(
version: v1
mig-configs:
  all:
    - device-filter: ["0x20B210DE", "0x20B210de:0x147F10DE"]
      devices: [0, 2]
      mig-enabled: yes
      mig-devices: {1c.3g.40gb: 2, "1g.10gb+me": 1, 1g.24gb+me.all: 1, 1g.24gb-me: 1, 2g.20gb: 0}
    - {device-filter: "548540638", devices: all, mig-enabled: false}
    - {device-filter: "", devices: [], mig-enabled: false, mig-devices: {}}
)");
  ASSERT_TRUE(file) << file.error().message();
  const auto& entries = file->configs.at("all");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0], (PartedEntry{.filters = {{.text = "0x20B210DE", .device = 0x20B210DE},
                                                 {.text = "0x20B210de:0x147F10DE",
                                                  .device = 0x20B210DE,
                                                  .subsystem = 0x147F10DE}},
                                     .devices = std::vector{0, 2},
                                     .wish = {.enabled = true,
                                              .devices = {{"1c.3g.40gb", 2},
                                                          {"1g.10gb+me", 1},
                                                          {"1g.24gb+me.all", 1},
                                                          {"1g.24gb-me", 1}}},
                                     .line = 5}));
  EXPECT_EQ(entries[1].filters[0].device, 0x20B210DEU);
  EXPECT_EQ(entries[1].devices, std::nullopt);
  EXPECT_THAT(entries[2].filters, IsEmpty());
  EXPECT_EQ(entries[2].devices, std::vector<int>{});
}

TEST(Parted, HooksAreNamed) {
  const auto file = parse(
      "version: v1\nhooks:\n  pre-apply-mode:\n    - {command: systemctl, args: [stop, dcgm], "
      "envs: {A: b}, workdir: /}\n");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_THAT(file->hooks, ElementsAre("pre-apply-mode: systemctl stop dcgm"));
}

TEST(Parted, AVersionAloneIsAFile) { EXPECT_TRUE(parse("version: v1")); }

TEST(Parted, WhatIsWrongIsNamedWithItsLine) {
  const struct {
    const char* name;
    std::string text;
    const char* said;
  } cases[] = {
      {"empty", "", "layouts.yaml:1: the file is null where a mapping is expected"},
      {"a list", "- 1", "layouts.yaml:1: the file is a list"},
      {"broken YAML", "version: [v1", "layouts.yaml:1"},
      {"no version", "mig-configs: {a: [{devices: all, mig-enabled: false}]}",
       "layouts.yaml:1: \"version\" is missing; write version: v1"},
      {"a later version", "version: v2", "layouts.yaml:1: unknown version \"v2\""},
      {"a version that is a map", "version: {}", "unknown version"},
      {"an unknown key", "version: v1\nmig-config: {}",
       "layouts.yaml:2: unknown key \"mig-config\"; did you mean \"mig-configs\"?"},
      {"an unknown key far from any", "version: v1\ncolour: red",
       "layouts.yaml:2: unknown key \"colour\"; remove it"},
      {"a ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata: {}",
       "layouts.yaml:2: the file is a ConfigMap; write the value of its key into a file"},
      {"no layouts", "version: v1\nmig-configs: {}", "\"mig-configs\" has 0 layouts"},
      {"a layout that is null", "version: v1\nmig-configs: {a: }", "layout \"a\" is null"},
      {"a layout without entries", "version: v1\nmig-configs: {a: []}", "layout \"a\" is empty"},
      {"a layout with a strange name", "version: v1\nmig-configs: {\"a b\": [{}]}",
       "\"a b\" is no name of a layout"},
      {"a layout twice",
       "version: v1\nmig-configs:\n  a: [{devices: all, mig-enabled: false}]\n"
       "  a: [{devices: all, mig-enabled: false}]",
       "layouts.yaml:4: \"a\" is there twice; the first is in line 3"},
      {"an entry that is a text", file_with("all"), "layouts.yaml:4: an entry is a scalar"},
      {"an unknown key of an entry", file_with("{device: all, devices: all, mig-enabled: false}"),
       "layouts.yaml:4: unknown key \"device\"; did you mean \"devices\"?"},
      {"no devices", file_with("{mig-enabled: false}"), "layouts.yaml:4: \"devices\" is missing"},
      {"no mode", file_with("{devices: all}"), "\"mig-enabled\" is missing"},
      {"a mode that is none", file_with("{devices: all, mig-enabled: maybe}"),
       "\"mig-enabled\" is neither true nor false"},
      {"one index without a list", file_with("{devices: 7, mig-enabled: false}"),
       "\"devices\" is neither all nor a list: 7; write all, or a list of indices: [0, 1]"},
      {"devices of another word", file_with("{devices: none, mig-enabled: false}"),
       "neither all nor a list: none"},
      {"an index below zero", file_with("{devices: [-1], mig-enabled: false}"),
       "\"-1\" is no index of a GPU"},
      {"an index that is a word", file_with("{devices: [one], mig-enabled: false}"),
       "\"one\" is no index of a GPU"},
      {"enabled without devices", file_with("{devices: all, mig-enabled: true}"),
       "\"mig-devices\" is missing; write {} for no instances"},
      {"enabled with null", file_with("{devices: all, mig-enabled: true, mig-devices: }"),
       "\"mig-devices\" is missing"},
      {"disabled with devices",
       file_with("{devices: all, mig-enabled: false, mig-devices: {1g.10gb: 1}}"),
       "\"mig-devices\" is there, and \"mig-enabled\" is false"},
      {"a profile that is none",
       file_with("{devices: all, mig-enabled: true, mig-devices: {small: 1}}"),
       "\"small\" is no name of a MIG profile"},
      {"half an instance",
       file_with("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 0.5}}"),
       "\"0.5\" is no number of instances"},
      {"less than none", file_with("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: -1}}"),
       "\"-1\" is no number of instances"},
      {"a number in quotes",
       file_with("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: '1'}}"),
       "\"1\" is no number of instances"},
      {"all numbers zero",
       file_with("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 0}}"),
       "all numbers in \"mig-devices\" are 0; write {} for no instances"},
      {"a filter by model", file_with("{device-filter: A100, devices: all, mig-enabled: false}"),
       "\"A100\" is no device filter; write the PCI ids as \"0xDDDDVVVV\""},
      {"a filter without quotes",
       file_with("{device-filter: 0x20B210DE, devices: all, mig-enabled: false}"),
       "\"device-filter\" 0x20B210DE is a number; put it in quotes"},
      {"a filter with too much",
       file_with("{device-filter: '0x1:0x2:0x3', devices: all, mig-enabled: false}"),
       "is no device filter"},
      {"a filter too large",
       file_with("{device-filter: '0x123456789', devices: all, mig-enabled: false}"),
       "is no device filter"},
      {"a hook that is none", "version: v1\nhooks: {a: [{comand: x}]}",
       "unknown key \"comand\"; did you mean \"command\"?"},
      {"too long", std::string((1U << 20U) + 1, ' '), "bytes are too many"},
  };
  for (const auto& one : cases) EXPECT_THAT(refusal(one.text), HasSubstr(one.said)) << one.name;
}

TEST(Parted, EveryErrorIsToldAtOnce) {
  EXPECT_THAT(refusal(file_with("{devices: 7, mig-enabled: maybe}") + "extra: 1\n"),
              AllOf(HasSubstr("layouts.yaml:4: \"devices\""), HasSubstr("layouts.yaml:4: \"mig-en"),
                    HasSubstr("layouts.yaml:5: unknown key \"extra\"")));
}

TEST(Parted, NothingOfTheFileReachesATerminalUnchecked) {
  EXPECT_THAT(refusal("version: v1\n\"a\\e[31m\": 1"), Not(HasSubstr("\x1b")));
  EXPECT_THAT(refusal(file_with("{devices: \"\\a\", mig-enabled: \"\\e\"}")),
              AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\a"))));
}

TEST(PartedWishes, ALaterEntryWins) {
  const auto file = parse(
      "version: v1\nmig-configs: {one: [{devices: all, mig-enabled: false}, {devices: [1], "
      "mig-enabled: true, mig-devices: {}}]}");
  EXPECT_THAT(wishes(*file, "one", machine({gpu_of(0, "a30-24gb"), gpu_of(1, "a30-24gb")})),
              ElementsAre("0: MIG off", "1:"));
}

TEST(PartedWishes, GpusThatNoEntryNamesAreLeftAlone) {
  EXPECT_THAT(wishes("{devices: [2], mig-enabled: false}", four()), ElementsAre("2: MIG off"));
}

TEST(PartedWishes, AFilterChoosesByPciIds) {
  const auto both = machine({gpu_of(0, "a100-80gb"), gpu_of(1, "a30-24gb")});
  const auto with = [&](const char* filter) {
    return wishes(fmt::format("{{device-filter: {}, devices: all, mig-enabled: false}}", filter),
                  both);
  };
  EXPECT_THAT(with("'0x20B710DE'"), ElementsAre("1: MIG off"));
  EXPECT_THAT(with("['0x20B710DE', '0x20b210de']"), ElementsAre("0: MIG off", "1: MIG off"));
  EXPECT_THAT(with("'0x20B210DE:0x147F10DE'"), ElementsAre("0: MIG off"));
  EXPECT_THAT(with("'0x20B210DE:0x000110DE'"),
              ElementsAre("no entry of layout \"one\" is for a GPU of this machine; see its "
                          "device-filter and devices"));
}

TEST(PartedWishes, ALayoutThatIsNotThereIsNamedWithThoseThatAre) {
  const auto missing = wishes_of(*parse(scenario()), "all-balance", four());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message(),
            "there is no layout \"all-balance\" in the file; did you mean \"all-balanced\"? it has "
            "all-1g.10gb, all-balanced, mixed-workload");
}

TEST(PartedWishes, AnIndexThatIsNotThereIsRefused) {
  EXPECT_THAT(wishes("{devices: [0, 4], mig-enabled: false}", four()),
              ElementsAre("line 4: there is no GPU 4; this machine has 4 GPUs, counted from 0"));
}

TEST(PartedWishes, GpusWithoutMigAreRefusedWithWhatWorksInstead) {
  const auto asked =
      wishes_of(*parse(file_with("{devices: all, mig-enabled: true, mig-devices: {}}")), "one",
                machine({t4(0)}));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, Code::kUnsupported);
  EXPECT_THAT(asked.error().message(),
              AllOf(HasSubstr("GPU 0 (Tesla T4) has no MIG"), HasSubstr("time-slicing")));
}

TEST(PartedWishes, AllMeansTheGpusThatHaveMig) {
  const auto both = machine({t4(0), gpu_of(1, "a30-24gb")});
  EXPECT_THAT(wishes("{devices: all, mig-enabled: true, mig-devices: {}}", both),
              ElementsAre("1:"));
  EXPECT_THAT(wishes("{devices: [0, 1], mig-enabled: true, mig-devices: {}}", both),
              ElementsAre(HasSubstr("GPU 0 (Tesla T4) has no MIG")));
  EXPECT_THAT(wishes("{devices: all, mig-enabled: false}", machine({t4(0)})), IsEmpty())
      << "nothing is asked of it";
}

TEST(PartedWrite, WhatTheMachineHasComesBack) {
  const Instance small{.profile_id = 19, .placement = {0, 1}, .compute = {1}};
  const GpuLayout one{.enabled = true, .instances = {small}};
  const Layout layout{
      {{"GPU-0"}, one}, {{"GPU-1"}, {}}, {{"GPU-2"}, one}, {{"GPU-3"}, {.enabled = true}}};
  const auto text = export_parted(four(), layout, "current");
  EXPECT_EQ(text,
            "version: v1\n"
            "mig-configs:\n"
            "  current:\n"
            "    - devices: [0, 2]\n"
            "      mig-enabled: true\n"
            "      mig-devices:\n"
            "        \"1g.10gb\": 1\n"
            "    - devices: [1]\n"
            "      mig-enabled: false\n"
            "    - devices: [3]\n"
            "      mig-enabled: true\n"
            "      mig-devices: {}\n");
  EXPECT_THAT(wishes(*parse(text), "current", four()),
              ElementsAre("0: 1g.10gb 1", "1: MIG off", "2: 1g.10gb 1", "3:"));
  EXPECT_EQ(to_json(*parse(text)).text(),
            R"({"version":"v1","mig-configs":{"current":[{"devices":[0,2],"mig-enabled":true,)"
            R"("mig-devices":{"1g.10gb":1}},{"devices":[1],"mig-enabled":false},)"
            R"({"devices":[3],"mig-enabled":true,"mig-devices":{}}]}})");
}

TEST(PartedWrite, GpusThatAreAllAlikeAreAll) {
  EXPECT_EQ(export_parted(machine({t4(0)}), {}, "12"),
            "version: v1\nmig-configs:\n  \"12\":\n    - devices: all\n      mig-enabled: false\n");
}

TEST(PartedDefaults, AreThoseOfNvidia) {
  const auto file = default_layouts(four());
  std::vector<std::string> names;
  for (const auto& [name, entries] : file.configs) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("all-1g.10gb", "all-1g.10gb.me", "all-1g.20gb", "all-2g.20gb",
                                 "all-3g.40gb", "all-4g.40gb", "all-7g.80gb", "all-balanced",
                                 "all-disabled", "all-enabled"));
  const auto one = machine({gpu_of(0, "a100-80gb")});
  EXPECT_THAT(wishes(file, "all-1g.10gb.me", one), ElementsAre("0: 1g.10gb+me 1"));
  EXPECT_THAT(wishes(file, "all-1g.20gb", one), ElementsAre("0: 1g.20gb 4"));
  EXPECT_THAT(wishes(file, "all-enabled", one), ElementsAre("0:"));
  EXPECT_THAT(wishes(file, "all-disabled", one), ElementsAre("0: MIG off"));
}

TEST(PartedDefaults, BalancedIsAsNvidiaHasItForEachModel) {
  const struct {
    const char* model;
    const char* wish;
  } cases[] = {
      {"a30-24gb", "0: 1g.6gb 2 2g.12gb 1"},
      {"a100-40gb", "0: 1g.5gb 2 2g.10gb 1 3g.20gb 1"},
      {"h100-80gb", "0: 1g.10gb 2 2g.20gb 1 3g.40gb 1"},
      {"h200-141gb", "0: 1g.18gb 2 2g.35gb 1 3g.71gb 1"},
      {"b200-180gb", "0: 1g.23gb 2 2g.45gb 1 3g.90gb 1"},
      {"rtx-pro-6000-96gb", "0: 1g.24gb 2 2g.48gb 1"},
  };
  for (const auto& one : cases) {
    const auto of = machine({gpu_of(0, one.model)});
    EXPECT_THAT(wishes(default_layouts(of), "all-balanced", of), ElementsAre(one.wish));
  }
}

TEST(PartedDefaults, SeveralModelsHaveFiltersAndShareWhatIsTheSame) {
  const auto both =
      machine({gpu_of(0, "a100-80gb"), gpu_of(1, "h100-80gb"), gpu_of(2, "a30-24gb")});
  const auto file = default_layouts(both);
  EXPECT_THAT(wishes(file, "all-balanced", both),
              ElementsAre("0: 1g.10gb 2 2g.20gb 1 3g.40gb 1", "1: 1g.10gb 2 2g.20gb 1 3g.40gb 1",
                          "2: 1g.6gb 2 2g.12gb 1"));
  EXPECT_EQ(file.configs.at("all-balanced").size(), 2U);
  EXPECT_THAT(wishes(file, "all-1g.6gb", both), ElementsAre("2: 1g.6gb 4"));
}

TEST(PartedDefaults, AMachineWithoutMigHasTwo) {
  EXPECT_EQ(default_layouts(machine({t4(0)})).configs.size(), 2U);
}

TEST(PartedDefaults, OfEveryModelAreReadBackAsWritten) {
  for (const auto& model : gpu::mig_models()) {
    if (model.pci_device_ids.empty()) continue;
    const auto key = std::string(model.key);
    const auto file = default_layouts(machine({gpu_of(0, key.c_str()), gpu_of(1, "a100-40gb")}));
    const auto read = parse(to_yaml(file));
    ASSERT_TRUE(read) << key << ": " << read.error().message();
    EXPECT_EQ(to_yaml(*read), to_yaml(file)) << key;
    const auto from_json = parse(to_json(file).text());
    ASSERT_TRUE(from_json) << key << ": " << from_json.error().message();
    EXPECT_EQ(to_yaml(*from_json), to_yaml(file)) << key;
  }
}

}  // namespace
}  // namespace tranche::mig::parted_test
