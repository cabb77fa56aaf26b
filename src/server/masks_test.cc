// Masks that take long: whoever waits for one waits alone. The test says when a mask is done.
#include <gmock/gmock.h>

#include <condition_variable>
#include <future>

#include "server/test_server.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

// A grammar whose masks are made when the test opens the gate. Then only `token` is allowed.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int at_work = 0;

  void open_it() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  bool is_at_work() {
    const std::lock_guard lock(mutex);
    return at_work > 0;
  }
};

class SlowConstraint : public TokenConstraint {
 public:
  SlowConstraint(std::shared_ptr<Gate> gate, int32_t token)
      : gate_(std::move(gate)), token_(token) {}
  void accept(int32_t) override {}
  std::vector<uint64_t> mask() override {
    std::unique_lock lock(gate_->mutex);
    ++gate_->at_work;
    gate_->changed.wait(lock, [&] { return gate_->open; });
    --gate_->at_work;
    if (token_ < 0) throw Error(ErrorCode::failed, "no memory for a mask");
    std::vector<uint64_t> mask(2048 / 64);
    mask[static_cast<size_t>(token_) / 64] = uint64_t{1} << (token_ % 64);
    return mask;
  }
  std::optional<std::vector<uint64_t>> mask_within(uint64_t& work) override {
    work = 0;
    return std::nullopt;
  }
  std::shared_ptr<const void> grammar() const override { return gate_; }

 private:
  std::shared_ptr<Gate> gate_;
  int32_t token_;
};

struct Listener : GenerationSink {
  void on_text(const TextPiece& piece) override {
    const std::lock_guard lock(mutex);
    text += piece.text;
  }
  void on_end(const GenerationEnd& end) override { ended.set_value(end); }
  void on_error(const Error& error) override { failed.set_value(error); }
  size_t size() {
    const std::lock_guard lock(mutex);
    return text.size();
  }

  std::mutex mutex;
  std::string text;
  std::promise<GenerationEnd> ended;
  std::promise<Error> failed;
};

struct Asked {
  std::shared_ptr<Listener> listener = std::make_shared<Listener>();
  uint64_t id = 0;
};

Asked ask(TestServer& server, int32_t max_tokens,
          std::shared_ptr<TokenConstraint> constraint = nullptr) {
  Asked asked;
  Generation generation;
  generation.prompt = {5, 6, 7};
  generation.max_tokens = max_tokens;
  generation.constraint = std::move(constraint);
  generation.sink = asked.listener;
  std::vector<Generation> one;
  one.push_back(std::move(generation));
  asked.id = server.engine->submit(std::move(one)).front();
  return asked;
}

int32_t token_of(const TestServer& server, const std::string& text) {
  return server.model.tokenizer->encode(text).front();
}

TEST(Masks, ThatTakeLongStopNoOtherStream) {
  TestServer server;
  const auto gate = std::make_shared<Gate>();
  // More of them than there are workers.
  std::vector<Asked> slow;
  for (int i = 0; i < 4; ++i) {
    slow.push_back(ask(server, 3, std::make_shared<SlowConstraint>(gate, token_of(server, "a"))));
  }
  ASSERT_TRUE(eventually([&] { return gate->is_at_work(); }));
  const Asked plain = ask(server, 1000);
  EXPECT_EQ(plain.listener->ended.get_future().get().completion_tokens, 1000);
  // A usual grammar whose masks are new is not held up by the one that has a worker.
  const TestResponse usual =
      server.ask("POST", "/v1/completions", R"({"prompt":"a","guided_choice":["left","right"]})");
  EXPECT_EQ(usual.status, 200) << usual.body;
  for (const Asked& each : slow) EXPECT_EQ(each.listener->size(), 0u);
  gate->open_it();
  for (const Asked& each : slow) {
    EXPECT_EQ(each.listener->ended.get_future().get().completion_tokens, 3);
    EXPECT_EQ(each.listener->text, "aaa");
  }
  EXPECT_TRUE(server.becomes_idle());
}

TEST(Masks, ThatWereMadeBeforeNeedNoWorker) {
  TestServer server;
  const auto object = [&] {
    return server.ask("POST", "/v1/completions",
                      R"({"prompt":"a","max_tokens":60,"guided_json":{"type":"object",
      "properties":{"name":{"enum":["one","two"]}},"required":["name"],"additionalProperties":false}})");
  };
  const std::string first = object().body;
  const auto one = std::make_shared<Gate>(), other = std::make_shared<Gate>();
  const Asked a = ask(server, 1, std::make_shared<SlowConstraint>(one, 5));
  const Asked b = ask(server, 1, std::make_shared<SlowConstraint>(other, 5));
  ASSERT_TRUE(eventually([&] { return one->is_at_work() && other->is_at_work(); }));
  EXPECT_THAT(object().body, HasSubstr("name"));
  one->open_it();
  other->open_it();
  a.listener->ended.get_future().get();
  b.listener->ended.get_future().get();
}

TEST(Masks, OfAClientThatLeftLeaveNothing) {
  TestServer server;
  const auto gate = std::make_shared<Gate>();
  const Asked asked = ask(server, 3, std::make_shared<SlowConstraint>(gate, 5));
  ASSERT_TRUE(eventually([&] { return gate->is_at_work(); }));
  server.engine->cancel(std::vector<uint64_t>{asked.id});
  EXPECT_TRUE(server.becomes_idle());
  gate->open_it();
  EXPECT_EQ(ask(server, 2).listener->ended.get_future().get().completion_tokens, 2);
  EXPECT_TRUE(server.becomes_idle());
  EXPECT_EQ(asked.listener->text, "");
}

TEST(Masks, SurviveTheDeathOfTheRanks) {
  TestServer server;
  const auto gate = std::make_shared<Gate>();
  const Asked asked = ask(server, 3, std::make_shared<SlowConstraint>(gate, token_of(server, "b")));
  ASSERT_TRUE(eventually([&] { return gate->is_at_work(); }));
  server.ranks.die("a test");
  ASSERT_TRUE(eventually([&] { return server.ranks.launches == 2; }));
  gate->open_it();
  EXPECT_EQ(asked.listener->ended.get_future().get().completion_tokens, 3);
  EXPECT_EQ(asked.listener->text, "bbb");
}

TEST(Masks, ThatCannotBeMadeFailTheirRequestAlone) {
  TestServer server;
  const auto gate = std::make_shared<Gate>();
  gate->open_it();
  const Asked asked = ask(server, 3, std::make_shared<SlowConstraint>(gate, -1));
  EXPECT_THAT(asked.listener->failed.get_future().get().message(), HasSubstr("no memory"));
  EXPECT_EQ(ask(server, 2).listener->ended.get_future().get().completion_tokens, 2);
  EXPECT_TRUE(server.becomes_idle());
}

}  // namespace
}  // namespace dure
