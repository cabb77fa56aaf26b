// One plain HTTP request over a blocking socket, for commands that talk to a server.
#pragma once

#include <string>
#include <string_view>

#include "base/http_answer.h"
#include "base/http_url.h"

namespace dure {

class HttpCall {
 public:
  // Connects, sends, and reads up to the end of the answer's header. Throws unavailable where
  // nobody listens, `failed` where what answers is not HTTP.
  HttpCall(const HttpUrl& url, std::string_view method, std::string_view path,
           std::string_view headers, std::string_view body);
  ~HttpCall();
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  int status() const { return answer_.head().status; }
  // The next piece of the body; "" at its end, and when a signal interrupts the wait.
  std::string read_some();
  std::string read_all();

 private:
  bool receive();  // more of the answer; false at its end
  void read_header(std::string_view where);

  int socket_ = -1;
  HttpAnswerReader answer_;
  std::string body_;  // received, not yet handed out
};

}  // namespace dure
