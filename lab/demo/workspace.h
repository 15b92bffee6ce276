#pragma once
// Where the demo finds its programs and keeps its files.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace tranche::demo {

// The programs of one build, found from the running program's own place.
struct Programs {
  std::filesystem::path tranche;
  std::filesystem::path simulator;  // tranche-sim

  // kNotFound, with what to do, when something has not been built. `folder` holds the programs;
  // the simulated driver's library is looked for in ../sim.
  static Result<Programs> find(const std::filesystem::path& folder);
};

// The folder of the running program.
Result<std::filesystem::path> own_folder();

// A folder of the demo's own, removed with all it holds at the end, unless keep() was called.
class Workspace {
 public:
  // Under $TMPDIR, or /tmp if that is too long for the sockets.
  static Result<Workspace> make();
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace();

  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  explicit Workspace(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace tranche::demo
