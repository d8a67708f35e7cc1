#include <algorithm>

#include "codegen/print/c_printer.h"
#include "core/model/external.h"
#include "core/order/reference.h"

// Loops that look for largest or smallest real numbers. C compilers keep the order of comparisons,
// since these tell a NaN; where Fortran's `max`, or a reduction, leaves that open, `omp simd` lets
// them compare in vectors.
namespace moonloop {
namespace {

/// The other values of `max(place, …)`, whatever the place stands as; none for other calls.
std::optional<Exprs> others_of_extremum(const Call& c, const Expr& place) {
  if (c.name != "max" && c.name != "min") return std::nullopt;
  Exprs out;
  for (const Expr& e : c.args)
    if (!equal(e, place)) out.push_back(e);
  return out.size() + 1 == c.args.size() ? std::optional(out) : std::nullopt;
}

bool mentions(const Expr& e, const std::set<std::string>& names) {
  std::set<std::string> read;
  collect_reads(e, read);
  return std::any_of(read.begin(), read.end(),
                     [&](const std::string& n) { return names.contains(n); });
}

}  // namespace

/// What the loop looks for, where it does nothing else; nothing where its order is to be kept.
std::vector<CPrinter::Extremum> CPrinter::extrema_of(const Loop& x) {
  if (helpers_.language() != Language::C || checks_ || in_simd_ || !x.pragmas.empty() ||
      x.only_while || x.lanes > 0 || x.matrix || k_.tag(x.iname))
    return {};
  const auto low = as_int(x.lower), high = as_int(x.upper);
  if (low && high && *high - *low < kFewIterations * x.step) return {};
  std::vector<Extremum> out;
  std::set<std::string> found, own{x.iname};  // own: what has a value for each iteration
  Exprs read;
  for (const Stmt& s : x.body) {
    const auto* run = std::get_if<Run>(&s.op);
    if (!run) return {};
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run->insn)];
    if (insn.lhs.size() != 1 || !insn.rhs || insn.atomic != Atomicity::None ||
        insn.role == ReductionRole::Init || external_call(k_, insn))
      return {};
    std::map<std::string, Expr> values;
    for (const auto& [iname, e] : run->values) values.emplace(iname, without_truncation(e));
    const Expr lhs = expr_.with_values(insn.lhs[0], values);
    const Expr rhs = expr_.with_values(insn.rhs, values);
    if (run->declares.contains(written_name(lhs))) {
      own.insert(written_name(lhs));
      read.push_back(rhs);
      continue;
    }
    if (own.contains(written_name(lhs))) return {};  // it begins anew in each iteration
    const bool update = insn.role == ReductionRole::Update;
    const auto* call = rhs.as<Call>();
    const auto others =
        !update && call && has_nans_as_fortran(k_) ? others_of_extremum(*call, lhs) : std::nullopt;
    if (update ? insn.reduce_op != ReduceOp::Min && insn.reduce_op != ReduceOp::Max : !others)
      return {};
    const Type t = expr_.type(lhs);
    if (!(t == Type(Scalar::F32)) && !(t == Type(Scalar::F64))) return {};
    if (lhs.as<Field>() || !found.insert(written_name(lhs)).second) return {};
    if (update)
      read.push_back(rhs);
    else
      read.insert(read.end(), others->begin(), others->end());
    out.push_back({lhs, update ? insn.reduce_op == ReduceOp::Min : call->name == "min", run});
  }
  for (const Extremum& e : out) {
    if (const auto* element = e.place.as<Load>())
      for (const Expr& i : element->index)
        if (mentions(i, own) || mentions(i, found)) return {};
    const auto copies = plan_.expansions.find(written_name(e.place));  // one for each lane
    if (copies != plan_.expansions.end() &&
        std::any_of(copies->second.axes.begin(), copies->second.axes.end(),
                    [&](const std::string& axis) { return own.contains(axis); }))
      return {};
  }
  if (std::any_of(read.begin(), read.end(), [&](const Expr& e) { return mentions(e, found); }))
    return {};
  return out;
}

/// An element, of an array or of a lane's copies, is kept in a variable while the loop runs, if it
/// does: a clause would take `a[i]` for a part of the array, of i elements.
void CPrinter::find_extrema(const Loop& x, const std::vector<Extremum>& all) {
  std::vector<std::pair<std::string, std::string>> kept;  // elements, and their variables
  std::string least, greatest;
  const auto at_its_statement = [&](const Extremum& e) {
    std::map<std::string, Expr> values;
    for (const auto& [iname, v] : e.run->values) values.emplace(iname, without_truncation(v));
    expr_.set_instruction(e.run->insn, values);
  };
  const auto is_element = [&](const Extremum& e) {
    at_its_statement(e);
    return e.place.as<Load>() || expr_.place(e.place) != names_.of(written_name(e.place));
  };
  const bool elements = std::any_of(all.begin(), all.end(), is_element);
  if (elements) {
    line("if (" + expr_.index(x.upper, false, Prec::Shift) + (x.inclusive ? " >= " : " > ") +
         expr_.index(x.lower, false, Prec::Shift) + ") {");
    ++depth_;
  }
  const std::size_t kept_before = expr_.stand_ins();
  for (const Extremum& e : all) {
    at_its_statement(e);
    std::string name = expr_.place(e.place);
    if (is_element(e)) {
      const std::string variable =
          names_.fresh(written_name(e.place) + (e.least ? "_least" : "_greatest"));
      line(type_name(expr_.type(e.place)) + " " + variable + " = " + name + ";");
      expr_.stand_in(e.place, variable, true);
      kept.emplace_back(name, variable);
      name = variable;
    }
    std::string& list = e.least ? least : greatest;
    list += (list.empty() ? "" : ", ") + name;
  }
  line(std::string("#pragma omp simd") + (least.empty() ? "" : " reduction(min: " + least + ")") +
       (greatest.empty() ? "" : " reduction(max: " + greatest + ")"));
  for_loop(x);
  expr_.end_stand_ins(kept_before);
  for (const auto& [place, variable] : kept) line(place + " = " + variable + ";");
  if (elements) {
    --depth_;
    line("}");
  }
}

}  // namespace moonloop
