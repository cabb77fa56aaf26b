#include "engine/check_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace dure {
namespace {

using testing::HasSubstr;

constexpr int64_t vocab = 100;

std::string fault(const std::function<void(Slice&, SamplingParams&)>& change) {
  Slice slice;
  slice.start = 2;
  slice.tokens = {1};
  slice.setup.emplace();
  change(slice, slice.setup->sampling);
  return setup_fault(slice, vocab);
}

TEST(SetupFault, FindsNoneInWhatAFrontSends) {
  EXPECT_EQ(setup_fault({}, vocab), "");
  EXPECT_EQ(fault([](Slice& slice, SamplingParams& p) {
              p = {1.0f,        0.9f,    0.1f,          40, 8,    2.0f, -2.0f, 1.5f,
                   {{3, 2.5f}}, {4, 99}, {{6}, {7, 0}}, 9,  {99}, 20,   20};
              slice.setup->history = {5, 6};
              slice.next_token = 99;
              slice.mask = {1, 2};
            }),
            "");
}

TEST(SetupFault, NamesTokensOutsideTheVocabulary) {
  const auto with = [](auto set) {
    return fault([&](Slice& slice, SamplingParams& p) { set(slice, p); });
  };
  EXPECT_THAT(with([](Slice&, SamplingParams& p) {
                p.logit_bias = {{100, 1.0f}};
              }),
              HasSubstr("logit_bias has token 100"));
  EXPECT_THAT(with([](Slice&, SamplingParams& p) {
                p.allowed_ids = {5, -1};
              }),
              HasSubstr("allowed_ids has token -1"));
  EXPECT_THAT(with([](Slice&, SamplingParams& p) {
                p.bad_words = {{5, 100}};
              }),
              HasSubstr("bad_words"));
  EXPECT_THAT(with([](Slice&, SamplingParams& p) { p.stop_ids = {100}; }), HasSubstr("stop_ids"));
  EXPECT_THAT(with([](Slice& s, SamplingParams&) { s.next_token = 100; }), HasSubstr("next_token"));
  EXPECT_THAT(with([](Slice& s, SamplingParams& p) {
                p.presence_penalty = 1.0f;
                s.setup->history = {1, 100};
              }),
              HasSubstr("history has token 100"));
}

TEST(SetupFault, NamesNumbersOutOfRange) {
  const auto with = [](float SamplingParams::*which, float value) {
    return fault([&](Slice&, SamplingParams& p) { p.*which = value; });
  };
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(with(&SamplingParams::temperature, bad), HasSubstr("temperature"));
    EXPECT_THAT(with(&SamplingParams::top_p, bad), HasSubstr("top_p"));
    EXPECT_THAT(with(&SamplingParams::min_p, bad), HasSubstr("min_p"));
    EXPECT_THAT(with(&SamplingParams::presence_penalty, bad), HasSubstr("presence_penalty"));
    EXPECT_THAT(with(&SamplingParams::frequency_penalty, bad), HasSubstr("frequency_penalty"));
    EXPECT_THAT(with(&SamplingParams::repetition_penalty, bad), HasSubstr("repetition_penalty"));
  }
  EXPECT_THAT(with(&SamplingParams::temperature, -1.0f), HasSubstr("temperature is -1"));
  EXPECT_THAT(with(&SamplingParams::top_p, 0.0f), HasSubstr("top_p is 0"));
  EXPECT_THAT(with(&SamplingParams::min_p, 1.5f), HasSubstr("min_p is 1.5"));
  EXPECT_THAT(with(&SamplingParams::repetition_penalty, 0.0f), HasSubstr("repetition_penalty"));
}

TEST(SetupFault, NamesListsOfTheWrongLength) {
  EXPECT_THAT(fault([](Slice& s, SamplingParams&) { s.mask = {1}; }), HasSubstr("mask of 1 words"));
  EXPECT_THAT(fault([](Slice&, SamplingParams& p) { p.bad_words = {{}}; }), HasSubstr("empty"));
  EXPECT_THAT(fault([](Slice& s, SamplingParams& p) {
                p.frequency_penalty = 1.0f;
                s.setup->history = {1};
              }),
              HasSubstr("history of 1 tokens before position 2"));
}

}  // namespace
}  // namespace dure
