#include "cli/lint/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/fs.h"

namespace tranche::cli {
namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kStandardInput = "-";
constexpr std::size_t kMostFiles = 1000;

// One more byte than allowed, to detect a file that is too long.
constexpr std::size_t kMost = lint::kLongestFile + 1;

Result<std::string> read_standard_input() {
  std::string text(kMost, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (std::cin.bad()) return fail(Code::kInvalidArgument, "standard input cannot be read");
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  return text;
}

Result<std::string> read_one(const std::string& path) {
  if (path == kStandardInput) return read_standard_input();
  auto text = FsRoot().read(stdfs::absolute(path), kMost);
  if (text) return text;
  auto error = std::move(text).error();
  const bool too_long = error.code == Code::kInvalidArgument;
  error.code = Code::kInvalidArgument;  // an error of the command line
  if (too_long) error.hint = fmt::format("at most {} MiB are read", lint::kLongestFile >> 20U);
  return std::unexpected(std::move(error));
}

bool is_manifest(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

// The path, or the manifests of the folder.
Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (path == kStandardInput || !stdfs::is_directory(path, error)) return std::vector{path};
  ASSIGN_OR_RETURN(const auto names, FsRoot().list(stdfs::absolute(path)));
  std::vector<std::string> files;
  for (const auto& name : names) {
    const auto file = stdfs::path(path) / name;
    if (is_manifest(name) && stdfs::is_regular_file(file, error)) files.push_back(file.string());
  }
  if (!files.empty()) return files;
  return fail(Code::kInvalidArgument, fmt::format("{}: no file ends in .yaml, .yml or .json", path),
              "name files");
}

// Output is always YAML.
std::string name_of(const std::string& read) {
  if (read == kStandardInput) return "stdin.yaml";
  auto name = stdfs::path(read).filename();
  if (name.extension() == ".json") name.replace_extension(".yaml");
  return name.string();
}

}  // namespace

Result<std::vector<lint::SourceFile>> read_lint_files(const std::vector<std::string>& paths) {
  std::vector<lint::SourceFile> files;
  for (const auto& path : paths) {
    ASSIGN_OR_RETURN(const auto names, files_of(path));
    for (const auto& name : names) {
      ASSIGN_OR_RETURN(auto text, read_one(name));
      files.push_back({.name = name, .text = std::move(text)});
      if (files.size() <= kMostFiles) continue;
      return fail(Code::kInvalidArgument, fmt::format("more than {} files", kMostFiles),
                  "name fewer");
    }
  }
  return files;
}

Result<std::vector<std::string>> write_corrected(const std::vector<lint::FileResult>& results,
                                                 const std::string& folder) {
  std::map<std::string, const lint::FileResult*> targets;
  for (const auto& result : results) {
    if (!result.corrected) continue;
    const auto target = (stdfs::path(folder) / name_of(result.name)).string();
    const auto [at, added] = targets.emplace(target, &result);
    if (!added) {
      return fail(
          Code::kInvalidArgument,
          fmt::format("{} and {} would both become {}", at->second->name, result.name, target),
          "name one of them alone");
    }
  }
  for (const auto& [target, result] : targets) {
    for (const auto& other : results) {
      std::error_code error;
      if (other.name == kStandardInput || !stdfs::equivalent(target, other.name, error)) continue;
      return fail(Code::kInvalidArgument, fmt::format("{} would be replaced", other.name),
                  "write --fix-to with another folder");
    }
  }
  std::vector<std::string> written;
  if (targets.empty()) return written;
  TRY(FsRoot().make_directories(stdfs::absolute(folder)));
  for (const auto& [target, result] : targets) {
    TRY(FsRoot().write_atomic(stdfs::absolute(target), *result->corrected));
    written.push_back(target);
  }
  return written;
}

}  // namespace tranche::cli
