// The recorded cases of tokenizers: encode, pretokens, stream and nfc.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "text/golden.h"
#include "text/nfc.h"
#include "text/tokenizer_impl.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

constexpr size_t shown_failures = 5;

// "" if the row passes, else what differs.
using Check = std::function<std::string(const Json&)>;

std::string differs(std::string_view part, const Json& want, const Json& got) {
  const auto cut = [](const Json& value) { return value.dump().substr(0, 300); };
  return fmt::format("{}: want {} got {}", part, cut(want), cut(got));
}

GoldenKind run_rows(std::string name, const fs::path& file, const Check& check) {
  GoldenKind kind;
  kind.name = std::move(name);
  std::ifstream rows(file);
  std::string line;
  for (int number = 1; std::getline(rows, line); ++number) {
    if (line.empty()) continue;
    std::string why;
    try {
      why = check(parse_json(line, file.string()));
    } catch (const Error& error) {
      why = error.what();
    }
    if (why.empty()) {
      ++kind.passed;
      continue;
    }
    ++kind.failed;
    if (kind.failures.size() < shown_failures)
      kind.failures.push_back(fmt::format("{}:{}: {}", file.string(), number, why));
  }
  return kind;
}

std::string check_encode(const Tokenizer& tokenizer, const Json& row) {
  EncodeOptions options;
  options.add_special = row["add_special"].get<bool>();
  options.parse_special = row["parse_special"].get<bool>();
  const auto ids = tokenizer.encode(row["text"].get<std::string>(), options);
  if (Json(ids) != row["ids"]) return differs("ids", row["ids"], ids);
  const std::string decoded = tokenizer.decode(ids, false);
  if (Json(decoded) != row["decoded"]) return differs("decoded", row["decoded"], decoded);
  const Json& want =
      row.contains("decoded_skip_special") ? row["decoded_skip_special"] : row["decoded"];
  const std::string skipped = tokenizer.decode(ids, true);
  return Json(skipped) == want ? "" : differs("decoded_skip_special", want, skipped);
}

std::string check_pre_tokens(const Tokenizer& tokenizer, const Json& row) {
  const PreTokens got = pre_tokens(tokenizer, row["text"].get<std::string>());
  const Json& normalized = row.contains("normalized") ? row["normalized"] : row["text"];
  if (Json(got.normalized) != normalized) return differs("normalized", normalized, got.normalized);
  return Json(got.pieces) == row["pieces"] ? "" : differs("pieces", row["pieces"], got.pieces);
}

std::string check_stream(const std::shared_ptr<const Tokenizer>& tokenizer, const Json& row) {
  StreamDecoder decoder(tokenizer, row["skip_special"].get<bool>());
  std::vector<std::string> chunks;
  std::vector<int32_t> ids;
  for (const Json& id : row["ids"]) {
    ids.push_back(id.get<int32_t>());
    chunks.push_back(decoder.push(ids.back()));
  }
  if (Json(chunks) != row["chunks"]) return differs("chunks", row["chunks"], chunks);
  const std::string flush = decoder.finish();
  if (Json(flush) != row["flush"]) return differs("flush", row["flush"], flush);
  const std::string full = tokenizer->decode(ids, row["skip_special"].get<bool>());
  return Json(full) == row["full"] ? "" : differs("full", row["full"], full);
}

}  // namespace

std::vector<GoldenKind> run_token_goldens(const fs::path& tokenizers, const fs::path& golden) {
  std::vector<GoldenKind> kinds;
  const auto run = [&kinds](std::string name, const fs::path& file, const Check& check) {
    if (fs::exists(file)) kinds.push_back(run_rows(std::move(name), file, check));
  };
  run("nfc", golden / "nfc.jsonl", [](const Json& row) -> std::string {
    const std::string got = nfc(row["in"].get<std::string>());
    return Json(got) == row["out"] ? "" : differs("out", row["out"], got);
  });
  std::vector<fs::path> folders;
  if (fs::is_directory(tokenizers)) {
    for (const auto& entry : fs::directory_iterator(tokenizers))
      if (Tokenizer::is_in(entry.path())) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    const fs::path rows = golden / name;
    if (!fs::is_directory(rows)) continue;
    const auto tokenizer = Tokenizer::load(folder);
    run("encode " + name, rows / "encode.jsonl",
        [&](const Json& row) { return check_encode(*tokenizer, row); });
    run("pretokens " + name, rows / "pretokens.jsonl",
        [&](const Json& row) { return check_pre_tokens(*tokenizer, row); });
    run("stream " + name, rows / "stream.jsonl",
        [&](const Json& row) { return check_stream(tokenizer, row); });
  }
  return kinds;
}

}  // namespace dure
