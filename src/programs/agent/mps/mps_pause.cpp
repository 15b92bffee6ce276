#include "agent/mps/mps_pause.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/fs.h"
#include "base/pause.h"
#include "mps/plan.h"
#include "mps/ready_file.h"

namespace tranche::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kVendor = "nvidia.com";
constexpr milliseconds kLookAgain{20};

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

std::filesystem::path started_of(const std::filesystem::path& root, const std::string& resource) {
  return mps::paths_of(root, {resource}).started;
}

// The resource whose daemon a gone supervisor left on one of the GPUs; empty: none.
std::string left_on(const std::filesystem::path& root, const std::set<std::string>& gpus) {
  for (const auto& one : mps_on(root, gpus)) {
    if (!mps::left_behind(started_of(root, one.resource)).empty()) return one.resource;
  }
  return {};
}

std::unexpected<Error> still_left(const std::string& resource) {
  return fail(Code::kTimeout,
              fmt::format("the MPS control daemon of {} holds the GPU, and its supervisor "
                          "(mps-control-daemon) was killed and does not come back to end it",
                          resource),
              "look at the Pod of mps-control-daemon on this node; without one, reboot the node or "
              "end the processes nvidia-cuda-mps-control and nvidia-cuda-mps-server");
}

// Locking a file takes write permission.
Error not_asked(Error error) {
  if (error.code == Code::kTimeout) return error;
  error.hint =
      "make the folder of the MPS control daemons (--mps-dir) writable here; for the agent: mount "
      "it so";
  return std::move(error).with_context("ask the supervisor of the MPS control daemons to let go");
}

}  // namespace

std::vector<EndingMps> mps_on(const std::filesystem::path& root,
                              const std::set<std::string>& gpus) {
  std::vector<EndingMps> found;
  const auto names = FsRoot().list(root / kVendor);
  if (!names) return found;
  for (const auto& name : *names) {
    const auto resource = fmt::format("{}/{}", kVendor, name);
    auto served = mps::gpus_of(started_of(root, resource));
    if (!served) continue;
    const bool has =
        std::ranges::any_of(*served, [&](const auto& gpu) { return gpus.contains(gpu); });
    if (has) found.push_back({resource, *std::move(served)});
  }
  return found;
}

// A starting supervisor ends what the previous one left, and needs the driver for that. So the lock
// is kept only if nothing is left; otherwise the supervisor was killed before it released the GPUs.
Result<std::shared_ptr<void>> pause_mps(const std::filesystem::path& root,
                                        const std::set<std::string>& gpus,
                                        const std::stop_token& stop, milliseconds limit) {
  const process::DriverRequest request{
      .file = root / kMpsLock,
      .trouble =
          "the supervisor of the MPS control daemons (mps-control-daemon) does not let go of the "
          "driver",
      .remedy = "see its log, and restart its Pod",
      .wish = fmt::format("{}\n", fmt::join(gpus, "\n"))};
  const auto until = steady_clock::now() + limit;
  while (true) {
    auto left = left_on(root, gpus);
    if (left.empty()) {
      const auto time = std::chrono::ceil<milliseconds>(until - steady_clock::now());
      auto pause = process::DriverPause::take(request, time, stop);
      if (!pause) return std::unexpected(not_asked(std::move(pause).error()));
      left = left_on(root, gpus);
      if (left.empty()) return *std::move(pause);
    }
    if (steady_clock::now() >= until) return still_left(left);
    if (!tranche::pause(kLookAgain, stop)) return fail(Code::kTimeout, "it was told to stop");
  }
}

// Without the file nobody can ask.
bool MpsPause::begin() {
  const auto may = user_.begin();
  if (!may) warn_once(may.error().message());
  if (!may || *may) {
    if (std::exchange(pause_, std::nullopt)) log_.info("NVML may be used again");
    return true;
  }
  if (!pause_) release_driver();
  return false;
}

std::optional<std::set<std::string>> MpsPause::wish() {
  if (pause_ || !user_.is_unwanted()) return std::nullopt;
  auto text = user_.wish();
  if (text) return lines_of(*text);
  warn_once(text.error().message());
  return std::nullopt;
}

void MpsPause::release_driver() {
  auto pause = driver_->release_driver(nvml::Connection::Meanwhile::kRefuse);
  if (!pause) {
    warn_once(pause.error().message());
    return;
  }
  warned_.clear();
  pause_ = *std::move(pause);
  user_.end();
  log_.info("the MIG layout is being changed: NVML is let go of");
}

void MpsPause::warn_once(const std::string& what) {
  if (std::exchange(warned_, what) != what) log_.warn(what);
}

}  // namespace tranche::agent
