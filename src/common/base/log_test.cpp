#include "base/log.h"

#include <gtest/gtest.h>

namespace tranche::log_test {
namespace {

TEST(Log, WhatATextBringsCannotMoveTheCursor) {
  struct Case {
    const char* name;
    const char* text;
    const char* line;
  };
  std::string line;
  const Log log(LogLevel::kInfo, [&](LogLevel, std::string_view text) { line = text; });
  for (const auto& [name, text, expected] : {
           Case{"plain", "tenant a: it is served", "tenant a: it is served"},
           Case{"UTF-8", "/home/\u00fc", "/home/\u00fc"},
           Case{"lines of our own", "config:\n{}", "config:\n{}"},
           Case{"carriage return", "x\rforged", "x\\x0dforged"},
           Case{"control sequence", "\x1b[2J\x7f", "\\x1b[2J\\x7f"},
           Case{"control sequence of 8 bits", "\u009b2J", "\\xc2\\x9b2J"},
       }) {
    log.info(text);
    EXPECT_EQ(line, expected) << name;
  }
}

}  // namespace
}  // namespace tranche::log_test
