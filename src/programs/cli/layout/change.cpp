#include "cli/layout/change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "mig/target.h"

namespace tranche::cli {
namespace {

constexpr std::chrono::minutes kLongestChange{10};

const mig::Layout& nothing() {
  static const mig::Layout kNothing;
  return kNothing;
}

bool at(const gpu::GpuInstance& one, const mig::Instance& other) {
  return one.profile_id == other.profile_id && one.placement == other.placement;
}

// The MIG devices in the GPU instance.
void add_devices(const gpu::Gpu& gpu, int gpu_instance, std::set<std::string>& uuids) {
  for (const auto& device : gpu.mig_instances) {
    if (device.gpu_instance_id == gpu_instance) uuids.insert(device.uuid.value);
  }
}

// What must be unused before the GPU is changed.
std::set<std::string> leaving_devices(const gpu::Gpu& gpu, const gpu::MigState& state,
                                      const mig::Leaving& leaving) {
  std::set<std::string> uuids;
  if (leaving.whole_gpu) uuids.insert(gpu.uuid.value);
  for (const auto& instance : leaving.instances) {
    const auto found = std::ranges::find_if(
        state.instances, [&](const gpu::GpuInstance& one) { return at(one, instance); });
    if (found != state.instances.end()) add_devices(gpu, found->id, uuids);
  }
  return uuids;
}

// "  goes   1g.10gb at 0, 1, 4": the `instances` that satisfy `is_one`.
template <class Condition>
std::string lines_of(std::string_view word, const std::vector<mig::Instance>& instances,
                     const gpu::Gpu& gpu, Condition is_one) {
  std::map<std::string, std::vector<int>> starts;
  for (const auto& instance : instances) {
    const mig::GpuLayout alone{.enabled = true, .instances = {instance}};
    if (is_one(instance)) {
      starts[describe(alone, gpu.mig_geometry)].push_back(instance.placement.start);
    }
  }
  std::string text;
  for (const auto& [name, at] : starts) {
    text += fmt::format("  {:<6} {} at {}\n", word, name, fmt::join(at, ", "));
  }
  return text;
}

std::string show_gpu(const gpu::MigState& state, const mig::GpuLayout& to, const gpu::Gpu& gpu) {
  const auto from = mig::layout_of(state);
  const auto gone = leaving(state, to, gpu.mig_geometry).instances;
  const auto goes = [&](const mig::Instance& one) { return std::ranges::count(gone, one) > 0; };
  const auto stays = [&](const mig::Instance& one) { return !goes(one); };
  const auto comes = [&](const mig::Instance& one) {
    return std::ranges::none_of(from.instances, [&](const mig::Instance& other) {
      return stays(other) && other.placement == one.placement && other.profile_id == one.profile_id;
    });
  };
  auto text = fmt::format("GPU {} ({}): {} -> {}\n", gpu.index, gpu.name,
                          describe(from, gpu.mig_geometry), describe(to, gpu.mig_geometry));
  text += lines_of("goes", from.instances, gpu, goes);
  text += lines_of("stays", from.instances, gpu, stays);
  text += lines_of("comes", to.instances, gpu, comes);
  if (from.enabled != to.enabled) {
    text += fmt::format("  MIG mode goes {}{}\n", to.enabled ? "on" : "off",
                        !mig::mode_needs_reset(gpu) ? ""
                        : state.passed_through      ? "; that takes a reboot of this machine"
                                                    : "; the GPU is reset for it");
  } else if (from.waits && !to.waits) {
    text += fmt::format("  MIG mode {}, which waits for a reset, is taken back\n",
                        state.pending ? "on" : "off");
  }
  return text;
}

mig::Journal journal_of(const LayoutChange& change, const std::string& name, const Clock& clock) {
  const auto now = clock.wall_now();
  return {.id = fmt::format("by-hand-{}", cluster::micro_time(now)),
          .layout = name,
          .phase = mig::Journal::Phase::kChanging,
          .from = change.undo,
          .to = change.change.to,
          .started = now,
          .deadline = now + kLongestChange,
          .boot = {},
          .trouble = {}};
}

Result<void> apply(const mig::Layout& to, const LayoutChange& change, const LayoutWork& work,
                   const std::stop_token& stop) {
  auto hardware = work.hardware;
  hardware.from = &change.undo;
  return mig::apply(to, hardware, work.watcher, work.clock.now() + kLongestChange, work.clock, stop,
                    work.retries);
}

Result<void> undo(const LayoutChange& change, const LayoutWork& work) {
  ASSIGN_OR_RETURN(const auto back,
                   mig::way_back(change.undo, change.change.to, work.hardware.control));
  return apply(back, change, work, {});
}

}  // namespace

Result<std::optional<mig::Journal>> JournalFile::load() const {
  const auto text = fs_.read(file_);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  auto journal = mig::decode_journal(*text);
  if (journal) return *std::move(journal);
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", file_.string(), journal.error().what),
              "a change was cut off, and what the GPUs had before it is lost: remove the file, and "
              "apply a layout again");
}

Result<void> JournalFile::store(const mig::Journal& journal) const {
  TRY(fs_.make_directories(file_.parent_path()));
  return fs_.write_atomic(file_, mig::encode(journal) + "\n", 0600, FsRoot::Sync::kNow);
}

Result<LayoutChange> plan_layout(const std::map<gpu::GpuUuid, mig::GpuWish>& wishes,
                                 const gpu::Machine& machine, gpu::MigControl& control,
                                 const std::optional<mig::Journal>& cut_off) {
  const auto& before = cut_off ? cut_off->from : nothing();
  std::set<gpu::GpuUuid> gpus;
  for (const auto& [gpu, wish] : wishes) gpus.insert(gpu);
  for (const auto& [gpu, layout] : before) {
    if (gpu::find_gpu(machine, gpu) != nullptr) gpus.insert(gpu);
  }
  LayoutChange plan;
  mig::Layout present;
  for (const auto& gpu : gpus) {
    ASSIGN_OR_RETURN(auto state, control.read(gpu));
    present.emplace(gpu, mig::layout_of(state));
    plan.present.emplace(gpu, std::move(state));
  }
  ASSIGN_OR_RETURN(auto to, mig::target_of(wishes, machine, present));
  plan.undo = present;
  for (const auto& [gpu, layout] : before) {
    if (!gpus.contains(gpu)) continue;
    to.try_emplace(gpu, layout);
    plan.undo.insert_or_assign(gpu, layout);
  }
  ASSIGN_OR_RETURN(plan.change, mig::make_change(present, to, [&](const gpu::GpuUuid& gpu) {
                     return mig::mode_needs_reset(*gpu::find_gpu(machine, gpu));
                   }));
  return plan;
}

std::string show(const LayoutChange& change, const gpu::Machine& machine) {
  std::string text;
  for (const auto& gpu : machine.gpus) {
    const auto to = change.change.to.find(gpu.uuid);
    if (to == change.change.to.end()) continue;
    const auto& from = change.change.from.at(gpu.uuid);
    const bool differs = std::ranges::any_of(
        change.change.steps, [&](const mig::Step& step) { return step.gpu == gpu.uuid; });
    text += differs ? show_gpu(change.present.at(gpu.uuid), to->second, gpu)
                    : fmt::format("GPU {} ({}): stays {}\n", gpu.index, gpu.name,
                                  describe(from, gpu.mig_geometry));
  }
  return text;
}

Result<void> check_unused(const LayoutChange& change, const gpu::Machine& machine,
                          const UsersOf& users_of) {
  std::vector<std::string> found;
  for (const auto& gpu : machine.gpus) {
    const auto to = change.change.to.find(gpu.uuid);
    if (to == change.change.to.end()) continue;
    const auto& state = change.present.at(gpu.uuid);
    const auto uuids = leaving_devices(gpu, state, leaving(state, to->second, gpu.mig_geometry));
    if (uuids.empty()) continue;
    ASSIGN_OR_RETURN(const auto users, users_of({uuids.begin(), uuids.end()}));
    for (const auto& user : users) found.push_back(fmt::format("GPU {}: {}", gpu.index, user));
  }
  if (found.empty()) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("processes use what goes: {}", fmt::join(found, ", ")),
              "end them first; nothing was changed");
}

Result<void> check_resets(const LayoutChange& change, const gpu::Machine& machine) {
  std::vector<int> stuck;
  bool all_wait = true;
  bool enabled = false;
  for (const auto& gpu : machine.gpus) {
    const auto to = change.change.to.find(gpu.uuid);
    if (to == change.change.to.end() || !mig::mode_needs_reset(gpu)) continue;
    const auto& state = change.present.at(gpu.uuid);
    if (!state.passed_through || state.enabled == to->second.enabled) continue;
    stuck.push_back(gpu.index);
    enabled = to->second.enabled;
    all_wait &= state.pending == enabled;
  }
  if (stuck.empty()) return {};
  const auto gpus = fmt::format("{}", fmt::join(stuck, ", "));
  const auto what = fmt::format("MIG mode {} of GPU {}", enabled ? "on" : "off", gpus);
  return fail(Code::kUnsupported,
              "nothing can reset GPU " + gpus + " on this machine (passed through to it)",
              all_wait ? what + " is already waiting for a reboot: reboot this machine, then apply"
                       : fmt::format("set the mode by `nvidia-smi -i {} -mig {}` and reboot this "
                                     "machine; then apply the layout",
                                     fmt::join(stuck, ","), enabled ? 1 : 0));
}

LayoutEnd take_layout(const LayoutChange& change, const std::string& name, const LayoutWork& work) {
  auto journal = journal_of(change, name, work.clock);
  if (auto stored = work.journal.store(journal); !stored) {
    return {.trouble = std::move(stored.error()).with_context("nothing was changed"),
            .undo_trouble = {}};
  }
  LayoutEnd end;
  if (auto done = apply(change.change.to, change, work, work.stop); !done) {
    end.trouble = std::move(done.error());
    journal.phase = mig::Journal::Phase::kUndoing;
    journal.trouble = end.trouble->what;
    (void)work.journal.store(journal);  // the previous journal also leads back
    if (auto undone = undo(change, work); !undone) end.undo_trouble = undone.error();
  }
  if (end.undo_trouble) return end;
  if (auto removed = work.journal.remove(); !removed && !end.trouble) end.trouble = removed.error();
  return end;
}

}  // namespace tranche::cli
