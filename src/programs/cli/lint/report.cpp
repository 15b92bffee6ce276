#include "cli/lint/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tranche::cli {
namespace {

constexpr std::size_t kLeastWidth = 40;
constexpr std::string_view kMore = "    ";
constexpr std::string_view kIndent = "       ";

// `text` after `lead`, wrapped to `width`; all lines but the first begin with `indent`. A word that
// fits into no line is not broken.
std::string broken(std::string_view lead, std::string_view text, std::size_t width,
                   std::string_view indent) {
  std::string out(lead);
  if (width == 0) return out.append(text);
  width = std::max(width, kLeastWidth);
  std::size_t used = out.size();
  for (bool is_first = true; !text.empty(); is_first = false) {
    const auto end = std::min(text.find(' '), text.size());
    const bool fits_in_next = indent.size() + end <= width;
    if (!is_first && used + 1 + end > width && fits_in_next) {
      out.append("\n").append(indent);
      used = indent.size();
    } else if (!is_first) {
      out += ' ';
      ++used;
    }
    out += text.substr(0, end);
    used += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string text_of(const std::string& file, const lint::Finding& one, std::size_t width) {
  const auto line = one.line > 0 ? fmt::format(":{}", one.line) : std::string();
  auto text =
      broken(fmt::format("{}{}: {}: ", file, line, to_string(one.level)), one.what, width, kMore) +
      '\n';
  const auto* between = one.object.empty() || one.path.empty() ? "" : ": ";
  const auto where = fmt::format("{}{}{}", one.object, between, one.path);
  if (!where.empty()) text += broken("    at ", where, width, kIndent) + '\n';
  if (!one.fix.empty()) text += broken("    -> ", one.fix, width, kIndent) + '\n';
  return text;
}

std::string number_of(std::size_t number, std::string_view what) {
  if (number == 0) return fmt::format("no {}s", what);
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::set<std::string> unseen_in(const std::vector<lint::FileResult>& results) {
  std::set<std::string> unseen;
  for (const auto& result : results) unseen.insert(result.unseen.begin(), result.unseen.end());
  return unseen;
}

json::Value json_of(const lint::Finding& one) {
  json::Value json = {{"level", to_string(one.level)}};
  if (one.line > 0) json["line"] = one.line;
  if (!one.object.empty()) json["object"] = one.object;
  if (!one.path.empty()) json["path"] = one.path;
  json["what"] = one.what;
  if (!one.fix.empty()) json["fix"] = one.fix;
  json["corrected"] = one.corrected;
  return json;
}

}  // namespace

LintCounts count(const std::vector<lint::FileResult>& results) {
  LintCounts counts;
  for (const auto& result : results) {
    counts.documents += result.documents;
    counts.skipped += result.skipped;
    counts.errors += result.left_out;
    for (const auto& one : result.findings) {
      if (one.level == lint::Level::kError) ++counts.errors;
      if (one.level == lint::Level::kWarning) ++counts.warnings;
      if (one.corrected) ++counts.corrected;
    }
  }
  return counts;
}

std::string lint_text(const std::vector<lint::FileResult>& results, std::size_t width) {
  std::string text;
  for (const auto& result : results) {
    for (const auto& one : result.findings) text += text_of(result.name, one, width);
    if (result.left_out > 0) {
      text += fmt::format("{}: and {} more\n", result.name, result.left_out);
    }
  }
  return text;
}

std::string lint_summary(const std::vector<lint::FileResult>& results) {
  const auto counts = count(results);
  auto text = number_of(counts.errors, "error");
  if (counts.corrected > 0) text += fmt::format(" ({} corrected)", counts.corrected);
  text += fmt::format(", {} in {}", number_of(counts.warnings, "warning"),
                      number_of(counts.documents, "document"));
  if (counts.skipped > 0) text += fmt::format("; {} of other kinds", counts.skipped);
  const auto unseen = unseen_in(results);
  if (unseen.empty()) return text + '\n';
  return fmt::format(
      "{}\nnot looked at: whether nodes offer {}; write --cluster, or --snapshot FILE\n", text,
      fmt::join(unseen, ", "));
}

json::Value lint_document(const std::vector<lint::FileResult>& results) {
  auto files = json::Value::array();
  for (const auto& result : results) {
    auto findings = json::Value::array();
    for (const auto& one : result.findings) findings.push_back(json_of(one));
    json::Value file = {{"name", result.name},
                        {"documents", result.documents},
                        {"otherKinds", result.skipped},
                        {"findings", std::move(findings)},
                        {"leftOut", result.left_out}};
    if (result.corrected) file["corrected"] = *result.corrected;
    files.push_back(std::move(file));
  }
  auto unseen = json::Value::array();
  for (const auto& resource : unseen_in(results)) unseen.push_back(resource);
  const auto counts = count(results);
  return {{"version", "lint/v1"},
          {"errors", counts.errors},
          {"warnings", counts.warnings},
          {"unseenResources", std::move(unseen)},
          {"files", std::move(files)}};
}

}  // namespace tranche::cli
