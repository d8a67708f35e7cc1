#include "runtime/count.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/domain.h"
#include "core/external.h"
#include "core/infer.h"
#include "core/reference.h"
#include "core/typing.h"
#include "runtime/arguments.h"
#include "runtime/points.h"

namespace moonloop {
namespace {

struct Ops {
  std::int64_t flops = 0, integers = 0;
  Ops operator+(const Ops& o) const { return {flops + o.flops, integers + o.integers}; }
  Ops times(std::int64_t n) const { return {flops * n, integers * n}; }
};

enum class OpKind { Add, Multiply, Divide, Other };

/// Counts the operations of one instruction; reductions' bodies go to a list of their own, because
/// they run more often.
class OpCounter {
 public:
  struct Body {
    std::vector<std::string> inames;  // of the reductions around it
    Ops ops;
  };

  OpCounter(const Kernel& k, bool& exact) : typer_(k), exact_(exact) {}

  std::vector<Body> count(const Expr& e, const std::optional<Type>& wanted) {
    bodies_.clear();
    inames_.clear();
    const Ops ops = of(e, wanted);
    bodies_.push_back({{}, ops});
    return std::move(bodies_);
  }

 private:
  Ops one(const Expr& e, const std::optional<Type>& wanted, OpKind kind,
          std::int64_t times = 1) const {
    const auto typed = typer_.type(e, wanted);
    return typed ? weighed(typed->type, kind).times(times) : Ops{};
  }
  static Ops weighed(const Type& type, OpKind kind) {
    if (type.is_record()) return {};
    const Scalar s = type.scalar;
    if (!is_real(s) && !is_complex(s)) return {0, 1};
    if (is_real(s)) return {1, 0};
    switch (kind) {
      case OpKind::Add: return {2, 0};
      case OpKind::Multiply: return {6, 0};
      case OpKind::Divide: return {11, 0};
      case OpKind::Other: return {1, 0};
    }
    return {};
  }

  Ops all(const Exprs& es, const std::optional<Type>& wanted) {
    Ops out;
    for (const Expr& e : es) out = out + of(e, wanted);
    return out;
  }

  Ops of(const Expr& e, const std::optional<Type>& wanted) {
    return e.visit(
        overload{[](const IntLit&) { return Ops{}; }, [](const FloatLit&) { return Ops{}; },
                 [](const ComplexLit&) { return Ops{}; }, [](const BoolLit&) { return Ops{}; },
                 [](const Var&) { return Ops{}; },
                 [](const Load&) { return Ops{}; },  // subscripts are not counted
                 [&](const Field& x) { return of(x.base, {}); },
                 [&](const Unary& x) { return of(x.arg, wanted); },
                 [&](const Binary& x) { return binary(e, x, wanted); },
                 [&](const Nary& x) { return nary(e, x, wanted); },
                 [&](const Compare& x) { return of(x.left, {}) + of(x.right, {}); },
                 [&](const Select& x) { return select(x, wanted); },
                 [&](const Call& x) { return called(e, x, wanted); },
                 [&](const Reduce& x) { return reduce(x, wanted); },
                 [&](const Cast& x) { return of(x.arg, x.type); },
                 [](const Slice&) { return Ops{}; }, [](const SubArray&) { return Ops{}; }});
  }

  Ops binary(const Expr& e, const Binary& x, const std::optional<Type>& wanted) {
    const Ops inner = of(x.left, wanted) + of(x.right, wanted);
    const auto exponent = x.op == BinaryOp::Pow ? as_int(x.right) : std::nullopt;
    if (exponent && *exponent >= 2 && *exponent <= 16)
      return inner + one(e, wanted, OpKind::Multiply, *exponent - 1);
    return inner + one(e, wanted, x.op == BinaryOp::Div ? OpKind::Divide : OpKind::Other);
  }

  Ops nary(const Expr& e, const Nary& x, const std::optional<Type>& wanted) {
    const Ops inner = all(x.terms, wanted);
    if (x.op == NaryOp::And || x.op == NaryOp::Or) return inner;
    return inner + one(e, wanted, x.op == NaryOp::Mul ? OpKind::Multiply : OpKind::Add,
                       static_cast<std::int64_t>(x.terms.size()) - 1);
  }

  Ops select(const Select& x, const std::optional<Type>& wanted) {
    const Ops yes = of(x.yes, wanted), no = of(x.no, wanted);
    if (yes.flops != no.flops || yes.integers != no.integers) exact_ = false;
    return of(x.cond, {}) + Ops{std::max(yes.flops, no.flops), std::max(yes.integers, no.integers)};
  }

  Ops called(const Expr& e, const Call& x, const std::optional<Type>& wanted) {
    if (x.name == "make_tuple" || x.name == "indexof" || x.name == "real" || x.name == "imag")
      return all(x.args, wanted);
    return all(x.args, {}) + one(e, wanted, OpKind::Other);
  }

  Ops reduce(const Reduce& x, const std::optional<Type>& wanted) {
    inames_.insert(inames_.end(), x.inames.begin(), x.inames.end());
    Ops body = all(x.args, wanted);
    if (const auto typed = typer_.type(x.args[0], wanted))
      body = body + weighed(reduced_type(x.op, 0, typed->type),
                            x.op == ReduceOp::Product ? OpKind::Multiply : OpKind::Add);
    bodies_.push_back({inames_, body});
    inames_.resize(inames_.size() - x.inames.size());
    return {};
  }

  Typer typer_;
  bool& exact_;
  std::vector<std::string> inames_;
  std::vector<Body> bodies_;
};

class WorkCounter {
 public:
  WorkCounter(const Kernel& k, const Integers& values) : k_(k), values_(values) {}

  std::optional<Work> count() {
    OpCounter counter(k_, work_.exact);
    for (const InsnPtr& insn : k_.instructions) {
      if (!insn->rhs || external_call(k_, *insn)) continue;
      const std::optional<Type> wanted =
          insn->lhs.size() == 1 ? std::optional(type_of(k_, insn->lhs[0])) : std::nullopt;
      for (const OpCounter::Body& b : counter.count(insn->rhs, wanted)) {
        const auto n = instances(*insn, b.inames);
        if (!n) return std::nullopt;
        if (!add(work_.instances, *n, 1) || !add(work_.flops, *n, b.ops.flops) ||
            !add(work_.integer_ops, *n, b.ops.integers))
          return std::nullopt;
      }
    }
    if (!count_bytes()) return std::nullopt;
    return work_;
  }

 private:
  static bool add(std::int64_t& to, std::int64_t n, std::int64_t each) {
    std::int64_t p = 0;
    return !__builtin_mul_overflow(n, each, &p) && !__builtin_add_overflow(to, p, &to);
  }

  /// The instances of an instruction, with the points of the reductions in it.
  const Set& domain(const Instruction& insn, const std::vector<std::string>& bound) {
    std::vector<std::string> inames(insn.inames.begin(), insn.inames.end());
    inames.insert(inames.end(), bound.begin(), bound.end());
    std::string key = fmt::format("{}|", fmt::join(inames, ","));
    for (const Expr& p : insn.predicates) key += to_string(p) + "|";
    const auto [it, is_new] = domains_.try_emplace(key);
    if (!is_new) {
      if (inexact_.count(key)) work_.exact = false;
      return it->second;
    }
    Set d = domain_of(k_, inames);
    for (const Expr& p : insn.predicates) {
      if (auto holds = to_condition(p, inames)) {
        d = isl_set_intersect(d.take(), holds->take());
      } else {
        inexact_.insert(key);
        work_.exact = false;
      }
    }
    return it->second = std::move(d);
  }

  std::optional<std::int64_t> instances(const Instruction& insn,
                                        const std::vector<std::string>& bound) {
    const Set& d = domain(insn, bound);
    const auto it = counts_.find(&d);
    if (it != counts_.end()) return it->second;
    return counts_[&d] = count_points(d, values_);
  }

  /// The part of an array that is read, or written.
  struct Touched {
    Set elements;  // null: none yet
    int accesses = 0;
    bool all = false;
  };

  void touch(Touched& t, const Argument& array, const Instruction& insn, const Access& access) {
    if (t.all) return;
    const auto map_over = [&](const std::vector<std::string>& inames) {
      return to_map(access.index, inames);
    };
    std::vector<std::string> bound;
    for (const std::string& i : all_inames(k_, insn))
      if (!insn.inames.count(i)) bound.push_back(i);
    std::vector<std::string> inames(insn.inames.begin(), insn.inames.end());
    inames.insert(inames.end(), bound.begin(), bound.end());
    auto map = access.index.size() == array.shape->size() ? map_over(inames) : std::nullopt;
    // Very many distinct accesses: their union is not worth the time.
    if (!map || ++t.accesses > 64) {
      t.all = true;
      work_.exact = false;
      return;
    }
    Set image = isl_set_apply(domain(insn, bound).copy(), map->take());
    image = isl_set_reset_tuple_id(image.take());
    t.elements =
        t.elements ? Set(isl_set_union(t.elements.take(), image.take())) : std::move(image);
  }

  bool count_bytes() {
    std::map<std::pair<std::string, bool>, Touched> touched;
    std::set<std::string> seen;
    for (const InsnPtr& insn : k_.instructions) {
      for (const Access& a : accesses_of(*insn, k_)) {
        const Argument* array = k_.find_arg(a.variable);
        if (!array || !array->is_array) continue;
        std::string key = fmt::format("{}{}[{}] {}", a.write ? "w" : "r", a.variable,
                                      to_string(a.index), fmt::join(insn->inames, ","));
        for (const Expr& p : insn->predicates) key += to_string(p);
        if (seen.insert(key).second) touch(touched[{a.variable, a.write}], *array, *insn, a);
      }
    }
    for (const auto& [which, t] : touched) {
      const Argument& array = *k_.find_arg(which.first);
      std::optional<std::int64_t> n;
      if (!t.all) n = count_points(t.elements, values_, 50'000'000);
      if (!n) {
        n = layout_of(array, values_).elements();
        if (!t.all) work_.exact = false;
      }
      if (!add(which.second ? work_.bytes_written : work_.bytes_read, *n, array.type->size()))
        return false;
    }
    return true;
  }

  const Kernel& k_;
  const Integers& values_;
  Work work_;
  std::map<std::string, Set> domains_;
  std::set<std::string> inexact_;
  std::map<const Set*, std::optional<std::int64_t>> counts_;
};

}  // namespace

std::optional<Work> count_work(const Kernel& k, const Integers& values) {
  return WorkCounter(expand_all_rules(k), values).count();
}

}  // namespace moonloop
