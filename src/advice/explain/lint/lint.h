#pragma once
// `tranche lint`: what is wrong in a file of Kubernetes objects, of the device plugin's
// configuration or of MIG layouts, where, and what to write instead; and the file with all
// corrected that can be. Pure.
//
//   text -> documents -> objects -> findings, and the tree as it should be -> text
//
// Files come from anybody. What is too long, too deep or no text is refused with its place, as what
// is no YAML is.

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
  // The whole file, corrected where `Finding::corrected` says so. Without comments. nullopt:
  // nothing is corrected.
  std::optional<std::string> corrected;
  std::size_t documents = 0;  // objects and files that were looked at
  std::size_t skipped = 0;    // objects of kinds that lint knows nothing about
  // Resources that Pods ask; nobody was asked whether a node offers them.
  std::set<std::string> unseen;
};

// One result for each file. DeviceClasses of one file are known in all.
std::vector<FileResult> lint(const std::vector<SourceFile>& files, Surroundings around);

}  // namespace tranche::lint
