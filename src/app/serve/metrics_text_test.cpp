#include "app/serve/metrics_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace kw {
namespace {

TEST(MetricsText, LinesAsPrometheusReadsThem) {
  MetricsText text;
  text.begin("kw_requests_total", "counter", "All\nof them.");
  text.value("kw_requests_total", {{"status", "2xx"}, {"who", "a\"b\\c\nd"}}, 3);
  text.value("kw_requests_total", {}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(text.text(),
            "# HELP kw_requests_total All\\nof them.\n# TYPE kw_requests_total counter\n"
            "kw_requests_total{status=\"2xx\",who=\"a\\\"b\\\\c\\nd\"} 3\nkw_requests_total +Inf\n");
}

TEST(MetricsText, AHistogramCountsUpwards) {
  DurationHistogram durations;
  for (const double seconds : {0.0005, 0.003, 0.003, 100.0}) durations.add(seconds);
  MetricsText text;
  durations.write(text, "kw_seconds", {{"kind", "judge"}});
  EXPECT_NE(text.text().find("kw_seconds_bucket{kind=\"judge\",le=\"0.001\"} 1\n"), std::string::npos);
  EXPECT_NE(text.text().find("kw_seconds_bucket{kind=\"judge\",le=\"0.005\"} 3\n"), std::string::npos);
  EXPECT_NE(text.text().find("kw_seconds_bucket{kind=\"judge\",le=\"60\"} 3\n"), std::string::npos);
  EXPECT_NE(text.text().find("kw_seconds_bucket{kind=\"judge\",le=\"+Inf\"} 4\n"), std::string::npos);
  EXPECT_NE(text.text().find("kw_seconds_count{kind=\"judge\"} 4\n"), std::string::npos);
}

TEST(MetricsText, QuantilesLieInTheirBuckets) {
  DurationHistogram durations;
  EXPECT_FALSE(durations.quantile_s(0.5));
  for (int i = 0; i < 99; ++i) durations.add(0.02);
  durations.add(3);
  EXPECT_GT(*durations.quantile_s(0.5), 0.01);
  EXPECT_LE(*durations.quantile_s(0.5), 0.025);
  EXPECT_GT(*durations.quantile_s(0.995), 2.5);
}

}  // namespace
}  // namespace kw
