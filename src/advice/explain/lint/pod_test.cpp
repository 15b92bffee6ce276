#include "explain/lint/pod.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/fleet_of.h"
#include "explain/lint/testing.h"

namespace tranche::lint::pod_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_::lint_one;
using testing_::texts_of;

std::string pod(const std::string& spec) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n" + spec;
}

std::string asking(const std::string& resources) {
  return pod("  containers:\n  - name: main\n    image: x\n    resources: " + resources + "\n");
}

struct Case {
  const char* name;
  std::string resources;
  std::vector<std::string> says;
};

class Asks : public testing::TestWithParam<Case> {};

TEST_P(Asks, IsTold) {
  const auto& [name, resources, says] = GetParam();
  const auto texts = texts_of(lint_one(asking(resources)));
  EXPECT_EQ(texts.size(), says.size()) << testing::PrintToString(texts);
  for (const auto& one : says) EXPECT_THAT(texts, Contains(HasSubstr(one)));
}

INSTANTIATE_TEST_SUITE_P(
    All, Asks,
    testing::Values(
        Case{"nothing", "{}", {}}, Case{"whole", "{limits: {nvidia.com/gpu: 1}}", {}},
        Case{"cpu", "{limits: {cpu: 0.5, memory: 1.5Gi}, requests: {cpu: 0.1}}", {}},
        Case{"half",
             "{limits: {nvidia.com/gpu: 0.5}}",
             {"1 note : asks 0.5 of a GPU: the admission webhook"}},
        Case{"halfAsText",
             "{limits: {nvidia.com/gpu: '500m'}, requests: {nvidia.com/gpu: 0.5}}",
             {"tranche-gpu-50"}},
        Case{"moreThanOne",
             "{limits: {nvidia.com/gpu: 1.5}}",
             {"8 error spec.containers[0].resources.limits[nvidia.com/gpu]: 1.5 is neither a whole "
              "number nor below 1; write 1 or 2"}},
        Case{"tooFine",
             "{limits: {nvidia.com/gpu: 0.005}}",
             {"0.005 is no step of 0.01; write 0.01 or more"}},
        Case{"milli", "{limits: {nvidia.com/gpu: 333m}}", {"333m is no step of 0.01"}},
        Case{"negative", "{limits: {nvidia.com/gpu: -0.5}}", {"-0.5 is negative"}},
        Case{"word", "{limits: {nvidia.com/gpu: half}}", {"half is no number of GPUs"}},
        Case{"list", "{limits: {nvidia.com/gpu: [1]}}", {"is no number of GPUs"}},
        Case{"requestsAlone",
             "{requests: {nvidia.com/gpu: 1}}",
             {"stands in requests and not in limits"}},
        Case{"differ",
             "{limits: {nvidia.com/gpu: 0.5}, requests: {nvidia.com/gpu: 0.25}}",
             {"requests ask 0.25 of nvidia.com/gpu, and limits 0.5"}},
        Case{"otherFraction",
             "{limits: {nvidia.com/mig-1g.10gb: 0.5}}",
             {"only nvidia.com/gpu can be asked in fractions"}},
        Case{"classFraction",
             "{limits: {deviceclass.resource.kubernetes.io/gpu: 500m}}",
             {"with a fraction the Pod waits for ever"}},
        Case{"limitsAreAList", "{limits: [1]}", {"limits is a list where a mapping is expected"}}),
    [](const auto& one) { return one.param.name; });

TEST(PodResources, WholeGpusBesideFractions) {
  const auto two = [](const std::string& metadata) {
    return "apiVersion: v1\nkind: Pod\nmetadata: " + metadata +
           "\nspec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}, "
           "{name: b, resources: {limits: {nvidia.com/gpu: 0.5}}}]}\n";
  };
  EXPECT_THAT(texts_of(lint_one(two("{name: a}"))),
              Contains(HasSubstr("1 warning : containers of one Pod ask for whole GPUs")));
  // One GPU counts as a share by bytes there.
  const auto bytes = lint_one(two(
      "{name: a, annotations: {tranche.dev/gpu-memory.a: 1Gi, tranche.dev/gpu-compute.a: '9'}}"));
  EXPECT_THAT(texts_of(bytes), testing::Each(HasSubstr(" note : asks ")));
}

TEST(PodResources, OfWhichNobodyKnowsAreNamed) {
  const auto result =
      lint_one(asking("{limits: {nvidia.com/gpu.shared: 1, example.com/x: 2, cpu: 1}}"));
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_THAT(result.unseen, ElementsAre("example.com/x", "nvidia.com/gpu.shared"));
}

TEST(PodResources, OfADeviceClassInTheFile) {
  auto around = testing_::around();
  around.offered.emplace();
  const auto text = asking("{limits: {example.com/x: 2}}");
  EXPECT_EQ(lint_one(text, around).findings.size(), 1U);
  const auto with_class = text +
                          "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\n"
                          "metadata: {name: x}\nspec: {extendedResourceName: example.com/x}\n";
  EXPECT_THAT(lint_one(with_class, around).findings, IsEmpty());
}

TEST(PodFractions, OfTheClustersModels) {
  const cluster::SliceDevice l20{.name = "gpu-0",
                                 .attributes = {{"productName", std::string("NVIDIA L20")}},
                                 .capacity = {{"memory", {std::uint64_t{46068} << 20U, {}}}},
                                 .shareable = true};
  auto smaller = l20;
  smaller.capacity["memory"].value = std::uint64_t{40000} << 20U;
  auto whole = l20;
  whole.attributes["productName"] = std::string("Tesla T4");
  whole.shareable = false;
  auto around = testing_::around();
  around.fleet = {.dra_models = admission::models_of(
                      {{.name = "n", .driver = "gpu.nvidia.com", .devices = {l20, smaller, whole}},
                       {.name = "o", .driver = "dra.example.com", .devices = {l20}}},
                      "gpu.nvidia.com")};
  EXPECT_EQ(around.fleet->dra_models,
            (std::vector<admission::DraModel>{{"NVIDIA L20", Bytes::from_mib(40000)}}));
  const std::string text =
      "apiVersion: v1\nkind: Pod\nmetadata: {annotations: {tranche.dev/gpu-memory: 44Gi, "
      "tranche.dev/gpu-compute: '50'}}\nspec: {containers: [{name: a, resources: {limits: "
      "{nvidia.com/gpu: 1}}}]}\n";
  EXPECT_EQ(lint_one(text).findings[0].level, Level::kNote);
  EXPECT_EQ(lint_one(text, around).findings[0].level, Level::kError);
  around.fleet.emplace();
  EXPECT_THAT(texts_of(lint_one(text, around)),
              ElementsAre(HasSubstr("no node of the cluster shares GPUs by claims now")));
}

TEST(PodResources, ThatNoNodeOffers) {
  auto around = testing_::around();
  around.offered = {{"nvidia.com/gpu.shared", 4}, {"nvidia.com/gpu", 0}};
  const auto text = asking(
      "{limits: {nvidia.com/gpu.share: 1, nvidia.com/gpu.shared: 8, "
      "nvidia.com/gpu: 1, example.com/quantum: 1}}");
  const auto result = lint_one(text, around);
  EXPECT_THAT(result.unseen, IsEmpty());
  EXPECT_THAT(
      texts_of(result),
      ElementsAre(HasSubstr("no node offers nvidia.com/gpu.share, so the Pod would wait for "
                            "ever; did you mean \"nvidia.com/gpu.shared\"?"),
                  HasSubstr("asks 8 nvidia.com/gpu.shared, and no node has more than 4"),
                  HasSubstr("asks 1 nvidia.com/gpu, and no node has more than 0"),
                  HasSubstr("nodes offer nvidia.com/gpu.shared")));
}

TEST(PodTemplates, OfEveryWorkload) {
  const std::string inner =
      "{spec: {containers: [{name: m, resources: {limits: {nvidia.com/gpu: 1.5}}}]}}";
  for (const std::string kind :
       {"apps/v1\nkind: Deployment", "apps/v1\nkind: StatefulSet", "apps/v1\nkind: DaemonSet",
        "apps/v1\nkind: ReplicaSet", "batch/v1\nkind: Job", "v1\nkind: ReplicationController"}) {
    const auto text =
        fmt::format("apiVersion: {}\nmetadata: {{name: a}}\nspec: {{template: {}}}\n", kind, inner);
    EXPECT_THAT(texts_of(lint_one(text)),
                ElementsAre(HasSubstr("spec.template.spec.containers[0]")));
  }
  const auto cron =
      "apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {template: " + inner +
      "}}}\n";
  EXPECT_THAT(texts_of(lint_one(cron)),
              ElementsAre(HasSubstr("spec.jobTemplate.spec.template.spec.containers[0]")));
}

TEST(PodClaims, AreThoseThatThereAre) {
  const auto result = lint_one(
      pod("  resourceClaims:\n"
          "  - name: gpu\n    source: {resourceClaimTemplateName: t}\n"
          "  - name: both\n    resourceClaimName: a\n    resourceClaimTemplateName: b\n"
          "  - name: none\n"
          "  containers:\n  - name: m\n    resources: {claims: [{name: gpv}, {name: both}]}\n"));
  EXPECT_THAT(
      texts_of(result),
      testing::UnorderedElementsAre(
          HasSubstr("resourceClaims[0].source: Pods have no source of claims"),
          HasSubstr(
              "resourceClaims[1]: resourceClaimName and resourceClaimTemplateName stand beside"),
          HasSubstr("resourceClaims[2]: the claim names no ResourceClaim"),
          HasSubstr("claims[0]: spec.resourceClaims has no gpv; did you mean \"gpu\"?"),
          HasSubstr("no container uses the claim gpu"),
          HasSubstr("no container uses the claim none")));
  ASSERT_TRUE(result.corrected);
  EXPECT_THAT(*result.corrected, HasSubstr("  - name: gpu\n    resourceClaimTemplateName: t\n"));
}

TEST(PodAnnotations, NamesAndValuesThatNobodyReadsAreTold) {
  const auto annotated = [](const std::string& annotations) {
    return texts_of(
        lint_one("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n"
                 "  template:\n    metadata:\n      annotations:\n" +
                 annotations +
                 "    spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}"
                 "\n"));
  };
  EXPECT_THAT(annotated("        tranche.dev/memory: 4Gi\n        tranche.dev/compute: 25%\n"
                        "        tranche.dev/class: best-effort\n        example.com/x: z\n"),
              IsEmpty());
  EXPECT_THAT(
      annotated("        tranche.dev/memroy: 4Gi\n        tranche.dev/memory: half\n"
                "        tranche.dev/compute: 4Gi\n        tranche.dev/class: high\n"
                "        tranche.dev/memory.main: 4Gi\n"),
      ElementsAre(
          HasSubstr("8 warning spec.template.metadata.annotations[tranche.dev/memroy]: no "
                    "program reads the annotation tranche.dev/memroy; did you mean "
                    "\"tranche.dev/memory\"?"),
          HasSubstr("9 error spec.template.metadata.annotations[tranche.dev/memory]: 'half' "
                    "is no amount of memory"),
          HasSubstr("10 error"), HasSubstr("11 error"),
          HasSubstr("12 warning spec.template.metadata.annotations[tranche.dev/memory."
                    "main]: no program reads")));
}

TEST(PodAnnotations, OfPodsThatAskForNothingAreTold) {
  const auto of_pod = [](const std::string& annotation, const std::string& spec) {
    return texts_of(lint_one("apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    " +
                             annotation + "\nspec: {" + spec + "}\n"));
  };
  const std::string none = "containers: [{name: a}]";
  const std::string shared = "containers: [{name: a, resources: {limits: {nvidia.com/big: 1}}}]";
  const std::string claim =
      "resourceClaims: [{name: c, resourceClaimName: c}], containers: [{name: a, resources: "
      "{claims: [{name: c}]}}]";
  for (const std::string annotation :
       {"tranche.dev/gpu-memory: 4Gi", "tranche.dev/gpu-compute: '50'",
        "tranche.dev/gpu-together: 'true'"}) {
    for (const auto& spec : {none, shared, claim}) {
      EXPECT_THAT(of_pod(annotation, spec),
                  ElementsAre(HasSubstr("no container asks for nvidia.com/gpu, so this has no")));
    }
  }
  for (const std::string annotation :
       {"tranche.dev/memory: 4Gi", "tranche.dev/compute: 50%", "tranche.dev/class: normal"}) {
    EXPECT_THAT(of_pod(annotation, none),
                ElementsAre(HasSubstr("no container asks for a GPU, so this has no effect")));
    EXPECT_THAT(of_pod(annotation, shared), IsEmpty());
    EXPECT_THAT(of_pod(annotation, claim), IsEmpty());
  }
  EXPECT_THAT(of_pod("tranche.dev/gpu-together: 'true'", "nodeName: worker"), IsEmpty())
      << "part of a Pod";
}

}  // namespace
}  // namespace tranche::lint::pod_test
