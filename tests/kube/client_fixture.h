#pragma once
// A client and the server it talks to.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "kube/client.h"
#include "kube/stub_server.h"

namespace tranche::test {

inline std::string config_map(const std::string& name, const std::string& version = "1") {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"x","name":")" + name +
         R"(","uid":"u","resourceVersion":")" + version + R"("}})";
}

class ClientTest : public testing::Test {
 protected:
  static std::unique_ptr<kube::Client> open(kube::Credentials credentials,
                                            kube::Client::Options options = {}) {
    auto client = kube::Client::open(std::move(credentials), std::move(options));
    EXPECT_TRUE(client) << (client ? "" : client.error().message());
    return client ? *std::move(client) : nullptr;
  }
};

}  // namespace tranche::test
