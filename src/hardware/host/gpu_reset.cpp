#include "host/gpu_reset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/lines.h"
#include "base/printable.h"

namespace tranche::host {
namespace {

constexpr const char* kProgram = "nvidia-smi";
constexpr std::size_t kLongestText = 400;

struct Meaning {
  std::string_view words;  // in small letters
  Code code;
  const char* hint;
};

// The first that the text has counts.
constexpr Meaning kMeanings[] = {
    {"in use by another", Code::kFailedPrecondition,
     "end every program that has the GPU open: CUDA programs, monitoring (DCGM, nvidia-smi), "
     "nvidia-persistenced (nvidia-smi -pm 0), graphics (modprobe -r nvidia_drm)"},
    {"being used by one or more", Code::kFailedPrecondition,
     "end every program that has the GPU open"},
    {"nvlink", Code::kUnsupported, "GPUs that NVLink connects are reset together, or by a reboot"},
    {"primary gpu", Code::kUnsupported, "reboot the machine"},
    {"permission", Code::kPermission, "run it as root, in a privileged container"},
    {"not supported", Code::kUnsupported,
     "a GPU that is passed through to a virtual machine cannot be reset there: reboot the machine"},
};

std::string small(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Its lines in one.
std::string in_one_line(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    auto line = take_line(text);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    if (!result.empty()) result += ' ';
    result += line;
  }
  return printable(result, kLongestText);
}

// A program of a driver's root finds the driver's libraries there.
std::map<std::string, std::string> with_libraries(std::map<std::string, std::string> environment,
                                                  const std::filesystem::path& root) {
  std::string folders;
  for (const char* folder :
       {"usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib64"}) {
    folders += fmt::format("{}{}", folders.empty() ? "" : ":", (root / folder).string());
  }
  auto& path = environment["LD_LIBRARY_PATH"];
  path = path.empty() ? folders : folders + ":" + path;
  return environment;
}

bool is_below(const std::filesystem::path& path, const std::filesystem::path& root) {
  if (root.empty() || root == "/") return false;
  return path.string().starts_with((root / "").string());
}

}  // namespace

Result<void> judge_reset(const ChildEnd& end) {
  if (end.code == 0) return {};
  const std::string text = small(end.output);
  const std::string what = end.output.empty() ? fmt::format("{} ended with {}", kProgram, end.code)
                                              : in_one_line(end.output);
  for (const Meaning& meaning : kMeanings) {
    if (text.contains(meaning.words)) return fail(meaning.code, what, meaning.hint);
  }
  return fail(Code::kUnavailable, what);
}

Result<void> GpuReset::reset(const gpu::PciAddress& gpu) {
  const std::string context = fmt::format("reset GPU {}", gpu::nvml_name(gpu));
  const auto path = options_.environment.find("PATH");
  auto program =
      find_program(kProgram, path == options_.environment.end() ? "/usr/bin:/bin" : path->second,
                   options_.driver_root);
  if (!program) {
    auto error = std::move(program).error().with_context(context);
    error.hint =
        "it comes with the driver: give the container the capability utility "
        "(NVIDIA_DRIVER_CAPABILITIES), or mount the driver's root at --driver-root-ctr-path";
    return std::unexpected(std::move(error));
  }
  Child child{.program = *program,
              .arguments = {"--gpu-reset", "-i", gpu::nvml_name(gpu)},
              .environment = options_.environment,
              .limit = options_.limit};
  if (is_below(*program, options_.driver_root)) {
    child.environment = with_libraries(std::move(child.environment), options_.driver_root);
  }
  const auto end = run_child(child);
  auto judged = end ? judge_reset(*end) : Result<void>(std::unexpected(end.error()));
  if (judged) return {};
  auto error = std::move(judged).error();
  // More output than fits: it ran, but with unknown result.
  if (error.code == Code::kInvalidArgument) error.code = Code::kUnavailable;
  return std::unexpected(std::move(error).with_context(context));
}

}  // namespace tranche::host
