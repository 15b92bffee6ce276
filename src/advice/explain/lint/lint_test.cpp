#include "explain/lint/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "explain/lint/testing.h"

namespace tranche::lint::lint_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_::lint_one;
using testing_::texts_of;

struct Case {
  const char* name;
  std::string text;
  std::vector<std::string> says;
};

class Files : public testing::TestWithParam<Case> {};

TEST_P(Files, AreTold) {
  const auto texts = texts_of(lint_one(GetParam().text));
  ASSERT_EQ(texts.size(), GetParam().says.size()) << testing::PrintToString(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_THAT(texts[i], HasSubstr(GetParam().says[i]));
  }
}

std::string nested(std::size_t depth) {
  return "apiVersion: v1\nkind: Pod\nspec: " + std::string(depth, '[') + std::string(depth, ']');
}

INSTANTIATE_TEST_SUITE_P(
    All, Files,
    testing::Values(
        Case{"empty", "", {"1 error : the file holds nothing"}},
        Case{"comments",
             "# nothing\n---\n",
             {"1 error : the file holds nothing; write an object into it; as a configuration it "
              "shares nothing (write 'version: v1' if that is meant)"}},
        Case{"versionAlone", "version: v1\n", {}},
        Case{"anotherVersionAlone", "version: v2\n", {"1 error version: unknown version: v2"}},
        Case{"configOfTwoDocuments",
             "version: v1\n---\nversion: v1\nsharing: 4\n",
             {"3 warning : another document begins here, and the first one alone is read; write"}},
        Case{"configBehindAnEmptyDocument",
             "---\n# none\n---\nversion: v1\n",
             {"1 warning : the file is empty: nothing is shared; write 'version: v1' if that is ",
              "4 warning : another document begins here"}},
        Case{"sectionCommentedOut",
             "version: v1\nsharing:\n# timeSlicing: {}\n",
             {"2 warning sharing: nothing is written under it, so it has no effect"}},
        Case{"a_misspelt_key_where_the_right_one_is_missing",
             "version: v1\nsharing: {timeSlicing: {resources: [{name: gpu,\n  replica: 4}]}}\n",
             {"2 error sharing.timeSlicing.resources[0]: no replicas specified; add 'replicas:' "
              "with the number of Pods per device",
              "3 warning sharing.timeSlicing.resources[0].replica: unknown key, ignored; did you "
              "mean 'replicas'?"}},
        Case{"namesThatLeadNowhere",
             "version: v1\nsharing: {timeSlicing: {resources: [{name: gpus, replicas: 2},\n"
             "  {name: mig-9g.9gb, replicas: 2}, {name: mig-1c.2g.10gb, replicas: 2}]}}\n"
             "tranche: {limits: {enforcement: strict, resources: [{name: gpu.shared},\n"
             "  {name: gpu}, {name: mig-1g.10gb.me}]}}\n",
             {"2 warning sharing.timeSlicing.resources[0]: nvidia.com/gpus: no node has a resource "
              "of "
              "that name by this configuration, so the entry does nothing; did you mean",
              "3 warning sharing.timeSlicing.resources[1]: nvidia.com/mig-9g.9gb: no model that is "
              "known here has that profile",
              "4 warning tranche.limits.resources[0]: nvidia.com/gpu.shared: no node has"}},
        Case{
            "patternsThatMatchNothing",
            "version: v1\ntranche: {honorIgnoredFields: true}\nresources:\n  gpus:\n"
            "  - {pattern: 'Tesla*', name: gpu}\n  - {pattern: 'Tesla T4', name: t4}\n"
            "  - {pattern: '', name: none}\n  mig:\n  - {pattern: 'NVIDIA A100*', name: a100}\n",
            {"1 warning resources.mig: no model that is known here has a MIG profile like 'NVIDIA "
             "A100*'",
             "6 warning resources.gpus[1]: 'Tesla T4' matches nothing that 'Tesla*' above does not",
             "7 warning resources.gpus[2]: the pattern is empty, so it matches nothing"}},
        Case{"clientsOfMps",
             "version: v1\nsharing: {mps: {resources: [{name: gpu, replicas: 49}]}}\n",
             {"2 error sharing.mps.resources[0].replicas: sharing.mps: maximum allowed replicas "
              "exceeded: 49 > 48; no GPU serves more MPS clients: lower `replicas` of "}},
        Case{"layoutsOfNothing",
             "version: v1\nmig-configs:\n  a:\n  - {devices: [], mig-enabled: false}\n"
             "  - {device-filter: \"0x10DE20B0\", devices: all, mig-enabled: false}\n",
             {"4 warning : \"devices\" is an empty list, so the entry is for no GPU",
              "5 warning : \"device-filter\" \"0x10DE20B0\" matches no GPU"}},
        Case{"scalar", "hello", {"1 error : this is no Kubernetes object"}},
        Case{"list", "- 1\n- 2\n", {"this is no Kubernetes object"}},
        Case{"otherKind", "apiVersion: v1\nkind: Service\nspec: {x: 1}\n", {}},
        Case{"broken", "a: [1\nb: 2\n", {"error : "}}, Case{"tab", "a:\n\tb: 1\n", {"2 error : "}},
        Case{"nul", std::string("a: 1\nb: \0\n", 10), {"2 error : byte 0x00 here is no text"}},
        Case{"notUtf8",
             "a: 1\n\nb: \xff\n",
             {"3 error : byte 0xff here is no text; write the file in UTF-8"}},
        Case{"duplicate",
             "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nmetadata: {name: b}\n",
             {"4 error : \"metadata\" is there twice, first in line 3; keep one: the last counts"}},
        Case{"laughs",
             "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
             "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
             "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
             {"more than 100000 values"}},
        Case{"deep", nested(100'000), {"3 error : "}},
        Case{"deepEnoughToRead", nested(400), {"spec is a list where a mapping is expected"}},
        Case{
            "config",
            "version: v1\nflags:\n  migStrategy: sometimes\nsharing:\n  timeSlicing:\n"
            "    resources:\n    - name: nvidia.com/gpu\n      replicas: two\n      shared: true\n",
            {"3 error flags.migStrategy: unknown MIG strategy: sometimes; write none",
             "8 error sharing.timeSlicing.resources[0].replicas: ",
             "9 warning sharing.timeSlicing.resources[0].shared: unknown key, ignored"}},
        Case{"configUnknownKey",
             "version: v1\nsharing:\n  timeSlicin: {}\n",
             {"3 warning sharing.timeSlicin: "}},
        Case{"configVersionOfTwoLines",
             "version: |1\n  odd\nsharing: {}\n",
             {"1 error version: unknown version:  odd; write v1"}},
        Case{"configWithoutMpsRoot",
             "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}\n",
             {}},
        Case{"parted",
             "version: v1\nmig-configs:\n  a:\n  - devices: 7\n    mig-enabled: maybe\n",
             {"4 error : \"devices\" is neither all nor a list: 7; write all, or",
              "5 error : \"mig-enabled\" is neither true nor false"}},
        Case{"layouts",
             "version: v1\nmig-configs:\n  fits:\n  - devices: all\n    mig-enabled: true\n"
             "    mig-devices: {3g.40gb: 2}\n  toomany:\n  - devices: [0]\n    mig-enabled: true\n"
             "    mig-devices: {3g.40gb: 3}\n  unknown:\n  - devices: all\n    mig-enabled: true\n"
             "    mig-devices: {5g.7gb: 1}\n  other:\n  - device-filter: \"0x123410DE\"\n"
             "    devices: all\n    mig-enabled: true\n    mig-devices: {5g.7gb: 1}\n"
             "  disabled:\n  - devices: all\n    mig-enabled: false\n",
             {"8 error mig-configs.toomany: no GPU can have 3g.40gb x 3: on a100-80gb, they take 9 "
              "compute slices of 7; nearest is",
              "12 warning mig-configs.unknown: no model that is known here has 5g.7gb"}},
        Case{"configMap",
             "apiVersion: v1\nkind: ConfigMap\ndata:\n  note: hello\n  a: |\n    version: v1\n"
             "    mig-configs:\n      a: []\n  b: \"mig-configs: [\"\n  c: \"version: "
             "v1\\nsharing: 4\"\n",
             {"8 error data.a: layout \"a\" is empty",
              "9 error data.b: ", "10 error data.c: sharing: "}},
        Case{
            "configMapOfNothing",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    version: v1\n"
            "  b: |\n    # version: v1\n    # sharing: later\n  c: \"\"\n  d: |\n    ---\n    "
            "null\n"
            "  e:\n",
            {"8 warning data.b: the file is empty: nothing is shared; write 'version: v1' if that ",
             "10 warning data.c: the file is empty: nothing is shared",
             "12 warning data.d: the file is empty", "14 warning data.e: the file is empty"}},
        Case{"configMapOfNothingAlone",
             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n"
             "    # version: v1\n    # sharing:\n",
             {"6 warning data.a: the file is empty: nothing is shared"}},
        Case{"configMapByItsName",
             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nvidia-device-plugin-configs}\n"
             "data: {default: \"# nothing\"}\n",
             {"4 warning data.default: the file is empty: nothing is shared"}},
        Case{"configMapOfOthers",
             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: \"\", b: hello}\n",
             {}},
        Case{"configMapOfLayoutsCommentedOut",
             "apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n    # version: v1\n"
             "    # mig-configs:\n    #   a: []\n",
             {"5 error data[config.yaml]: the file is empty; begin it with \"version: v1\""}},
        Case{"configMapWithATornConfiguration",
             "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    version: v1\n    flags: [\n",
             {"7 error data.a: "}},
        Case{"keysWithoutCase",
             "FLAGS:\n  migStrategy: sometimes\n",
             {"2 error flags.migStrategy: unknown MIG strategy: sometimes"}},
        Case{"versionWithoutCase", "Version: v2\n", {"1 error version: unknown version: v2"}},
        Case{"misspeltSection",
             "version: v1\nsharding:\n  timeSlicing: {}\n",
             {"2 warning sharding: unknown key, ignored; did you mean 'sharing'?"}},
        Case{"misspeltLayouts",
             "version: v1\nmig-config:\n  a: []\n",
             {"2 error : unknown key \"mig-config\"; did you mean \"mig-configs\"?"}},
        Case{"hooksAlone",
             "version: v1\nhooks: {}\n",
             {"1 warning : \"mig-configs\" is missing, so the file has no layouts"}},
        Case{"emptyMapping", "{}\n", {"1 error : the file holds nothing"}},
        Case{"configBeforeATornDocument",
             "version: v1\n---\nflags: [\n",
             {"4 warning : another document begins here, and the first one alone is read"}},
        Case{"configMapOfMisspeltSections",
             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n"
             "    Sharing: {timeSlicing: 4}\n  b: |\n    version: v1\n    sharding: {}\n",
             {"6 error data.a: sharing.timeSlicing: cannot unmarshal number into a mapping",
              "9 warning data.b: sharding: unknown key, ignored; did you mean 'sharing'?"}},
        Case{"configMapOfOthersWithAVersion",
             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  a: |\n"
             "    version: v1\n    listen: 80\n",
             {}},
        Case{"listOfObjects",
             "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service}\n- 1\n"
             "- apiVersion: resource.k8s.io/v1beta2\n  kind: DeviceClass\n  spec: {}\n",
             {"5 error items[1]: this is no Kubernetes object",
              "6 error items[2].apiVersion: Kubernetes 1.36 does not serve"}},
        Case{"json",
             R"({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
                         "spec": {"selector": []}})",
             {"2 error spec.selector: unknown field \"selector\"; did you mean \"selectors\"?"}}),
    [](const auto& one) { return one.param.name; });

std::string report(const std::string& name) {
  std::ifstream file("tests/data/reports/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Reports, AConfigurationOfCommentsIsTold) {
  EXPECT_THAT(texts_of(lint_one(report("01-comment-alone/configmap.yaml"))),
              ElementsAre(HasSubstr("8 warning data.default: the file is empty: nothing is shared; "
                                    "write 'version: v1' if that is meant"),
                          HasSubstr("10 warning data.l20: the file is empty: nothing is shared")));
  EXPECT_THAT(texts_of(lint_one(report("01-comment-alone/commented-out.yaml"))),
              ElementsAre(HasSubstr("1 error : the file holds nothing")));
  EXPECT_THAT(texts_of(lint_one(report("01-comment-alone/shared.yaml"))), IsEmpty());
}

TEST(Reports, WhatTheAgentRefusesIsAnError) {
  EXPECT_THAT(texts_of(lint_one(report("06-lint-passes-what-is-refused/mps-root.yaml"))),
              ElementsAre(HasSubstr("2 error flags.mpsRoot: /tmp/mps is in no folder from which a "
                                    "file may name one")));
  EXPECT_THAT(texts_of(lint_one(report("06-lint-passes-what-is-refused/memory-hard.yaml"))),
              ElementsAre(HasSubstr("2 error tranche.limits.memoryHard: `memoryHard` 4Gi is less "
                                    "than `memory` 8Gi; raise it, or remove it")));
}

TEST(FileLength, IsBounded) {
  EXPECT_THAT(texts_of(lint_one(std::string(kLongestFile + 1, '#'))),
              ElementsAre(HasSubstr("16777217 bytes")));
}

TEST(FindingsOfAFile, AreBounded) {
  std::string text = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nspec:\n";
  for (int i = 0; i < 600; ++i) text += "  x" + std::to_string(i) + ": 1\n";
  const auto result = lint_one(text);
  EXPECT_EQ(result.findings.size(), 500U);
  EXPECT_EQ(result.left_out, 100U);
}

TEST(CorrectedFile, HasAllDocumentsOfTheFile) {
  const auto result = lint_one(
      "# why\napiVersion: v1\nkind: Service\n---\napiVersion: resource.k8s.io/v1beta2\n"
      "kind: DeviceClass\nspec: {}\n");
  EXPECT_EQ(result.corrected.value_or(""),
            "apiVersion: v1\nkind: Service\n---\napiVersion: resource.k8s.io/v1\n"
            "kind: DeviceClass\nspec: {}\n");
  EXPECT_EQ(result.documents, 1U);
  EXPECT_EQ(result.skipped, 1U);
}

TEST(SeveralFiles, EachHasItsResult) {
  auto around = testing_::around();
  around.classes.emplace();
  const auto results =
      lint({{"a",
             "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nspec: {devices: {requests: "
             "[{name: g, exactly: {deviceClassName: mine}}]}}\n"},
            {"b", "\xff"},
            {"c", "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: mine}\n"}},
           around);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_THAT(results[0].findings, IsEmpty());
  EXPECT_EQ(results[1].findings.size(), 1U);
  EXPECT_THAT(results[2].findings, IsEmpty());
}

std::size_t count_errors(const FileResult& result, bool corrected) {
  return static_cast<std::size_t>(std::ranges::count_if(result.findings, [&](const Finding& one) {
    return one.level == Level::kError && one.corrected == corrected;
  }));
}

// A corrected file needs no further correction, and other errors remain.
void expect_stable(const std::string& text, const std::string& name) {
  const auto first = lint_one(text);
  if (!first.corrected) return;
  const auto again = lint_one(*first.corrected);
  EXPECT_FALSE(again.corrected) << name << ":\n" << *again.corrected;
  EXPECT_EQ(count_errors(again, true), 0U) << name;
}

TEST(CorrectedFiles, OfAllDataOfTheTestsAreStable) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/data")) {
    const auto extension = entry.path().extension();
    if (extension != ".yaml" && extension != ".json") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    expect_stable(text.str(), entry.path());
    ++files;
  }
  EXPECT_GT(files, 10);
}

// Files made from pieces that lint knows, in any order and depth.
RC_GTEST_PROP(AnyFile, CorrectedIsStable, ()) {
  const std::vector<std::string> pieces = {
      "apiVersion: resource.k8s.io/v1beta1\n",
      "apiVersion: resource.k8s.io/v1\n",
      "apiVersion: v1\n",
      "kind: ResourceClaim\n",
      "kind: DeviceClass\n",
      "kind: ResourceSlice\n",
      "kind: Pod\n",
      "spec:\n",
      "  devices:\n",
      "    requests:\n",
      "    - name: g\n",
      "      deviceClassName: c\n",
      "      exactly:\n",
      "        deviceClassName: d\n",
      "        count: 1\n",
      "      count: 2\n",
      "      selectors:\n",
      "      - cel:\n",
      "          expression: device.attributes['memory'] >= 4\n",
      "      capacity:\n",
      "        requests:\n",
      "          gpu.nvidia.com/memory: 1Gi\n",
      "          compute: 50%\n",
      "  - name: x\n",
      "    basic:\n",
      "      capacity: {memory: 1Gi}\n",
      "  resourceClaimName: x\n",
      "  resourceClaims:\n",
      "    source: {resourceClaimName: a}\n",
      "---\n",
      "  resourceClassName: c\n",
      "  controller: x\n",
      "    constraints:\n",
      "    - matchAttribute: uuid\n"};
  std::string text;
  const auto order = *rc::gen::container<std::vector<std::size_t>>(
      rc::gen::inRange<std::size_t>(0, pieces.size()));
  for (const auto one : order) text += pieces[one];
  expect_stable(text, text);
}

}  // namespace
}  // namespace tranche::lint::lint_test
