#pragma once
// The configuration of one node of a cluster: a key of a ConfigMap, or a file of a mounted folder,
// chosen by a label of the node; both are watched through the API server.
//
//     label of the node ──┐
//     ConfigMap or folder ┴─> choose ─> text ─> load          kept on disk once it is in force
//
// Nothing is chosen before both have been read, so a node never serves the default's configuration
// for a moment before the label's. If the API server is away at start, the last configuration in
// force is used. If none was kept, read() fails with kUnavailable until the API server answers.
// A text whose reading has ended earlier processes is refused (ReadingMark).
//
// The controller may add annotations for a ClusterPolicy to a ConfigMap (docs/configuration.md).
// They take precedence over the flags of the same meaning.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/config/config_memory.h"
#include "agent/config/config_source.h"
#include "agent/config/reading_mark.h"
#include "agent/node/node_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "cluster/client/watch_cache.h"
#include "cluster/config_map.h"
#include "config/file/settled_reader.h"
#include "config/programs/agent_options.h"

namespace tranche::agent {

class ClusterSource final : public ConfigSource {
 public:
  struct Options {
    config::NodeConfigOptions choice;
    std::string folder;  // the mounted folder, if choice.map_name is empty
    std::filesystem::path state_dir;
    // How long a start waits for a silent API server before it logs that and uses the kept
    // configuration.
    std::chrono::milliseconds patience = kPatience;
    Backoff backoff = {};
  };

  // `sources`: flags and environment. `changed` is notified when the ConfigMap changes; NodeView
  // notifies it of the label.
  ClusterSource(config::Sources sources, Options options, cluster::Objects& objects,
                const NodeView& node, process::ChangeNotifier& changed, const Clock& clock,
                const Log& log);

  Result<config::Loaded> read() override;
  std::string origin() const override { return last_.origin; }
  ConfigStanding standing() const override { return standing_; }
  void accepted() override;
  Result<config::Loaded> last_good() override;
  bool waits() const override;
  std::vector<std::filesystem::path> watch_paths() const override;
  std::optional<std::chrono::milliseconds> retry_after() const override;

 private:
  Result<ConfigChoice> choose();
  Result<ConfigChoice> choose_from_map(const cluster::ConfigMap& map);
  Result<ConfigChoice> choose_from_folder();
  Result<void> see_label();
  void set_asked();
  Result<cluster::ConfigMap> map();
  Result<ConfigChoice> remembered(Error why);
  Result<ConfigChoice> kept();
  Result<config::Loaded> load(ConfigChoice choice);
  Result<config::Loaded> load_marked(const ConfigChoice& choice);
  config::Wish wish(const std::string& label) const;
  std::string map_text() const;

  config::Sources sources_;
  Options options_;
  const NodeView& node_;
  const Clock& clock_;
  const Log& log_;
  ConfigMemory memory_;
  ReadingMark mark_;
  std::optional<std::string> survived_;  // the last text whose reading this process survived
  FsRoot fs_;
  config::SettledReader reader_;  // of the mounted folder
  std::chrono::steady_clock::time_point started_;
  ConfigChoice last_;                   // returned by read() last
  ConfigStanding standing_;             // of last_, unless it is refused
  std::optional<ConfigChoice> stored_;  // on disk
  SaidOnce said_;
  std::optional<std::string> label_;  // last seen; kept when the Node is deleted
  std::optional<cluster::WatchCache> maps_;
};

}  // namespace tranche::agent
