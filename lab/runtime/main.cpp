// tranche-lab-runtime: an OCI runtime that gives containers the simulated GPUs they ask for, as
// NVIDIA's does with real ones, and leaves the rest to runc. Called as `nvidia-ctk`, or with `hook`
// as its first argument, it is a hook (hooks.h).
//
// It stands in for the one on real nodes, and has no configuration: driver.h has the places on a
// node of the lab.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "fmt/format.h"
#include "lab/runtime/command_line.h"
#include "lab/runtime/driver.h"
#include "lab/runtime/edits.h"
#include "lab/runtime/hooks.h"
#include "lab/runtime/request.h"
#include "sim/state/simulation.h"

namespace {

using namespace tranche;

constexpr const char* kRunc = "/usr/sbin/runc";
constexpr std::size_t kMaxSpec = 64U << 20U;

Result<lab::Edits> requested_edits(const lab::Request& request, const FsRoot& files) {
  const auto state = fmt::format("{}/state", lab::kMachineFolder);
  ASSIGN_OR_RETURN(const auto machine, sim::Simulation::open({.machine = {}, .state = state}));
  return lab::driver_edits(request, machine->state(), files);
}

Result<void> edit_bundle(const std::string& bundle) {
  const FsRoot files;
  const auto path = std::filesystem::absolute(bundle) / "config.json";
  ASSIGN_OR_RETURN(const auto text, files.read(path, kMaxSpec));
  auto spec = lab::Json::parse(text, nullptr, false);
  if (spec.is_discarded()) return fail(Code::kInvalidArgument, path.string() + ": no JSON");
  ASSIGN_OR_RETURN(const auto request, lab::read_request(spec));
  if (request) {
    ASSIGN_OR_RETURN(const auto edits, requested_edits(*request, files));
    lab::apply(edits, spec);
  } else if (lab::has_driver_nodes(spec) && files.is_directory(lab::kMachineFolder)) {
    lab::apply(lab::kernel_edits(files), spec);
  } else {
    return {};
  }
  return files.write_atomic(path, spec.dump(), 0600);
}

// containerd shows what the runtime wrote to its log, so that the reason reaches the Pod's events.
int refuse(const Error& error, const std::string& log) {
  const std::string message = "tranche-lab-runtime: " + error.message();
  std::cerr << message << '\n';
  if (!log.empty()) {
    std::ofstream(log, std::ios::app)
        << nlohmann::json({{"level", "error"}, {"msg", message}}).dump() << '\n';
  }
  return 1;
}

int hook(std::span<const std::string_view> arguments) {
  const std::string state{std::istreambuf_iterator<char>(std::cin), {}};
  const auto done = lab::run_hook(arguments, state);
  return done ? 0 : refuse(done.error(), {});
}

int serve(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const bool as_toolkit = std::filesystem::path(argv[0]).filename() == "nvidia-ctk";
  if (!words.empty() && words.front() == "hook") return hook(std::span(words).subspan(1));
  if (as_toolkit) {
    return refuse({.code = Code::kInvalidArgument, .what = "only `nvidia-ctk hook` is played here"},
                  {});
  }
  const auto call = lab::read_command_line(words);
  if (call.makes_container()) {
    if (const auto edited = edit_bundle(call.bundle); !edited) {
      return refuse(edited.error(), call.log);
    }
  }
  ::execv(kRunc, argv);
  return refuse(errno_error(errno, fmt::format("start {}", kRunc)), call.log);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return serve(argc, argv);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
