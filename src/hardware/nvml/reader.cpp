#include "nvml/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tranche::nvml {
namespace {

constexpr std::chrono::milliseconds kLongestRestartWait{600'000};

std::string lane_key(int index) { return fmt::format("gpu {}", index); }

}  // namespace

Reader::Reader(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)),
      restart_{.first = connection_->options().restart_interval, .longest = kLongestRestartWait} {}

Result<gpu::Machine> Reader::read() {
  ASSIGN_OR_RETURN(auto session, ready_session());
  auto system = read_system(session);
  if (!system && system.error().code == Code::kUnavailable) {
    // The driver may have been reloaded since the session began, so start NVML afresh, once.
    session.reset();
    connection_->restart();
    ASSIGN_OR_RETURN(session, ready_session());
    system = read_system(session);
    if (!system) {
      session.reset();
      connection_->restart();
    }
  }
  if (!system) return std::unexpected(std::move(system).error());
  return read_with(session, *system);
}

Result<std::shared_ptr<Session>> Reader::ready_session() {
  if (auto current = connection_->current(); current != nullptr) {
    const auto now = std::chrono::steady_clock::now();
    if (current->library().replaced()) {
      connection_->log(LogLevel::kInfo,
                       "the NVIDIA driver's library was replaced: starting NVML "
                       "afresh");
      restarted_ = {};
    } else if (missing_ && now >= restarted_ + restart_.wait() &&
               connection_->pool().stuck() == 0) {
      // (While a call hangs, NVML cannot end, and so cannot start afresh.)
      restart_.next();
      connection_->log(LogLevel::kDebug, "starting NVML afresh to look for lost GPUs");
    } else {
      return current;
    }
  }
  connection_->restart();
  ASSIGN_OR_RETURN(auto session, connection_->session());
  restarted_ = std::chrono::steady_clock::now();
  return session;
}

Result<Reader::System> Reader::read_system(const std::shared_ptr<Session>& session) {
  if (session_.lock() != session) {
    session_ = session;
    system_.reset();
    handles_.clear();
    minors_.reset();
  }
  struct Answer {
    System system;
    std::string failure;
  };
  auto answer = std::make_shared<Answer>();
  if (system_) answer->system = *system_;
  // What a driver does not report is asked again.
  const bool first = !system_ || system_->driver_version.empty();
  const auto outcome = connection_->pool().run(
      {.key = "nvml", .work = [session, answer, first](Progress& progress) {
         Calls call(session->api(), progress);
         const Api& api = call.api();
         System& system = answer->system;
         const Return counted = call(api.nvmlDeviceGetCount_v2, &system.gpus);
         if (counted != kSuccess) {
           answer->failure = call.describe(api.nvmlDeviceGetCount_v2.name, counted);
           return;
         }
         if (!first) return;
         system.warnings.clear();
         char version[kStringSize] = {};
         if (const Return result = call(api.nvmlSystemGetDriverVersion, version, kStringSize);
             result != kSuccess) {
           system.warnings.push_back("the driver's version is unknown: " +
                                     call.describe(api.nvmlSystemGetDriverVersion.name, result));
         }
         system.driver_version = text(version);
         int cuda = 0;
         Return result = call(api.nvmlSystemGetCudaDriverVersion_v2, &cuda);
         if (result != kSuccess) result = call(api.nvmlSystemGetCudaDriverVersion, &cuda);
         if (result != kSuccess) {
           system.warnings.push_back(
               "the driver's CUDA version is unknown: " +
               call.describe(api.nvmlSystemGetCudaDriverVersion_v2.name, result));
         }
         system.cuda_driver_version = result == kSuccess ? cuda : 0;
       }});
  if (!outcome.finished) {
    return fail(Code::kTimeout,
                "NVML hangs: " + outcome.describe_hang(connection_->options().deadline),
                "look for NVRM messages in the kernel log (dmesg) and reset the GPUs or reboot the "
                "node; it is tried again");
  }
  if (!answer->failure.empty()) {
    return fail(Code::kUnavailable,
                "NVML does not answer: error getting device count: " + answer->failure,
                "see that the NVIDIA driver is loaded (nvidia-smi on the node); it is tried again");
  }
  system_ = answer->system;
  return std::move(answer->system);
}

Result<gpu::Machine> Reader::read_with(const std::shared_ptr<Session>& session,
                                       const System& system) {
  std::vector<std::shared_ptr<DeviceAnswer>> answers;
  std::vector<DeadlinePool::Task> tasks;
  for (int index = 0; std::cmp_less(index, system.gpus); ++index) {
    auto answer = std::make_shared<DeviceAnswer>();
    DeviceQuery query = {.index = index, .host = connection_->options().host, .minors = minors_};
    if (const auto known = known_.find(index); known != known_.end()) {
      query.known = known->second.gpu;
      query.known_complete = known->second.complete;
    }
    tasks.push_back({.key = lane_key(index),
                     .work = [session, answer, query = std::move(query)](Progress& progress) {
                       Calls call(session->api(), progress);
                       read_device(call, query, *answer);
                     }});
    answers.push_back(std::move(answer));
  }
  const auto outcomes = connection_->pool().run(std::move(tasks));

  gpu::Machine machine = {.driver_version = system.driver_version,
                          .cuda_driver_version = system.cuda_driver_version,
                          .warnings = system.warnings};
  // If an index now has another GPU, the previous one's facts do not apply.
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].finished || !answers[i]->identified) continue;
    std::erase_if(known_, [&](const auto& entry) {
      return std::cmp_not_equal(entry.first, i) && entry.second.gpu.uuid == answers[i]->gpu.uuid;
    });
  }
  static const DeviceAnswer kNone;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    // After a hang the task may still write to its answer, so it is not read.
    add_gpu(static_cast<int>(i), outcomes[i], outcomes[i].finished ? *answers[i] : kNone, machine);
  }
  note_presence(machine);
  return machine;
}

void Reader::add_gpu(int index, const DeadlinePool::Outcome& outcome, const DeviceAnswer& answer,
                     gpu::Machine& machine) {
  if (!outcome.finished) {
    add_unreachable(index, gpu::Presence::kUnknown,
                    outcome.describe_hang(connection_->options().deadline), machine);
    return;
  }
  if (!answer.identified) {
    add_unreachable(index, gpu::Presence::kLost, answer.failure, machine);
    return;
  }
  machine.gpus.push_back(answer.gpu);
  std::ranges::copy(answer.warnings, std::back_inserter(machine.warnings));
  handles_[answer.gpu.uuid.value] = answer.handle;
  if (answer.minors != nullptr && !answer.minors->empty()) minors_ = answer.minors;
  if (answer.gpu.presence == gpu::Presence::kPresent) {
    known_[index] = {.gpu = answer.gpu, .complete = answer.complete};
  }
}

void Reader::add_unreachable(int index, gpu::Presence presence, const std::string& reason,
                             gpu::Machine& machine) {
  const auto known = known_.find(index);
  if (known == known_.end()) {
    machine.warnings.push_back(fmt::format(
        "GPU {} is left out, it was never seen well: {}; see dmesg for NVRM messages, reset it "
        "(nvidia-smi --gpu-reset) or reboot the node",
        index, reason));
    return;
  }
  gpu::Gpu gpu = known->second.gpu;
  gpu.presence = presence;
  gpu.presence_reason = reason;
  machine.gpus.push_back(std::move(gpu));
}

void Reader::note_presence(const gpu::Machine& machine) {
  std::set<std::string> present;
  for (const auto& gpu : machine.gpus) {
    if (gpu.presence != gpu::Presence::kLost) present.insert(gpu.uuid.value);
  }
  ever_present_.insert(present.begin(), present.end());
  missing_ = present.size() < ever_present_.size();
  if (!missing_) restart_.reset();
}

}  // namespace tranche::nvml
