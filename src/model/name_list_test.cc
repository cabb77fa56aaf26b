#include "model/name_list.h"

#include <gtest/gtest.h>

#include <string>

namespace dure {
namespace {

bool lists(std::string_view entry, std::string_view name) {
  NameList names;
  EXPECT_TRUE(names.add(entry)) << entry;
  return names.holds(name);
}

TEST(NameList, ListsModulesWithTheirChildrenInWholeComponents) {
  EXPECT_TRUE(lists("lm_head", "language_model.lm_head.weight"));
  EXPECT_TRUE(lists("mlp.gate", "model.layers.3.mlp.gate.weight"));
  EXPECT_FALSE(lists("mlp.gate", "model.layers.3.mlp.gate_proj.weight"));
  EXPECT_TRUE(lists("layers.1.mlp", "model.layers.1.mlp.experts.2.up_proj.weight"));
  EXPECT_FALSE(lists("layers.1", "model.layers.11.mlp.up_proj.weight"));
  EXPECT_TRUE(lists("model.layers.0.q_proj.linear", "model.layers.0.q_proj.weight"));
}

TEST(NameList, ListsByShellPatterns) {
  EXPECT_TRUE(lists("model.layers.0*", "model.layers.0.mlp.up_proj.weight"));
  EXPECT_TRUE(lists("model.layers.*.self_attn", "model.layers.12.self_attn.q_proj.weight"));
  EXPECT_FALSE(lists("model.layers.*.self_attn", "model.layers.12.self_attn_norm.weight"));
  EXPECT_TRUE(lists("*.attn.*", "layers.2.attn.wq_a.weight"));
  EXPECT_FALSE(lists("mtp*", "model.layers.1.mlp.up_proj.weight"));
}

TEST(NameList, ListsByRegularExpressionsFromTheBeginning) {
  const std::string name = "model.layers.12.mlp.gate_proj.weight";
  EXPECT_TRUE(lists(R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)", name));
  EXPECT_FALSE(lists("re:mlp", name));
  EXPECT_TRUE(lists("re:model", name));
  EXPECT_TRUE(lists(R"(re:^model\.layers\.(1[0-5]|2)\..*$)", name));
  EXPECT_FALSE(lists(R"(re:^model\.layers\.\d\..*)", name));
  EXPECT_TRUE(lists(R"(re:.*layers\.\d{2}\.[^.]+\.gate_proj$)", name));
  EXPECT_TRUE(lists("re:(?:a|model)+.*?proj", name));
}

TEST(NameList, SaysWhichExpressionsItDoesNotUnderstand) {
  NameList names;
  for (const char* entry :
       {"re:(?!x).*", R"(re:(a)\1)", "re:(", "re:)", "re:*a", "re:[a", "re:a{999}", R"(re:\bx)"}) {
    EXPECT_FALSE(names.add(entry)) << entry;
  }
  EXPECT_TRUE(names.empty());
}

// A backtracking matcher would need 2^50 steps.
TEST(NameList, TakesTimeLinearInTheName) {
  EXPECT_FALSE(lists("re:(a*)*b", std::string(50, 'a')));
  EXPECT_FALSE(lists("re:(a|aa)+$", std::string(50, 'a') + "b"));
}

}  // namespace
}  // namespace dure
