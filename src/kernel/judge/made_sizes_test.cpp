#include "kernel/judge/made_sizes.h"

#include <functional>
#include <set>

#include "base/random.h"
#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

Task task_with(const std::vector<std::string>& names, std::vector<Sizes> small, std::vector<Sizes> train,
               std::vector<Sizes> holdout) {
  Task task;
  task.name = "made";
  task.size_names = names;
  TensorSpec x, y;
  x.name = "x";
  y.name = "y";
  for (const std::string& name : names) x.shape.push_back(Expression::parse(name).value());
  y.shape = {x.shape.front()};
  task.inputs = {x};
  task.outputs = {y};
  task.sizes_small = std::move(small);
  task.sizes_train = std::move(train);
  task.sizes_holdout = std::move(holdout);
  return task;
}

// Everything that the judge would make up.
std::vector<Sizes> all_made(const Task& task, std::uint64_t seed) {
  std::vector<Sizes> made = hidden_sizes(task, seed, 3);
  for (const auto& list : {shrunk_sizes(task), stretched_sizes(task)})
    made.insert(made.end(), list.begin(), list.end());
  for (const Sizes& train : task.sizes_train)
    for (const std::int64_t elements : {1'000, 400'000, 3'000'000}) made.push_back(shrink(task, train, elements));
  return made;
}

TEST(HiddenSizes, HaveValuesThatTheFileDoesNotHave) {
  const Task task = suite_task("softmax");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto hidden = hidden_sizes(task, seed, 1);
    ASSERT_EQ(hidden.size(), 1u);
    for (const Sizes& known : task.all_sizes()) EXPECT_NE(hidden[0].at("cols"), known.at("cols"));
    EXPECT_TRUE(task.check_sizes(hidden[0]).ok());
  }
}

TEST(HiddenSizes, KeepWhatAllSizesAreMultiplesOf) {
  Task task = suite_task("softmax");
  task.sizes_small = {{{"rows", 4}, {"cols", 24}}, {{"rows", 6}, {"cols", 40}}};
  task.sizes_train = {{{"rows", 1024}, {"cols", 512}}};
  task.sizes_holdout = {{{"rows", 100}, {"cols", 80}}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const Sizes& sizes : hidden_sizes(task, seed, 2)) {
      EXPECT_EQ(sizes.at("rows") % 2, 0);
      EXPECT_EQ(sizes.at("cols") % 8, 0);
      EXPECT_GE(sizes.at("cols"), 24);
    }
  }
}

TEST(ShrunkSizes, AreHalvedTrainSizes) {
  const Task task = suite_task("matmul");
  const auto shrunk = shrunk_sizes(task);
  ASSERT_FALSE(shrunk.empty());
  for (const auto& [name, value] : shrunk[0]) {
    EXPECT_LE(value, task.sizes_train[0].at(name));
    EXPECT_EQ(task.sizes_train[0].at(name) % value, 0) << name;
    EXPECT_GE(value, 64) << name;
  }
}

TEST(HiddenSizes, AreAboutAsLargeAsTheSmallOnes) {
  const Task task = suite_task("attention");
  std::int64_t most = 0;
  for (const Sizes& small : task.sizes_small) most = std::max(most, elements_of(task, small));
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    for (const Sizes& sizes : hidden_sizes(task, seed, 1)) EXPECT_LE(elements_of(task, sizes), most);
}

TEST(MadeSizes, AreMultiplesOfWhatAllDeclaredSizesAreMultiplesOf) {
  const Task task =
      task_with({"m", "n"}, {{{"m", 128}, {"n", 256}}}, {{{"m", 1920}, {"n", 640}}}, {{{"m", 384}, {"n", 1152}}});
  for (const Sizes& sizes : all_made(task, 3)) {
    EXPECT_EQ(sizes.at("m") % 128, 0) << to_string(sizes);
    EXPECT_EQ(sizes.at("n") % 128, 0) << to_string(sizes);
  }
  EXPECT_FALSE(hidden_sizes(task, 3, 2).empty());
}

TEST(MadeSizes, LeaveATaskOfOneShapeAlone) {
  const Sizes only{{"m", 96}, {"n", 40}};
  const Task task = task_with({"m", "n"}, {only}, {only}, {only});
  for (const Sizes& sizes : all_made(task, 3)) EXPECT_EQ(sizes, only);
  EXPECT_TRUE(hidden_sizes(task, 3, 2).empty());
}

TEST(MadeSizes, KeepAWidthThatIsHeadsTimesTheirSize) {
  const auto sizes_of = [](std::int64_t heads, std::int64_t dim) {
    return Sizes{{"heads", heads}, {"dim", dim}, {"width", heads * dim}};
  };
  const Task task = task_with({"heads", "dim", "width"}, {sizes_of(2, 9), sizes_of(3, 16)},
                              {sizes_of(12, 64), sizes_of(16, 128)}, {sizes_of(5, 80)});
  int fresh = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const Sizes& sizes : all_made(task, seed))
      EXPECT_EQ(sizes.at("width"), sizes.at("heads") * sizes.at("dim")) << to_string(sizes);
    fresh += static_cast<int>(hidden_sizes(task, seed, 2).size());
  }
  EXPECT_GE(fresh, 15);
  EXPECT_FALSE(stretched_sizes(task).empty());
}

// What may be said about sizes, said in another way than the code says it.
struct Property {
  std::string text;
  std::function<bool(const Sizes&)> holds;
};

std::vector<Property> properties_of(const Task& task) {
  std::vector<Property> all;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> range;
  for (const Sizes& sizes : task.all_sizes()) {
    for (const auto& [name, value] : sizes) {
      auto [entry, fresh] = range.try_emplace(name, value, value);
      entry->second.first = std::min(entry->second.first, value);
      entry->second.second = std::max(entry->second.second, value);
    }
  }
  for (const std::string& a : task.size_names) {
    const auto [low, high] = range.at(a);
    all.push_back(
        {a + " in range", [a, low = low, high = high](const Sizes& s) { return s.at(a) >= low && s.at(a) <= high; }});
    for (std::int64_t m = 2; m <= 256; ++m)
      all.push_back({a + " % " + std::to_string(m), [a, m](const Sizes& s) { return s.at(a) % m == 0; }});
    all.push_back({a + " is a power of two", [a](const Sizes& s) { return (s.at(a) & (s.at(a) - 1)) == 0; }});
    for (const std::string& b : task.size_names) {
      if (a == b) continue;
      all.push_back({a + " == " + b, [a, b](const Sizes& s) { return s.at(a) == s.at(b); }});
      all.push_back({a + " <= " + b, [a, b](const Sizes& s) { return s.at(a) <= s.at(b); }});
      all.push_back({a + " < " + b, [a, b](const Sizes& s) { return s.at(a) < s.at(b); }});
      all.push_back({a + " divides " + b, [a, b](const Sizes& s) { return s.at(b) % s.at(a) == 0; }});
      for (std::int64_t k = 2; k <= 64; ++k)
        all.push_back(
            {a + " * " + std::to_string(k) + " == " + b, [a, b, k](const Sizes& s) { return s.at(a) * k == s.at(b); }});
      for (const std::string& c : task.size_names) {
        if (c == a || c == b) continue;
        all.push_back({a + " * " + b + " == " + c, [=](const Sizes& s) { return s.at(a) * s.at(b) == s.at(c); }});
        all.push_back({a + " + " + b + " == " + c, [=](const Sizes& s) { return s.at(a) + s.at(b) == s.at(c); }});
      }
    }
  }
  return all;
}

// One to four sizes with a random structure: multiples, powers of two, constants, and ties between them.
Task random_task(Random& random) {
  const std::vector<std::string> letters{"a", "b", "c", "d"};
  const auto count = static_cast<std::size_t>(random.integer(1, 4));
  const std::vector<std::string> names(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(count));
  struct Kind {
    std::int64_t rule, number, tie;
  };
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < count; ++i) kinds.push_back({random.integer(0, 8), random.integer(1, 40), 0});
  const auto draw = [&](std::int64_t most) {
    Sizes sizes;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [rule, number, tie] = kinds[i];
      const std::int64_t before = i == 0 ? 0 : sizes.at(names[i - 1]);
      std::int64_t value = random.integer(1, most);
      if (rule == 1) value = number;
      if (rule == 2) value = number * random.integer(1, std::max<std::int64_t>(most / number, 1));
      if (rule == 3) value = std::int64_t{1} << random.integer(0, 10);
      if (rule == 4 && i > 0) value = before;
      if (rule == 5 && i > 0) value = before * (number % 8 + 1);
      if (rule == 6 && i > 0) value = before + random.integer(0, most);
      if (rule == 7 && i > 0) value = before * random.integer(1, 6);
      if (rule == 8 && i > 1) value = before * sizes.at(names[i - 2]);
      sizes[names[i]] = std::min<std::int64_t>(value, 20'000);
    }
    return sizes;
  };
  std::vector<Sizes> small, train, holdout;
  for (std::int64_t i = random.integer(1, 3); i > 0; --i) small.push_back(draw(40));
  for (std::int64_t i = random.integer(1, 2); i > 0; --i) train.push_back(draw(300));
  holdout.push_back(draw(200));
  return task_with(names, small, train, holdout);
}

TEST(MadeSizes, KeepWhatTheSizesOfRandomTasksShare) {
  Random random(20260);
  int made = 0, shared = 0;
  for (int i = 0; i < 400; ++i) {
    const Task task = random_task(random);
    const auto declared = task.all_sizes();
    if (!std::all_of(declared.begin(), declared.end(), [&](const Sizes& s) { return task.check_sizes(s).ok(); }))
      continue;
    std::vector<Property> kept;
    for (Property& property : properties_of(task))
      if (std::all_of(declared.begin(), declared.end(), property.holds)) kept.push_back(std::move(property));
    shared += static_cast<int>(kept.size());
    for (const Sizes& sizes : all_made(task, static_cast<std::uint64_t>(i))) {
      ++made;
      ASSERT_TRUE(task.check_sizes(sizes).ok()) << to_string(sizes);
      for (const Property& property : kept) {
        std::string text;
        for (const Sizes& each : declared) text += to_string(each) + "\n";
        ASSERT_TRUE(property.holds(sizes)) << to_string(sizes) << " breaks " << property.text << " of\n" << text;
      }
    }
  }
  EXPECT_GE(made, 2000);
  EXPECT_GE(shared, 2000);
}

// Strictness: wherever the suite varies a size, some hidden size has a value for it that the file does not have.
TEST(MadeSizes, OfTheSuiteHaveFreshValuesForEveryVariedName) {
  const auto suite = load_suite(source_root() / "tasks");
  ASSERT_TRUE(suite.ok());
  for (const SuiteEntry& entry : *suite) {
    const Task& task = *entry.task;
    std::set<std::string> fresh;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const auto hidden = hidden_sizes(task, seed, 1);
      ASSERT_FALSE(hidden.empty()) << task.name;
      for (const auto& [name, value] : hidden.front()) {
        const auto declared = task.all_sizes();
        if (std::none_of(declared.begin(), declared.end(),
                         [&, &name = name, value = value](const Sizes& s) { return s.at(name) == value; }))
          fresh.insert(name);
      }
    }
    std::string stale;
    for (const std::string& name : task.size_names)
      if (!fresh.contains(name)) stale += name + " ";
    EXPECT_FALSE(fresh.empty()) << task.name;
    if (!stale.empty()) std::printf("%s: always as declared: %s\n", task.name.c_str(), stale.c_str());
  }
}

}  // namespace
}  // namespace kw
