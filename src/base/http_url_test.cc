// URLs as people type them.
#include "base/http_url.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dure {
namespace {

TEST(ParseUrl, TakesWhatPeopleType) {
  const HttpUrl plain = parse_url("http://127.0.0.1:8000");
  EXPECT_EQ(plain.host, "127.0.0.1");
  EXPECT_EQ(plain.port, "8000");
  EXPECT_EQ(plain.path, "");
  EXPECT_EQ(parse_url("localhost:8000/v1/").path, "/v1");
  EXPECT_EQ(parse_url("localhost").port, "80");
  EXPECT_EQ(parse_url("http://[::1]:9").host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:9").port, "9");
  EXPECT_EQ(authority_of(plain), "127.0.0.1:8000");
  EXPECT_EQ(authority_of(parse_url("http://[::1]:9")), "[::1]:9");
}

TEST(ParseUrl, RefusesWhatCannotBeAServer) {
  for (const char* text : {"", "http://", "https://a", "a:b", ":80", "a b:1", "a:1\r\nX: y"}) {
    EXPECT_THROW(parse_url(text), Error) << text;
  }
}

}  // namespace
}  // namespace dure
