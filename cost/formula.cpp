#include "cost/formula.h"

#include <algorithm>
#include <cmath>

#include "codegen/reserved.h"
#include "core/base/diagnostic.h"

namespace moonloop::cost {
namespace {

class RealEvaluator {
 public:
  explicit RealEvaluator(const Integers& values) : values_(values) {}

  std::optional<double> of(const Expr& e) const {
    if (const auto* x = e.as<IntLit>()) return static_cast<double>(x->value);
    if (const auto* x = e.as<BoolLit>()) return x->value ? 1 : 0;
    if (const auto* x = e.as<Var>()) {
      const auto it = values_.find(x->name);
      if (it == values_.end()) return {};
      return static_cast<double>(it->second);
    }
    if (const auto* x = e.as<Unary>()) return unary(*x);
    if (const auto* x = e.as<Binary>()) return binary(*x);
    if (const auto* x = e.as<Nary>()) return nary(*x);
    if (const auto* x = e.as<Compare>()) return compare(*x);
    if (const auto* x = e.as<Select>()) {
      const auto c = of(x->cond);
      if (!c) return {};
      return of(*c != 0 ? x->yes : x->no);
    }
    if (const auto* x = e.as<Call>()) return extremum(*x);
    return {};
  }

 private:
  std::optional<double> unary(const Unary& x) const {
    const auto v = of(x.arg);
    if (!v) return {};
    if (x.op == UnaryOp::Not) return *v == 0 ? 1 : 0;
    if (x.op == UnaryOp::BitNot) return {};
    return -*v;
  }
  std::optional<double> binary(const Binary& x) const {
    const auto a = of(x.left), b = of(x.right);
    if (!a || !b) return {};
    if (x.op == BinaryOp::Pow) return std::pow(*a, *b);
    if (*b == 0) return {};
    if (x.op == BinaryOp::FloorDiv) return std::floor(*a / *b);
    if (x.op == BinaryOp::Mod) return *a - std::floor(*a / *b) * *b;
    return {};
  }
  std::optional<double> nary(const Nary& x) const {
    double out = x.op == NaryOp::Mul || x.op == NaryOp::And ? 1 : 0;
    for (const Expr& t : x.terms) {
      const auto v = of(t);
      if (!v) return {};
      switch (x.op) {
        case NaryOp::Add: out += *v; break;
        case NaryOp::Mul: out *= *v; break;
        case NaryOp::And: out = out != 0 && *v != 0 ? 1 : 0; break;
        case NaryOp::Or: out = out != 0 || *v != 0 ? 1 : 0; break;
        case NaryOp::BitAnd:
        case NaryOp::BitOr:
        case NaryOp::BitXor: return {};
      }
    }
    return out;
  }
  std::optional<double> compare(const Compare& x) const {
    const auto a = of(x.left), b = of(x.right);
    if (!a || !b) return {};
    switch (x.op) {
      case CompareOp::Eq: return *a == *b ? 1 : 0;
      case CompareOp::Ne: return *a != *b ? 1 : 0;
      case CompareOp::Lt: return *a < *b ? 1 : 0;
      case CompareOp::Le: return *a <= *b ? 1 : 0;
      case CompareOp::Gt: return *a > *b ? 1 : 0;
      case CompareOp::Ge: return *a >= *b ? 1 : 0;
    }
    return {};
  }
  std::optional<double> extremum(const Call& x) const {
    if ((x.name != "min" && x.name != "max") || x.args.empty()) return {};
    std::optional<double> out;
    for (const Expr& a : x.args) {
      const auto v = of(a);
      if (!v) return {};
      if (!out || (x.name == "min" ? *v < *out : *v > *out)) out = v;
    }
    return out;
  }

  const Integers& values_;
};

/// Precedence of the texts.
enum class Binds { Choice, Logic, Order, Sum, Product, Operand };

class RealPrinter {
 public:
  std::string text(const Expr& e, Binds least = Binds::Choice) const {
    const auto [out, binds] = print(e);
    return binds < least ? "(" + out + ")" : out;
  }

 private:
  using Text = std::pair<std::string, Binds>;
  static constexpr int kWrittenOut = 4;  // factors of a power

  Text print(const Expr& e) const {
    if (const auto* x = e.as<IntLit>())
      return {fmt::format("{}.0", x->value), x->value < 0 ? Binds::Sum : Binds::Operand};
    if (const auto* x = e.as<BoolLit>()) return {x->value ? "1.0" : "0.0", Binds::Operand};
    if (const auto* x = e.as<Var>())
      return {unreserved(Surroundings::Cuda, NameUse::Local, x->name), Binds::Operand};
    if (const auto* x = e.as<Unary>())
      return {(x->op == UnaryOp::Not ? "!" : "-") + text(x->arg, Binds::Operand), Binds::Product};
    if (const auto* x = e.as<Binary>()) return binary(*x);
    if (const auto* x = e.as<Nary>()) return nary(*x);
    if (const auto* x = e.as<Compare>())
      return {text(x->left, Binds::Sum) + " " + sign(x->op) + " " + text(x->right, Binds::Sum),
              Binds::Order};
    if (const auto* x = e.as<Select>())
      return {text(x->cond, Binds::Logic) + " ? " + text(x->yes, Binds::Sum) + " : " +
                  text(x->no, Binds::Choice),
              Binds::Choice};
    if (const auto* x = e.as<Call>()) {
      std::string out = text(x->args.front());
      for (std::size_t i = 1; i < x->args.size(); ++i)
        out = fmt::format("f{}({}, {})", x->name, out, text(x->args[i]));
      return {out, Binds::Operand};
    }
    throw InternalError("a formula with an expression that has no value");
  }
  Text binary(const Binary& x) const {
    if (x.op == BinaryOp::Pow) {
      const auto* n = x.right.as<IntLit>();
      if (!n || n->value < 1 || n->value > kWrittenOut)
        return {fmt::format("pow({}, {})", text(x.left), text(x.right)), Binds::Operand};
      std::string out = text(x.left, Binds::Operand);
      const std::string one = out;
      for (std::int64_t i = 1; i < n->value; ++i) out += "*" + one;
      return {out, n->value == 1 ? Binds::Operand : Binds::Product};
    }
    const std::string quotient =
        fmt::format("floor({}/{})", text(x.left, Binds::Product), text(x.right, Binds::Operand));
    if (x.op == BinaryOp::FloorDiv) return {quotient, Binds::Operand};
    return {text(x.left, Binds::Sum) + " - " + quotient + "*" + text(x.right, Binds::Operand),
            Binds::Sum};
  }
  Text nary(const Nary& x) const {
    std::string out;
    const bool is_sum = x.op == NaryOp::Add, is_product = x.op == NaryOp::Mul;
    for (const Expr& t : x.terms) {
      const auto* minus = is_sum ? t.as<Unary>() : nullptr;
      const bool subtracts = minus && minus->op == UnaryOp::Sub && !out.empty();
      if (!out.empty()) out += subtracts ? " - " : is_sum ? " + " : is_product ? "*" : logic(x.op);
      out += subtracts ? text(minus->arg, Binds::Product)
                       : text(t, is_sum       ? Binds::Sum
                                 : is_product ? Binds::Product
                                              : Binds::Order);
    }
    return {out, is_sum ? Binds::Sum : is_product ? Binds::Product : Binds::Logic};
  }
  static const char* logic(NaryOp op) { return op == NaryOp::And ? " && " : " || "; }
  static const char* sign(CompareOp op) {
    switch (op) {
      case CompareOp::Eq: return "==";
      case CompareOp::Ne: return "!=";
      case CompareOp::Lt: return "<";
      case CompareOp::Le: return "<=";
      case CompareOp::Gt: return ">";
      case CompareOp::Ge: return ">=";
    }
    return "";
  }
};

/// Lines of C, broken where they are long.
class Lines {
 public:
  void add(std::size_t depth, const std::vector<std::string>& words, const std::string& end) {
    constexpr std::size_t kColumns = 100;
    std::string line(2 * depth, ' ');
    bool first = true;
    for (const std::string& w : words) {
      if (!first && line.size() + 1 + w.size() + end.size() > kColumns) {
        out_ += line + "\n";
        line = std::string(2 * depth + 4, ' ');
        first = true;
      }
      line += (first ? "" : " ") + w;
      first = false;
    }
    out_ += line + end + "\n";
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void print_node(const Formula& f, std::size_t n, std::size_t depth, Lines& to) {
  const Formula::Node& node = f.nodes[n];
  if (node.quantity) {
    to.add(depth, {fmt::format("if ({} <= {:.4g}) {{", real_text(node.quantity), node.limit)}, "");
    print_node(f, node.within, depth + 1, to);
    to.add(depth, {"}"}, "");
    print_node(f, node.beyond, depth, to);
    return;
  }
  std::vector<std::string> words{"return"};
  for (const Formula::Term& t : node.sum) {
    if (words.size() > 1) words.emplace_back("+");
    const bool one = t.count.as<IntLit>() && t.count.as<IntLit>()->value == 1;
    words.push_back(fmt::format("{:.4g}", t.factor) +
                    (one ? "" : "*" + RealPrinter().text(t.count, Binds::Product)));
  }
  if (node.sum.empty()) words.emplace_back("0.0");
  to.add(depth, words, ";");
}

}  // namespace

std::optional<double> real_value(const Expr& e, const Integers& values) {
  return RealEvaluator(values).of(e);
}

std::string real_text(const Expr& e) { return RealPrinter().text(e); }

double Formula::at(const Integers& values) const {
  std::size_t n = 0;
  while (nodes[n].quantity)
    n = *real_value(nodes[n].quantity, values) <= nodes[n].limit ? nodes[n].within
                                                                 : nodes[n].beyond;
  double out = 0;
  for (const Term& t : nodes[n].sum) out += t.factor * *real_value(t.count, values);
  return out;
}

std::string Formula::c_body() const {
  Lines lines;
  print_node(*this, 0, 1, lines);
  return lines.take();
}

}  // namespace moonloop::cost
