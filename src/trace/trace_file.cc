// See trace_file.h.
#include "trace/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace dure {
namespace {

constexpr size_t most_waiting = 1 << 18;         // events: some 20 MB
constexpr size_t write_bytes = size_t{1} << 20;  // at once
constexpr std::string_view closing = "\n]}\n";

bool is_regular(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
}

}  // namespace

TraceFile::TraceFile(TraceOptions options)
    : options_(std::move(options)), epoch_ns_(ns_of(std::chrono::steady_clock::now())) {
  file_ = Descriptor(open(options_.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  // Another server's is left as it is.
  if (file_ && flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw_bad_input(fmt::format("--trace {}: another process writes it", options_.path.string()),
                    "name a file of this server's own");
  }
  if (file_ && is_regular(file_.get()) && ftruncate(file_.get(), 0) != 0) file_ = Descriptor();
  // The server's own track is there from the beginning, so that whatever follows has a comma.
  std::string events;
  append_server(events);
  const std::string text =
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + events.substr(1) + std::string(closing);
  if (!file_ || !write_at(0, text)) {
    throw_bad_input(fmt::format("--trace {}: {}", options_.path.string(), std::strerror(errno)),
                    "name a file that can be written");
  }
  end_ = static_cast<int64_t>(text.size());
  thread_ = std::thread([this] { run(); });
}

TraceFile::~TraceFile() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  thread_.join();
}

void TraceFile::rank(int rank, std::string title) {
  add(Rank{rank, std::move(title)}, 1);
}

void TraceFile::step(TracedStep step) {
  add(std::move(step), 1);
}

void TraceFile::spans(int rank, std::vector<std::string> names, std::vector<Span> spans,
                      int64_t lost) {
  const size_t size = spans.size();
  {
    const std::lock_guard lock(mutex_);
    lost_ = std::max(lost_, lost);
  }
  add(Spans{rank, std::move(names), std::move(spans)}, size);
}

void TraceFile::mark(Event event) {
  add(Mark{ns_of(std::chrono::steady_clock::now()), std::move(event)}, 1);
}

void TraceFile::add(Item item, size_t size) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ + size > most_waiting) {
      lost_ += static_cast<int64_t>(size);
      return;
    }
    waiting_ += size;
    items_.push_back(std::move(item));
  }
  arrived_.notify_one();
}

void TraceFile::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return stopping_ || !items_.empty(); });
    if (items_.empty()) return;
    std::deque<Item> items = std::exchange(items_, {});
    lock.unlock();
    tell_losses();
    std::string events;
    for (const Item& item : items) {
      if (full_) break;
      append(events, item);
      if (events.size() >= write_bytes) write(std::exchange(events, {}));
    }
    if (!events.empty() && !full_) write(events);
    lock.lock();
    waiting_ = 0;
    for (const Item& item : items_) {
      const auto* spans = std::get_if<Spans>(&item);
      waiting_ += spans == nullptr ? 1 : spans->spans.size();
    }
  }
}

void TraceFile::append(std::string& text, const Item& item) const {
  if (const auto* rank = std::get_if<Rank>(&item)) {
    append_rank(text, rank->rank, rank->title);
  } else if (const auto* step = std::get_if<TracedStep>(&item)) {
    append_step(text, epoch_ns_, *step);
  } else if (const auto* spans = std::get_if<Spans>(&item)) {
    append_spans(text, epoch_ns_, spans->rank, spans->names, spans->spans);
  } else if (const auto* mark = std::get_if<Mark>(&item)) {
    append_mark(text, epoch_ns_, mark->at_ns, mark->event);
  }
}

void TraceFile::write(const std::string& events) {
  const auto added = static_cast<int64_t>(events.size());
  if (end_ + added > options_.most_bytes) {
    return give_up(
        fmt::format("it is as large as it may become ({})", format_bytes(options_.most_bytes)));
  }
  const int64_t at = end_ - static_cast<int64_t>(closing.size());
  if (write_at(at, events + std::string(closing))) {
    end_ += added;
    return;
  }
  const std::string why = std::strerror(errno);
  // The place of the closing brackets is the file's already.
  (void)!ftruncate(file_.get(), end_);
  (void)write_at(at, std::string(closing));
  give_up(why);
}

bool TraceFile::write_at(int64_t at, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = pwrite(file_.get(), text.data() + done, text.size() - done,
                             at + static_cast<int64_t>(done));
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

void TraceFile::give_up(const std::string& why) {
  full_ = true;
  if (!options_.say) return;
  options_.say({Level::warning, "trace_ended",
                fmt::format("the trace {} ends here: {}", options_.path.string(), why)});
}

void TraceFile::tell_losses() {
  int64_t lost = 0;
  {
    const std::lock_guard lock(mutex_);
    if (lost_ == 0 || std::exchange(told_losses_, true)) return;
    lost = lost_;
  }
  if (!options_.say) return;
  Event event{Level::warning, "trace_spans_lost",
              fmt::format("the trace {} lacks spans: they come faster than they are written",
                          options_.path.string())};
  event.numbers = {{"spans", static_cast<double>(lost)}};
  options_.say(event);
}

}  // namespace dure
