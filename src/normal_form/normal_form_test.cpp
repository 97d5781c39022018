#include "normal_form/normal_form.h"

#include <gtest/gtest.h>

#include "data/stream.h"
#include "data/task_json.h"
#include "normal_form/frame.h"

namespace kw {
namespace {

// What training shows is normal already: in every family and split.
TEST(NormalForm, LeavesDrawnTasksAsTheyAre) {
  for (const DataSplit split : {DataSplit::train, DataSplit::composition, DataSplit::novel}) {
    StreamOptions options;
    options.seed = 11;
    options.split = split;
    const ExampleStream stream(options);
    int shown = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const Task task = stream.task_at(i).task;
      const auto operation = read_operation(task);
      ASSERT_TRUE(operation) << task.pytorch;
      const auto frame = frame_of(*operation, task);
      ASSERT_TRUE(frame) << task.pytorch;
      const NormalForm form = normal_form(task);
      EXPECT_FALSE(form.changed) << task.pytorch << form.task.pytorch << description_of(form);
      EXPECT_TRUE(task_json(form.task) == task_json(task));
      if (form.changed && ++shown > 20) return;
    }
  }
}

}  // namespace
}  // namespace kw
