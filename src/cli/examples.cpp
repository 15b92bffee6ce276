// The examples of every command and word, for the help, the manual pages and the reference.

#include <array>

#include "cli/command.h"

namespace tranche::cli {
namespace {

struct ExampleOf {
  std::string_view command;
  std::string_view word;  // "": of the command itself
  Example example;
};

constexpr auto kExamples = std::to_array<ExampleOf>({
    {"agent", "", {"Offer each GPU once, as NVIDIA's plugin does by default", "tranche agent"}},
    {"agent",
     "",
     {"Share GPUs as a configuration file says",
      "tranche agent --config-file /etc/tranche/config.yaml"}},
    {"agent",
     "",
     {"Follow a ConfigMap of the cluster, chosen by the node's label",
      "tranche agent --config-map tranche/tranche-configs --node-name gpu-1"}},
    {"agent",
     "",
     {"Ask the agent that runs here whether it serves, as a probe does",
      "tranche agent --check ready"}},

    {"arbiter",
     "",
     {"Hold this node's containers to what the agent promised them", "tranche arbiter"}},
    {"arbiter",
     "",
     {"Use other folders, and log more",
      "tranche arbiter --tenants /data/tranche/tenants --state-dir /run/arbiter --log-level "
      "debug"}},
    {"arbiter", "", {"Ask whether the arbiter lives, as a probe does", "tranche arbiter --check"}},

    {"mps-control-daemon",
     "",
     {"Start NVIDIA's daemons that the configuration asks for",
      "tranche mps-control-daemon --config-file /etc/tranche/config.yaml"}},
    {"mps-control-daemon",
     "",
     {"The same by a ConfigMap of the cluster",
      "tranche mps-control-daemon --config-map tranche/tranche-configs --node-name gpu-1"}},
    {"mps-control-daemon",
     "mount-shm",
     {"Mount the tmpfs, in an init container", "tranche mps-control-daemon mount-shm"}},
    {"mps-control-daemon",
     "mount-shm",
     {"The same below another folder",
      "tranche mps-control-daemon mount-shm --mps-dir /run/nvidia/mps"}},
    {"mps-control-daemon",
     "check",
     {"Ask whether every daemon serves, as a probe does", "tranche mps-control-daemon check"}},
    {"mps-control-daemon",
     "check",
     {"The same below another folder",
      "tranche mps-control-daemon check --mps-dir /run/nvidia/mps"}},

    {"labels",
     "",
     {"Write the labels once, to read them",
      "tranche labels --oneshot --output-file= --use-node-feature-api=false"}},
    {"labels",
     "",
     {"Keep the file of node feature discovery in step with the hardware",
      "tranche labels --use-node-feature-api=false --sleep-interval 5m"}},
    {"labels",
     "",
     {"Publish a NodeFeature object of this node",
      "tranche labels --node-name gpu-1 --namespace node-feature-discovery"}},

    {"controller",
     "",
     {"Make a ClusterPolicy take effect by the ConfigMap that the agents follow",
      "tranche controller --namespace tranche --config-map-out tranche-policy"}},
    {"controller",
     "",
     {"Run two of them, of which one writes",
      "tranche controller --namespace tranche --config-map-out tranche-policy --leader-elect"}},
    {"controller",
     "",
     {"Evict Pods that agents ask to be evicted, and nothing else",
      "tranche controller --namespace tranche --evict-unregistered"}},

    {"layout", "", {"Which models are known", "tranche layout list"}},
    {"layout",
     "",
     {"Whether an A100 with 80 GB can have these instances",
      "tranche layout validate --model a100-80gb 3g.40gb=1 2g.20gb=1 1g.10gb=2"}},
    {"layout", "", {"What the GPUs of this machine are cut into", "tranche layout show"}},

    {"layout", "list", {"Which models are known", "tranche layout list"}},
    {"layout",
     "list",
     {"What one of them can be cut into", "tranche layout list --model h100-80gb"}},

    {"layout",
     "validate",
     {"Whether an A100 with 80 GB can have these instances",
      "tranche layout validate --model a100-80gb 3g.40gb=1 2g.20gb=1 1g.10gb=2"}},
    {"layout",
     "validate",
     {"The same for a program to read",
      "tranche layout validate --model a30-24gb 2g.12gb=1 1g.6gb=2 -o json"}},
    {"layout",
     "assert",
     {"Whether the GPUs are cut as NVIDIA's default layout says",
      "tranche layout assert -c all-balanced"}},
    {"layout",
     "assert",
     {"The same of a file of mig-parted",
      "tranche layout assert -f /etc/nvidia-mig-manager/config.yaml -c mixed-workload"}},
    {"layout",
     "apply",
     {"See what a layout would change", "tranche layout apply -c all-1g.10gb --dry-run"}},
    {"layout",
     "apply",
     {"Apply a layout of a file, in a script",
      "tranche layout apply -f /etc/nvidia-mig-manager/config.yaml -c all-balanced --yes"}},
    {"layout", "export", {"Keep what the GPUs have", "tranche layout export > before.yaml"}},
    {"layout",
     "export",
     {"The same for a program to read", "tranche layout export -o json -l before"}},
    {"layout", "defaults", {"Begin a file of one's own", "tranche layout defaults > layouts.yaml"}},
    {"layout", "defaults", {"The same as JSON", "tranche layout defaults -o json"}},

    {"layout",
     "pack",
     {"How many GPUs hold these instances, and which goes where",
      "tranche layout pack --model a100-80gb 3g.40gb=4 2g.20gb=4 1g.10gb=8"}},
    {"layout",
     "pack",
     {"The same as a file of mig-parted, for 4 GPUs",
      "tranche layout pack --model h100-80gb --gpus 4 3g.40gb=4 1g.10gb=8 -o parted"}},

    {"layout", "show", {"What the GPUs of this machine are cut into", "tranche layout show"}},
    {"layout", "show", {"The same as a picture", "tranche layout show -o svg > gpus.svg"}},

    {"limit",
     "",
     {"Give the Pod's container 8 GiB of each of its GPUs, and a third of their time",
      "tranche limit set trainer --memory 8Gi --compute 33%"}},
    {"limit", "", {"See what is set in the whole cluster", "tranche limit list"}},
    {"limit",
     "",
     {"Go back to what the configuration promises", "tranche limit reset trainer -n research"}},

    {"limit",
     "set",
     {"Give the Pod's only container with GPUs 8 GiB of each of them",
      "tranche limit set trainer --memory 8Gi"}},
    {"limit",
     "set",
     {"A quarter of the memory and half of the time, of one container and resource",
      "tranche limit set trainer -n research -c main --resource gpu.shared --memory 25% "
      "--compute 50%"}},
    {"limit",
     "set",
     {"Let others go first, where the configuration has policy: priority",
      "tranche limit set trainer --class best-effort"}},
    {"limit",
     "set",
     {"Take the memory limit away, and wait a minute until it holds",
      "tranche limit set trainer --memory none --timeout 1m"}},

    {"limit",
     "get",
     {"What is set for the containers of a Pod, and what holds",
      "tranche limit get trainer -n research"}},
    {"limit",
     "get",
     {"One container, for a program to read", "tranche limit get trainer -c main -o json"}},

    {"limit",
     "reset",
     {"Undo all that is set for a Pod", "tranche limit reset trainer -n research"}},
    {"limit",
     "reset",
     {"Undo it for one container and resource",
      "tranche limit reset trainer -c main --resource gpu.shared"}},

    {"limit", "list", {"All that is set in the cluster", "tranche limit list"}},
    {"limit",
     "list",
     {"One namespace of another cluster", "tranche limit list -n research --context prod"}},
    {"limit", "list", {"For a program to read", "tranche limit list -o json"}},

    {"limit", "prune", {"Remove what is set for Pods that are gone", "tranche limit prune"}},
    {"limit",
     "prune",
     {"The same, and say what was removed as YAML", "tranche limit prune -o yaml"}},

    {"cleanup",
     "",
     {"Clear this node, when no agent runs here any more",
      "tranche cleanup --node-name gpu-1 --kubeconfig /root/.kube/config"}},
    {"cleanup", "", {"Clear it and stay, so that a probe can ask", "tranche cleanup --stay"}},
    {"cleanup",
     "",
     {"Ask whether the one that stays has cleared the node", "tranche cleanup --check"}},

    {"completion", "", {"In this shell alone (bash)", "source <(tranche completion bash)"}},
    {"completion",
     "",
     {"For good (fish)", "tranche completion fish > ~/.config/fish/completions/tranche.fish"}},
    {"completion",
     "bash",
     {"For good, with the package bash-completion",
      "tranche completion bash > /etc/bash_completion.d/tranche"}},
    {"completion", "bash", {"In this shell alone", "source <(tranche completion bash)"}},
    {"completion", "zsh", {"For good", "tranche completion zsh > \"${fpath[1]}/_tranche\""}},
    {"completion", "zsh", {"In this shell alone", "source <(tranche completion zsh)"}},
    {"completion",
     "fish",
     {"For good", "tranche completion fish > ~/.config/fish/completions/tranche.fish"}},
    {"completion", "fish", {"In this shell alone", "tranche completion fish | source"}},

    {"version", "", {"Which release this is", "tranche version"}},
    {"version", "", {"The same for a program to read", "tranche version -o json"}},

    {"nvidia-device-plugin",
     "",
     {"As NVIDIA's manifest runs it", "nvidia-device-plugin --fail-on-init-error=false"}},
    {"nvidia-device-plugin",
     "",
     {"Share GPUs as a configuration file says",
      "nvidia-device-plugin --config-file=/config/config.yaml"}},
    {"gpu-feature-discovery",
     "",
     {"Write the labels once, to read them",
      "gpu-feature-discovery --oneshot --output= --use-node-feature-api=false"}},
    {"gpu-feature-discovery",
     "",
     {"As NVIDIA's manifest runs it", "gpu-feature-discovery --mig-strategy=single"}},
    {"config-manager",
     "",
     {"Choose the configuration by the node's label, and keep it so",
      "config-manager --node-name=gpu-1 --config-file-srcdir=/available-configs "
      "--config-file-dst=/config/config.yaml"}},
    {"config-manager",
     "",
     {"Choose it once, and end",
      "config-manager --oneshot --send-signal=false --node-name=gpu-1 "
      "--config-file-srcdir=/available-configs --config-file-dst=/config/config.yaml"}},
});

}  // namespace

std::vector<Example> examples_of(const Command& command, const Word* word) {
  std::vector<Example> examples;
  const auto name = word == nullptr ? std::string_view() : word->name;
  for (const auto& row : kExamples) {
    if (row.command == command.name && row.word == name) examples.push_back(row.example);
  }
  return examples;
}

}  // namespace tranche::cli
