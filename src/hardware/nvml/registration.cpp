#include "nvml/registration.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::nvml {
namespace {

// The registration of one GPU.
struct GpuRegistration {
  Device handle = nullptr;
  bool supported = true;
  bool broke_set = false;  // the answer was UNKNOWN, after which the whole set is undefined
  Return result = kSuccess;
};

Result<EventSet> make_set(Connection& connection, const std::shared_ptr<Session>& session) {
  struct Made {
    EventSet set = nullptr;
    std::string failure;
  };
  auto made = std::make_shared<Made>();
  const auto outcome =
      connection.pool().run({.key = "event set", .work = [session, made](Progress& progress) {
                               Calls call(session->api(), progress);
                               const auto& create = call.api().nvmlEventSetCreate;
                               const Return result = call(create, &made->set);
                               if (result == kSuccess) {
                                 session->keep(made->set);
                               } else {
                                 made->failure = call.describe(create.name, result);
                               }
                             }});
  constexpr const char* kHint = "see dmesg for NVRM messages; it is tried again";
  if (!outcome.finished) {
    return fail(Code::kTimeout,
                fmt::format("GPU events cannot be listened on: {} hangs", outcome.hung_in), kHint);
  }
  if (!made->failure.empty()) {
    return fail(Code::kUnavailable, "GPU events cannot be listened on: " + made->failure, kHint);
  }
  return made->set;
}

void register_gpu(Calls& call, const gpu::Gpu& gpu, EventSet set, GpuRegistration& answer) {
  const Api& api = call.api();
  answer.result = call(api.nvmlDeviceGetHandleByUUID, gpu.uuid.value.c_str(), &answer.handle);
  if (answer.result == kFunctionNotFound) {
    answer.result =
        call(api.nvmlDeviceGetHandleByIndex_v2, static_cast<unsigned>(gpu.index), &answer.handle);
  }
  if (answer.result != kSuccess) return;
  constexpr std::uint64_t kErrors = kEventXid | kEventSingleBitEcc | kEventDoubleBitEcc;
  std::uint64_t supported = kErrors;
  const Return asked = call(api.nvmlDeviceGetSupportedEventTypes, answer.handle, &supported);
  if (asked == kNotSupported || (asked == kSuccess && (supported & kErrors) == 0)) {
    answer.supported = false;
    return;
  }
  // If the driver does not report which types it supports, XIDs are enough.
  const std::uint64_t types =
      asked == kSuccess ? supported & (kErrors | kEventMigConfigChange) : kEventXid;
  answer.result = call(api.nvmlDeviceRegisterEvents, answer.handle, types, set);
  answer.broke_set = answer.result == kUnknown;
  if (answer.result == kNotSupported) {
    answer.supported = false;
    answer.result = kSuccess;
  }
}

}  // namespace

Result<Registered> register_gpus(Connection& connection, const std::shared_ptr<Session>& session,
                                 std::vector<gpu::Gpu> gpus) {
  Registered registered;
  const Api& api = session->api();
  if (api.nvmlEventSetCreate.pointer == nullptr || api.nvmlEventSetWait_v2.pointer == nullptr ||
      api.nvmlDeviceRegisterEvents.pointer == nullptr) {
    for (const auto& gpu : gpus) registered.subscription.unsupported.push_back(gpu.uuid);
    return registered;
  }
  ASSIGN_OR_RETURN(registered.set, make_set(connection, session));
  std::vector<std::shared_ptr<GpuRegistration>> answers;
  std::vector<DeadlinePool::Task> tasks;
  for (const auto& gpu : gpus) {
    auto answer = std::make_shared<GpuRegistration>();
    // The key of the GPU's reading, so a GPU that hangs there is not asked here.
    tasks.push_back({.key = fmt::format("gpu {}", gpu.index),
                     .work = [session, answer, gpu, set = registered.set](Progress& progress) {
                       Calls call(session->api(), progress);
                       register_gpu(call, gpu, set, *answer);
                     }});
    answers.push_back(std::move(answer));
  }
  const auto outcomes = connection.pool().run(std::move(tasks));
  std::vector<gpu::Gpu> unbroken;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& uuid = gpus[i].uuid;
    const bool finished = outcomes[i].finished;
    if (finished && !answers[i]->broke_set) unbroken.push_back(gpus[i]);
    if (!finished || answers[i]->result != kSuccess) {
      registered.subscription.failed.push_back(uuid);
    } else if (!answers[i]->supported) {
      registered.subscription.unsupported.push_back(uuid);
    } else {
      registered.uuids[answers[i]->handle] = uuid;
    }
  }
  const bool broken = std::ranges::any_of(answers, [&](const auto& answer) {
    const auto i = static_cast<std::size_t>(&answer - answers.data());
    return outcomes[i].finished && answer->broke_set;
  });
  if (!broken) return registered;
  // Try again on a new set without the GPUs that broke this one. Each round leaves out at least one
  // GPU, so this ends.
  connection.pool().run(
      {.key = "event set", .work = [session, set = registered.set](Progress& progress) {
         progress.enter("nvmlEventSetFree");
         session->release(set);
       }});
  auto failed = std::move(registered.subscription.failed);
  ASSIGN_OR_RETURN(registered, register_gpus(connection, session, std::move(unbroken)));
  for (auto& uuid : failed) {
    if (std::ranges::find(registered.subscription.failed, uuid) ==
        registered.subscription.failed.end()) {
      registered.subscription.failed.push_back(std::move(uuid));
    }
  }
  return registered;
}

}  // namespace tranche::nvml
