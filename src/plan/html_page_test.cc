#include "plan/html_page.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "plan/page/page_data.h"
#include "plan/page/rank_memory_page.h"
#include "plan/testing.h"

namespace dure {
namespace {

using testing::answered;
using testing::Asked;
using testing::asked;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t largest_page = 500'000;  // bytes

std::string page_of(const Asked& asked) {
  return plan_page(asked.spec, asked.question, answered(asked));
}

// What a browser hands to the page's script.
std::string plan_element(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"plan\">";
  const size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

Json plan_in(const std::string& page) {
  return parse_json(plan_element(page), "the page's plan");
}

TEST(HtmlPage, HoldsThePlanAsJsonThatParsesBack) {
  const Asked question = asked("deepseek-v3", "h200", 16, 256);
  const PlanAnswer answer = answered(question);
  const Json plan = plan_in(plan_page(question.spec, question.question, answer));
  EXPECT_EQ(plan["verdict"], answer.verdict);
  EXPECT_EQ(plan["question"]["gpus"], 16);
  EXPECT_EQ(plan["question"]["weight_bytes"], answer.weight_bytes);
  ASSERT_GE(plan["layouts"].size(), answer.ranked.size());
  const Json& best = plan["layouts"][0];
  EXPECT_NEAR(best["tpot_s"].get<double>(), answer.ranked[0].service.tpot,
              1e-3 * answer.ranked[0].service.tpot);
  EXPECT_NEAR(best["users"].get<double>(), answer.ranked[0].service.users, 0.1);
  EXPECT_EQ(best["users_most"], answer.ranked[0].users_most);
  EXPECT_EQ(best["balance"]["side"], to_string(answer.ranked[0].balance.bound));
  EXPECT_EQ(best["unmeasured"], Json::array({"replicas over 2 nodes"}));
  EXPECT_EQ(plan["assumptions"].size(), answer.assumptions.size());
}

TEST(HtmlPage, BarsAddUpToTheMemoryOfTheirRanks) {
  const Asked question = asked("kimi-k2", "h200", 16, 64);
  const PlanAnswer answer = answered(question);
  const Json plan = plan_in(plan_page(question.spec, question.question, answer));
  for (size_t i = 0; i < answer.ranked.size(); ++i) {
    size_t ranks = 0;
    for (const Json& bar : plan["layouts"][i]["memory"]) {
      int64_t sum = 0;
      for (const Json& bytes : bar["bytes"]) sum += bytes.get<int64_t>();
      EXPECT_EQ(sum, bar["total"].get<int64_t>());
      ranks += bar["count"].get<size_t>();
    }
    EXPECT_EQ(ranks, answer.ranked[i].ranks.size());
  }
}

TEST(HtmlPage, TellsWhatIsMissingWhereNothingFits) {
  Asked question = asked("llama-3.1-405b", "h100", 8, 64);
  const PlanAnswer answer = answered(question);
  ASSERT_FALSE(answer.met);
  const Json plan = plan_in(plan_page(question.spec, question.question, answer));
  EXPECT_FALSE(plan["fits"].get<bool>());
  ASSERT_EQ(plan["layouts"].size(), 1U);
  const Json& nearest = plan["layouts"][0];
  EXPECT_FALSE(nearest["fits"].get<bool>());
  EXPECT_EQ(nearest["ranks"], 8);
  // 811 GB over eight ranks of 72 GiB: some 23 GiB of weights alone have no room on each.
  EXPECT_GT(nearest["missing"].get<int64_t>(), int64_t{20} << 30);
  EXPECT_LT(nearest["missing"].get<int64_t>(), int64_t{35} << 30);
}

TEST(HtmlPage, LoadsNothing) {
  const std::string page = page_of(asked("gpt-oss-120b", "h100", 2, 16));
  for (const char* loads : {"http://", "https://", "//cdn", " src=", " href=", "@import", "url(\"",
                            "fetch(", "XMLHttpRequest", "WebSocket", "import("}) {
    EXPECT_THAT(page, Not(HasSubstr(loads)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("innerHTML")));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(HtmlPage, ShowsNamesAsTextWhateverTheyAre) {
  Asked question = asked("gpt-oss-120b", "h100", 1, 4);
  question.question.model =
      "</script><script>alert(1)</script><!-- {{script}} & \"quoted\" 'x' \xff\n";
  const std::string page = page_of(question);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(plan_element(page), Not(HasSubstr("<")));
  const std::string shown = plan_in(page)["question"]["model"];
  EXPECT_EQ(shown,
            "</script><script>alert(1)</script><!-- {{script}} & \"quoted\" 'x' \xEF\xBF\xBD\n");
}

TEST(HtmlPage, EscapesOfJsonAreReadBackAsTheyWere) {
  const Json before = {{"<!--", "</script>"}, {"&amp;", "]]>\\u003c"}};
  const std::string text = json_in_html(before.dump());
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(parse_json(text, "text"), before);
  EXPECT_EQ(text_in_html("<a href='x'>\"&\""), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;");
}

TEST(HtmlPage, StaysSmallOnThousandsOfGpus) {
  const Asked question = asked("deepseek-v3", "h200", 4096, 20'000);
  PlanAnswer answer = answered(question);
  EXPECT_LT(plan_page(question.spec, question.question, answer).size(), largest_page);
  // Lists as long as nobody's search is.
  const std::vector<ParetoPoint> points_found = answer.points;
  while (answer.points.size() < 50'000) {
    answer.points.insert(answer.points.end(), points_found.begin(), points_found.end());
  }
  const std::string page = plan_page(question.spec, question.question, answer);
  EXPECT_LT(page.size(), largest_page);
  const Json points = plan_in(page)["points"];
  EXPECT_EQ(points["rows"].size() + points["left_out"].get<size_t>(), answer.points.size());
}

TEST(HtmlPage, DrawsAlikeNodesOnce) {
  Asked question = asked("deepseek-v3", "h200", 512, 4096);
  question.question.top = 3;
  const PlanAnswer answer = answered(question);
  const Json page = page_data(question.spec, question.question, answer);
  for (const Json& layout : page["layouts"]) {
    size_t gpus = 0;
    int next = 0;
    for (const Json& node : layout["nodes"]) {
      EXPECT_EQ(node["first"], next);
      next = node["last"].get<int>() + 1;
      gpus += node["ranks"].size() * (node["last"].get<size_t>() - node["first"].get<size_t>() + 1);
    }
    EXPECT_EQ(gpus, layout["ranks"].get<size_t>());
    size_t of_cluster = 0;
    size_t used = 0;
    for (const Json& node : layout["cluster"]) {
      const size_t alike = node["last"].get<size_t>() - node["first"].get<size_t>() + 1;
      for (const Json& run : node["gpus"]) {
        of_cluster += alike * run[1].get<size_t>();
        if (run[0] >= 0) used += alike * run[1].get<size_t>();
      }
    }
    EXPECT_EQ(of_cluster, 512U);
    EXPECT_EQ(used, layout["gpus_used"].get<size_t>());
  }
}

TEST(HtmlPage, DrawsPoolsOnGpusOfTheirOwn) {
  Asked question = asked("deepseek-v3", "h200", 32, 256);
  question.question.disaggregate = true;
  question.question.top = 1000;
  const PlanAnswer answer = answered(question);
  const Json page = page_data(question.spec, question.question, answer);
  size_t pools = 0;
  for (const Json& layout : page["layouts"]) {
    if (!layout.contains("pools")) continue;
    ++pools;
    const int workers = layout["pools"]["prefill"]["workers"].get<int>();
    int64_t prefill = 0;
    int64_t decode = 0;
    for (const Json& node : layout["cluster"]) {
      for (const Json& run : node["gpus"]) {
        if (run[0] < 0) continue;
        (run[0] < workers ? prefill : decode) += run[1].get<int64_t>();
      }
    }
    EXPECT_EQ(prefill, layout["pools"]["prefill"]["gpus"]);
    EXPECT_EQ(decode, layout["pools"]["decode"]["gpus"]);
  }
  EXPECT_EQ(pools, 1U);
}

TEST(HtmlPage, NumbersAreWrittenAsRanges) {
  EXPECT_EQ(numbers_text(std::vector<int>{0, 1, 2, 3}), "0–3");
  EXPECT_EQ(numbers_text(std::vector<int>{0, 4, 5}), "0, 4–5");
  EXPECT_EQ(numbers_text(std::vector<int>{7}), "7");
  EXPECT_EQ(numbers_text(std::vector<int>{0, 2, 4, 6, 8, 10}), "0, 2, 4, …, 10");
}

}  // namespace
}  // namespace dure
