// The template language: its recorded cases, its bounds, and what it says about mistakes.
#include "text/jinja.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "text/golden.h"
#include "text/jinja_json.h"

namespace dure::jinja {
namespace {

using testing::HasSubstr;

std::string render(std::string_view source, std::string_view context = "{}",
                   const Limits& limits = {}) {
  Variables variables;
  const Value values = *parse_json_value(context);
  for (const auto& [name, value] : values.as_dict().entries) {
    variables.emplace_back(name.bytes(), value);
  }
  return Template(source).render(variables, {}, limits);
}

// The fault that rendering ends with.
JinjaError fault_of(std::string_view source, std::string_view context = "{}",
                    const Limits& limits = {}) {
  try {
    const std::string text = render(source, context, limits);
    ADD_FAILURE() << "rendered: " << text.substr(0, 200);
  } catch (const JinjaError& error) {
    return error;
  }
  return JinjaError(Fault::value, "");
}

constexpr std::string_view three_messages =
    R"({"messages": [{"role": "user", "content": "h\u00e9 <b>"}, {"role": "assistant",
        "content": "a"}, {"role": "user", "content": "q"}]})";

TEST(Jinja, WalksMessagesBackwardsByASlice) {
  EXPECT_EQ(render("{% for m in messages[::-1] %}{{ loop.index0 }}{{ m.role[0] }}{% endfor %}",
                   R"({"messages": [{"role": "system"}, {"role": "user"}, {"role": "assistant"},
                              {"role": "user"}]})"),
            "0u1a2u3s");
}

TEST(Jinja, TrimsBlocksAsTheReferenceLibraryDoes) {
  EXPECT_EQ(render("{% for m in messages %}\n  {% if m.role == 'user' %}\n[U]{{ m.content }}\n  "
                   "{% endif %}\n{% endfor %}\nend",
                   three_messages),
            "[U]hé <b>\n[U]q\nend");
}

TEST(Jinja, WritesJsonWithKeyOrderAndWithoutEscapingHangul) {
  EXPECT_EQ(render("{{ x | tojson(indent=2) }}", R"({"x": {"도시": {"type": "<a>"}, "a": 1}})"),
            "{\n  \"도시\": {\n    \"type\": \"<a>\"\n  },\n  \"a\": 1\n}");
}

TEST(Jinja, NamesTheConstructAndLineThatItRefuses) {
  const JinjaError include = fault_of("a\nb{% include 'x' %}");
  EXPECT_EQ(include.fault, Fault::unsupported);
  EXPECT_EQ(include.line, 2);
  EXPECT_THAT(include.message, HasSubstr("include"));
  const JinjaError filter = fault_of("\n\n{{ x | random }}");
  EXPECT_EQ(filter.fault, Fault::unsupported);
  EXPECT_EQ(filter.line, 3);
}

TEST(Jinja, SaysInWhichLineRenderingFailed) {
  const JinjaError error =
      fault_of("{{ 1 }}\n{% if true %}\n{{ x.y.z }}{% endif %}", R"({"x": {}})");
  EXPECT_EQ(error.fault, Fault::undefined);
  EXPECT_EQ(error.line, 3);
  EXPECT_EQ(error.message, "'dict object' has no attribute 'y'");
}

TEST(Jinja, EndsEveryEndlessTemplateWithAnError) {
  const std::pair<const char*, Fault> cases[] = {
      {"{{ 'a' * 10**9 }}", Fault::limit},
      {"{{ [0] * 10**9 }}", Fault::limit},
      {"{{ '%1000000000d' % 1 }}", Fault::limit},
      {"{{ '{:1000000000}'.format(1) }}", Fault::limit},
      {"{{ 'a'.ljust(10**10) }}", Fault::limit},
      {"{{ 10 ** (10 ** 10) }}", Fault::limit},
      {"{{ range(10**9) }}", Fault::limit},
      {"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
       Fault::limit},
      {"{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}"
       "{% endfor %}",
       Fault::limit},
      {"{% set ns = namespace(l=[]) %}{% for i in range(999) %}{% set ns.l = [ns.l, ns.l] %}"
       "{% endfor %}",
       Fault::limit},
      {"{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}"
       "{% endfor %}{{ ns.l }}",
       Fault::limit},
      {"{% set ns = namespace(l=[1]) %}{% set ms = namespace(l=[1]) %}{% for i in range(99) %}"
       "{% set ns.l = [ns.l, ns.l] %}{% set ms.l = [ms.l, ms.l] %}{% endfor %}{{ ns.l == ms.l }}",
       Fault::limit},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", Fault::recursion},
      {"{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}",
       Fault::recursion},
      {"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", Fault::recursion},
      {"{% set ns = namespace(l=[1]) %}{% for i in range(90000) %}{% set ns.l = ns.l | map('int') "
       "%}"
       "{% endfor %}{{ ns.l | list }}",
       Fault::recursion},
      {"{% for i in range(99999) %}{{ 'aaaaaaaaaaaaaaaa' * 99999 }}{% endfor %}", Fault::limit},
      {"{{ ('a' * 60000000).replace('', 'bbbb') }}", Fault::limit},
      {"{{ ('a' * 9000000).split('a') }}", Fault::limit},
  };
  for (const auto& [source, fault] : cases) {
    EXPECT_EQ(to_string(fault_of(source).fault), to_string(fault)) << source;
  }
}

TEST(Jinja, RefusesSourceThatNestsTooDeeply) {
  for (const char* open : {"(", "[", "-", "not ", "{'a':", "1 if ", "a.b(", "x|d("}) {
    std::string source = "{{ ";
    for (int i = 0; i < 20000; ++i) source += open;
    EXPECT_EQ(fault_of(source).fault, Fault::syntax) << open;
  }
  std::string chain = "{{ 1", blocks;
  for (int i = 0; i < 20000; ++i) chain += " + 1";
  for (int i = 0; i < 20000; ++i) blocks += "{% if 1 %}";
  EXPECT_EQ(fault_of(chain + " }}").fault, Fault::syntax);
  EXPECT_EQ(fault_of(blocks).fault, Fault::syntax);
}

TEST(Jinja, SandboxLetsNothingBeChangedOrReachedBehind) {
  for (const char* source : {"{{ [].append(1) }}", "{{ {}.update({}) }}", "{{ {}.pop('a') }}",
                             "{{ ''.__class__.__mro__ }}", "{{ [].__class__() }}",
                             "{{ '{0.__class__.x}'.format('a') }}"}) {
    EXPECT_EQ(to_string(fault_of(source).fault), "security") << source;
  }
  EXPECT_EQ(to_string(fault_of("{% set ns = namespace(_a=1) %}").fault), "security");
}

TEST(Jinja, KeepsWholeNumbersBeyond64Bits) {
  EXPECT_EQ(render("{{ x }} {{ x + 1 }} {{ x | tojson }} {{ -x // 7 }} {{ x % -7 }} {{ 2 ** 100 }}",
                   R"({"x": 12345678901234567890123})"),
            "12345678901234567890123 12345678901234567890124 12345678901234567890123 "
            "-1763668414462081127161 -4 1267650600228229401496703205376");
}

TEST(Jinja, LoopObjectsAndScopesOutliveTheirLoopSafely) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in [1, 2] recursive %}{% set ns.l = loop %}"
                   "{% endfor %}{{ ns.l.index }}{{ ns.l([]) }}{% for j in [3] %}{{ ns.l([7]) }}"
                   "{{ j }}{% endfor %}"),
            "23");
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in [1, 2] %}{% macro f() %}{{ i }}"
                   "{% endmacro %}{% set ns.f = f %}{% endfor %}{% for k in [5] %}{{ ns.f() }}"
                   "{% endfor %}"),
            "2");
}

TEST(Jinja, RendersOnManyThreadsAtOnce) {
  const Template source("{% for m in messages %}{{ m.role ~ loop.index }}{% endfor %}");
  Variables variables{{"messages", *parse_json_value(R"([{"role": "a"}, {"role": "b"}])")}};
  std::vector<std::thread> threads;
  std::vector<std::string> results(4);
  for (std::string& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) result = source.render(variables);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, "a1b2");
}

}  // namespace
}  // namespace dure::jinja
