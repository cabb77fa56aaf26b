// See http_connection.h. The reader cuts requests out of what comes in; the outbox formats what
// goes out. Every wait has an end.
#include "server/http_connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/api_errors.h"
#include "server/cors.h"
#include "server/http_format.h"
#include "server/http_reader.h"
#include "server/outbox.h"
#include "server/request_id.h"

namespace dure {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr size_t read_bytes = size_t{64} << 10;     // at once
constexpr int kernel_send_bytes = 256 << 10;        // what the kernel keeps for a slow reader
constexpr size_t slowest_reader = size_t{1} << 10;  // bytes a second, of an answer
constexpr auto linger_time = std::chrono::seconds(2);
constexpr auto second_look = std::chrono::milliseconds(100);
constexpr int status_of_the_gone = 499;  // in logs, where the client did not wait for one

auto into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

void set_option(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof(value));
}

// Tokens go out at once; a host that went away without a word is noticed within a minute.
void tune(int descriptor) {
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor, SOL_SOCKET, SO_SNDBUF, kernel_send_bytes);
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// Whether the client closed its side: then nobody waits for the answer.
bool has_left(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ApiError too_many_connections() {
  return {.status = 503,
          .message = "too many connections",
          .type = "service_unavailable",
          .retry_after_s = 1};
}

// Looks for the client's leaving while its answer is made. Kept alive by what waits for the socket.
struct Lookout {
  Lookout(const tcp::socket::executor_type& executor, std::shared_ptr<Outbox> answer)
      : pause(executor), outbox(std::move(answer)) {}
  asio::steady_timer pause;
  std::shared_ptr<Outbox> outbox;
  bool over = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<ConnectionContext> context)
      : socket_(std::move(socket)),
        deadline_(socket_.get_executor()),
        context_(std::move(context)),
        options_(context_->options),
        reader_({.max_header_bytes = options_.max_header_bytes,
                 .max_body_bytes = options_.max_body_bytes}) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    tune(socket_.native_handle());
    const tcp::endpoint peer = socket_.remote_endpoint(ignored);
    if (!ignored) record_.client = fmt::format("{}:{}", peer.address().to_string(), peer.port());
  }

  asio::awaitable<void> run() {
    for (bool lives = true; lives;) {
      lives = co_await read_request();
      if (!lives) break;
      ReadRequest request = reader_.take();
      lives = co_await answer(std::move(request));
    }
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
  }

  asio::awaitable<void> give_up_with(ApiError answer) {
    begin_record(new_request_id());
    const HttpResponse response = error_response(answer);
    record_.status = response.status;
    record_.outcome = "refused";
    co_await write(response_head(response, false, headers_for(record_.id, "")) + response.body);
    end_record();
    co_await linger();
  }

 private:
  // --- waiting ---

  // False when that time has come or the socket is closed.
  asio::awaitable<bool> wait(tcp::socket::wait_type what, Clock::time_point end) {
    const uint64_t turn = ++turn_;
    deadline_.expires_at(end);
    deadline_.async_wait([self = shared_from_this(), turn](error_code error) {
      error_code ignored;
      if (!error && self->turn_ == turn) self->socket_.cancel(ignored);
    });
    error_code error;
    co_await socket_.async_wait(what, into(error));
    ++turn_;
    deadline_.cancel();
    co_return !error;
  }

  // --- requests ---

  enum class Fill { some, timeout, closed };

  asio::awaitable<Fill> fill(Clock::time_point end) {
    const bool readable = co_await wait(tcp::socket::wait_read, end);
    if (readable) co_return read_now();
    co_return Clock::now() >= end ? Fill::timeout : Fill::closed;
  }

  // Not a coroutine: an idle connection must not keep a buffer.
  Fill read_now() {
    std::array<char, read_bytes> bytes;
    error_code error;
    const size_t got = socket_.read_some(asio::buffer(bytes), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return Fill::some;
    if (error) return Fill::closed;
    reader_.feed({bytes.data(), got});
    return Fill::some;
  }

  // False if the connection ends without an answer, or after a refusal.
  asio::awaitable<bool> read_request() {
    using State = RequestReader::State;
    auto end = Clock::now() + options_.idle_timeout;
    while (reader_.state() == State::idle) {
      if (context_->draining) co_return false;
      const Fill filled = co_await fill(end);
      if (filled != Fill::some) co_return false;
    }
    auto hold = std::make_shared<SharedBytes::Part>(context_->unread);
    end = Clock::now() + options_.header_timeout;
    bool in_body = false;
    while (reader_.state() == State::head || reader_.state() == State::body) {
      if (!in_body && reader_.state() == State::body) {
        in_body = true;
        end = Clock::now() + options_.body_timeout;
        if (reader_.wants_continue()) co_await write("HTTP/1.1 100 Continue\r\n\r\n");
      }
      const Fill filled = co_await fill(end);
      if (filled == Fill::closed) co_return false;
      if (filled == Fill::timeout) co_return co_await refuse(too_slow(in_body));
      if (!hold->set(reader_.bytes_held())) co_return co_await refuse(too_much_unread());
    }
    if (reader_.state() == State::refused) co_return co_await refuse(reader_.refusal());
    hold_ = std::move(hold);
    co_return true;
  }

  asio::awaitable<bool> refuse(ApiError answer) {
    co_await give_up_with(std::move(answer));
    co_return false;
  }

  static ApiError too_slow(bool in_body) {
    return {.status = 408,
            .message =
                fmt::format("the request's {} took too long to come", in_body ? "body" : "head")};
  }

  static ApiError too_much_unread() {
    return {.status = 503,
            .message = "too many bytes of requests are waiting to be handled",
            .type = "service_unavailable",
            .retry_after_s = 1};
  }

  // Lets the client read the last answer: closing with unread input would reset the connection.
  asio::awaitable<void> linger() {
    error_code error;
    socket_.shutdown(tcp::socket::shutdown_send, error);
    const auto end = Clock::now() + linger_time;
    std::array<char, 4096> rest;
    while (!error) {
      const bool readable = co_await wait(tcp::socket::wait_read, end);
      if (!readable) break;
      socket_.read_some(asio::buffer(rest), error);
      if (error == asio::error::would_block) error = {};
    }
  }

  // --- answers ---

  // True if the connection lives on.
  asio::awaitable<bool> answer(ReadRequest read) {
    begin_record(read.request.id);
    record_.method = read.head_only ? "HEAD" : read.request.method;
    record_.path = read.request.path;
    record_.request_bytes = read.request.body.size();

    OutboxOptions options;
    options.http_1_1 = read.http_1_1;
    options.keep_alive = read.keep_alive && !context_->draining;
    options.head_only = read.head_only;
    options.headers = headers_for(read.request.id, read.request.origin);
    // The timer never ends by itself: it is how other threads interrupt this coroutine.
    auto wake = std::make_shared<asio::steady_timer>(socket_.get_executor(),
                                                     asio::steady_timer::time_point::max());
    auto outbox = std::make_shared<Outbox>(std::move(options), context_->unsent, [wake] {
      asio::post(wake->get_executor(), [wake] { wake->cancel(); });
    });
    read.request.hold = std::move(hold_);

    ++context_->answering;
    if (!options_.cors_origins.empty() && read.request.asks_preflight) {
      outbox->reply(preflight_response());
    } else {
      context_->handler(std::move(read.request), outbox);
    }
    const Sent sent = co_await send_all(outbox, *wake);
    --context_->answering;
    record_.status = outbox->status() == 0 ? status_of_the_gone : outbox->status();
    if (sent == Sent::partly) {
      const bool slow = outbox->fell_behind() || write_timed_out_;
      record_.outcome = slow ? "client_too_slow" : "client_left";
    }
    end_record();
    if (sent == Sent::all_and_close) co_await linger();
    co_return sent == Sent::all;
  }

  enum class Sent { all, all_and_close, partly };

  asio::awaitable<Sent> send_all(std::shared_ptr<Outbox> outbox, asio::steady_timer& wake) {
    std::shared_ptr<Lookout> lookout;
    Sent sent = Sent::partly;
    for (;;) {
      Outbox::Batch batch = outbox->take();
      if (outbox->is_closed()) break;
      if (!batch.done && !lookout) {
        lookout = std::make_shared<Lookout>(socket_.get_executor(), outbox);
        look_out(lookout);
      }
      if (!batch.bytes.empty()) {
        const bool written = co_await write(batch.bytes);
        if (!written) break;
      }
      if (batch.done) {
        sent = batch.keep_alive ? Sent::all : Sent::all_and_close;
        break;
      }
      if (!batch.bytes.empty()) continue;
      error_code woken;
      co_await wake.async_wait(into(woken));
    }
    if (lookout) {
      lookout->over = true;
      lookout->pause.cancel();
      error_code ignored;
      socket_.cancel(ignored);
    }
    if (sent == Sent::partly) outbox->close();
    co_return sent;
  }

  // Closes the outbox as soon as the client closes its side, whatever the answer is waiting for.
  void look_out(const std::shared_ptr<Lookout>& lookout) {
    socket_.async_wait(tcp::socket::wait_read,
                       [self = shared_from_this(), lookout](error_code error) {
                         if (lookout->over) return;
                         if (error || has_left(self->socket_.native_handle())) {
                           return lookout->outbox->close();
                         }
                         self->look_again(lookout);
                       });
  }

  // Bytes of a next request have come. They stay where they are, and would be seen again at once.
  void look_again(const std::shared_ptr<Lookout>& lookout) {
    lookout->pause.expires_after(second_look);
    lookout->pause.async_wait([self = shared_from_this(), lookout](error_code) {
      if (!lookout->over) self->look_out(lookout);
    });
  }

  asio::awaitable<bool> write(std::string_view bytes) {
    const auto latest =
        Clock::now() + options_.write_timeout + std::chrono::seconds(bytes.size() / slowest_reader);
    while (!bytes.empty()) {
      error_code error;
      const size_t sent = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
      if (sent > 0 && record_.response_bytes == 0) record_.first_byte_s = seconds_since(begun_);
      record_.response_bytes += sent;
      bytes.remove_prefix(sent);
      if (!error) continue;
      if (error != asio::error::would_block && error != asio::error::try_again) co_return false;
      const auto end = std::min(latest, Clock::now() + options_.write_timeout);
      const bool writable = co_await wait(tcp::socket::wait_write, end);
      if (!writable) {
        write_timed_out_ = Clock::now() >= end;
        co_return false;
      }
    }
    co_return true;
  }

  // --- the record of a request ---

  void begin_record(const std::string& id) {
    const std::string client = record_.client;
    record_ = AccessRecord{};
    record_.begun = std::chrono::system_clock::now();
    record_.client = client;
    record_.id = id;
    begun_ = Clock::now();
  }

  void end_record() {
    record_.total_s = seconds_since(begun_);
    if (options_.on_request_over) options_.on_request_over(record_);
  }

  std::string headers_for(const std::string& id, const std::string& origin) const {
    return "X-Request-Id: " + id + "\r\n" + cors_headers(options_.cors_origins, origin);
  }

  tcp::socket socket_;
  asio::steady_timer deadline_;
  uint64_t turn_ = 0;  // of waits: a deadline of one that is over means nothing
  std::shared_ptr<ConnectionContext> context_;
  const HttpOptions& options_;
  RequestReader reader_;
  std::shared_ptr<SharedBytes::Part> hold_;
  AccessRecord record_;
  Clock::time_point begun_;
  bool write_timed_out_ = false;
};

// A coroutine keeps its arguments, not what a lambda captured.
asio::awaitable<void> serve(std::shared_ptr<Connection> connection, bool refused) {
  if (refused) {
    co_await connection->give_up_with(too_many_connections());
  } else {
    co_await connection->run();
  }
}

}  // namespace

void start_connection(asio::io_context& io, int descriptor,
                      std::shared_ptr<ConnectionContext> context, bool refused) {
  // The protocol only matters to calls that are not made on accepted sockets.
  tcp::socket socket(asio::make_strand(io), tcp::v4(), descriptor);
  const auto executor = socket.get_executor();
  ++context->connections;
  asio::co_spawn(executor, serve(std::make_shared<Connection>(std::move(socket), context), refused),
                 [context](std::exception_ptr) { --context->connections; });
}

void refuse_connection(int descriptor) {
  const HttpResponse response = error_response(too_many_connections());
  const std::string bytes = response_head(response, false, "") + response.body;
  [[maybe_unused]] const ssize_t sent =
      ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(descriptor, SHUT_WR);
  ::close(descriptor);
}

}  // namespace dure
