#include "agent/gpunode/status_words.h"

namespace tranche::agent {

std::string word_of(gpu::MigMode mode) {
  switch (mode) {
    case gpu::MigMode::kUnsupported:
      return "unsupported";
    case gpu::MigMode::kDisabled:
      return "disabled";
    case gpu::MigMode::kEnabled:
      return "enabled";
  }
  return {};
}

std::string word_of(gpu::P2pLevel level) {
  switch (level) {
    case gpu::P2pLevel::kUnknown:
      return "unknown";
    case gpu::P2pLevel::kInternal:
      return "board";
    case gpu::P2pLevel::kSingleSwitch:
      return "single-switch";
    case gpu::P2pLevel::kMultiSwitch:
      return "multi-switch";
    case gpu::P2pLevel::kHostBridge:
      return "host-bridge";
    case gpu::P2pLevel::kNode:
      return "node";
    case gpu::P2pLevel::kSystem:
      return "system";
  }
  return {};
}

std::string word_of(config::SharingStrategy sharing) {
  switch (sharing) {
    case config::SharingStrategy::kNone:
      return "none";
    case config::SharingStrategy::kTimeSlicing:
      return "time-slicing";
    case config::SharingStrategy::kMps:
      return "mps";
  }
  return {};
}

std::string word_of(holdings::Wire wire) {
  switch (wire) {
    case holdings::Wire::kDevicePlugin:
      return "device-plugin";
    case holdings::Wire::kClaim:
      return "claim";
    case holdings::Wire::kNone:
      return "none";
  }
  return {};
}

std::string word_of(holdings::Use use) {
  switch (use) {
    case holdings::Use::kWhole:
      return "whole";
    case holdings::Use::kTimeSliced:
      return "time-sliced";
    case holdings::Use::kMps:
      return "mps";
    case holdings::Use::kShared:
      return "shared";
  }
  return {};
}

std::string word_of(holdings::State state) {
  switch (state) {
    case holdings::State::kReserved:
      return "reserved";
    case holdings::State::kGiven:
      return "given";
    case holdings::State::kInUse:
      return "in-use";
  }
  return {};
}

}  // namespace tranche::agent
