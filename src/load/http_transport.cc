// See http_transport.h: each call is a coroutine over a Beast stream.
#include "load/http_transport.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/http_answer.h"

namespace dure::load {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// Every call is a file descriptor; the usual soft limit of 1024 is there for select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

auto into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

Clock::duration in_ticks(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// A connection and where its bytes arrive.
struct Connection {
  explicit Connection(asio::io_context& io) : stream(io) {}

  // A kept connection that the server closed, or that says something unasked, is of no use.
  bool is_silent() {
    char byte = 0;
    const ssize_t got = ::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  beast::tcp_stream stream;
  std::array<char, 8192> received;
};

struct Ending {
  CallEnd end = CallEnd::complete;
  std::string why = {};
  bool keeps = false;    // the connection can be used again
  bool unheard = false;  // nothing came back: a kept connection may have been closed meanwhile
};

}  // namespace

struct HttpTransport::Impl {
  explicit Impl(HttpTransportOptions given) : options(std::move(given)), begin(Clock::now()) {
    raise_descriptor_limit();
    error_code error;
    tcp::resolver resolver(io);
    const HttpUrl& url = options.url;
    for (const auto& entry : resolver.resolve(url.host, url.port, error)) {
      endpoints.push_back(entry.endpoint());
    }
    if (endpoints.empty()) throw_bad_input(fmt::format("{}: {}", url.host, error.message()));
    headers = fmt::format("Host: {}\r\nAccept: text/event-stream, application/json\r\n",
                          authority_of(url));
    if (!options.api_key.empty()) {
      headers += fmt::format("Authorization: Bearer {}\r\n", options.api_key);
    }
  }

  std::string head_of(const CallSpec& spec) const {
    std::string head = fmt::format("{} {} HTTP/1.1\r\n{}", spec.method, spec.path, headers);
    if (!spec.body.empty()) {
      head +=
          fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", spec.body.size());
    }
    return head + "\r\n";
  }

  std::unique_ptr<Connection> take_kept() {
    while (!kept.empty()) {
      std::unique_ptr<Connection> connection = std::move(kept.back());
      kept.pop_back();
      if (connection->is_silent()) return connection;
    }
    return nullptr;
  }

  // `era`: how often all calls had been hung up when it was started.
  asio::awaitable<void> call(CallSpec spec, std::shared_ptr<CallEvents> events, int64_t era) {
    Ending ending;
    for (bool fresh = false; era == hang_ups;) {
      std::unique_ptr<Connection> connection = fresh ? nullptr : take_kept();
      fresh = connection == nullptr;
      if (fresh) connection = std::make_unique<Connection>(io);
      open.insert(&connection->stream);
      ending = {};
      if (fresh) ending = co_await connect(*connection);
      if (ending.end == CallEnd::complete) ending = co_await exchange(*connection, spec, *events);
      open.erase(&connection->stream);
      if (ending.keeps) kept.push_back(std::move(connection));
      if (fresh || !ending.unheard) break;
      fresh = true;
    }
    if (era != hang_ups) ending.end = CallEnd::left;
    events->on_end(ending.end, ending.why);
  }

  asio::awaitable<Ending> connect(Connection& connection) {
    error_code error;
    connection.stream.expires_after(in_ticks(options.connect_timeout_s));
    co_await connection.stream.async_connect(endpoints, into(error));
    if (error) {
      const bool no_room = error == asio::error::no_descriptors;
      co_return Ending{
          no_room ? CallEnd::no_descriptors : CallEnd::not_reached,
          error == beast::error::timeout ? "connecting took too long" : error.message()};
    }
    connection.stream.socket().set_option(tcp::no_delay(true), error);
    co_return Ending{};
  }

  asio::awaitable<Ending> exchange(Connection& connection, const CallSpec& spec,
                                   CallEvents& events) {
    const std::string head = head_of(spec);
    const std::array<asio::const_buffer, 2> request = {asio::buffer(head), asio::buffer(spec.body)};
    error_code error;
    connection.stream.expires_after(in_ticks(options.silence_timeout_s));
    co_await asio::async_write(connection.stream, request, into(error));
    if (error == beast::error::timeout) {
      co_return Ending{CallEnd::timed_out, "the server does not take the request"};
    }
    // A server that refused before it read all has broken the pipe; its answer may be there.
    if (!error && !events.on_sent()) co_return Ending{CallEnd::left};
    co_return co_await read_answer(connection, events);
  }

  asio::awaitable<Ending> read_answer(Connection& connection, CallEvents& events) {
    using State = HttpAnswerReader::State;
    HttpAnswerReader answer;
    bool heard = false;
    bool told_head = false;
    std::string body;
    while (answer.state() == State::head || answer.state() == State::body) {
      error_code error;
      connection.stream.expires_after(in_ticks(options.silence_timeout_s));
      const size_t got = co_await connection.stream.async_read_some(
          asio::buffer(connection.received), into(error));
      if (error == beast::error::timeout) {
        co_return Ending{CallEnd::timed_out, told_head ? "the answer stalled" : "no answer began"};
      }
      if (error) {
        if (error == asio::error::eof) answer.close();
        if (answer.state() == State::done) break;
        co_return Ending{told_head ? CallEnd::cut : CallEnd::hung_up, error.message(), false,
                         !heard};
      }
      heard = true;
      answer.feed({connection.received.data(), got}, body);
      if (answer.has_head() && !std::exchange(told_head, true) &&
          !events.on_head(head_of(answer))) {
        co_return Ending{CallEnd::left};
      }
      if (!body.empty() && !events.on_bytes(body)) co_return Ending{CallEnd::left};
      body.clear();
    }
    connection.stream.expires_never();
    if (answer.state() == State::broken) {
      co_return Ending{told_head ? CallEnd::cut : CallEnd::not_http, answer.fault()};
    }
    co_return Ending{CallEnd::complete, "", answer.keeps_connection()};
  }

  static CallHead head_of(const HttpAnswerReader& answer) {
    return {answer.head().status, answer.head().content_type, answer.head().retry_after_s};
  }

  HttpTransportOptions options;
  Clock::time_point begin;
  asio::io_context io{1};
  std::vector<tcp::endpoint> endpoints;
  std::string headers;
  std::vector<std::unique_ptr<Connection>> kept;
  std::unordered_set<beast::tcp_stream*> open;  // of calls under way
  std::map<int64_t, asio::steady_timer> timers;
  int64_t next_timer = 0;
  int64_t hang_ups = 0;
};

HttpTransport::HttpTransport(HttpTransportOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpTransport::~HttpTransport() = default;

double HttpTransport::now() const {
  return std::chrono::duration<double>(Clock::now() - impl_->begin).count();
}

void HttpTransport::at(double when_s, std::function<void()> then) {
  Impl& impl = *impl_;
  const int64_t id = impl.next_timer++;
  asio::steady_timer timer(impl.io, impl.begin + in_ticks(when_s));
  const auto made = impl.timers.emplace(id, std::move(timer)).first;
  made->second.async_wait([&impl, id, then = std::move(then)](error_code error) {
    if (error || impl.timers.erase(id) == 0) return;
    then();
  });
}

void HttpTransport::start(CallSpec spec, std::shared_ptr<CallEvents> events) {
  asio::co_spawn(impl_->io, impl_->call(std::move(spec), std::move(events), impl_->hang_ups),
                 [](std::exception_ptr thrown) {
                   if (thrown) std::rethrow_exception(thrown);
                 });
}

void HttpTransport::hang_up() {
  ++impl_->hang_ups;
  impl_->timers.clear();
  for (beast::tcp_stream* stream : impl_->open) stream->close();
}

void HttpTransport::run() {
  impl_->io.restart();
  impl_->io.run();
}

void HttpTransport::post(std::function<void()> then) {
  asio::post(impl_->io, std::move(then));
}

}  // namespace dure::load
