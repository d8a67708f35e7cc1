#include <algorithm>
#include <bit>

#include "codegen/print/c_printer.h"
#include "core/order/order.h"

// Work-items of a group that put their parts of a reduction together.
namespace moonloop {
namespace {

Exprs elements(const std::vector<std::string>& arrays, const Expr& index) {
  Exprs out;
  for (const std::string& a : arrays) out.push_back(load(a, {index}));
  return out;
}

}  // namespace

void CPrinter::group_combine(const GroupCombine& c) {
  static const std::map<std::string, bool> kNone;
  const GroupReduction& r = plan_.reductions[static_cast<std::size_t>(c.index)];
  if (r.spans.empty()) return;  // one work-item has it all
  std::string cond = c.cond ? expr_.condition(c.cond) : "";
  std::map<std::string, Expr> values;
  for (const auto& [iname, e] : c.values) values.emplace(iname, without_truncation(e));
  expr_.set_instruction(r.update, values);
  // A lane with a constant number has its accumulator, used or not.
  if (std::all_of(c.values.begin(), c.values.end(), [&](const auto& value) {
        return !is_lane(k_.tag(value.first)) || as_int(value.second);
      }))
    cond.clear();
  declares_ = &kNone;
  line("{");
  ++depth_;
  if (!r.shared.empty())
    line(type_name(k_.index_type) + " const " + names_.of(r.item) + " = " + expr_.index(r.number) +
         ";");
  r.shuffles ? combine_by_shuffles(r, cond) : combine_by_memory(r, cond);
  if (!r.shared.empty() && r.repeats) line(dialect_.barrier(Sync{true, false}));
  --depth_;
  line("}");
}

/// Prints `print`'s lines, under a condition unless that is empty.
template <class F>
void CPrinter::where(const std::string& cond, F print) {
  if (!cond.empty()) line("if (" + cond + ") {");
  depth_ += !cond.empty();
  print();
  depth_ -= !cond.empty();
  if (!cond.empty()) line("}");
}

/// In halves: each step adds the upper one to the lower one, the first adds what is beyond a power
/// of two.
void CPrinter::combine_by_memory(const GroupReduction& r, const std::string& cond) {
  const Exprs& own = k_.instructions[static_cast<std::size_t>(r.update)]->lhs;
  const std::string wait = dialect_.barrier(Sync{true, false});
  where(cond, [&] { copy(own, elements(r.shared, var(r.item))); });
  Expr first = var(r.item);
  for (const GroupReduction::Span& s : r.spans) {
    const auto step = [&](const Expr& lower, const Expr& reach) {
      line(wait);
      line("if (" + expr_.condition(Expr(Compare{CompareOp::Lt, s.place, lower})) + ") {");
      ++depth_;
      const Expr there = index_add({var(r.item), index_mul(lit(s.stride), reach)});
      combine(r, elements(r.shared, there), elements(r.shared, var(r.item)));
      --depth_;
      line("}");
    };
    if (r.in_order) {
      neighbours(r, s, wait);
      first = index_add({first, index_mul(lit(-s.stride), s.place)});
      continue;
    }
    const auto whole =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(s.items)));
    if (whole < s.items) step(lit(s.items - whole), lit(whole));
    halving(r, whole / 2);
    step(var(r.reach), var(r.reach));
    --depth_;
    line("}");
    first = index_add({first, index_mul(lit(-s.stride), s.place)});
  }
  line(wait);
  where(cond, [&] { copy(elements(r.shared, first), own); });
}

/// Each step adds to every other part the next one's, so that all stay in order.
void CPrinter::neighbours(const GroupReduction& r, const GroupReduction::Span& s,
                          const std::string& wait) {
  const std::string& reach = names_.of(r.reach);
  line("for (" + type_name(k_.index_type) + " " + reach + " = 1; " + reach + " < " +
       std::to_string(s.items) + "; " + reach + " *= 2) {");
  ++depth_;
  line(wait);
  const Expr next = index_add({s.place, var(r.reach)});
  const Expr turn = call(kTruncMod, {s.place, index_mul(lit(2), var(r.reach))});
  line("if (" +
       expr_.condition(Expr(Nary{NaryOp::And,
                                 {Expr(Compare{CompareOp::Eq, turn, lit(0)}),
                                  Expr(Compare{CompareOp::Lt, next, lit(s.items)})}})) +
       ") {");
  ++depth_;
  const Expr there = index_add({var(r.item), index_mul(lit(s.stride), var(r.reach))});
  combine(r, elements(r.shared, there), elements(r.shared, var(r.item)));
  --depth_;
  line("}");
  --depth_;
  line("}");
}

/// Warps exchange their parts in registers; several warps then read each one's result.
void CPrinter::combine_by_shuffles(const GroupReduction& r, const std::string& cond) {
  const Exprs& own = k_.instructions[static_cast<std::size_t>(r.update)]->lhs;
  const GroupReduction::Span& s = r.spans[0];
  const std::string reach = halving(r, std::min(s.items, kWarpItems) / 2);
  Exprs partner;
  for (std::size_t i = 0; i < own.size(); ++i) {
    partner.push_back(var(r.partner[i]));
    const std::string place = expr_.place(own[i]);
    line(type_name(expr_.type(own[i])) + " const " + names_.of(r.partner[i]) +
         " = __shfl_xor_sync(0xffffffffu, " +
         (cond.empty() ? place : "(" + cond + " ? " + place + " : 0)") + ", " + reach + ");");
  }
  where(cond, [&] { combine(r, partner, own); });
  --depth_;
  line("}");
  if (r.shared.empty()) return;
  const Expr warp = call(kTruncDiv, {var(r.item), lit(kWarpItems)});
  const Expr in_warp = call(kTruncMod, {var(r.item), lit(kWarpItems)});
  line("if (" + expr_.condition(Expr(Compare{CompareOp::Eq, in_warp, lit(0)})) + ") {");
  ++depth_;
  where(cond, [&] { copy(own, elements(r.shared, warp)); });
  --depth_;
  line("}");
  line(dialect_.barrier(Sync{true, false}));
  const std::int64_t warps = s.items / kWarpItems;
  const Expr first = index_mul(lit(warps), call(kTruncDiv, {var(r.item), lit(s.items)}));
  where(cond, [&] { copy(elements(r.shared, first), own); });
  const std::string& i = names_.of(r.reach);
  line("for (" + type_name(k_.index_type) + " " + i + " = 1; " + i + " < " + std::to_string(warps) +
       "; ++" + i + ") {");
  ++depth_;
  where(cond, [&] { combine(r, elements(r.shared, index_add({first, var(r.reach)})), own); });
  --depth_;
  line("}");
}

/// Opens a loop in which `reach`, whose name it returns, is halved down to 1.
std::string CPrinter::halving(const GroupReduction& r, std::int64_t from) {
  const std::string& reach = names_.of(r.reach);
  line("for (" + type_name(k_.index_type) + " " + reach + " = " + std::to_string(from) + "; " +
       reach + " > 0; " + reach + " /= 2) {");
  ++depth_;
  return reach;
}

/// Adds a work-item's part at `from`, by the reduction's operation, to that at `to`.
void CPrinter::combine(const GroupReduction& r, const Exprs& from, const Exprs& to) {
  const Instruction& update = *k_.instructions[static_cast<std::size_t>(r.update)];
  if (to.size() == 1) return reduction_update(update, to, from[0]);
  if (r.in_order) return reduction_update(update, to, call("make_tuple", from));
  // A work-item without values has no index.
  const char* op = update.reduce_op == ReduceOp::ArgMin ? " < " : " > ";
  line("if (" + expr_.place(from[0]) + op + expr_.place(to[0]) + " || " + expr_.place(from[1]) +
       " != " + unset(expr_.type(from[1])) + ") {");
  ++depth_;
  reduction_update(update, to, call("make_tuple", from));
  --depth_;
  line("}");
}

void CPrinter::copy(const Exprs& from, const Exprs& to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    line(expr_.place(to[i]) + " = " + expr_.place(from[i]) + ";");
}

}  // namespace moonloop
