#include "cluster/formats/eviction_requests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace tranche::cluster::eviction_requests_test {
namespace {

using testing::HasSubstr;

EvictionRequest request() {
  return {.ns = "shop",
          .name = "train-7f.0",
          .uid = "0f8fad5b-d9cb-469f-a165-70867728950e",
          .container = "main",
          .device = "GPU-0a",
          .reason = EvictionRequest::Reason::kNoGrant};
}

WallTime time() { return WallTime(std::chrono::seconds(1'767'225'600)); }

TEST(EvictionRequests, ComeBackAsWritten) {
  EvictionRequests requests{.written_at = time(), .pods = {request(), request()}};
  requests.pods[1].container.clear();
  requests.pods[1].reason = EvictionRequest::Reason::kUnregistered;
  const auto read = decode_eviction_requests(encode(requests));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, requests);
}

// The sample that the schema is held to (tests/e2e/test_schemas.py).
TEST(EvictionRequests, AreWrittenAsTheSample) {
  std::ifstream file("tests/data/evict-requests-v1.json");
  const nlohmann::json sample = nlohmann::json::parse(file);
  const auto read = decode_eviction_requests(sample.dump());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, (EvictionRequests{.written_at = time(), .pods = {request()}}));
  EXPECT_EQ(nlohmann::json::parse(encode(*read)), sample);
}

TEST(EvictionRequests, NoMoreAreWrittenThanAreRead) {
  const EvictionRequests many{.written_at = time(),
                              .pods = std::vector(EvictionRequests::kMost + 3, request())};
  const auto read = decode_eviction_requests(encode(many));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->pods.size(), EvictionRequests::kMost);
}

TEST(EvictionRequests, WhatCannotBeOneIsRefused) {
  constexpr auto kPod =
      R"({"namespace":"a","name":"p","uid":"u","device":"GPU-1","reason":"no-grant"})";
  const auto with = [](std::string_view pods) {
    return fmt::format(
        R"({{"version":"evict-requests/v1","writtenAt":"2026-01-01T00:00:00Z","pods":[{}]}})",
        pods);
  };
  std::string many;
  for (std::size_t i = 0; i <= EvictionRequests::kMost; ++i) {
    many += fmt::format("{}{}", i == 0 ? "" : ",", kPod);
  }
  ASSERT_TRUE(decode_eviction_requests(with(kPod)));
  const struct {
    const char* name;
    std::string text;
    std::string why;
  } cases[] = {
      {"no JSON", "{", ""},
      {"a list", "[]", "not evict-requests/v1"},
      {"another version", R"({"version":"evict-requests/v2"})", "not evict-requests/v1"},
      {"no time", R"({"version":"evict-requests/v1"})", ""},
      {"too many", with(many), "17 Pods are too many"},
      {"too long", with(std::string(EvictionRequests::kLongest, ' ')), "bytes are too many"},
      {"another type", with("1"), "pods"},
      {"a path for a name",
       with(R"({"namespace":"a","name":"../p","uid":"u","device":"G","reason":"no-grant"})"),
       "pods[0].name"},
      {"no uid", with(R"({"namespace":"a","name":"p","device":"G","reason":"no-grant"})"),
       "pods[0].uid"},
      {"a line in the device",
       with(R"({"namespace":"a","name":"p","uid":"u","device":"G\nx","reason":"no-grant"})"),
       "pods[0].device"},
      {"an unknown reason",
       with(R"({"namespace":"a","name":"p","uid":"u","device":"G","reason":"because"})"),
       "pods[0].reason"},
      {"an odd container",
       with(
           R"({"namespace":"a","name":"p","uid":"u","container":"A","device":"G","reason":"no-grant"})"),
       "pods[0].container"},
  };
  for (const auto& one : cases) {
    const auto read = decode_eviction_requests(one.text);
    ASSERT_FALSE(read) << one.name;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(read.error().what, HasSubstr(one.why)) << one.name;
  }
}

}  // namespace
}  // namespace tranche::cluster::eviction_requests_test
