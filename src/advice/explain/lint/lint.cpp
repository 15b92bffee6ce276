#include "explain/lint/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/yaml.h"
#include "base/yaml_write.h"
#include "explain/lint/config_files.h"
#include "explain/lint/dra.h"
#include "explain/lint/pod.h"

namespace tranche::lint {
namespace {

constexpr std::string_view kShortName = "\x01";

bool is_blank(const yaml::Node& root) {
  return root.kind == yaml::Kind::kMap && root.entries.empty();
}

class FileLinter {
 public:
  FileLinter(const SourceFile& file, const Surroundings& around) : file_(file), around_(around) {}

  FileResult run(std::vector<yaml::Document> documents) {
    FileResult result{.name = file_.name};
    std::erase_if(documents, [](const yaml::Document& one) { return is_blank(one.root); });
    const auto kind = documents.empty() ? FileKind::kNone : kind_of_file(documents[0].root);
    if (kind != FileKind::kNone) {
      // Readers use only the first of several documents, and say so.
      ++result.documents;
      check_file(file_.text, kind, {}, report_);
    } else {
      for (auto& document : documents) check(document, result);
    }
    if (documents.empty()) {
      report_.add({.line = 1,
                   .what = "the file holds nothing",
                   .fix = "write an object into it; as a configuration it shares nothing (write "
                          "'version: v1' if that is meant)"});
    }
    result.left_out = report_.left_out();
    result.unseen = report_.unseen();
    if (report_.corrections() > 0) result.corrected = text_of(documents);
    result.findings = report_.take();
    std::ranges::stable_sort(result.findings, {}, &Finding::line);
    return result;
  }

 private:
  void check(yaml::Document& document, FileResult& result) {
    report_.begin_object("");
    for (const auto& twice : document.duplicates) {
      report_.add({.line = twice.line,
                   .what = fmt::format("\"{}\" is there twice, first in line {}", shown(twice.key),
                                       twice.first_line),
                   .fix = "keep one: the last counts",
                   .corrected = true});
    }
    check_object(Place(document.root, document.root.line, "", report_), result);
  }

  void check_object(const Place& object, FileResult& result) {
    report_.begin_object("");
    const auto version = object.text("apiVersion");
    const auto kind = object.text("kind");
    if (version.empty() || kind.empty()) {
      ++result.documents;
      object.error("this is no Kubernetes object, no configuration and no file of MIG layouts",
                   "write apiVersion and kind; or version: v1 with sharing:, or with mig-configs:");
      return;
    }
    const auto items = object.child("items");
    if (kind.ends_with("List") && items && items->node().kind == yaml::Kind::kSequence) {
      for (const auto& item : items->items()) check_object(item, result);
      return;
    }
    ++result.documents;
    const auto* metadata = object.node().find("metadata");
    const auto* name = metadata == nullptr ? nullptr : metadata->find("name");
    report_.begin_object(shown(name == nullptr ? kind : fmt::format("{} {}", kind, name->scalar)));
    if (is_resource_api(version)) {
      check_resource_object(object, around_);
    } else if (holds_pod(object)) {
      check_pod(object, around_);
    } else if (version == "v1" && kind == "ConfigMap") {
      check_config_map(object, file_.text);
    } else {
      --result.documents;
      ++result.skipped;
    }
  }

  static std::string text_of(const std::vector<yaml::Document>& documents) {
    std::string text;
    for (const auto& document : documents) {
      if (!text.empty()) text += "---\n";
      text += yaml::write(document.root);
    }
    return text;
  }

  const SourceFile& file_;
  const Surroundings& around_;
  Report report_;
};

// Adds the file's DeviceClasses and their extended resources.
void add_classes(const yaml::Node& root, Surroundings& around) {
  if (const auto* items = root.find("items")) {
    for (const auto& item : items->items) add_classes(item, around);
  }
  const auto* kind = root.find("kind");
  const auto* metadata = root.find("metadata");
  if (kind == nullptr || metadata == nullptr) return;
  const auto* name = metadata->find("name");
  const bool is_class = kind->scalar == "DeviceClass" || kind->scalar == "ResourceClass";
  if (!is_class) return;
  if (around.classes && name != nullptr) around.classes->insert(name->scalar);
  const auto* spec = root.find("spec");
  const auto* resource = spec == nullptr ? nullptr : spec->find("extendedResourceName");
  if (around.offered && resource != nullptr) {
    around.offered->emplace(resource->scalar, std::numeric_limits<std::int64_t>::max());
  }
}

Result<std::vector<yaml::Document>> read(const SourceFile& file) {
  if (file.text.size() > kLongestFile) {
    return fail(Code::kInvalidArgument, fmt::format("the file has {} bytes", file.text.size()),
                fmt::format("at most {} MiB are read; cut it into several", kLongestFile >> 20U));
  }
  auto documents = yaml::parse_all(file.text, kShortName);
  if (documents) return documents;
  // The agent reads only the first document.
  auto first = yaml::parse(file.text, kShortName);
  if (!first || kind_of_file(first->root) == FileKind::kNone) return documents;
  return std::vector<yaml::Document>{*std::move(first)};
}

FileResult refusal(const SourceFile& file, Finding finding) {
  return {.name = file.name, .findings = {std::move(finding)}, .corrected = {}, .documents = 1};
}

}  // namespace

std::vector<FileResult> lint(const std::vector<SourceFile>& files, Surroundings around) {
  std::vector<Result<std::vector<yaml::Document>>> read_files;
  for (const auto& file : files) {
    read_files.push_back(read(file));
    if (!read_files.back()) continue;
    for (const auto& document : *read_files.back()) add_classes(document.root, around);
  }
  std::vector<FileResult> results;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (read_files[i]) {
      results.push_back(FileLinter(files[i], around).run(*std::move(read_files[i])));
    } else {
      results.push_back(refusal(
          files[i], finding_of(read_files[i].error().message(), kShortName, Level::kError, {})));
    }
  }
  return results;
}

}  // namespace tranche::lint
