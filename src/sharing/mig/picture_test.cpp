#include "mig/picture.h"

#include <gtest/gtest.h>

#include "gpu/mig_tables.h"
#include "mig/place.h"

namespace tranche::mig::picture_test {
namespace {

using Devices = std::map<std::string, int>;

PicturedGpu pictured(std::string title, std::string_view model, const Devices& devices) {
  const auto& geometry = gpu::find_mig_model(model)->geometry;
  const auto wishes = instances_of({.enabled = true, .devices = devices}, geometry).value();
  return {std::move(title), place(wishes, geometry).value(), geometry};
}

TEST(Picture, ShowsInstancesAndStrandedSlices) {
  const auto text = text_picture({pictured("GPU 0", "a100-80gb", {{"3g.40gb", 2}})}, false);
  EXPECT_EQ(text, R"(GPU 0: 3g.40gb x 2
              0       1       2       3       4       5       6       7
          ┌───────────────────────────────┬───────────────────────────────┐
  memory  │            3g.40gb            │            3g.40gb            │
          │            39.2Gi             │            39.2Gi             │
          └───────────────────────────────┴───────────────────────────────┘
          ┌───────────────────────┬───────┬───────────────────────┐
  compute │         42 SM         │░░░░░░░│         42 SM         │
          └───────────────────────┴───────┴───────────────────────┘
  ░ stranded: 1 compute slice, which no instance can use
)");
}

TEST(Picture, ShowsFreeSlicesAndComputeInstances) {
  const auto text =
      text_picture({pictured("GPU 3", "a100-80gb", {{"1c.3g.40gb", 2}, {"1g.10gb+me", 1}})}, false);
  EXPECT_EQ(text, R"(GPU 3: 1c.3g.40gb x 2, 1g.10gb+me
              0       1       2       3       4       5       6       7
          ┌───────┬───────────────────────┬───────────────────────────────┐
  memory  │1g.10gb│         free          │            3g.40gb            │
          │  +me  │                       │            39.2Gi             │
          └───────┴───────────────────────┴───────────────────────────────┘
          ┌───────┬───────────────────────┬───────┬───────┬───────┐
  compute │ 14 SM │         free          │  1c   │  1c   │unused │
          └───────┴───────────────────────┴───────┴───────┴───────┘
)");
}

TEST(Picture, OfOtherSizes) {
  const auto text = text_picture({pictured("A30", "a30-24gb", {{"2g.12gb", 1}, {"1g.6gb", 1}}),
                                  pictured("H20", "h20-96gb", {{"7g.94gb", 1}})},
                                 false);
  EXPECT_EQ(text, R"(A30: 2g.12gb, 1g.6gb
                0           1           2           3
          ┌───────────────────────┬───────────┬───────────┐
  memory  │        2g.12gb        │  1g.6gb   │   free    │
          │        11.7Gi         │   5.8Gi   │           │
          └───────────────────────┴───────────┴───────────┘
          ┌───────────────────────┬───────────┬───────────┐
  compute │         28 SM         │   14 SM   │   free    │
          └───────────────────────┴───────────┴───────────┘

H20: 7g.96gb
              0       1       2       3       4       5       6       7
          ┌───────────────────────────────────────────────────────────────┐
  memory  │                            7g.96gb                            │
          └───────────────────────────────────────────────────────────────┘
          ┌───────────────────────────────────────────────────────┐
  compute │                        7 of 7                         │
          └───────────────────────────────────────────────────────┘
)");
}

TEST(Picture, TwelveMemorySlicesHoldTheLongestName) {
  const auto gpu = pictured("RTX", "rtx-pro-6000-96gb", {{"2g.48gb-me", 1}, {"1g.24gb+me.all", 1}});
  const auto text = text_picture({gpu}, false);
  EXPECT_NE(text.find("│1g.24gb+me.all│"), std::string::npos) << text;
}

TEST(Picture, OfUndividedGpus) {
  const auto& geometry = gpu::find_mig_model("a100-80gb")->geometry;
  const auto text = text_picture({{"GPU 0: Tesla T4", {}, {}}, {"GPU 1", {}, geometry}}, false);
  EXPECT_TRUE(text.starts_with("GPU 0: Tesla T4: no MIG\n\nGPU 1: MIG off\n")) << text;
  EXPECT_NE(text.find("the whole GPU"), std::string::npos);
  EXPECT_EQ(text.find("stranded"), std::string::npos);
}

TEST(Picture, NoLineIsLongerThanATerminal) {
  std::vector<PicturedGpu> gpus;
  for (const auto& model : gpu::mig_models()) {
    for (const auto& wishes : full_layouts(model.geometry)) {
      const auto layout = place(wishes, model.geometry).value();
      gpus.push_back({"GPU 10: NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", layout,
                      model.geometry});
    }
  }
  std::size_t longest = 0;
  std::size_t length = 0;
  for (const char c : text_picture(gpus, false)) {
    // Continuation bytes of UTF-8 take no place.
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++length;
    if (c != '\n') continue;
    longest = std::max(longest, length - 1);
    length = 0;
  }
  EXPECT_LE(longest, 80U);
}

TEST(Picture, ColourChangesNoCharacter) {
  const auto gpu = pictured("GPU 0", "a100-80gb", {{"3g.40gb", 1}, {"1g.10gb", 2}});
  std::string plain;
  bool escape = false;
  const auto coloured = text_picture({gpu}, true);
  for (const char c : coloured) {
    if (c == '\x1b') escape = true;
    if (!escape) plain += c;
    if (c == 'm') escape = false;
  }
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(plain, text_picture({gpu}, false).substr(0, plain.size()));
}

TEST(Picture, SvgHasEveryInstanceAndNothingThatRuns) {
  const auto svg = svg_picture({pictured("GPU <0> & co", "a100-80gb", {{"3g.40gb", 2}})});
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_NE(svg.find(">GPU &lt;0&gt; &amp; co<"), std::string::npos);
  EXPECT_NE(svg.find(">3g.40gb<"), std::string::npos);
  EXPECT_NE(svg.find("stranded: 1 compute slice"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace tranche::mig::picture_test
