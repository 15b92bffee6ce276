#include "nvml/mig_control.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace tranche::nvml {
namespace {

// Written by the task. After a hang the task may still write to it, so it is not read.
template <class Value>
struct MigAnswer {
  std::optional<Result<Value>> result;
  bool driver_gone = false;
};

template <class Value>
void answer_with(MigCalls& calls, const gpu::GpuUuid& gpu,
                 const std::function<Result<Value>(MigCalls&)>& work, MigAnswer<Value>& answer) {
  if (auto found = calls.find(gpu); !found) {
    answer.result.emplace(std::unexpected(std::move(found).error()));
  } else {
    answer.result.emplace(work(calls));
  }
  answer.driver_gone = calls.driver_gone();
}

}  // namespace

MigControl::MigControl(std::shared_ptr<Connection> connection, std::chrono::milliseconds deadline)
    : connection_(std::move(connection)), deadline_(deadline), pool_({.deadline = deadline}) {}

template <class Value>
Result<Value> MigControl::run(const gpu::GpuUuid& gpu, const std::string& what,
                              std::function<Result<Value>(MigCalls&)> work) {
  ASSIGN_OR_RETURN(const auto session, connection_->session());
  const auto answer = std::make_shared<MigAnswer<Value>>();
  const auto outcome = pool_.run({.key = gpu.value, .work = [=](Progress& progress) {
                                    Calls call(session->api(), progress);
                                    MigCalls calls(call);
                                    answer_with(calls, gpu, work, *answer);
                                  }});
  const std::string context = fmt::format("{} on {}", what, gpu.value);
  if (!outcome.finished) {
    return fail(Code::kTimeout, fmt::format("{}: {}", context, outcome.describe_hang(deadline_)));
  }
  if (answer->driver_gone) connection_->restart();
  if (!*answer->result) {
    return std::unexpected(std::move(*answer->result).error().with_context(context));
  }
  return std::move(*answer->result);
}

Result<gpu::MigState> MigControl::read(const gpu::GpuUuid& gpu) {
  return run<gpu::MigState>(gpu, "read the MIG instances",
                            [](MigCalls& calls) { return calls.read(); });
}

Result<gpu::MigControl::Activation> MigControl::set_mode(const gpu::GpuUuid& gpu, bool enabled) {
  return run<Activation>(gpu, enabled ? "turn MIG mode on" : "turn MIG mode off",
                         [=](MigCalls& calls) { return calls.set_mode(enabled); });
}

Result<int> MigControl::create_gpu_instance(const gpu::GpuUuid& gpu, int profile_id, int start) {
  return run<int>(gpu, fmt::format("create a GPU instance of profile {} at {}", profile_id, start),
                  [=](MigCalls& calls) {
                    return calls.create_gpu_instance(static_cast<unsigned>(profile_id),
                                                     static_cast<unsigned>(start));
                  });
}

Result<int> MigControl::create_compute_instance(const gpu::GpuUuid& gpu, int gpu_instance,
                                                int slices, int start) {
  return run<int>(gpu,
                  fmt::format("create a compute instance of {} slices in GPU instance {}", slices,
                              gpu_instance),
                  [=](MigCalls& calls) {
                    return calls.create_compute_instance(static_cast<unsigned>(gpu_instance),
                                                         static_cast<unsigned>(slices),
                                                         static_cast<unsigned>(start));
                  });
}

Result<void> MigControl::destroy_compute_instance(const gpu::GpuUuid& gpu, int gpu_instance,
                                                  int compute_instance) {
  return run<void>(
      gpu,
      fmt::format("destroy compute instance {} of GPU instance {}", compute_instance, gpu_instance),
      [=](MigCalls& calls) {
        return calls.destroy_compute_instance(static_cast<unsigned>(gpu_instance),
                                              static_cast<unsigned>(compute_instance));
      });
}

Result<void> MigControl::destroy_gpu_instance(const gpu::GpuUuid& gpu, int gpu_instance) {
  return run<void>(gpu, fmt::format("destroy GPU instance {}", gpu_instance), [=](MigCalls& calls) {
    return calls.destroy_gpu_instance(static_cast<unsigned>(gpu_instance));
  });
}

}  // namespace tranche::nvml
