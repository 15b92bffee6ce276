#include "kubelet/socket_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "kubelet/proto/deviceplugin.grpc.pb.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::kubelet::socket_server_test {
namespace {

using testing::HasSubstr;

// Any service will do: this one answers every call with "not implemented".
class SocketServerTest : public testing::Test {
 protected:
  Result<std::unique_ptr<SocketServer>> start(bool take_over = false) {
    return SocketServer::start(
        {.socket = socket_, .take_over = take_over, .kind = "DRA driver"}, {&service_},
        [](const SocketServer::Queue&) {}, log_.log());
  }
  grpc::StatusCode call() const {
    const auto stub = v1beta1::Registration::NewStub(
        grpc::CreateChannel("unix:" + socket_.string(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1beta1::Empty answer;
    return stub->Register(&context, {}, &answer).error_code();
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  std::filesystem::path socket_ = dir_.path() / "a.sock";
  v1beta1::Registration::Service service_;
};

TEST_F(SocketServerTest, ServesAndLeavesNothingBehind) {
  auto server = start();
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED);
  server->reset();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(SocketServerTest, SaysWhatAnswersThereAlready) {
  const auto first = start();
  const auto second = start();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().what, HasSubstr("another DRA driver answers on"));
  EXPECT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED) << "the first one still serves";
}

TEST_F(SocketServerTest, WhoIsTakenOverLeavesTheSocketToItsSuccessor) {
  auto first = start();
  const auto second = start(true);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_FALSE((*first)->intact());
  first->reset();
  EXPECT_TRUE((*second)->intact());
  EXPECT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(SocketServerTest, ADeletedSocketIsSeenAndOneThatNobodyServesReplaced) {
  const auto server = start();
  std::filesystem::remove(socket_);
  EXPECT_FALSE((*server)->intact());
  ASSERT_TRUE(FsRoot(dir_.path()).write_atomic("/a.sock", "left behind"));
  EXPECT_TRUE(start());
}

}  // namespace
}  // namespace tranche::kubelet::socket_server_test
