#pragma once
// A device and its tenants in virtual time, for tests of the policy. Nothing waits, so a second
// takes milliseconds.
//
// The device gives time slices of 2 ms in turn to tenants with work, and runs each tenant's
// launches in order. A tenant is a program that launches, behind a gate that works like the
// limiter's. The arbiter steps at the policy's pace. As in reality it also steps kLatency after a
// tenant reports that it waits or has work again. The length of a launch is estimated from earlier
// launches of the same tenant.

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "limit/by_tenant.h"
#include "limit/device.h"

namespace tranche::limit::testing {

using namespace std::chrono_literals;

// A batch of launches, between two events.
struct Launch {
  Ns length;
  Ns left;
  Ns asked;
  int launches = 1;
  Ns begin{-1};  // begin of its pair; below 0: the previous batch has not ended
};

// A tenant's program, called whenever it could launch. It returns the length of its next launch, or
// 0 for no launch now. `idle`: all its launches have ended.
using Program = std::function<Ns(Ns now, bool idle)>;

// Endless launches of one length.
inline Program storm(Ns length) {
  return [length](Ns, bool) { return length; };
}

// A request of `launches` launches every `period`, measured from its due time to its end.
struct Requests {
  Ns period;
  int launches;
  Ns length;
  Ns due{0};
  int left = 0;
  bool running = false;
  std::vector<Ns> latencies{};

  Ns next(Ns now, bool idle) {
    if (running && left == 0 && idle) {
      latencies.push_back(now - due);
      due += period;
      running = false;
    }
    if (!running && now >= due) {
      running = true;
      left = launches;
    }
    if (left == 0) return Ns{0};
    --left;
    return length;
  }
};

class VirtualDevice {
 public:
  static constexpr Ns kStep = 10us;
  static constexpr Ns kSlice = 2ms;
  static constexpr Ns kLatency = 50us;         // from a notice to the arbiter's answer
  static constexpr Ns kHarvest = 500us;        // between two checks for finished work
  static constexpr Ns kBatch = 100us;          // launches expected to fill this make one pair
  static constexpr std::size_t kQueue = 1000;  // batches that a driver queues ahead

  // `limited` false: the gates stay open, as without the library.
  explicit VirtualDevice(bool limited = true) : limited_(limited) {}

  TenantId add(const TimePolicy& policy, Program program) {
    const TenantId id{static_cast<std::uint32_t>(tenants_.size())};
    tenants_.push_back({std::move(program)});
    device_.put(id, policy);
    return id;
  }
  // The tenant reports only this fraction of what it asks for and uses.
  void tells(TenantId tenant, double part) { tenants_[tenant.value].told_part = part; }
  // The tenant repeatedly resets its count of what it asks for to 0.
  void forgets_what_it_asked(TenantId tenant) { tenants_[tenant.value].forgets = true; }
  // The tenant only reports that it waits, not what it asks for or what ended.
  void falls_silent(TenantId tenant) { tenants_[tenant.value].is_silent = true; }
  // The tenant reports that it waits whenever `when` returns true, besides when it does.
  void says_it_waits(TenantId tenant, std::function<bool(Ns now)> when) {
    tenants_[tenant.value].says_it_waits = std::move(when);
  }
  // The tenant always reports this much unfinished work in addition to its real work.
  void reports_work_under_way(TenantId tenant, Ns work) { tenants_[tenant.value].under_way = work; }
  bool is_false(TenantId tenant) const { return device_.is_false(tenant); }
  void correct(TenantId tenant, Ns time) { device_.correct(tenant, time); }
  void change(TenantId tenant, const TimePolicy& policy) { device_.put(tenant, policy); }

  void run(Ns time) {
    for (const Ns end = now_ + time; now_ < end; now_ += kStep) {
      for (Tenant& tenant : tenants_) launch(tenant);
      for (std::size_t i = 0; i < tenants_.size(); ++i) harvest(i);
      if (limited_ && (now_ >= next_tick_ || (notice_ >= Ns{0} && now_ >= notice_ + kLatency))) {
        arbitrate();
      }
      execute();
    }
  }

  // Nothing runs, and the arbiter does not step.
  void rest(Ns time) {
    now_ += time;
    next_tick_ = now_;
  }

  Ns now() const { return now_; }
  Ns executed(TenantId tenant) const { return tenants_[tenant.value].executed; }
  Ns charged(TenantId tenant) const { return device_.charged(tenant); }
  // The tenant's share of the device in each window of `width`, in percent.
  std::vector<double> windows(TenantId tenant, Ns width) const;

 private:
  struct Tenant {
    Program program;
    std::deque<Launch> queue{};
    Ns pending{0};  // a launch that the program wants but may not make yet
    Ns asked{0};
    Ns finished_asked{0};
    Ns told_asked{0};
    Ns estimate{0};  // of a launch; 0: none seen yet
    struct Ended {
      Batch batch;
      int launches;
    };
    std::vector<Ended> ended{};  // batches not reported yet
    Ns next_harvest{0};
    double told_part = 1;
    bool forgets = false;
    bool is_silent = false;
    std::function<bool(Ns now)> says_it_waits{};
    Ns under_way{0};
    Permit permit{.allowed = Ns{0}};
    bool waiting = false;
    Ns executed{0};
    std::vector<Ns> history{};  // executed in each ms

    Ns told() const { return forgets || is_silent ? Ns{0} : asked; }
    // The state when the tenant last looked, as the library reports it.
    Standing standing(Ns now) const {
      if (is_silent) return {.waiting = waiting};
      const bool says_so = waiting || (says_it_waits && says_it_waits(now));
      return {told(), asked - told_asked + under_way, says_so,
              queue.empty() ? std::nullopt : std::optional(queue.front().begin)};
    }
  };

  void launch(Tenant& tenant) {
    for (int burst = 0; burst < 4 && tenant.queue.size() < kQueue; ++burst) {  // 2.5 us each
      if (tenant.pending == Ns{0}) tenant.pending = tenant.program(now_, tenant.queue.empty());
      if (tenant.pending == Ns{0}) break;
      const bool was_waiting = std::exchange(tenant.waiting, limited_ && !may_launch(tenant));
      if (tenant.waiting) {
        if (!was_waiting) give_notice();
        break;
      }
      if (tenant.queue.empty()) give_notice();
      const Ns asked = part(tenant.estimate > Ns{0} ? tenant.estimate : Ns{1ms}, tenant.told_part);
      tenant.asked += asked;
      const Ns length = std::exchange(tenant.pending, Ns{0});
      if (!tenant.queue.empty() && tenant.queue.back().asked + asked <= kBatch) {
        Launch& open = tenant.queue.back();
        open.length += length;
        open.left += length;
        open.asked += asked;
        ++open.launches;
        continue;
      }
      const Ns begin = tenant.queue.empty() ? now_ : Ns{-1};
      tenant.queue.push_back({.length = length, .left = length, .asked = asked, .begin = begin});
    }
  }

  static bool may_launch(const Tenant& tenant) {
    const Permit& permit = tenant.permit;
    if (permit.closed) return false;
    const Ns unfinished = tenant.asked - tenant.finished_asked;
    if (permit.in_flight && !tenant.queue.empty() && unfinished >= *permit.in_flight) return false;
    return !permit.allowed || tenant.told() < *permit.allowed;
  }

  // Waiting tenants also check for finished work.
  void harvest(std::size_t index) {
    Tenant& tenant = tenants_[index];
    if (now_ < tenant.next_harvest) return;
    tenant.next_harvest = now_ + kHarvest;
    for (const auto& [batch, launches] : tenant.ended) {
      const Stretch& ran = batch.stretch;
      learn(tenant.estimate, batch.stretch.length() / launches);
      tenant.told_asked += batch.asked;
      if (tenant.is_silent) continue;
      device_.finished({static_cast<std::uint32_t>(index)},
                       {{ran.end - part(ran.length(), tenant.told_part), ran.end}, batch.asked});
    }
    tenant.ended.clear();
  }

  static Ns part(Ns whole, double of) {
    return Ns{static_cast<std::int64_t>(static_cast<double>(whole.count()) * of)};
  }

  static void learn(Ns& estimate, Ns seen) {
    if (estimate == Ns{0}) {
      estimate = seen;
    } else {
      estimate += seen < estimate ? -(estimate - seen + Ns{1}) / 2 : (seen - estimate) / 16;
    }
  }

  void give_notice() {
    if (notice_ < Ns{0}) notice_ = now_;
  }

  void arbitrate() {
    notice_ = Ns{-1};
    if (now_ >= next_tick_) next_tick_ = now_ + device_.pace();
    ByTenant<Standing> standings;
    for (std::uint32_t i = 0; i < tenants_.size(); ++i) {
      standings[{i}] = tenants_[i].standing(now_);
    }
    for (const auto& [id, permit] : device_.step(now_, standings)) {
      tenants_[id.value].permit = permit;
    }
  }

  // Runs the device for one step.
  void execute() {
    for (Ns left = kStep; left > Ns{0};) {
      if (tenants_[running_].queue.empty() || slice_left_ == Ns{0}) {
        std::size_t next = running_;
        do {
          next = (next + 1) % tenants_.size();
        } while (next != running_ && tenants_[next].queue.empty());
        if (tenants_[next].queue.empty()) break;
        running_ = next;
        slice_left_ = kSlice;
      }
      Tenant& tenant = tenants_[running_];
      Launch& launch = tenant.queue.front();
      const Ns at = now_ + (kStep - left);
      const Ns part = std::min({left, launch.left, slice_left_});
      launch.left -= part;
      left -= part;
      slice_left_ -= part;
      tenant.executed += part;
      if (launch.left == Ns{0}) {
        tenant.ended.push_back({{{launch.begin, at + part}, launch.asked}, launch.launches});
        tenant.finished_asked += launch.asked;
        tenant.queue.pop_front();
        if (!tenant.queue.empty()) tenant.queue.front().begin = at + part;
      }
    }
    if ((now_ + kStep) % 1ms == Ns{0}) {
      for (Tenant& tenant : tenants_) tenant.history.push_back(tenant.executed);
    }
  }

  bool limited_;
  Ns now_{0};
  Ns next_tick_{0};
  Ns notice_{-1};
  std::vector<Tenant> tenants_;
  Device device_{Ns{0}};
  std::size_t running_ = 0;
  Ns slice_left_{0};
};

inline std::vector<double> VirtualDevice::windows(TenantId tenant, Ns width) const {
  const auto& history = tenants_[tenant.value].history;
  const auto each = static_cast<std::size_t>(width / 1ms);
  std::vector<double> parts;
  for (std::size_t i = each; i < history.size(); i += each) {
    parts.push_back(100.0 * static_cast<double>((history[i] - history[i - each]).count()) /
                    static_cast<double>(width.count()));
  }
  return parts;
}

}  // namespace tranche::limit::testing
