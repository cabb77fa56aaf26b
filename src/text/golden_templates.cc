// The recorded cases of chat templates and of the template language.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "text/chat_template_impl.h"
#include "text/golden.h"
#include "text/golden_rows.h"
#include "text/jinja.h"
#include "text/jinja_json.h"
#include "text/jinja_ops.h"
#include "text/tokenizer.h"

namespace dure {
namespace {

namespace fs = std::filesystem;
using jinja::Fault;
using jinja::JinjaError;
using jinja::Value;

// What a rendering gave: text, or the fault.
struct Outcome {
  std::string text;
  std::optional<JinjaError> error;
};

template <class F>
Outcome attempt(F&& render) {
  try {
    return {render(), std::nullopt};
  } catch (const JinjaError& error) {
    return {"", error};
  }
}

std::optional<std::tm> time_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::tm time{};
  if (!strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time)) return std::nullopt;
  return time;
}

// The first place where two texts differ, with a little of both.
std::string difference(std::string_view got, std::string_view wanted) {
  size_t at = 0;
  while (at < got.size() && at < wanted.size() && got[at] == wanted[at]) ++at;
  const size_t from = at > 20 ? at - 20 : 0;
  return fmt::format("at byte {}: got \"{}\", wanted \"{}\"", at, got.substr(from, 60),
                     wanted.substr(from, 60));
}

// Empty when the outcome is what was recorded.
std::string judge(const Outcome& outcome, const std::string* wanted, std::string_view error_kind,
                  std::string_view error) {
  if (wanted) {
    if (outcome.error) {
      return fmt::format("failed ({}): {}", to_string(outcome.error->fault),
                         outcome.error->message);
    }
    return outcome.text == *wanted ? "" : difference(outcome.text, *wanted);
  }
  if (!outcome.error) return fmt::format("rendered, but an error was wanted: {}", error);
  const bool raised = outcome.error->fault == Fault::raised;
  if (raised != (error_kind == "raise_exception")) {
    return fmt::format("failed as {}, wanted {}: {}", to_string(outcome.error->fault), error_kind,
                       outcome.error->message);
  }
  // Only the template's own words are meant for the client and have to be the same.
  if (raised && outcome.error->message != error) {
    return fmt::format("raised \"{}\", wanted \"{}\"", outcome.error->message, error);
  }
  return "";
}

const std::string* text_of(const Value& row, std::string_view key) {
  const Value* found = row.as_dict().find(key);
  return found && found->is_string() ? &found->bytes() : nullptr;
}

void run_jinja_row(const Value& row, GoldenTally& tally) {
  const std::string name = *text_of(row, "id");
  const Outcome outcome = attempt([&] {
    const jinja::Template source(*text_of(row, "template"));
    jinja::Variables variables;
    for (const auto& [key, value] : row.as_dict().find("context")->as_dict().entries) {
      variables.emplace_back(key.bytes(), value);
    }
    const std::string* now = text_of(row, "now");
    return source.render(variables, time_of(now ? *now : ""));
  });
  const std::string* kind = text_of(row, "error_kind");
  const std::string* error = text_of(row, "error");
  tally.add(name, judge(outcome, text_of(row, "expected"), kind ? *kind : "", error ? *error : ""));
}

// One template with the rows recorded for it.
class ChatGolden {
 public:
  ChatGolden(std::string_view source, const Json& special_tokens,
             std::shared_ptr<const Tokenizer> tokenizer)
      : template_(source), tokenizer_(std::move(tokenizer)) {
    for (const auto& [name, token] : special_tokens.items()) {
      special_tokens_.emplace_back(name, jinja::from_json(token));
    }
  }

  void run(const Json& row, GoldenTally& tally) const {
    const std::string id = row.at("id").get<std::string>();
    MessageRules reference;
    reference.reference = true;
    check(row, row, id + " rendered", reference, row.at("messages"), tally);
    if (row.contains("plain")) {
      check(row, row.at("plain"), id + " plain", {}, row.at("messages"), tally);
    }
    if (row.contains("args_object")) {
      MessageRules rules = reference;
      rules.convert_arguments = true;
      check(row, row.at("args_object"), id + " args_object", rules, row.at("messages"), tally);
    }
    if (row.contains("parts_joined")) {
      MessageRules rules = reference;
      rules.join_parts = true;
      check(row, row.at("parts_joined"), id + " parts_joined", rules, row.at("messages"), tally);
    }
    if (row.contains("server")) check_server(row, id, tally);
  }

 private:
  void check_server(const Json& row, const std::string& id, GoldenTally& tally) const {
    const Json& server = row.at("server");
    MessageRules rules = rules_of(MessageForm::server, {});
    check(row, server, id + " server", rules, row.at("messages"), tally);
    // The messages on their way, before the reference library's own changes.
    rules.reference = false;
    jinja::Budget budget{jinja::Limits{}};
    const std::string got = to_json(budget, prepare_messages(row.at("messages"), rules), {});
    const std::string wanted = to_json(budget, jinja::from_json(server.at("messages")), {});
    const bool same = Json::parse(got) == Json::parse(wanted);
    tally.add(id + " server.messages", same ? "" : difference(got, wanted));
  }

  void check(const Json& row, const Json& recorded, const std::string& name,
             const MessageRules& rules, const Json& messages, GoldenTally& tally) const {
    const ChatRequest request{
        .messages = &messages,
        .tools = &row.at("tools"),
        .extra = &row.at("extra"),
        .add_generation_prompt = row.at("add_generation_prompt").get<bool>(),
        .continue_final_message = row.at("continue_final_message").get<bool>(),
        .now = time_of(row.value("now", "")),
    };
    const Outcome outcome =
        attempt([&] { return render_chat(template_, special_tokens_, rules, request); });
    std::optional<std::string> wanted;
    if (recorded.contains("rendered")) wanted = recorded.at("rendered").get<std::string>();
    tally.add(name, judge(outcome, wanted ? &*wanted : nullptr, recorded.value("error_kind", ""),
                          recorded.value("error", "")));
    if (!tokenizer_ || outcome.error || !recorded.contains("ids")) return;
    const auto ids =
        tokenizer_->encode(outcome.text, {.add_special = false, .parse_special = true});
    const bool same = ids == recorded.at("ids").get<std::vector<int32_t>>();
    tally.add(name + " ids", same ? "" : "the prompt has other token ids");
  }

  jinja::Template template_;
  jinja::Variables special_tokens_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

void run_chat_rows(const fs::path& rows, std::string_view source, const Json& special_tokens,
                   std::shared_ptr<const Tokenizer> tokenizer, GoldenTally& tally) {
  try {
    const ChatGolden golden(source, special_tokens, std::move(tokenizer));
    for_each_line(
        rows, [&](std::string_view line) { golden.run(parse_json(line, rows.string()), tally); });
  } catch (const JinjaError& error) {
    tally.add(rows.string(), fmt::format("line {} of the template: {}", error.line, error.message));
  }
}

GoldenKind run_jinja(const fs::path& path) {
  GoldenTally tally("jinja");
  for_each_line(path, [&](std::string_view line) {
    // Read as values, since some contexts hold whole numbers beyond 64 bits.
    const auto row = jinja::parse_json_value(line);
    if (!row) throw_bad_input(fmt::format("{}: a row is not JSON", path.string()));
    run_jinja_row(*row, tally);
  });
  return tally.take();
}

// `<tok>/chat.jsonl`, whose template chat.meta.json names.
GoldenKind run_chat(const fs::path& folder, const fs::path& tokenizers, const fs::path& golden) {
  const std::string name = folder.filename().string();
  GoldenTally tally("chat " + name);
  const Json meta = read_json_file(folder / "chat.meta.json");
  const std::string where = meta.at("template").get<std::string>();
  std::string source;
  if (where.ends_with("#chat_template")) {
    const fs::path config = tokenizers / name / where.substr(0, where.find('#'));
    source = read_json_file(config).at("chat_template").get<std::string>();
  } else {
    source = read_text_file(golden / where);
  }
  std::shared_ptr<const Tokenizer> tokenizer;
  if (fs::exists(tokenizers / name / "tokenizer.json")) {
    tokenizer = Tokenizer::load(tokenizers / name);
  }
  run_chat_rows(folder / "chat.jsonl", source, meta.at("special_tokens"), tokenizer, tally);
  return tally.take();
}

GoldenKind run_template(const fs::path& folder, const std::string& name, const Json& entry) {
  GoldenTally tally("template " + name);
  const std::string source = read_text_file(folder / entry.at("file").get<std::string>());
  run_chat_rows(folder / (name + ".jsonl"), source, entry.at("special_tokens"), nullptr, tally);
  return tally.take();
}

}  // namespace

std::vector<GoldenKind> run_template_goldens(const fs::path& tokenizers, const fs::path& golden) {
  std::vector<GoldenKind> kinds;
  if (fs::exists(golden / "jinja.jsonl")) kinds.push_back(run_jinja(golden / "jinja.jsonl"));
  const fs::path folder = golden / "templates";
  if (fs::exists(folder / "index.json")) {
    const Json index = read_json_file(folder / "index.json");
    for (const auto& [name, entry] : index.items()) {
      if (fs::exists(folder / (name + ".jsonl"))) {
        kinds.push_back(run_template(folder, name, entry));
      }
    }
  }
  std::vector<fs::path> chats;
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (fs::exists(entry.path() / "chat.jsonl")) chats.push_back(entry.path());
  }
  std::sort(chats.begin(), chats.end());
  for (const fs::path& chat : chats) kinds.push_back(run_chat(chat, tokenizers, golden));
  return kinds;
}

}  // namespace dure
