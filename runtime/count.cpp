#include "runtime/count.h"

#include <map>

#include "core/count/mem_counts.h"
#include "core/count/op_counts.h"
#include "runtime/arguments.h"
#include "runtime/points.h"

namespace moonloop {
namespace {

/// Steps of one enumeration of elements: their number is only a figure next to a time.
constexpr std::int64_t kElementSteps = 50'000'000;
constexpr int kMostAccesses = 64;  // their union is not worth the time

class WorkCounter {
 public:
  WorkCounter(const Kernel& k, const Integers& values) : all_(k), values_(values) {}

  std::optional<Work> count() {
    all_.for_each([&](const Evaluation& e) { add(e); });
    if (!known_ || !count_bytes()) return std::nullopt;
    return work_;
  }

 private:
  void add(const Evaluation& e) {
    if (!known_ || e.aside) return;
    const bool runs = e.kind == Evaluation::Write && e.insn->role == ReductionRole::None &&
                      e.expr.same_as(e.insn->lhs[0]);
    const bool takes_in = e.kind == Evaluation::Update && e.expr.same_as(e.insn->lhs[0]);
    if (runs || takes_in) add(work_.instances, e, 1);
    const auto op = operation_of(all_.typer(), e);
    if (!op || op->type.is_record()) return;
    const Scalar type = op->type.scalar;
    const std::int64_t products = products_in(e), times = op->times * products;
    const std::int64_t each = flops_of(type, products > 1 ? "mul" : op->name);
    if (each > 0)
      add(work_.flops, e, each * times);
    else
      add(work_.integer_ops, e, times);
  }
  /// A power with a small constant exponent takes that many products.
  static std::int64_t products_in(const Evaluation& e) {
    const auto* power = e.expr.as<Binary>();
    if (!power || power->op != BinaryOp::Pow) return 1;
    const auto exponent = as_int(power->right);
    return exponent && *exponent >= 2 && *exponent <= 16 ? *exponent - 1 : 1;
  }

  void add(std::int64_t& to, const Evaluation& e, std::int64_t each) {
    const auto n = instances(e);
    std::int64_t p = 0;
    known_ =
        known_ && n && !__builtin_mul_overflow(*n, each, &p) && !__builtin_add_overflow(to, p, &to);
    if (!all_.program_points().exact(e.point)) work_.exact = false;
  }
  std::optional<std::int64_t> instances(const Evaluation& e) {
    const auto [it, is_new] = counts_.try_emplace(e.point);
    if (is_new) it->second = count_points(all_.points(e), values_);
    return it->second;
  }

  bool count_bytes() {
    for (const Touched& t : touched_elements(all_, kMostAccesses, true)) {
      const Argument* array = all_.kernel().find_arg(t.variable);
      if (!array) continue;
      std::optional<std::int64_t> n;
      if (t.elements) n = count_points(t.elements, values_, kElementSteps);
      if (!n || !t.exact) work_.exact = false;
      if (!n) n = layout_of(*array, values_).elements();
      std::int64_t bytes = 0;
      std::int64_t& to = t.write ? work_.bytes_written : work_.bytes_read;
      if (__builtin_mul_overflow(*n, array->type->size(), &bytes) ||
          __builtin_add_overflow(to, bytes, &to))
        return false;
    }
    return true;
  }

  Evaluations all_;
  const Integers& values_;
  Work work_;
  bool known_ = true;                                  // every number so far fits
  std::map<int, std::optional<std::int64_t>> counts_;  // by point
};

}  // namespace

std::optional<Work> count_work(const Kernel& k, const Integers& values) {
  return WorkCounter(k, values).count();
}

}  // namespace moonloop
