// See http_connection.h. Requests are read by Beast's parser; answers are written as the bytes that
// the outbox formats.
#include "server/http_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "server/api_errors.h"
#include "server/http_format.h"
#include "server/outbox.h"

namespace dure {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr size_t first_read = 1024;  // bytes of buffer that an idle connection costs
constexpr auto hang_up_check = std::chrono::milliseconds(250);

auto into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

// Whether the client closed its side: then nobody waits for the answer.
bool has_hung_up(asio::ip::tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED;
}

// With any other coding the parser would take the body for none, and its bytes for a next request.
bool body_is_framed(const http::request_header<>& header) {
  const auto codings = header.equal_range(http::field::transfer_encoding);
  if (codings.first == codings.second) return true;
  return std::next(codings.first) == codings.second &&
         beast::iequals(codings.first->value(), "chunked");
}

class Connection {
 public:
  Connection(asio::ip::tcp::socket socket, std::shared_ptr<ConnectionContext> context)
      : stream_(std::move(socket)),
        buffer_(context->options.max_header_bytes + (size_t{64} << 10)),
        context_(std::move(context)) {}

  asio::awaitable<void> run() {
    error_code ignored;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    while (co_await await_first_byte()) {
      std::optional<http::request<http::string_body>> request = co_await read_request();
      if (!request || !co_await answer(std::move(*request))) break;
    }
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  }

 private:
  asio::awaitable<bool> await_first_byte() {
    if (buffer_.size() > 0) co_return true;  // pipelined
    if (context_->draining) co_return false;
    buffer_.shrink_to_fit();
    error_code error;
    stream_.expires_after(context_->options.idle_timeout);
    const size_t bytes = co_await stream_.async_read_some(buffer_.prepare(first_read), into(error));
    buffer_.commit(bytes);
    co_return !error;
  }

  asio::awaitable<std::optional<http::request<http::string_body>>> read_request() {
    http::request_parser<http::string_body> parser;
    parser.header_limit(context_->options.max_header_bytes);
    parser.body_limit(context_->options.max_body_bytes);
    error_code error;
    stream_.expires_after(context_->options.header_timeout);
    co_await http::async_read_header(stream_, buffer_, parser, into(error));
    if (!error && !body_is_framed(parser.get())) {
      const ApiError answer = {
          .status = 400, .message = "not a valid HTTP request: a Transfer-Encoding not chunked"};
      co_await give_up_with(answer);
      co_return std::nullopt;
    }
    if (!error) {
      stream_.expires_after(context_->options.body_timeout);
      if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
        co_await write("HTTP/1.1 100 Continue\r\n\r\n");
      }
      co_await http::async_read(stream_, buffer_, parser, into(error));
    }
    stream_.expires_never();
    if (!error) co_return parser.release();
    co_await say_unreadable(error);
    co_return std::nullopt;
  }

  // Answers what is not a request, where there is somebody to answer.
  asio::awaitable<void> say_unreadable(error_code error) {
    ApiError answer;
    if (error == http::error::header_limit) {
      answer = {.status = 431, .message = "the request's header is too large"};
    } else if (error == http::error::body_limit) {
      answer = {.status = 413,
                .message = "the request's body is larger than the server takes (" +
                           std::to_string(context_->options.max_body_bytes) + " bytes)"};
    } else if (error.category() == make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      answer = {.status = 400, .message = "not a valid HTTP request: " + error.message()};
    } else {
      co_return;
    }
    co_await give_up_with(answer);
  }

  asio::awaitable<void> give_up_with(const ApiError& answer) {
    const HttpResponse response = error_response(answer);
    co_await write(response_head(response, false) + response.body);
    co_await linger();
  }

  // Lets the client read the refusal: closing with unread input would reset the connection.
  asio::awaitable<void> linger() {
    error_code error;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
    std::array<char, 16384> rest;
    stream_.expires_after(std::chrono::seconds(2));
    while (!error) co_await stream_.async_read_some(asio::buffer(rest), into(error));
  }

  // True if the connection lives on.
  asio::awaitable<bool> answer(http::request<http::string_body> request) {
    OutboxOptions options;
    options.http_1_1 = request.version() >= 11;
    options.keep_alive = request.keep_alive() && !context_->draining;
    options.head_only = request.method() == http::verb::head;

    // The timer is never waited for long: it is how other threads interrupt this coroutine.
    const auto executor = co_await asio::this_coro::executor;
    auto wake = std::make_shared<asio::steady_timer>(executor);
    auto outbox = std::make_shared<Outbox>(
        options, [wake] { asio::post(wake->get_executor(), [wake] { wake->cancel(); }); });

    HttpRequest plain;
    plain.method = options.head_only ? "GET" : std::string(request.method_string());
    plain.path = std::string(request.target().substr(0, request.target().find('?')));
    plain.authorization = std::string(request[http::field::authorization]);
    plain.body = std::move(request.body());
    ++context_->answering;
    context_->handler(std::move(plain), outbox);
    const bool lives = co_await send_all(*outbox, *wake);
    --context_->answering;
    co_return lives;
  }

  asio::awaitable<bool> send_all(Outbox& outbox, asio::steady_timer& wake) {
    for (;;) {
      Outbox::Batch batch = outbox.take();
      if (!batch.bytes.empty() && !co_await write(batch.bytes)) break;
      if (batch.done) co_return batch.keep_alive;
      if (outbox.is_closed()) break;
      if (!batch.bytes.empty()) continue;
      error_code woken;
      wake.expires_after(hang_up_check);
      co_await wake.async_wait(into(woken));
      if (!woken && has_hung_up(stream_.socket())) break;
    }
    outbox.close();
    co_return false;
  }

  asio::awaitable<bool> write(std::string_view bytes) {
    error_code error;
    while (!bytes.empty() && !error) {
      stream_.expires_after(context_->options.write_timeout);
      const size_t sent =
          co_await stream_.async_write_some(asio::buffer(bytes.data(), bytes.size()), into(error));
      bytes.remove_prefix(sent);
    }
    stream_.expires_never();
    co_return !error;
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::shared_ptr<ConnectionContext> context_;
};

asio::awaitable<void> serve(asio::ip::tcp::socket socket,
                            std::shared_ptr<ConnectionContext> context) {
  Connection connection(std::move(socket), std::move(context));
  co_await connection.run();
}

asio::awaitable<void> refuse(asio::ip::tcp::socket socket) {
  const HttpResponse response = error_response(
      {.status = 503, .message = "too many connections", .type = "overloaded", .retry_after_s = 1});
  const std::string bytes = response_head(response, false) + response.body;
  error_code ignored;
  co_await asio::async_write(socket, asio::buffer(bytes), into(ignored));
  socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
}

asio::ip::tcp::socket adopt(asio::io_context& io, int descriptor) {
  // The protocol only matters to calls that are not made on accepted sockets.
  return {asio::make_strand(io), asio::ip::tcp::v4(), descriptor};
}

}  // namespace

void start_connection(asio::io_context& io, int descriptor,
                      std::shared_ptr<ConnectionContext> context) {
  asio::ip::tcp::socket socket = adopt(io, descriptor);
  const auto executor = socket.get_executor();
  ++context->connections;
  asio::co_spawn(executor, serve(std::move(socket), context),
                 [context](std::exception_ptr) { --context->connections; });
}

void refuse_connection(asio::io_context& io, int descriptor) {
  asio::ip::tcp::socket socket = adopt(io, descriptor);
  const auto executor = socket.get_executor();
  asio::co_spawn(executor, refuse(std::move(socket)), asio::detached);
}

}  // namespace dure
