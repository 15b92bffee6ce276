#pragma once
// What a room of the agent hands in. Each room exports
//
//     Parts <room>_parts(const AgentContext& context);   // agent/<room>/parts.h
//
// and has one line in the list of agent/followers.cpp. Several of its parts own shared objects
// together (std::shared_ptr).

#include <memory>
#include <utility>
#include <vector>

#include "agent/context/context.h"
#include "agent/loop/follower.h"
#include "agent/loop/stage.h"

namespace tranche::agent {

struct Parts {
  std::vector<std::unique_ptr<Input>> inputs = {};
  std::vector<Stage> stages = {};
  std::vector<std::unique_ptr<Follower>> followers = {};
};

}  // namespace tranche::agent
