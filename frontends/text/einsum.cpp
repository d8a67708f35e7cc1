#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/text/array_values.h"

namespace moonloop::text {
namespace {

constexpr std::size_t kMostForAll = 10;  // operands of which all orders are compared

std::set<char> letters_of(const std::string& s) { return {s.begin(), s.end()}; }

double size_of(const std::set<char>& labels, const std::function<double(char)>& length) {
  double out = 1;
  for (const char l : labels) out *= length(l);
  return out;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// The best order for each set of operands, from the smaller sets.
class BestOrder {
 public:
  BestOrder(const EinsumLabels& labels, const std::function<double(char)>& length)
      : length_(length), all_((std::size_t{1} << labels.operands.size()) - 1) {
    for (const std::string& o : labels.operands) own_.push_back(letters_of(o));
    result_ = letters_of(labels.result);
    cost_.assign(all_ + 1, std::numeric_limits<double>::infinity());
    split_.assign(all_ + 1, 0);
    for (std::size_t s = 1; s <= all_; ++s) solve(s);
  }

  Pairs pairs() {
    std::vector<std::size_t> present;  // sets of operands, by their places
    for (std::size_t n = 0; n < own_.size(); ++n) present.push_back(std::size_t{1} << n);
    Pairs out;
    emit(all_, present, out);
    return out;
  }

 private:
  void solve(std::size_t s) {
    if ((s & (s - 1)) == 0) {
      cost_[s] = 0;
      return;
    }
    for (std::size_t part = (s - 1) & s; part > 0; part = (part - 1) & s) {
      const std::size_t rest = s ^ part;
      if (part > rest) continue;
      std::set<char> labels = open(part);
      const std::set<char> others = open(rest);
      labels.insert(others.begin(), others.end());
      const double cost = cost_[part] + cost_[rest] + size_of(labels, length_);
      if (cost < cost_[s]) cost_[s] = cost, split_[s] = part;
    }
  }
  /// The labels of a set's product that are in the result, or in operands outside of it.
  std::set<char> open(std::size_t s) const {
    std::set<char> inside, outside = result_;
    for (std::size_t n = 0; n < own_.size(); ++n)
      (s >> n & 1 ? inside : outside).insert(own_[n].begin(), own_[n].end());
    if ((s & (s - 1)) == 0) return inside;
    std::erase_if(inside, [&](char l) { return !outside.contains(l); });
    return inside;
  }
  void emit(std::size_t s, std::vector<std::size_t>& present, Pairs& out) const {
    if ((s & (s - 1)) == 0) return;
    emit(split_[s], present, out);
    emit(s ^ split_[s], present, out);
    const auto place = [&](std::size_t of) {
      return static_cast<std::size_t>(std::find(present.begin(), present.end(), of) -
                                      present.begin());
    };
    std::size_t a = place(split_[s]), b = place(s ^ split_[s]);
    if (a > b) std::swap(a, b);
    out.emplace_back(a, b);
    present[a] = s;
    present.erase(present.begin() + static_cast<std::ptrdiff_t>(b));
  }

  const std::function<double(char)>& length_;
  std::size_t all_;
  std::vector<std::set<char>> own_;
  std::set<char> result_;
  std::vector<double> cost_;
  std::vector<std::size_t> split_;
};

Pairs cheapest_first(const EinsumLabels& labels, const std::function<double(char)>& length) {
  Pairs out;
  std::vector<std::string> names = labels.operands;
  while (names.size() > 1) {
    std::pair<std::size_t, std::size_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < names.size(); ++a)
      for (std::size_t b = a + 1; b < names.size(); ++b)
        if (const double c = size_of(letters_of(names[a] + names[b]), length); c < least)
          least = c, best = {a, b};
    names[best.first] = einsum_pair(names, best.first, best.second, labels.result);
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(best.second));
    out.push_back(best);
  }
  return out;
}

}  // namespace

EinsumLabels einsum_labels(const std::string& text, std::size_t operands, const Span& at) {
  EinsumLabels out;
  std::string plain;
  for (const char c : text)
    if (c != ' ') plain += c;
  const std::size_t arrow = plain.find("->");
  const std::string left = plain.substr(0, arrow);
  std::map<char, int> uses;
  out.operands.emplace_back();
  for (const char c : left) {
    if (c == ',') {
      out.operands.emplace_back();
    } else if (std::isalpha(static_cast<unsigned char>(c))) {
      out.operands.back() += c;
      ++uses[c];
    } else {
      fail("bad-einsum", at, "`{}` in \"{}\" is no letter", c, text);
    }
  }
  if (out.operands.size() != operands)
    fail("bad-einsum", at, "\"{}\" is of {} array{}, got {}", text, out.operands.size(),
         out.operands.size() == 1 ? "" : "s", operands);
  if (arrow == std::string::npos) {  // the letters that occur once, in their order
    for (const auto& [c, n] : uses)
      if (n == 1) out.result += c;
    return out;
  }
  for (const char c : plain.substr(arrow + 2)) {
    if (!uses.contains(c))
      fail("bad-einsum", at, "`{}` of the result of \"{}\" is an axis of no array", c, text);
    if (out.result.find(c) != std::string::npos)
      fail("bad-einsum", at, "`{}` occurs twice in the result of \"{}\"", c, text);
    out.result += c;
  }
  return out;
}

std::string einsum_pair(const std::vector<std::string>& operands, std::size_t a, std::size_t b,
                        const std::string& result) {
  std::set<char> needed = letters_of(result);
  for (std::size_t n = 0; n < operands.size(); ++n)
    if (n != a && n != b) needed.insert(operands[n].begin(), operands[n].end());
  std::string out;
  for (const char l : operands[a] + operands[b])
    if (needed.contains(l) && out.find(l) == std::string::npos) out += l;
  return out;
}

std::vector<std::pair<std::size_t, std::size_t>> einsum_order(
    const EinsumLabels& labels, const std::function<double(char)>& length) {
  if (labels.operands.size() > kMostForAll) return cheapest_first(labels, length);
  return BestOrder(labels, length).pairs();
}

}  // namespace moonloop::text
