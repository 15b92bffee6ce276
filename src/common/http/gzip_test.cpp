#include "http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tranche::http::gzip_test {
namespace {

// What a client makes of it; nullopt: it is not gzip, or not whole.
std::optional<std::string> unpacked(std::string packed) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<Bytef, 4096> chunk;
  int done = Z_OK;
  while (done == Z_OK) {
    stream.next_out = chunk.data();
    stream.avail_out = static_cast<uInt>(chunk.size());
    done = inflate(&stream, Z_NO_FLUSH);
    text.append(reinterpret_cast<const char*>(chunk.data()), chunk.size() - stream.avail_out);
  }
  const bool is_whole = done == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return is_whole ? std::optional(text) : std::nullopt;
}

// Hardly compressible.
std::string noise(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (auto& c : text) {
    state = state * 1'664'525U + 1'013'904'223U;
    c = static_cast<char>(state >> 24U);
  }
  return text;
}

TEST(Gzip, IsReadBack) {
  std::string page;
  for (int i = 0; i < 20'000; ++i)
    page += "gpu_memory_bytes{gpu=\"" + std::to_string(i) + "\"} 1\n";
  // Around the size of a chunk of the output as well.
  for (const auto& text : {std::string(), std::string("a"), std::string(3, '\0'), page,
                           noise(16'000), noise(16'384), noise(1'000'000)}) {
    const auto packed = gzip(text);
    EXPECT_EQ(unpacked(packed), text) << text.size();
    EXPECT_EQ(gzip(text), packed);
    EXPECT_FALSE(unpacked(packed.substr(0, packed.size() - 1)));
  }
  EXPECT_LT(gzip(page).size(), page.size() / 5);
}

TEST(Gzip, EveryLengthIsReadBack) {
  const auto text = noise(70'000);
  for (std::size_t size = 16'200; size < 16'500; ++size) {
    EXPECT_EQ(unpacked(gzip(text.substr(0, size))), text.substr(0, size));
  }
}

struct AcceptCase {
  const char* name;
  std::string header;
  bool accepts;
};

class AcceptsGzip : public testing::TestWithParam<AcceptCase> {};

TEST_P(AcceptsGzip, AsTheHeaderSays) {
  EXPECT_EQ(accepts_gzip(GetParam().header), GetParam().accepts) << GetParam().header.substr(0, 80);
}

std::string many(const char* part) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += part;
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    , AcceptsGzip,
    testing::Values(
        AcceptCase{"Nothing", "", false}, AcceptCase{"Gzip", "gzip", true},
        AcceptCase{"AnyCase", "GZip", true}, AcceptCase{"OldName", "x-gzip", true},
        AcceptCase{"Browser", "gzip, deflate, br, zstd", true},
        AcceptCase{"Last", "br;q=1.0, deflate, gzip;q=0.001", true},
        AcceptCase{"Spaces", " \t gzip \t ; \t q=1 ", true},
        AcceptCase{"Tight", "br,gzip;q=0.5,*;q=0", true}, AcceptCase{"Refused", "gzip;q=0", false},
        AcceptCase{"RefusedLong", "gzip;q=0.000", false},
        AcceptCase{"RefusedPoint", "gzip;Q=0.", false},
        AcceptCase{"RefusedOverAny", "*, gzip;q=0", false}, AcceptCase{"Any", "*", true},
        AcceptCase{"AnyWeighed", "br, *;q=0.1", true}, AcceptCase{"NoOther", "*;q=0", false},
        AcceptCase{"NoOtherButGzip", "*;q=0, gzip", true},
        AcceptCase{"IdentityAlone", "identity", false},
        AcceptCase{"Unknown", "gzipped, agzip, gzip2, \"gzip\"", false},
        AcceptCase{"One", "gzip;q=1.000", true}, AcceptCase{"AboveOne", "gzip;q=1.001", false},
        AcceptCase{"FarAboveOne", "gzip;q=9", false}, AcceptCase{"Negative", "gzip;q=-1", false},
        AcceptCase{"FourDigits", "gzip;q=0.1234", false}, AcceptCase{"NoPoint", "gzip;q=01", false},
        AcceptCase{"NoNumber", "gzip;q=", false}, AcceptCase{"Letters", "gzip;q=0.x", false},
        AcceptCase{"OtherParameter", "gzip;level=1", false},
        AcceptCase{"TwoParameters", "gzip;q=1;q=0", false},
        AcceptCase{"EmptyParameter", "gzip;", false},
        AcceptCase{"EmptyParts", ",,;,;q=1,, gzip ,", true},
        AcceptCase{"FirstCounts", "gzip;q=0, gzip", false},
        AcceptCase{"Nul", std::string("gzip\0", 5), false},
        AcceptCase{"ManyCommas", many(",") + "gzip", true},
        AcceptCase{"ManyMarks", many(";"), false}, AcceptCase{"ManyNames", many("a;q=0,"), false},
        AcceptCase{"ManySpaces", many(" ") + "gzip", true},
        AcceptCase{"ManyDigits", "gzip;q=0." + many("1"), false},
        AcceptCase{"HighBytes", "\xff\xfe;q=\xff, gzip", true}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace tranche::http::gzip_test
