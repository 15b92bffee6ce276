#include "cli/lint/report.h"

#include <gtest/gtest.h>

namespace tranche::cli::lint_output_test {
namespace {

using lint::Level;

std::vector<lint::FileResult> results() {
  return {{.name = "a.yaml",
           .findings = {{.level = Level::kError,
                         .line = 3,
                         .object = "ResourceClaim x",
                         .path = "spec.devices",
                         .what = "one two three four five six seven eight nine ten",
                         .fix = "write more",
                         .corrected = true},
                        {.level = Level::kWarning, .line = 0, .what = "odd", .fix = ""},
                        {.level = Level::kNote, .line = 9, .path = "p", .what = "n", .fix = ""}},
           .corrected = "a: 1\n",
           .documents = 2,
           .skipped = 1,
           .unseen = {"nvidia.com/gpu", "a/b"}}};
}

TEST(LintText, IsThatOfACompiler) {
  EXPECT_EQ(lint_text(results(), 0),
            "a.yaml:3: error: one two three four five six seven eight nine ten\n"
            "    at ResourceClaim x: spec.devices\n"
            "    -> write more\n"
            "a.yaml: warning: odd\n"
            "a.yaml:9: note: n\n"
            "    at p\n");
}

TEST(LintText, IsBrokenAtTheWidthOfATerminal) {
  const auto text = lint_text(results(), 40);
  EXPECT_EQ(text.substr(0, text.find("    ->")),
            "a.yaml:3: error: one two three four five\n"
            "    six seven eight nine ten\n"
            "    at ResourceClaim x: spec.devices\n");
  // A width into which nothing fits is ignored.
  EXPECT_EQ(lint_text(results(), 1), text);
}

TEST(LintText, AWordThatFitsIntoNoLineStays) {
  auto all = results();
  all[0].findings.resize(1);
  all[0].findings[0].fix = "write " + std::string(60, 'x') + " there";
  const auto text = lint_text(all, 40);
  EXPECT_EQ(text.substr(text.find("    ->")),
            "    -> write " + std::string(60, 'x') + "\n       there\n");
}

TEST(LintSummary, CountsAndNamesWhatWasNotChecked) {
  EXPECT_EQ(
      lint_summary(results()),
      "1 error (1 corrected), 1 warning in 2 documents; 1 of other kinds\n"
      "not looked at: whether nodes offer a/b, nvidia.com/gpu; write --cluster, or --snapshot "
      "FILE\n");
  EXPECT_EQ(lint_summary({}), "no errors, no warnings in no documents\n");
}

TEST(LintDocument, HasAllOfIt) {
  EXPECT_EQ(lint_document(results()).text(),
            R"({"version":"lint/v1","errors":1,"warnings":1,)"
            R"("unseenResources":["a/b","nvidia.com/gpu"],"files":[{"name":"a.yaml","documents":2,)"
            R"("otherKinds":1,"findings":[{"level":"error","line":3,"object":"ResourceClaim x",)"
            R"("path":"spec.devices",)"
            R"("what":"one two three four five six seven eight nine ten","fix":"write more",)"
            R"("corrected":true},{"level":"warning","what":"odd","corrected":false},)"
            R"({"level":"note","line":9,"path":"p","what":"n","corrected":false}],"leftOut":0,)"
            R"("corrected":"a: 1\n"}]})");
}

}  // namespace
}  // namespace tranche::cli::lint_output_test
