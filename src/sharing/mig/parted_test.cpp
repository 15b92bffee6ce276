#include "mig/parted.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/lines.h"
#include "mig/parted_testing.h"

namespace tranche::mig::parted_test {
namespace {

using namespace parted_testing;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string refusal(std::string_view text) {
  const auto file = parse(text);
  if (file) return "accepted";
  EXPECT_EQ(file.error().code, Code::kInvalidArgument);
  return file.error().message();
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

// mig-parted's files are YAML, so they may have anchors, aliases and merges.
TEST(Parted, AliasesAreResolved) {
  const auto file = parse(
      "version: v1\nmig-configs:\n  a: &small\n    - &one {devices: [0], mig-enabled: true, "
      "mig-devices: {1g.10gb: 7}}\n  b: *small\n  c:\n    - {<<: *one, devices: all}\n");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->configs.at("b")[0].wish, file->configs.at("a")[0].wish);
  EXPECT_EQ(file->configs.at("c")[0].wish, file->configs.at("a")[0].wish);
  EXPECT_EQ(file->configs.at("c")[0].devices, std::nullopt);
  EXPECT_THAT(refusal("version: v1\nmig-configs: {a: *gone}"), HasSubstr("layouts.yaml:2"));
}

TEST(Parted, AFileOfWindowsIsRead) {
  const auto file = parse(
      "\xEF\xBB\xBFversion: v1\r\nmig-configs:\r\n  a:\r\n    - devices: all\r\n"
      "      mig-enabled: true\r\n      mig-devices:\r\n        1g.10gb: 7\r\n");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_THAT(wishes(*file, "a", machine({gpu_of(0, "a100-80gb")})), ElementsAre("0: 1g.10gb 7"));
}

TEST(Parted, HooksAreNamed) {
  const auto file = parse(
      "version: v1\nhooks:\n  pre-apply-mode:\n    - {command: systemctl, args: [stop, dcgm], "
      "envs: {A: b}, workdir: /}\n");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_THAT(file->hooks, ElementsAre("pre-apply-mode: systemctl stop dcgm"));
}

TEST(Parted, AVersionAloneIsAFileWithAWarning) {
  const auto file = parse("version: v1");
  ASSERT_TRUE(file);
  EXPECT_THAT(file->warnings,
              ElementsAre("layouts.yaml:1: \"mig-configs\" is missing, so the file has no layouts; "
                          "name them in it"));
}

TEST(Parted, AnEmptyFileIsRefused) {
  for (const auto* text : {"", "# version: v1\n# mig-configs: {}\n", "---\n", "null", "~", "{}",
                           "\xEF\xBB\xBF# x\n", "...\n", "version:\nmig-configs:\n#  a: []\n"}) {
    EXPECT_EQ(refusal(text),
              "layouts.yaml:1: the file is empty; begin it with \"version: v1\"; "
              "what is commented out does not count")
        << text;
  }
}

TEST(Parted, AnotherDocumentIsNotReadInSilence) {
  EXPECT_THAT(refusal("version: v1\n---\nmig-configs: {a: [{devices: all, mig-enabled: false}]}\n"),
              HasSubstr("layouts.yaml:3: another document begins here, and the first one alone is "
                        "read; "));
}

TEST(Parted, IneffectiveFieldsGiveWarnings) {
  struct Case {
    const char* name;
    std::string text;
    std::vector<std::string> warnings;
  };
  const auto filter = [](std::string_view text) {
    return file_with(fmt::format("{{device-filter: {}, devices: all, mig-enabled: false}}", text));
  };
  const auto entries = [](std::string_view devices, std::string_view models, std::string_view below,
                          std::string_view models_below) {
    constexpr std::string_view kEntry = "{{device-filter: '{}', devices: {}, mig-enabled: false}}";
    return file_with(fmt::format(kEntry, models, devices) + "\n    - " +
                     fmt::format(kEntry, models_below, below));
  };
  const Case cases[] = {
      {"a list of no GPU",
       file_with("{devices: [], mig-enabled: false}"),
       {"layouts.yaml:4: \"devices\" is an empty list, so the entry is for no GPU; write all, or"}},
      {"vendor and device changed over",
       filter("\"0x10DE20B2\""),
       {"layouts.yaml:4: \"device-filter\" \"0x10DE20B2\" matches no GPU: it does not end in "
        "NVIDIA's number, 10DE; write the device first, then the vendor: \"0x20B210DE\""}},
      {"a device without its vendor",
       filter("[\"0x20B210DE\", \"0x20B2\"]"),
       {"layouts.yaml:4: \"device-filter\" \"0x20B2\" matches no GPU"}},
      {"another vendor",
       filter("\"0x20B21002:0x147F10DE\""),
       {"\"0x20B21002:0x147F10DE\" matches no GPU"}},
      {"a name that no label can have",
       "version: v1\nmig-configs:\n  a/b: [{devices: all, mig-enabled: false}]\n",
       {"layouts.yaml:3: layout \"a/b\" cannot be the value of a label, so no node can ask for "
        "it"}},
      {"an exception above what it is one of",
       entries("[3]", "", "all", ""),
       {"layouts.yaml:4: entries below are for all of its GPUs, so this one has no effect; move it "
        "below them, or remove it"}},
      {"the same GPUs twice",
       entries("[0, 1]", "", "[1, 0]", ""),
       {"layouts.yaml:4: entries below"}},
      {"the same models twice",
       entries("all", "0x20B210DE", "all", "0x20b210de"),
       {"layouts.yaml:4: entries below"}},
      {"all models below one",
       entries("all", "0x20B210DE", "all", ""),
       {"layouts.yaml:4: entries"}},
      {"the exception below", entries("all", "", "[3]", ""), {}},
      {"one of its GPUs is its own", entries("[0, 1]", "", "[1, 2]", ""), {}},
      {"one model below all", entries("all", "", "all", "0x20B210DE"), {}},
      {"two models", entries("all", "0x20B210DE", "all", "0x232210DE"), {}},
      {"all as it should be", filter("\"0x20B210DE\""), {}},
  };
  for (const auto& one : cases) {
    const auto file = parse(one.text);
    ASSERT_TRUE(file) << one.name << ": " << file.error().message();
    ASSERT_EQ(file->warnings.size(), one.warnings.size()) << one.name;
    for (std::size_t i = 0; i < one.warnings.size(); ++i) {
      EXPECT_THAT(file->warnings[i], HasSubstr(one.warnings[i])) << one.name;
    }
  }
}

TEST(Parted, ErrorsNameTheirLine) {
  const struct {
    const char* name;
    std::string text;
    const char* said;
  } cases[] = {
      {"empty", "", "layouts.yaml:1: the file is empty; begin it with"},
      {"a list", "- 1", "layouts.yaml:1: the file is a list"},
      {"broken YAML", "version: [v1", "layouts.yaml:1"},
      {"no version", "mig-configs: {a: [{devices: all, mig-enabled: false}]}",
       "layouts.yaml:1: \"version\" is missing; write version: v1"},
      {"a later version", "version: v2", "layouts.yaml:1: unknown version \"v2\""},
      {"a version that is a map", "version: {a: b}", "unknown version"},
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
      {"a compute instance larger than its GPU instance",
       file_with("{devices: all, mig-enabled: true, mig-devices: {4c.3g.40gb: 1}}"),
       "\"4c.3g.40gb\" is no name of a MIG profile"},
      {"an attribute without a name",
       file_with("{devices: all, mig-enabled: true, mig-devices: {1g.10gb+: 1}}"),
       "\"1g.10gb+\" is no name of a MIG profile"},
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
  for (const auto& one : cases) {
    const auto said = refusal(one.text);
    EXPECT_THAT(said, HasSubstr(one.said)) << one.name;
    for (auto lines = std::string_view(said); !lines.empty();) {
      EXPECT_THAT(std::string(take_line(lines)), HasSubstr("; ")) << one.name << ": what to do";
    }
  }
}

TEST(Parted, EveryErrorIsReportedAtOnce) {
  EXPECT_THAT(refusal(file_with("{devices: 7, mig-enabled: maybe}") + "extra: 1\n"),
              AllOf(HasSubstr("layouts.yaml:4: \"devices\""), HasSubstr("layouts.yaml:4: \"mig-en"),
                    HasSubstr("layouts.yaml:5: unknown key \"extra\"")));
}

TEST(Parted, NothingOfTheFileReachesATerminalUnchecked) {
  EXPECT_THAT(refusal("version: v1\n\"a\\e[31m\": 1\n\"a\\e[31m\": 1"), Not(HasSubstr("\x1b")));
  EXPECT_THAT(refusal(file_with("{devices: \"\\a\", mig-enabled: \"\\e\"}")),
              AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\a"))));
}

}  // namespace
}  // namespace tranche::mig::parted_test
