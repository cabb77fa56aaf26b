// HTTP/1.1 over TCP, thousands of calls at once on one thread. Connections are kept and used again;
// one that the server closed meanwhile is replaced without anybody noticing.
#pragma once

#include <memory>
#include <string>

#include "base/http_url.h"
#include "load/transport.h"

namespace dure::load {

struct HttpTransportOptions {
  HttpUrl url;
  std::string api_key;  // empty: none
  double connect_timeout_s = 10.0;
  double silence_timeout_s = 300.0;  // without a byte in either direction
};

class HttpTransport : public Transport {
 public:
  // Looks the host up; throws bad_input where it has no address. Raises this process's limit of
  // file descriptors as far as it may.
  explicit HttpTransport(HttpTransportOptions options);
  ~HttpTransport() override;

  double now() const override;
  void at(double when_s, std::function<void()> then) override;
  void start(CallSpec spec, std::shared_ptr<CallEvents> events) override;
  void hang_up() override;
  void run() override;
  void post(std::function<void()> then) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dure::load
