#pragma once
// `tranche lint`: finds errors in a file of Kubernetes objects, of the device plugin's
// configuration or of MIG layouts, with their places and corrections; and the file with all
// possible corrections made. Pure.
//
//   text -> documents -> objects -> findings, and the corrected tree -> text
//
// Files come from untrusted sources. Too long, too deep or non-text input is refused with its
// place, like invalid YAML.

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explain/lint/finding.h"
#include "explain/lint/surroundings.h"

namespace tranche::lint {

inline constexpr std::size_t kLongestFile = std::size_t{16} << 20U;

struct SourceFile {
  std::string name;  // for people
  std::string text;
};

struct FileResult {
  std::string name;
  std::vector<Finding> findings;  // by line
  std::size_t left_out = 0;       // findings beyond the first five hundred
  // The whole file, corrected where `Finding::corrected` is set. Without comments. nullopt: nothing
  // is corrected.
  std::optional<std::string> corrected;
  std::size_t documents = 0;  // objects and files that were checked
  std::size_t skipped = 0;    // objects of kinds unknown to lint
  // Resources that Pods request, for which it was not checked whether a node offers them.
  std::set<std::string> unseen;
};

// One result per file. DeviceClasses of one file are known in all.
std::vector<FileResult> lint(const std::vector<SourceFile>& files, Surroundings around);

}  // namespace tranche::lint
