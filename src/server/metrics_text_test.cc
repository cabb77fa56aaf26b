#include "server/metrics_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace dure {
namespace {

TEST(MetricsText, WritesFamiliesSamplesAndLabels) {
  MetricsText text(label("model_name", "demo"));
  text.single("a_total", "counter", "Things.", int64_t{3});
  text.family("b", "gauge", "Others.");
  text.sample(label("rank", "1"), 0.5);
  EXPECT_EQ(text.take(),
            "# HELP a_total Things.\n# TYPE a_total counter\na_total{model_name=\"demo\"} 3\n"
            "# HELP b Others.\n# TYPE b gauge\nb{model_name=\"demo\",rank=\"1\"} 0.5\n");
}

TEST(MetricsText, EscapesWhatTheFormatReserves) {
  EXPECT_EQ(label("model_name", "a\"b\\c\nd{}é"), "model_name=\"a\\\"b\\\\c\\nd{}é\"");
}

TEST(MetricsText, SumsTheBucketsOfAHistogram) {
  constexpr double bounds[] = {0.5, 1.0};
  Histogram histogram(bounds);
  for (const double value : {0.25, 0.5, 0.75, 8.0}) histogram.add(value);
  MetricsText text("");
  text.family("h", "histogram", "H.");
  text.histogram(label("phase", "decode"), histogram);
  EXPECT_EQ(text.take(),
            "# HELP h H.\n# TYPE h histogram\n"
            "h_bucket{phase=\"decode\",le=\"0.5\"} 2\nh_bucket{phase=\"decode\",le=\"1\"} 3\n"
            "h_bucket{phase=\"decode\",le=\"+Inf\"} 4\nh_sum{phase=\"decode\"} 9.5\n"
            "h_count{phase=\"decode\"} 4\n");
}

TEST(MetricsText, WritesNumbersThatAreNone) {
  MetricsText text("");
  text.family("x", "gauge", "X.");
  text.sample("", std::numeric_limits<double>::quiet_NaN());
  text.sample("", std::numeric_limits<double>::infinity());
  EXPECT_EQ(text.take(), "# HELP x X.\n# TYPE x gauge\nx{} NaN\nx{} +Inf\n");
}

}  // namespace
}  // namespace dure
