// A trace file of the whole server, written as it runs by a thread of its own. The file is whole
// JSON after every write: each one replaces the closing brackets and brings them again, so that it
// can be opened however the server ends. What cannot be written in time is left out, and said once;
// so is what there is no room for.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <variant>

#include "base/descriptor.h"
#include "trace/trace_events.h"

namespace dure {

struct TraceOptions {
  std::filesystem::path path;
  int64_t most_bytes = int64_t{1} << 30;       // of the file
  std::function<void(const Event&)> say = {};  // on the trace's thread: it is full, or cut
};

// Thread-safe; nobody waits for the disk.
class TraceFile {
 public:
  // Throws bad_input naming the path where it cannot be made; one that is there is replaced.
  explicit TraceFile(TraceOptions options);
  ~TraceFile();  // writes what was added
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void rank(int rank, std::string title);
  void step(TracedStep step);
  // `lost`: spans that the rank had no room for, since its start.
  void spans(int rank, std::vector<std::string> names, std::vector<Span> spans, int64_t lost);
  void mark(Event event);  // now

 private:
  struct Rank {
    int rank;
    std::string title;
  };
  struct Spans {
    int rank;
    std::vector<std::string> names;
    std::vector<Span> spans;
  };
  struct Mark {
    int64_t at_ns;
    Event event;
  };
  using Item = std::variant<Rank, TracedStep, Spans, Mark>;

  void add(Item item, size_t size);
  void run();
  void append(std::string& text, const Item& item) const;
  void write(const std::string& events);
  bool write_at(int64_t at, const std::string& text);
  void give_up(const std::string& why);
  void tell_losses();

  const TraceOptions options_;
  const int64_t epoch_ns_;
  Descriptor file_;
  int64_t end_ = 0;  // of the last whole write, closing brackets included
  bool full_ = false;

  std::mutex mutex_;  // guards the rest
  std::condition_variable arrived_;
  std::deque<Item> items_;
  size_t waiting_ = 0;  // events in items_
  int64_t lost_ = 0;    // events that found no room
  bool told_losses_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dure
