#pragma once
// Shared by tests of the supervisor: the GPUs' compute mode and NVIDIA's program.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/mps/mps_daemon.h"
#include "base/log.h"
#include "base/result.h"
#include "gpu/control.h"
#include "host/child.h"

namespace tranche::agent::mps_testing {

class FakeGpus final : public gpu::Control {
 public:
  Result<void> set_compute_mode(const std::string& uuid, gpu::ComputeMode mode) override {
    if (refuses) return fail(Code::kPermission, "no permission");
    if (mode == gpu::ComputeMode::kExclusiveProcess) {
      exclusive.insert(uuid);
    } else {
      exclusive.erase(uuid);
    }
    return {};
  }
  std::set<std::string> exclusive;
  bool refuses = false;
};

// NVIDIA's program: one daemon for each pipe folder.
class FakeProgram {
 public:
  Result<host::ChildEnd> run(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment,
                             const std::string& input) {
    const std::filesystem::path pipe = environment.at("CUDA_MPS_PIPE_DIRECTORY");
    const auto name = pipe.parent_path().filename().string();
    const std::string text =
        arguments.empty() ? input : fmt::format("{}", fmt::join(arguments, " "));
    calls.push_back(name + ": " + text);
    if (hangs) return fail(Code::kTimeout, "it did not end within 10000 ms");
    if (text.starts_with("-d")) {
      if (refuses) return host::ChildEnd{1, "the GPU is busy\n"};
      daemons.insert(name);
      return host::ChildEnd{};
    }
    if (!daemons.contains(name)) return host::ChildEnd{1, "Cannot find MPS control daemon\n"};
    if (text == "quit" || text == "-q") daemons.erase(name);
    if (text.starts_with("server list")) {
      return host::ChildEnd{0,
                            status.empty() ? "" : "shared,0,4711," + status + ",/pipe,GPU-a,-\n"};
    }
    if (text == "lspart") return host::ChildEnd{0, "GPU-01234567 - 6 2 24 8 -\n"};
    if (text.starts_with("sm_partition add")) {
      return host::ChildEnd{0, fmt::format("GPU-01234567/D{}\n", ++partitions)};
    }
    if (text == "get_default_active_thread_percentage") return host::ChildEnd{0, "25.0\n"};
    if (text == "get_server_list") return host::ChildEnd{0, servers};
    return host::ChildEnd{};
  }
  std::vector<std::string> take() { return std::exchange(calls, {}); }

  std::set<std::string> daemons;
  std::vector<std::string> calls;
  std::string servers;
  std::string status = "Ready";  // of protocol 3's server
  int partitions = 0;
  bool refuses = false;
  bool hangs = false;
};

// `root`: the daemons' folder.
inline MpsTools tools_of(FakeProgram& program, FakeGpus& gpus, const std::filesystem::path& root,
                         const Log& log) {
  return {.control =
              [&program](const std::vector<std::string>& arguments, const auto& environment,
                         const std::string& input) {
                return program.run(arguments, environment, input);
              },
          .gpus = gpus,
          .root = root,
          .host = FsRoot(root / "host"),
          .daemon_log = [](const std::string&) {},
          .log = log,
          .ready_pause = std::chrono::milliseconds(0)};
}

}  // namespace tranche::agent::mps_testing
