// Keys that a file spells otherwise than the readers that families share.
#include "model/config_reader.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "model/testing.h"

namespace dure {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(ConfigReader, ReadsAKeyAsTheFileSpellsIt) {
  const Json document = {{"n_layers", 3}, {"rope", {{"kind", "yarn"}}}};
  ConfigReader config(document, "config.json");
  config.spelled("num_hidden_layers", "n_layers");
  config.spelled("rope_scaling", "rope");
  EXPECT_TRUE(config.has("num_hidden_layers"));
  EXPECT_EQ(config.integer("num_hidden_layers", {1, 8}), 3);
  EXPECT_EQ(config.object("rope_scaling")->text("kind"), "yarn");
  config.finish();
}

TEST(ConfigReader, NamesTheFilesSpellingInErrors) {
  const Json document = {{"n_layers", 30}, {"rope", {{"kind", 1}}}};
  ConfigReader config(document, "config.json");
  config.spelled("num_hidden_layers", "n_layers");
  config.spelled("hidden_size", "d_model");
  config.spelled("rope_scaling", "rope");
  EXPECT_EQ(error_of([&] { config.integer("num_hidden_layers", {1, 8}); }).field(), "n_layers");
  EXPECT_THAT(error_of([&] {
                config.integer("hidden_size", {1, 8});
              }).message(),
              HasSubstr("d_model: missing"));
  EXPECT_EQ(error_of([&] { config.object("rope_scaling")->text("kind"); }).field(), "rope.kind");
}

TEST(ConfigReader, RefusesTheUsualSpellingBesideAnother) {
  const Json document = {{"n_layers", 3}, {"num_hidden_layers", 4}};
  ConfigReader config(document, "config.json");
  config.spelled("num_hidden_layers", "n_layers");
  EXPECT_EQ(config.integer("num_hidden_layers", {1, 8}), 3);
  EXPECT_EQ(error_of([&] { config.finish(); }).field(), "num_hidden_layers");
}

}  // namespace
}  // namespace dure
