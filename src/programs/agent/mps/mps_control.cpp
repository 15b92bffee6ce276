#include "agent/mps/mps_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mps/open_file.h"
#include "mps/ready_file.h"
#include "offer/make_offer.h"

namespace tranche::agent {

MpsControl::MpsControl(Ports ports, std::chrono::milliseconds ask_interval)
    : ports_(std::move(ports)),
      supervisor_(ports_.tools, {.ask_interval = ask_interval}, ports_.tell),
      rules_(ports_.tools, ports_.tell) {}

void MpsControl::begin() {
  if (ports_.pause.begin()) end_left_behind();
  ports_.config.announce();
  on_config_change();
  on_reading(ports_.reader.read());
}

// Also without MPS in the configuration, because the GPUs of such daemons are still in exclusive
// mode.
void MpsControl::end_left_behind() {
  cleaned_ = true;
  const auto resources = FsRoot().list(ports_.tools.root / "nvidia.com");
  if (!resources && resources.error().code != Code::kNotFound) {
    ports_.log.error(Error(resources.error())
                         .with_context("whether an earlier supervisor left daemons is not known"));
  }
  if (!resources) return;
  for (const auto& resource : *resources) {
    MpsDaemon::end_left_behind(ports_.tools, {"nvidia.com/" + resource});
  }
}

// Releases GPUs and NVML when the agent asks for them, and starts again afterwards.
void MpsControl::heed_pause() {
  if (ports_.pause.is_on()) {
    if (ports_.pause.begin()) resume();
  } else if (const auto gpus = ports_.pause.wish()) {
    supervisor_.hold(*gpus);
    ports_.pause.release_driver();
  } else if (supervisor_.holds()) {
    resume();  // the requester did not wait for it
  }
}

// The present state of the GPUs decides which daemons start.
void MpsControl::resume() {
  if (!cleaned_) end_left_behind();
  on_reading(ports_.reader.read());
}

void MpsControl::on_turn() {
  if (config_due_ && *config_due_ <= ports_.clock.now()) on_config_change();
  heed_pause();
  if (look_at_open()) plan();
  supervisor_.tick(ports_.clock.now());
  supervisor_.pass_on_logs();
}

std::chrono::milliseconds MpsControl::longest_sleep() const {
  const auto now = ports_.clock.now();
  auto due = now + kLogInterval;
  if (const auto tick = supervisor_.next_tick()) due = std::min(due, *tick);
  return std::max(std::chrono::milliseconds(0),
                  std::chrono::ceil<std::chrono::milliseconds>(due - now));
}

void MpsControl::on_config_change() {
  if (ports_.config.look()) plan();
  config_due_.reset();
  if (const auto wait = ports_.config.look_again()) config_due_ = ports_.clock.now() + *wait;
}

void MpsControl::on_reading(Result<gpu::Machine> machine) {
  if (ports_.pause.is_on()) return;  // a reading before the pause, or a refused one
  if (!machine) {
    if (said_.is_news("reading", machine.error().what)) ports_.log.error(machine.error());
    return;
  }
  said_.forget("reading");
  if (machine_) machine = gpu::remember_lost(*machine_, *std::move(machine));
  const bool held = supervisor_.holds();
  if (held) supervisor_.release(ports_.clock.now());
  if (machine_ == *machine && !rules_.is_open() && !held) return;
  machine_ = *std::move(machine);
  plan();
}

// Whether the agent's list of resources with open limits has changed.
bool MpsControl::look_at_open() {
  const auto open = mps::read_open(ports_.tools.root);
  if (!open) {
    if (said_.is_news("open", open.error().what)) ports_.log.error(open.error());
    return false;
  }
  said_.forget("open");
  if (*open == open_) return false;
  open_ = *open;
  return true;
}

void MpsControl::plan() {
  if (!machine_ || ports_.pause.is_on()) return;
  const auto& config = ports_.config.config();
  const auto offer = offer::make_offer(*machine_, config, {});
  say(offer);
  look_at_open();
  const auto rules = rules_.settle(config.tranche.mps, *machine_, offer);
  const auto plan = mps::keep_withheld(mps::make_plan(*machine_, offer, rules, open_),
                                       supervisor_.plan(), *machine_, offer);
  rules_.say_open(rules, plan);
  const auto* none =
      plan.empty() ? "the configuration shares nothing by MPS (sharing.mps): no daemon is needed"
                   : "";
  if (said_.is_news("no plan", none)) ports_.log.info(none);
  supervisor_.follow(plan, ports_.clock.now());
}

void MpsControl::say(const offer::Offer& offer) {
  for (const auto& withheld : offer.withheld) {
    const auto line = fmt::format("no MPS for {}", offer::describe(withheld));
    if (said_.is_news("withheld " + line, line)) ports_.log.error(line);
  }
}

}  // namespace tranche::agent
