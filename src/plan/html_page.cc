// See html_page.h.
#include "plan/html_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "plan/page/page_data.h"
#include "plan/page/page_files.h"

namespace dure {
namespace {

using Filling = std::pair<std::string_view, std::string>;

// Each {{name}} once, from left to right: what was put in is not looked at again.
std::string filled(std::string_view html, std::span<const Filling> parts) {
  std::string page;
  for (size_t at = 0; at < html.size();) {
    const size_t open = html.find("{{", at);
    page += html.substr(at, open - at);
    if (open == std::string_view::npos) break;
    const size_t close = html.find("}}", open);
    const std::string_view name = html.substr(open + 2, close - open - 2);
    const auto* part = parts.data();
    while (part != parts.data() + parts.size() && part->first != name) ++part;
    DURE_CHECK(part != parts.data() + parts.size());
    page += part->second;
    at = close + 2;
  }
  return page;
}

}  // namespace

std::string json_in_html(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    // Of JSON's text these are only ever inside strings.
    if (c == '<' || c == '>' || c == '&') {
      text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text;
}

std::string text_in_html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '&':
        html += "&amp;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string plan_page(const ModelSpec& spec, const PlanQuestion& question,
                      const PlanAnswer& answer) {
  const Json data = page_data(spec, question, answer);
  // A path may be any bytes; what is not UTF-8 is shown as U+FFFD.
  const std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto shown = [&](const char* key) {
    return text_in_html(Json::parse(json).at(key).get<std::string>());
  };
  const Filling parts[] = {{"title", shown("title")},
                           {"summary", shown("verdict")},
                           {"style", std::string(page_style())},
                           {"plan", json_in_html(json)},
                           {"script", std::string(page_script())}};
  return filled(page_html(), parts);
}

}  // namespace dure
