#include "core/interpreter/interpreter_tally.h"

#include <algorithm>

#include "core/base/diagnostic.h"

namespace moonloop::interp {
namespace {

/// A run counts or has bounds.
[[noreturn]] void no_bounds() { throw InternalError("interpreter: bounds in a run that counts"); }

template <class Node, class Result>
struct Counting final : Node {
  std::unique_ptr<Node> inner;
  std::int64_t *counter, times;
  Counting(std::unique_ptr<Node> n, std::int64_t* c, std::int64_t t)
      : inner(std::move(n)), counter(c), times(t) {}
  Result get() const override {
    *counter += times;
    return inner->get();
  }
  Bounded<Result> bounded(const Accuracy&) const override { no_bounds(); }
};
struct CountingAddress final : AddressNode {
  AddressPtr inner;
  std::int64_t *counter, times;
  CountingAddress(AddressPtr n, std::int64_t* c, std::int64_t t)
      : inner(std::move(n)), counter(c), times(t) {}
  char* get() const override {
    *counter += times;
    return inner->get();
  }
  BoundedRecord bounded(const Accuracy&) const override { no_bounds(); }
};

template <class Result, class Node>
void wrap(std::unique_ptr<Node>& node, std::int64_t* counter, std::int64_t times) {
  if (node) node = std::make_unique<Counting<Node, Result>>(std::move(node), counter, times);
}

struct CountingStore final : Store {
  std::unique_ptr<Store> inner;
  std::int64_t* counter;
  CountingStore(std::unique_ptr<Store> s, std::int64_t* c) : inner(std::move(s)), counter(c) {}
  void prepare() override { inner->prepare(); }
  void commit() override {
    ++*counter;
    inner->commit();
  }
};

struct EvaluationOnly final : Store {
  Value value;
  explicit EvaluationOnly(Value v) : value(std::move(v)) {}
  void prepare() override {
    if (value.i) value.i->get();
    if (value.r) value.r->get();
    if (value.c) value.c->get();
    if (value.a) value.a->get();
  }
  void commit() override {}
};

}  // namespace

Value counting(Value v, std::int64_t* counter, std::int64_t times) {
  wrap<std::int64_t>(v.i, counter, times);
  wrap<double>(v.r, counter, times);
  wrap<Complex>(v.c, counter, times);
  if (v.a) v.a = std::make_unique<CountingAddress>(std::move(v.a), counter, times);
  return v;
}

std::unique_ptr<Store> counting(std::unique_ptr<Store> s, std::int64_t* counter) {
  return std::make_unique<CountingStore>(std::move(s), counter);
}

std::unique_ptr<Store> evaluation(Value v) {
  return std::make_unique<EvaluationOnly>(std::move(v));
}

std::optional<OperationName> operation_name(const Expr& e) {
  if (const auto* b = e.as<Binary>()) {
    if (b->op == BinaryOp::Pow) return OperationName{"pow"};
    if (b->op == BinaryOp::Shl || b->op == BinaryOp::Shr) return OperationName{"shift"};
    return OperationName{"div"};
  }
  if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::BitNot) return OperationName{"bw"};
  if (const auto* n = e.as<Nary>()) {
    auto times = static_cast<std::int64_t>(n->terms.size()) - 1;
    if (n->op == NaryOp::Add) return OperationName{"add", times};
    if (n->op == NaryOp::Mul) {
      for (const Expr& t : n->terms) times -= as_int(t) == -1;  // a sign
      return OperationName{"mul", std::max<std::int64_t>(times, 0)};
    }
    if (n->op != NaryOp::And && n->op != NaryOp::Or) return OperationName{"bw", times};
  }
  if (const auto* c = e.as<Call>()) {
    for (const char* none : {"if", "indexof", "make_tuple", "real", "imag"})
      if (c->name == none) return {};
    for (const char* extremum : {"min", "max", "minimum", "maximum", "fmin", "fmax"})
      if (c->name == extremum)
        return OperationName{"maxmin", static_cast<std::int64_t>(c->args.size()) - 1};
    return OperationName{c->name == "pow" ? "pow" : "func:" + c->name};
  }
  return {};
}

std::optional<std::string> operation_name(ReduceOp op) {
  const std::string name = to_string(op);
  if (name.find("sum") != std::string::npos) return "add";
  if (name.find("product") != std::string::npos) return "mul";
  if (name.find("min") != std::string::npos || name.find("max") != std::string::npos)
    return "maxmin";
  return {};
}

const std::string* loaded_name(const Expr& e) {
  if (const auto* f = e.as<Field>()) return loaded_name(f->base);
  if (const auto* l = e.as<Load>()) return &l->array;
  if (const auto* v = e.as<Var>()) return &v->name;
  return nullptr;
}

}  // namespace moonloop::interp
