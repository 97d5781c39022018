#include "base/bounded_json.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kw {
namespace {

using Json = nlohmann::json;

// Builds the value while the text is read, so a bound stops the reading and not only the result.
template <class Value>
class BoundedBuilder : public nlohmann::json_sax<Value> {
 public:
  BoundedBuilder(const JsonBounds& bounds, std::size_t text_bytes)
      : bounds_(bounds), max_values_(std::min(bounds.max_values, 64 + text_bytes / bounds.min_bytes_per_value)) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(typename Value::binary_t&) override { return fail("binary values are not JSON"); }
  bool start_object(std::size_t) override { return open(Value::object()); }
  bool start_array(std::size_t) override { return open(Value::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (open_.back()->size() >= bounds_.max_members) return fail("an object has too many members");
    if (open_.back()->contains(name)) return fail("the key '" + name.substr(0, 200) + "' comes twice");
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail("not valid JSON at byte " + std::to_string(position));
  }

  Value root;
  std::string problem;

 private:
  bool fail(std::string message) {
    if (problem.empty()) problem = std::move(message);
    return false;
  }

  // Null where a bound forbids it.
  Value* place(Value value) {
    if (++values_ > max_values_)
      return fail("too large: more than " + std::to_string(max_values_) + " values"), nullptr;
    if (open_.empty()) return &(root = std::move(value));
    Value& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    if (parent.size() >= bounds_.max_elements) return fail("a list is too long"), nullptr;
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool add(Value value) { return place(std::move(value)) != nullptr; }

  bool open(Value container) {
    if (static_cast<int>(open_.size()) >= bounds_.max_depth)
      return fail("nested too deeply: deeper than " + std::to_string(bounds_.max_depth));
    Value* placed = place(std::move(container));
    if (placed == nullptr) return false;
    open_.push_back(placed);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonBounds bounds_;
  std::size_t max_values_;
  std::size_t values_ = 0;
  // Pointers stay good: only the innermost open container grows, and nothing points into it but at itself.
  std::vector<Value*> open_;
  std::string key_;
};

template <class Value>
Result<Value> parse_bounded(std::string_view text, const JsonBounds& bounds) {
  BoundedBuilder<Value> builder(bounds, text.size());
  bool complete = false;
  try {
    complete = Value::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception& failure) {
    return Error{std::string("not valid JSON: ") + failure.what(), "", {}};
  }
  if (!complete) return Error{builder.problem.empty() ? "not valid JSON" : builder.problem, "", {}};
  if (!builder.root.is_object()) return Error{"not a JSON object", "", {}};
  return std::move(builder.root);
}

Error wrong(const std::string& key, const std::string& what) { return Error{"'" + key + "' " + what, "", {}}; }

// null means the same as missing, as Hugging Face's configurations use it.
const Json* find_member(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

Result<Json> parse_bounded_json(std::string_view text, const JsonBounds& bounds) {
  return parse_bounded<Json>(text, bounds);
}

Result<nlohmann::ordered_json> parse_bounded_ordered_json(std::string_view text, const JsonBounds& bounds) {
  return parse_bounded<nlohmann::ordered_json>(text, bounds);
}

Result<std::int64_t> json_integer(const Json& object, const std::string& key, std::int64_t smallest,
                                  std::int64_t largest) {
  const Json* member = find_member(object, key);
  if (member == nullptr) return wrong(key, "is missing");
  const auto in_range = [&](std::int64_t value) { return value >= smallest && value <= largest; };
  const bool fits = member->is_number_unsigned()
                        ? member->get<std::uint64_t>() <= INT64_MAX && in_range(member->get<std::int64_t>())
                        : member->is_number_integer() && in_range(member->get<std::int64_t>());
  if (!fits) {
    return wrong(key, "is not a whole number from " + std::to_string(smallest) + " to " + std::to_string(largest));
  }
  return member->get<std::int64_t>();
}

Result<std::int64_t> json_integer_or(const Json& object, const std::string& key, std::int64_t smallest,
                                     std::int64_t largest, std::int64_t if_missing) {
  if (find_member(object, key) == nullptr) return if_missing;
  return json_integer(object, key, smallest, largest);
}

Result<double> json_number_or(const Json& object, const std::string& key, double if_missing) {
  const Json* member = find_member(object, key);
  if (member == nullptr) return if_missing;
  if (!member->is_number() || !std::isfinite(member->get<double>())) return wrong(key, "is not a number");
  return member->get<double>();
}

Result<bool> json_bool_or(const Json& object, const std::string& key, bool if_missing) {
  const Json* member = find_member(object, key);
  if (member == nullptr) return if_missing;
  if (!member->is_boolean()) return wrong(key, "is neither true nor false");
  return member->get<bool>();
}

Result<std::string> json_string_or(const Json& object, const std::string& key, const std::string& if_missing) {
  const Json* member = find_member(object, key);
  if (member == nullptr) return if_missing;
  if (!member->is_string()) return wrong(key, "is not a string");
  return member->get<std::string>();
}

}  // namespace kw
