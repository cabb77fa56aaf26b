// One streamed answer on its way into its record: status, events, tokens' arrivals, the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "load/record.h"
#include "load/sse.h"
#include "load/transport.h"

namespace dure::load {

class AnswerReader : public CallEvents {
 public:
  using OnDone = std::function<void(Record record)>;

  // `record` has its number, times and lengths as asked. cancel_after: hang up after so many
  // chunks, 0 as soon as it is sent.
  AnswerReader(const Transport& clock, Record record, std::optional<int64_t> cancel_after,
               OnDone on_done);

  bool on_sent() override;
  bool on_head(const CallHead& head) override;
  bool on_bytes(std::string_view bytes) override;
  void on_end(CallEnd end, const std::string& why) override;

 private:
  bool on_event(std::string_view data);
  bool fail(Trouble trouble, std::string detail);
  bool cancel_if_due();
  void conclude(CallEnd end, const std::string& why);

  const Transport& clock_;
  Record record_;
  std::optional<int64_t> cancel_after_;
  OnDone on_done_;
  SseParser events_;
  std::string error_body_;  // of a status other than 200, its first bytes
  bool is_stream_ = false;
  bool finished_ = false;  // said by a finish_reason or [DONE]
  bool cancelled_ = false;
};

}  // namespace dure::load
