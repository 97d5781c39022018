#include "learn/data/audit.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

ExampleStream elementwise_stream() {
  StreamOptions options;
  options.seed = 17;
  options.families = {Family::elementwise};
  return ExampleStream(options);
}

JudgeOptions judge_options() {
  JudgeOptions options;
  options.profile = load_profile("h200").value();
  options.secret = "a secret for tests";
  options.cache = false;
  return options;
}

TEST(StreamAudit, ChoosesAboutTheShareBySeedAndIndexAlone) {
  int chosen = 0, same = 0;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    chosen += StreamAudit::chosen(3, i, 0.01) ? 1 : 0;
    same += StreamAudit::chosen(3, i, 0.01) && StreamAudit::chosen(4, i, 0.01) ? 1 : 0;
  }
  EXPECT_GT(chosen, 400);
  EXPECT_LT(chosen, 600);
  EXPECT_LT(same, 30) << "another seed chooses others";
}

TEST(StreamAudit, SaysHowLittleAFewRightOnesProve) {
  AuditReport report;
  EXPECT_EQ(report.error_rate_at_most(), 1);
  report.all.judged = 100;
  EXPECT_EQ(report.error_rate(), 0);
  EXPECT_NEAR(report.error_rate_at_most(), 0.0370, 0.0005);
  report.all.wrong = 10;
  EXPECT_NEAR(report.error_rate_at_most(), 0.1744, 0.0005);
}

TEST(StreamAuditSlow, JudgesInTheBackgroundWhatWasUsed) {
  CompileService service;
  const ExampleStream stream = elementwise_stream();
  AuditOptions options;
  options.share = 0.5;
  options.most_waiting = 4;
  StreamAudit audit(service, judge_options(), stream, options);
  std::uint64_t chosen = 0;
  for (std::uint64_t i = 0; i < 8; ++i) {
    audit.used(stream.example_at(i));
    chosen += StreamAudit::chosen(17, i, 0.5) ? 1 : 0;
    audit.wait();
  }
  const AuditReport report = audit.report();
  EXPECT_EQ(report.used, 8u);
  EXPECT_EQ(report.chosen, chosen);
  EXPECT_EQ(report.waiting, 0u);
  EXPECT_EQ(report.all.judged, chosen);
  EXPECT_EQ(report.all.wrong, 0u) << report.failures.front().summary;
  EXPECT_EQ(report.by_family.at("elementwise").judged, chosen);
}

}  // namespace
}  // namespace kw
