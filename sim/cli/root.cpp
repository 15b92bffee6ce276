// tranche-sim root: the tree of files (tree.h).

#include <CLI/CLI.hpp>
#include <memory>

#include "fmt/format.h"
#include "sim/cli/cli.h"
#include "sim/cli/tree.h"

namespace tranche::sim {

void add_root(CLI::App& app, Cli& cli) {
  const auto options = std::make_shared<TreeOptions>();
  CLI::App* command = app.add_subcommand(
      "root",
      "Writes the files of the machine under DIR: sysfs, /proc, device nodes, a driver root");
  command->add_option("dir", options->folder, "DIR")->required();
  command->add_option("--driver-root", options->driver_root,
                      "Where under DIR the driver lies, for example /run/nvidia/driver [/]");
  command->add_option("--pci-folder", options->pci_folder,
                      "Where the links of sys/bus/pci/devices lead, a folder of this machine "
                      "[DIR/sys/devices]");
  command->add_flag("--plain-nodes", options->plain_nodes, "Plain files in place of device nodes");
  command->callback([&cli, options] {
    const auto sim = cli.open();
    if (!sim) return;
    const auto report = write_tree(*sim, *options);
    if (!report) {
      cli.report(std::unexpected(report.error()));
      return;
    }
    fmt::print("{}: {} of {} written\n", options->folder.string(),
               report->device_nodes ? "device nodes" : "plain files in place of device nodes",
               sim->state().machine);
  });
}

}  // namespace tranche::sim
