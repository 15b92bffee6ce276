#include "agent/config/node_mode.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::agent {
namespace {

constexpr std::size_t kLongestFile = 64;
constexpr std::string_view kNone = "none, and gives out nothing";

}  // namespace

NodeModeReader::NodeModeReader(std::filesystem::path file,
                               std::function<Result<cluster::Node>()> node, const Log& log)
    : file_(std::move(file)), node_(std::move(node)), log_(log) {
  auto text = fs_.read(file_, kLongestFile).value_or("");
  text.erase(text.find_last_not_of(" \n") + 1);
  mode_ = cluster::parse_node_mode(text);
  stored_ = mode_.has_value();
}

std::optional<cluster::NodeMode> NodeModeReader::read() {
  const auto node = node_();
  if (!node) return mode_;
  const auto mode = cluster::mode_of(*node);
  trouble_ = mode ? std::string() : mode.error().message();
  if (mode) {
    take(*mode);
  } else if (said_.is_news("label", trouble_)) {
    const auto now = mode_ ? cluster::name_of(*mode_) : kNone;
    log_.error(fmt::format("{}; this node is in mode {} until then", trouble_, now));
  }
  return mode_;
}

void NodeModeReader::take(cluster::NodeMode mode) {
  said_.forget("label");
  if (mode_ && mode != *mode_) {
    log_.info(fmt::format("this node is in mode {} now; it was in mode {}", cluster::name_of(mode),
                          cluster::name_of(*mode_)));
  }
  if (mode == mode_ && stored_) return;
  mode_ = mode;
  const auto written = fs_.write_atomic(file_, fmt::format("{}\n", cluster::name_of(mode)));
  stored_ = written.has_value();
  if (stored_) return said_.forget("file");
  if (said_.is_news("file", written.error().what)) {
    log_.warn(Error(written.error())
                  .with_context("the mode of this node cannot be remembered for the next start"));
  }
}

}  // namespace tranche::agent
