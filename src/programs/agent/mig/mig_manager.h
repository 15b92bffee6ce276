#pragma once
// The manager of MIG layouts on a node: finds out what is so, has next_move() decide
// (agent/mig/mig_machine.h), and does it. The journal is on disk and on the Node before a phase
// begins, so a new manager over the same files goes on where this one ended.
//
// turn() is called again and again by one thread (MigFollower has one); it waits for NVML, kubelet
// and the API server. The other functions may be called from any thread and never wait.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "agent/holdings/book.h"
#include "agent/loop/state.h"
#include "agent/mig/mig_beside.h"
#include "agent/mig/mig_files.h"
#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_node.h"
#include "agent/mig/mig_service.h"
#include "agent/mig/mig_wish.h"
#include "agent/node/node_reporter.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "mig/apply.h"
#include "offer/offer.h"

namespace tranche::agent {

// What this node's own programs are to let go of.
struct MigQuiet {
  std::set<std::string> gpus;  // UUIDs of those that leave service
  bool reset = false;          // one is to be reset, which nobody may have open
};

// A round of the agent's loop, as the manager reads it.
struct MigView {
  State state;                                // state.machine is set
  std::shared_ptr<const offer::Offer> offer;  // made of it
};

class MigManager {
 public:
  struct Options {
    std::filesystem::path state_dir;
    std::string config_file;  // of mig-parted; "": none
    MigSettings settings;
    std::string own_pod;  // "namespace/name"; "": not known
    mig::Retries retries = {};
  };
  // All outlive the manager.
  struct Ports {
    gpu::MigControl& control;
    gpu::GpuReset& reset;
    cluster::PodResources& kubelet;
    HolderAnswers& holders;
    Book& book;
    // The Pods that use a claim. Nameless: not known. May ask the API server.
    std::function<std::vector<cluster::ObjectKey>(const cluster::ObjectKey& claim)> users_of_claim =
        {};
    // The Node as the API server has it; kUnavailable: not known.
    std::function<Result<cluster::Node>()> node;
    std::function<bool(const NodeWriter::Change&, const cluster::Call&)> write;
    std::function<std::string()> boot;  // this boot's id
    // mig::Hardware::users and quiet.
    std::function<mig::DeviceUsers(const gpu::Gpu& gpu, std::optional<int> instance)> users = {};
    std::function<Result<std::shared_ptr<void>>(const MigQuiet&, const std::stop_token&)> quiet =
        {};
    // The Pods of this node; nullopt: not known yet. Where they cannot be known: none.
    std::function<std::optional<std::vector<cluster::Pod>>()> pods = {};
    // Has the hardware read at once, the offer made anew, kubelet's checkpoint written anew.
    std::function<void()> read_hardware;
    std::function<void()> look_again;
    std::function<void()> renew_checkpoint;
    std::function<void(const NodeNotice&)> tell = {};
    std::function<void(const ConditionReport&)> report = {};
    const Clock& clock;
    const Log& log;
  };

  MigManager(Options options, Ports ports);

  // Does what can be done now. The time until something may have to be done again.
  std::chrono::milliseconds turn(const std::stop_token& stop);

  void follow(MigView view);
  // What is out of service, if the machine is as it was read last.
  MigStanding standing(const gpu::Machine& machine) const;
  // What it does, for people; empty: nothing.
  std::string remark() const;

 private:
  using Phase = mig::Journal::Phase;

  // Kubelet is asked anew when what it told is older.
  static constexpr std::chrono::milliseconds kHoldersAge{150};
  // The loop's reading does not have what waits for a reset, so that is looked for.
  static constexpr std::chrono::seconds kModesAge{10};

  // Whether it is known what was under way when the agent before this one ended.
  bool restore();
  // One decision. False: there is nothing to do now.
  bool step(const std::stop_token& stop);
  bool act(const MigMove& move, const MigFacts& facts, const std::stop_token& stop);
  bool take(const mig::Journal& journal, const MigFacts& facts, const std::stop_token& stop);
  bool store(const mig::Journal& journal, const std::stop_token& stop);
  void announce(const MigFacts& facts) const;
  void on_finished(const mig::Journal& journal);
  MigEnd end_of(const mig::Journal& journal) const;
  bool end_change(const std::stop_token& stop);
  void settle(MigOutcome outcome);
  void keep_outcome();
  // What became of the last wish; null: nothing did.
  const MigOutcome* outcome() const;
  MigKept kept_after(const MigOutcome& outcome) const;
  void note_kept(const MigFacts& facts);
  void forget(const MigFacts& facts);
  void report_unmanaged(bool as_event);
  void note_told();
  bool apply(const std::stop_token& stop);
  std::function<Result<std::shared_ptr<void>>(bool, const std::stop_token&)> quiet() const;

  MigFacts gather();
  void gather_wish(MigFacts& facts);
  void gather_without_file(Error error, MigFacts& facts);
  void gather_plan(MigFacts& facts, const MigWish& wish);
  bool all_answer(const gpu::Machine& machine);
  void gather_change(MigFacts& facts);
  void say_why();
  void gather_clients(MigFacts& facts);
  void note_wait(const MigFacts& facts);
  void name_pods(const std::optional<std::vector<cluster::ObjectKey>>& holders);
  std::optional<Result<MigPlan>> plan(const MigWish& wish, const gpu::Machine& machine,
                                      MigStates& states);
  bool is_planned(const MigWish& wish);
  void gather_modes(MigFacts& facts);
  void gather_lost(MigFacts& facts);
  void note_set_by_others(const mig::Layout& were, const mig::Layout& are, MigFacts& facts) const;
  void gather_holders(MigFacts& facts, const MigPlan& plan);
  MigStates read_states(const mig::Layout& of) const;
  HeldInstances held_instances(const MigStates& states, const gpu::Machine& machine) const;
  // nullopt: kubelet does not tell. `age`: how old what it told may be.
  std::optional<std::vector<cluster::ObjectKey>> holders_of(const std::set<std::string>& devices,
                                                            std::chrono::milliseconds age);
  // Whether kubelet gives out none of them.
  bool let_go(const std::set<std::string>& devices) const;
  Result<void> verify() const;
  Result<void> verify_mps() const;

  void set_journal(std::optional<mig::Journal> journal);
  void look_beside();
  void serve();
  MigTexts texts(const cluster::Node& node);
  cluster::MigChange change_text();
  // Whether the Node says what it is to say.
  bool publish(const std::stop_token& stop);
  void count_tranches();
  std::string remark_text() const;
  void report(bool good, const char* reason, const std::string& message, bool as_event = true);
  void report_met(const std::string& layout);
  void report_failed(const std::string& layout, MigEnd end, const std::string& trouble);
  std::shared_ptr<const MigView> view() const;
  std::chrono::milliseconds wait() const;

  Options options_;
  Ports ports_;
  MigFiles files_;
  SaidOnce said_;
  std::string boot_;

  // Of turn()'s thread.
  bool restored_ = false;
  bool closing_ = false;    // the change is over, and the Node does not say so yet
  bool forgotten_ = false;  // no outcome is known any more, so there is to be no state label
  std::optional<mig::Journal> journal_;
  std::optional<MigOutcome> outcome_;
  MigStanding leaving_;  // of the journal
  MigBeside beside_;     // the same
  std::optional<Result<void>> applied_;
  std::chrono::steady_clock::time_point apply_again_{};
  std::vector<cluster::ObjectKey> pods_;
  std::map<cluster::ObjectKey, std::string> why_;  // cluster::MigChange::why
  OwnSelector own_selector_;
  std::string waits_for_;                               // MigChange::waits_for
  std::map<std::string, std::int64_t> before_, after_;  // tranches by resource
  struct Planned {
    std::string wish;
    std::shared_ptr<const MigView> view;
    Result<MigPlan> plan;
    MigStates states;  // of the GPUs of the wish
    std::chrono::steady_clock::time_point read;
  };
  std::optional<Planned> planned_;
  std::optional<cluster::MigChange> change_;  // as written last
  struct Sent {
    std::string version;  // of the Node at that time
    NodeWriter::Values labels, annotations;
  };
  std::optional<Sent> sent_;
  std::optional<ConditionReport> reported_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const MigView> view_;
  MigStanding standing_;
  std::optional<mig::Layout> awaited_;  // in service as soon as the driver shows it
  std::string remark_;
};

}  // namespace tranche::agent
