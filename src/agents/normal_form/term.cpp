#include "agents/normal_form/term.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kw {

int TermBook::add(Term term) {
  for (const int part : term.parts)
    if (part < 0) return -1;
  if (terms_.size() >= most_terms) return -1;
  std::string key = fmt::format("{} {} {} {} {}", static_cast<int>(term.kind), term.text, static_cast<int>(term.op),
                                term.value, term.keeps_axis);
  for (const int part : term.parts) key += fmt::format(" {}", part);
  for (const std::string& own : term.keys) key += "," + own;
  for (const std::int64_t own : term.numbers) key += fmt::format(";{}", own);
  const auto [found, fresh] = places_.emplace(std::move(key), static_cast<int>(terms_.size()));
  if (fresh) terms_.push_back(std::move(term));
  return found->second;
}

int TermBook::number(double value) {
  Term term;
  term.kind = TermKind::number;
  term.value = value;
  term.text = torch_constant(value);
  term.shape = std::vector<std::string>{};
  return add(std::move(term));
}

int TermBook::word(std::string text) {
  Term term;
  term.text = std::move(text);
  term.shape = std::vector<std::string>{};
  return add(std::move(term));
}

int TermBook::core(std::string what, std::vector<int> parts, std::vector<std::int64_t> numbers, TermShape shape,
                   bool keeps_axis) {
  for (const int part : parts)
    if (part < 0) return -1;
  Term term;
  term.kind = TermKind::core;
  term.text = std::move(what);
  term.floating = !parts.empty() && at(parts[0]).floating;
  term.parts = std::move(parts);
  term.numbers = std::move(numbers);
  term.shape = std::move(shape);
  term.keeps_axis = keeps_axis;
  return add(std::move(term));
}

std::optional<std::int64_t> TermBook::whole(int id) const {
  if (id < 0 || at(id).kind != TermKind::number) return std::nullopt;
  const double value = at(id).value;
  if (std::abs(value) > 1e9 || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<int> TermBook::rank(int id) const {
  if (id < 0 || !at(id).shape) return std::nullopt;
  return static_cast<int>(at(id).shape->size());
}

bool TermBook::is_flat(int id) const {
  const Term& term = at(id);
  switch (term.kind) {
    case TermKind::input:
      return term.shape && term.shape->empty();
    case TermKind::size:
    case TermKind::number:
    case TermKind::word:
      return true;
    case TermKind::core:
      return false;
    default:
      return std::all_of(term.parts.begin(), term.parts.end(), [&](int part) { return is_flat(part); });
  }
}

TermShape broadcast(const std::vector<TermShape>& shapes) {
  std::vector<std::string> made;
  for (const TermShape& shape : shapes) {
    if (!shape) return std::nullopt;
    if (shape->size() > made.size()) made.insert(made.begin(), shape->size() - made.size(), "1");
    for (std::size_t i = 0; i < shape->size(); ++i) {
      std::string& extent = made[made.size() - shape->size() + i];
      if (extent == "1") extent = (*shape)[i];
    }
  }
  return made;
}

namespace {

int plain_scalar(TermBook& book, Op op, int first, int second, int third, double value) {
  Term term;
  term.kind = TermKind::scalar;
  term.op = op;
  term.value = value;
  std::vector<TermShape> shapes;
  for (const int part : {first, second, third}) {
    if (part < 0) continue;
    term.parts.push_back(part);
    shapes.push_back(book.at(part).shape);
    term.floating = term.floating || book.at(part).floating;
  }
  static constexpr Op whole_ops[] = {Op::add,    Op::subtract, Op::multiply, Op::maximum, Op::minimum, Op::select,
                                     Op::negate, Op::absolute, Op::square,   Op::relu,    Op::clamp};
  if (std::find(std::begin(whole_ops), std::end(whole_ops), op) == std::end(whole_ops)) term.floating = true;
  term.shape = broadcast(shapes);
  return book.add(std::move(term));
}

bool is_zero(const TermBook& book, int id) {
  return book.is_number(id, 0) || (book.at(id).kind == TermKind::python && book.at(id).text == "call torch.zeros_like");
}

// sqrt(e): e. rsqrt(e) is the same in a product.
std::optional<int> under_root(const TermBook& book, int id, Op root) {
  if (!book.is_op(id, root)) return std::nullopt;
  return book.at(id).parts[0];
}

// `term + eps` with a number: the term; eps goes to `eps`.
std::optional<int> without_eps(const TermBook& book, int id, double& eps) {
  if (!book.is_op(id, Op::add) || book.at(book.at(id).parts[1]).kind != TermKind::number) return std::nullopt;
  eps = book.at(book.at(id).parts[1]).value;
  return book.at(id).parts[0];
}

bool reduces_last(const TermBook& book, int id, std::string_view what) {
  const Term& term = book.at(id);
  return book.is_core(id, what) && term.keeps_axis && term.numbers.size() >= 1 && term.numbers[0] == -1;
}

int normalisation(TermBook& book, std::string what, int value, double eps) {
  const int number = book.number(eps);
  const TermShape shape = book.at(value).shape;
  return book.core(std::move(what), {value, number}, {}, shape);
}

// mean(square(value)) of every row
bool is_mean_square(const TermBook& book, int id, int value) {
  return reduces_last(book, id, "mean") && book.is_op(book.at(id).parts[0], Op::square) &&
         book.at(book.at(id).parts[0]).parts[0] == value;
}

// value / sqrt(rooted) where that is a normalisation; -1 where it is not.
int normalised_by_root(TermBook& book, int value, int rooted) {
  double eps = 0;
  const auto inner = without_eps(book, rooted, eps);
  if (!inner) return -1;
  // (x - mean(x)) / sqrt(var(x) + eps)
  if (book.is_op(value, Op::subtract)) {
    const int x = book.at(value).parts[0], mean = book.at(value).parts[1];
    const bool centred = reduces_last(book, mean, "mean") && book.at(mean).parts[0] == x;
    const bool direct = reduces_last(book, *inner, "var") && book.at(*inner).numbers[1] == 0 &&
                        (book.at(*inner).parts[0] == x || book.at(*inner).parts[0] == value);
    if (centred && (direct || is_mean_square(book, *inner, value))) return normalisation(book, "layer_norm", x, eps);
  }
  // x / sqrt(mean(square(x)) + eps)
  return is_mean_square(book, *inner, value) ? normalisation(book, "rms_norm", value, eps) : -1;
}

int divided(TermBook& book, int first, int second) {
  // 1 / sqrt(e), 1 / (1 + exp(-e))
  if (book.is_number(first, 1)) {
    if (const auto inner = under_root(book, second, Op::sqrt)) return make_scalar(book, Op::rsqrt, *inner);
    if (book.is_op(second, Op::add) && book.is_number(book.at(second).parts[1], 1)) {
      const int power = book.at(second).parts[0];
      if (book.is_op(power, Op::exp) && book.is_op(book.at(power).parts[0], Op::negate))
        return make_scalar(book, Op::sigmoid, book.at(book.at(power).parts[0]).parts[0]);
    }
  }
  if (const auto inner = under_root(book, second, Op::sqrt))
    if (const int made = normalised_by_root(book, first, *inner); made >= 0) return made;
  // exp(x - amax(x)) / sum(exp(x - amax(x)))
  if (reduces_last(book, second, "sum") && book.at(second).parts[0] == first && book.is_op(first, Op::exp)) {
    const int shifted = book.at(first).parts[0];
    int value = shifted;
    if (book.is_op(shifted, Op::subtract)) {
      const int most = book.at(shifted).parts[1];
      if (reduces_last(book, most, "amax") && book.at(most).parts[0] == book.at(shifted).parts[0])
        value = book.at(shifted).parts[0];
    }
    return book.core("softmax", {value}, {-1}, book.at(value).shape);
  }
  // x / max(norm(x), 1e-12)
  if (book.is_op(second, Op::maximum) && book.is_number(book.at(second).parts[1], 1e-12)) {
    const int norm = book.at(second).parts[0];
    if (reduces_last(book, norm, "norm2") && book.at(norm).parts[0] == first)
      return book.core("l2_normalize", {first}, {-1}, book.at(first).shape);
  }
  // sum(x) / x.size(d)
  if (book.at(second).kind == TermKind::size && book.is_core(first, "sum") && book.at(first).numbers.size() == 1 &&
      book.at(first).floating) {
    const Term sum = book.at(first);
    const TermShape& shape = book.at(sum.parts[0]).shape;
    if (shape) {
      const std::int64_t axis = sum.numbers[0] < 0 ? static_cast<std::int64_t>(shape->size()) - 1 : sum.numbers[0];
      if ((*shape)[static_cast<std::size_t>(axis)] == book.at(second).text)
        return book.core("mean", sum.parts, sum.numbers, sum.shape, sum.keeps_axis);
    }
  }
  // x / 2 is x * 0.5
  if (book.at(second).kind == TermKind::number && book.at(first).floating && book.at(second).value != 0) {
    const double factor = 1 / book.at(second).value;
    const std::string text = torch_constant(factor);
    if (text.size() <= 6 && text.find('e') == std::string::npos)
      return make_scalar(book, Op::multiply, first, book.number(factor));
  }
  // The grammar's softsign: x / (1 + |x|)
  if (book.is_op(second, Op::add) && book.is_number(book.at(second).parts[1], 1)) {
    const int size = book.at(second).parts[0], one = book.at(second).parts[1];
    if (book.is_op(size, Op::absolute) && book.at(size).parts[0] == first)
      return plain_scalar(book, Op::divide, first, plain_scalar(book, Op::add, one, size, -1, 0), -1, 0);
  }
  return plain_scalar(book, Op::divide, first, second, -1, 0);
}

// x * 0.5 * (erf(x / sqrt(2)) + 1), written out: x; -1 where it is something else.
int gelu_argument(const TermBook& book, int half, int factor) {
  if (!book.is_op(half, Op::multiply) || !book.is_number(book.at(half).parts[1], 0.5)) return -1;
  if (!book.is_op(factor, Op::add) || !book.is_number(book.at(factor).parts[1], 1)) return -1;
  const Term& erf = book.at(book.at(factor).parts[0]);
  if (erf.kind != TermKind::python || erf.text != "call torch.erf") return -1;
  const int x = book.at(half).parts[0], scaled = erf.parts[0];
  const bool divided = book.is_op(scaled, Op::divide);
  if ((!divided && !book.is_op(scaled, Op::multiply)) || book.at(scaled).parts[0] != x) return -1;
  const Term& by = book.at(book.at(scaled).parts[1]);
  const bool root = by.kind == TermKind::python && by.text == "call math.sqrt" && book.is_number(by.parts[0], 2);
  const double value = by.kind == TermKind::number ? by.value : 0;
  const bool fits = divided ? root || std::abs(value - std::sqrt(2.0)) < 1e-7 : std::abs(value - std::sqrt(0.5)) < 1e-7;
  return fits ? x : -1;
}

int multiplied(TermBook& book, int first, int second) {
  if (first == second) return make_scalar(book, Op::square, first);
  if (const int x = gelu_argument(book, first, second); x >= 0) return make_scalar(book, Op::gelu, x);
  for (const auto& [value, factor] : {std::pair(first, second), std::pair(second, first)}) {
    if (book.is_op(factor, Op::sigmoid) && book.at(factor).parts[0] == value) return make_scalar(book, Op::silu, value);
    const auto inner = under_root(book, factor, Op::rsqrt);
    if (!inner) continue;
    if (const int made = normalised_by_root(book, value, *inner); made >= 0) return made;
    // (w * x) * rsqrt(mean(square(x)) + eps)
    if (!book.is_op(value, Op::multiply)) continue;
    const int left = book.at(value).parts[0], right = book.at(value).parts[1];
    if (const int made = normalised_by_root(book, left, *inner); made >= 0)
      return plain_scalar(book, Op::multiply, made, right, -1, 0);
    if (const int made = normalised_by_root(book, right, *inner); made >= 0)
      return plain_scalar(book, Op::multiply, made, left, -1, 0);
  }
  return plain_scalar(book, Op::multiply, first, second, -1, 0);
}

int subtracted(TermBook& book, int first, int second) {
  if (book.at(second).kind == TermKind::number && book.at(second).value < 0)
    return plain_scalar(book, Op::add, first, book.number(-book.at(second).value), -1, 0);
  if (book.is_core(first, "cumsum") && book.at(first).parts[0] == second && book.at(first).numbers[0] == -1)
    return book.core("exclusive_cumsum", {second}, {-1}, book.at(second).shape);
  if (reduces_last(book, second, "logsumexp") && book.at(second).parts[0] == first)
    return book.core("log_softmax", {first}, {-1}, book.at(first).shape);
  return plain_scalar(book, Op::subtract, first, second, -1, 0);
}

// 1 + |e|
bool is_one_and_size(const TermBook& book, int first, int second) {
  return book.is_number(first, 1) && book.is_op(second, Op::absolute);
}
int with_number_behind(TermBook& book, int id) {
  if (id < 0 || !book.is_op(id, Op::add)) return id;
  const int first = book.at(id).parts[0], second = book.at(id).parts[1];
  return is_one_and_size(book, first, second) ? plain_scalar(book, Op::add, second, first, -1, 0) : id;
}

}  // namespace

int make_scalar(TermBook& book, Op op, int first, int second, int third, double value) {
  if (first < 0 || (arity_of(op) > 1 && second < 0) || (arity_of(op) > 2 && third < 0)) return -1;
  const bool commutes = op == Op::add || op == Op::multiply || op == Op::maximum || op == Op::minimum;
  // The grammar has `1 + |x|` in denominators only.
  const bool denominator = op == Op::add && is_one_and_size(book, first, second);
  if (commutes && !denominator && book.is_flat(first) && !book.is_flat(second)) std::swap(first, second);
  first = with_number_behind(book, first);
  if (op != Op::divide) second = with_number_behind(book, second);
  third = with_number_behind(book, third);
  switch (op) {
    case Op::add:
      if (book.at(second).kind == TermKind::number && book.at(second).value < 0)
        return plain_scalar(book, Op::subtract, first, book.number(-book.at(second).value), -1, 0);
      break;
    case Op::subtract:
      return subtracted(book, first, second);
    case Op::multiply:
      return multiplied(book, first, second);
    case Op::divide:
      return divided(book, first, second);
    case Op::maximum:
      if (is_zero(book, second)) return make_scalar(book, Op::relu, first);
      break;
    case Op::negate:
      if (book.at(first).kind == TermKind::number) return book.number(-book.at(first).value);
      break;
    case Op::sqrt:
      if (book.is_core(first, "one")) {
        const int inner = make_scalar(book, Op::sqrt, book.at(first).parts[0]);
        if (inner >= 0 && book.is_core(inner, "norm2")) return book.core("one", {inner}, {}, book.at(first).shape);
      }
      // The norm of a row is one operation.
      if (book.is_core(first, "sum") && book.is_op(book.at(first).parts[0], Op::square) &&
          book.at(first).numbers.size() == 1) {
        const Term sum = book.at(first);
        return book.core("norm2", {book.at(sum.parts[0]).parts[0]}, sum.numbers, sum.shape, sum.keeps_axis);
      }
      break;
    case Op::log1p:
      if (book.is_op(first, Op::exp)) return make_scalar(book, Op::softplus, book.at(first).parts[0]);
      break;
    default:
      break;
  }
  return plain_scalar(book, op, first, second, third, value);
}

int make_power(TermBook& book, int base, int exponent) {
  if (base < 0 || exponent < 0) return -1;
  if (book.is_number(exponent, 2)) return make_scalar(book, Op::square, base);
  if (book.at(base).floating) {
    if (book.is_number(exponent, 0.5)) return make_scalar(book, Op::sqrt, base);
    if (book.is_number(exponent, -0.5)) return make_scalar(book, Op::rsqrt, base);
    if (book.is_number(exponent, 1)) return base;
  }
  Term term;
  term.kind = TermKind::python;
  term.text = "**";
  term.elementwise = true;
  term.floating = book.at(base).floating || book.at(exponent).floating;
  term.shape = broadcast({book.at(base).shape, book.at(exponent).shape});
  term.parts = {base, exponent};
  return book.add(std::move(term));
}

int make_clamp(TermBook& book, int value, int low, int high) {
  const bool has_low = low >= 0 && !book.is_word(low, "None"), has_high = high >= 0 && !book.is_word(high, "None");
  if (value < 0 || (!has_low && !has_high)) return -1;
  const auto number = [&](int id) { return book.at(id).kind == TermKind::number; };
  if ((has_low && !number(low)) || (has_high && !number(high))) {
    int made = value;
    if (has_low) made = make_scalar(book, Op::maximum, made, low);
    if (has_high && made >= 0) made = make_scalar(book, Op::minimum, made, high);
    return made;
  }
  if (has_low && has_high && book.at(high).value > 0 && book.at(low).value == -book.at(high).value)
    return make_scalar(book, Op::clamp, value, -1, -1, book.at(high).value);
  int made = value;
  if (has_low) made = make_scalar(book, Op::maximum, made, low);
  if (has_high && made >= 0) made = make_scalar(book, Op::minimum, made, high);
  return made;
}

int make_where(TermBook& book, int condition, int yes, int no) {
  if (condition < 0 || yes < 0 || no < 0) return -1;
  const Term& compared = book.at(condition);
  const bool positive = compared.kind == TermKind::python && (compared.text == ">" || compared.text == ">=") &&
                        book.is_number(compared.parts[1], 0);
  if (positive) {
    const int x = compared.parts[0];
    if (yes == x) {
      if (is_zero(book, no)) return make_scalar(book, Op::relu, x);
      if (book.is_op(no, Op::multiply) && book.at(no).parts[0] == x &&
          book.at(book.at(no).parts[1]).kind == TermKind::number && book.at(x).floating)
        return make_scalar(book, Op::leaky_relu, x, -1, -1, book.at(book.at(no).parts[1]).value);
    }
    const bool operand = book.at(x).kind == TermKind::input || book.is_core(x, "along");
    if (compared.text == ">" && operand) return make_scalar(book, Op::select, x, yes, no);
  }
  Term term;
  term.kind = TermKind::python;
  term.text = "call torch.where";
  term.parts = {condition, yes, no};
  term.keys = {"", "", ""};
  term.elementwise = true;
  term.floating = book.at(yes).floating || book.at(no).floating;
  term.shape = broadcast({compared.shape, book.at(yes).shape, book.at(no).shape});
  return book.add(std::move(term));
}

}  // namespace kw
