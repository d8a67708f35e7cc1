#include <algorithm>

#include "codegen/print/c_printer.h"
#include "codegen/print/declare.h"
#include "core/model/external.h"

// ISPC: loops in the lanes of a gang, and loops whose iterations are launched as tasks. A variable
// that is declared in lanes is `varying`, it has a value for each; all others are `uniform`.
namespace moonloop {

/// Refuses what the language has not.
void CPrinter::refuse_for_gangs() const {
  const auto check = [&](const std::string& name, const Type& t, Span at) {
    const std::function<bool(const Type&)> complex = [&](const Type& x) {
      if (!x.is_record()) return is_complex(x.scalar);
      return std::any_of(x.record->fields.begin(), x.record->fields.end(),
                         [&](const Record::Field& f) { return complex(f.type); });
    };
    if (complex(t))
      fail("unsupported", at ? at : k_.at,
           "`{}` has complex numbers, which target `{}` does not have", name,
           to_string(plan_.target));
  };
  for (const Argument& a : k_.args) check(a.name, a.type.value_or(Type(k_.index_type)), a.at);
  for (const auto& [name, t] : k_.temporaries) check(name, expr_.type_of_name(name), t.at);
  for (const InsnPtr& i : k_.instructions)
    if (const Call* c = external_call(k_, *i))  // a kernel's too: lanes would share its arguments
      fail("unsupported", i->at, "instruction `{}` calls `{}`, which target `{}` cannot", i->id,
           c->name, to_string(plan_.target));
}

/// A variable of the kernel as a parameter of the function or of one that is launched.
std::string CPrinter::gang_parameter(const std::string& name, bool written) {
  const std::string own = names_.of(name);
  const Temporary* t = k_.find_temporary(name);
  const Argument* a = t ? nullptr : k_.find_arg(name);
  const Type type = t ? expr_.type_of_name(name) : a && a->type ? *a->type : Type(k_.index_type);
  const std::string element = "uniform " + helpers_.type(type);
  const bool on_stack = t && !expr_.extents(*t).empty() && !on_heap(expr_, *t);
  if (on_stack) return element + " " + own + brackets(*t);
  const bool pointer = a ? a->is_array : t && (written || !expr_.extents(*t).empty());
  if (!pointer) return element + " " + own;
  return (written || t ? "" : "const ") + element + " * uniform " + own;
}

std::string CPrinter::gang_prototype() {
  const std::set<std::string> written = this->written();
  std::vector<std::string> parameters;
  for (const Argument& a : k_.args)
    parameters.push_back(gang_parameter(a.name, written.count(a.name) > 0));
  const std::string head = "export void " + name() + "(";
  return head + parameter_list(parameters, head.size()) + ")";
}

/// Whether lanes may have different values of the expression.
bool CPrinter::varies(const Expr& e) const {
  if (!e) return false;
  std::set<std::string> names;
  collect_vars(e, names), collect_reads(e, names);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& n) { return varying_.count(n) > 0; });
}

/// In lanes, but there once for all of them.
bool CPrinter::is_uniform_place(const Expr& lhs) const {
  return in_lanes_ && !declares_->count(written_name(lhs)) && !varies(lhs);
}

/// The type of a loop's variable that gets its values from these.
std::string CPrinter::index_type(const Exprs& from) {
  if (!in_lanes_) return type_name(k_.index_type);
  const bool any = std::any_of(from.begin(), from.end(), [&](const Expr& e) { return varies(e); });
  return (any ? "varying " : "uniform ") + helpers_.type(k_.index_type);
}

/// Gives each accumulator a part, which begins with the neutral element; the names of the parts.
std::vector<std::string> CPrinter::begin_parts(const std::vector<SharedAccumulator>& all) {
  std::vector<std::string> parts;
  for (const SharedAccumulator& a : all) {
    const Instruction& insn = *a.update;
    const Temporary& t = *k_.find_temporary(a.name);
    if (!expr_.extents(t).empty())
      fail("unsupported", insn.at,
           "instruction `{}`: `{}` over `{}`, which is tagged `{}`, of several elements at once is "
           "not supported by target `{}`",
           insn.id, to_string(insn.reduce_op), a.over, k_.tag(a.over)->text,
           to_string(plan_.target));
    const Type type = expr_.type_of_name(a.name);
    parts.push_back(names_.fresh(names_.of(a.name) + "_part"));
    line(type_name(type) + " " + parts.back() + " = " + neutral(insn, 0, type) + ";");
  }
  return parts;
}

/// Adds a uniform value to the accumulator.
void CPrinter::end_part(const SharedAccumulator& a, const std::string& part) {
  const std::string& acc = names_.of(a.name);
  const Type type = expr_.type_of_name(a.name);
  const auto function = [&](bool min) {
    return acc + " = " + helpers_.extremum(min, type.scalar, true) + "(" + acc + ", " + part + ");";
  };
  switch (a.update->reduce_op) {
    case ReduceOp::Sum: return line(acc + " += " + part + ";");
    case ReduceOp::Product: return line(acc + " *= " + part + ";");
    case ReduceOp::Min: return line(function(true));
    case ReduceOp::Max: return line(function(false));
    case ReduceOp::Any: return line(acc + " = " + acc + " || " + part + ";");
    case ReduceOp::All: return line(acc + " = " + acc + " && " + part + ";");
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax:
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: break;  // refused: they have two values
  }
  throw InternalError("a reduction of two values in parts");
}

namespace {

/// `upper`, exclusive.
Expr end_of(const Loop& x) { return x.inclusive ? index_add({x.upper, lit(1)}) : x.upper; }

/// How often the loop runs, where it runs at all.
Expr trips_of(const Loop& x) {
  const Expr length = index_sub(end_of(x), x.lower);
  if (x.step == 1) return length;
  return Expr(Binary{BinaryOp::FloorDiv, index_add({length, lit(x.step - 1)}), lit(x.step)});
}

/// Whether it is known to run.
bool surely_runs(const Loop& x) {
  const auto from = as_int(x.lower), to = as_int(end_of(x));
  return from && to && *from < *to;
}

}  // namespace

/// `foreach` is for integers of 32 bits that follow each other.
void CPrinter::gang_loop(const Loop& x) {
  const std::vector<SharedAccumulator> shared =
      of_one_value(shared_accumulators(x, {x.iname}, plan_), plan_);
  const std::set<std::string> outside = varying_;
  const std::string& i = names_.of(x.iname);
  const std::string lower = expr_.index(x.lower), upper = expr_.index(end_of(x));
  const std::string below = expr_.index(end_of(x), false, Prec::Shift);
  expr_.runs_from(x.iname, x.lower);
  std::vector<std::string> others;  // identifiers of the accumulators
  if (!shared.empty()) line("{"), ++depth_;
  in_lanes_ = true;
  const std::vector<std::string> parts = begin_parts(shared);
  for (std::size_t n = 0; n < shared.size(); ++n) {
    others.push_back(names_.redirect(shared[n].name, parts[n]));
    varying_.insert(shared[n].name);
  }
  varying_.insert(x.iname);
  if (x.step == 1 && size_of(k_.index_type) == 4) {
    const bool asks = !surely_runs(x);
    if (asks) line("if (" + expr_.index(x.lower, false, Prec::Shift) + " < " + below + ")");
    if (asks) ++depth_;
    body(x.body, "foreach (" + i + " = " + lower + " ... " + upper + ")");
    if (asks) --depth_;
  } else {
    const std::string type = helpers_.type(k_.index_type), first = names_.fresh(i + "_first"),
                      step = x.step == 1 ? "" : "*" + std::to_string(x.step);
    line("for (uniform " + type + " " + first + " = " + lower + "; " + first + " < " + below +
         "; " + first + " += (" + type + ")programCount" + step + ") {");
    ++depth_;
    line("varying " + type + " const " + i + " = " + first + " + (" + type + ")programIndex" +
         step + ";");
    body(x.body, "if (" + i + " < " + below + ")");
    --depth_;
    line("}");
  }
  in_lanes_ = false;
  varying_ = outside;
  for (std::size_t n = 0; n < shared.size(); ++n) {
    names_.redirect(shared[n].name, others[n]);
    const auto reduced = [&](const char* f) { end_part(shared[n], f + ("(" + parts[n] + ")")); };
    switch (shared[n].update->reduce_op) {
      case ReduceOp::Sum: reduced("reduce_add"); break;
      case ReduceOp::Min: reduced("reduce_min"); break;
      case ReduceOp::Max: reduced("reduce_max"); break;
      case ReduceOp::Any: reduced("any"); break;
      case ReduceOp::All: reduced("all"); break;
      default: {
        const std::string lane = names_.fresh("lane");
        line("for (uniform int32 " + lane + " = 0; " + lane + " < programCount; ++" + lane + ")");
        ++depth_;
        end_part(shared[n], "extract(" + parts[n] + ", " + lane + ")");
        --depth_;
      }
    }
  }
  if (!shared.empty()) --depth_, line("}");
}

/// Prints the function for the iterations of the loop, and of those in it that are launched
/// together. Scalars that it writes and others read are passed by their address.
CPrinter::Task CPrinter::task_function(const Loop& x) {
  Task out;
  std::vector<const Loop*>& loops = out.loops;
  loops.push_back(&x);
  for (int n = 1; n < x.together; ++n)
    loops.push_back(&std::get<Loop>(loops.back()->body.at(0).op));
  const Block& content = loops.back()->body;
  std::set<std::string> inames, declared, written;
  for (const Loop* l : loops) inames.insert(l->iname);
  out.shared = of_one_value(shared_accumulators(x, inames, plan_), plan_);
  const std::vector<SharedAccumulator>& shared = out.shared;
  declared = inames;
  collect_declared(content, declared);
  collect_writes(content, written);
  for (const SharedAccumulator& a : shared) declared.insert(a.name);

  std::string before = std::exchange(out_, {});
  const int depth = std::exchange(depth_, 1);
  std::map<std::string, std::string> others;  // identifiers outside, by name
  for (const std::string& name : written)
    if (const Temporary* t = k_.find_temporary(name);
        t && expr_.extents(*t).empty() && !declared.count(name))
      others[name] = names_.redirect(name, "(*" + names_.of(name) + ")");
  const std::map<std::string, std::string> by_address = others;
  names_.take_used();
  const std::vector<std::string> parts = begin_parts(shared);
  for (std::size_t n = 0; n < shared.size(); ++n)
    others[shared[n].name] = names_.redirect(shared[n].name, parts[n]);
  for (std::size_t n = 0; n < loops.size(); ++n) {
    const Loop& l = *loops[n];
    expr_.runs_from(l.iname, l.lower);
    const std::string type = helpers_.type(k_.index_type);
    std::string number = "taskIndex" + std::to_string(loops.size() - 1 - n);
    if (size_of(k_.index_type) != 4) number = "(" + type + ")" + number;
    if (l.step != 1) number += "*" + std::to_string(l.step);
    const bool zero = as_int(l.lower) == 0;
    line("uniform " + type + " const " + names_.of(l.iname) + " = " +
         (zero ? number : expr_.index(l.lower, false, Prec::Sum) + " + " + number) + ";");
  }
  in_task_ = true;
  block(content);
  in_task_ = false;
  for (const auto& [name, identifier] : others) names_.redirect(name, identifier);
  for (const std::string& part : parts) {
    out.stores.push_back(names_.fresh(part + "s"));
    line(out.stores.back() + "[taskIndex] = " + part + ";");
  }
  const std::string text = std::exchange(out_, std::move(before));
  depth_ = depth;

  std::vector<std::string> parameters;
  const auto pass = [&](const std::string& name) {
    parameters.push_back(gang_parameter(name, written.count(name) > 0));
    out.arguments.push_back((by_address.count(name) ? "&" : "") + names_.of(name));
  };
  const std::set<std::string> used = names_.take_used();
  for (const Argument& a : k_.args)
    if (used.count(a.name)) pass(a.name);
  for (const std::string& name : used) {
    if (k_.find_arg(name) || declared.count(name)) continue;
    const Temporary* t = k_.find_temporary(name);
    if (!t || !t->read_only) pass(name);
  }
  for (std::size_t n = 0; n < shared.size(); ++n) {
    parameters.push_back("uniform " + helpers_.type(expr_.type_of_name(shared[n].name)) +
                         " * uniform " + out.stores[n]);
    out.arguments.push_back(out.stores[n]);
  }
  out.function = name() + "_task" + std::to_string(task_count_++);
  const std::string head = "task void " + out.function + "(";
  tasks_ += head + parameter_list(parameters, head.size()) + ") {\n" + text + "}\n\n";
  return out;
}

/// Launches a task for each iteration, waits for all of them, and puts their parts together.
void CPrinter::task_loop(const Loop& x) {
  const Task task = task_function(x);
  const std::vector<SharedAccumulator>& shared = task.shared;
  const std::vector<std::string>& stores = task.stores;
  std::string counts, all;
  for (const Loop* l : task.loops) {
    const std::string n = expr_.index(trips_of(*l));
    counts += (counts.empty() ? "" : "][") + n;
    all += (all.empty() ? "(uniform int64)(" : "*(") + n + ")";
  }
  std::string condition;
  for (const Loop* l : task.loops)
    if (!surely_runs(*l))
      condition += (condition.empty() ? "" : " && ") + expr_.index(l->lower, false, Prec::Shift) +
                   " < " + expr_.index(end_of(*l), false, Prec::Shift);
  line(condition.empty() ? "{" : "if (" + condition + ") {");
  ++depth_;
  for (std::size_t n = 0; n < shared.size(); ++n) {
    const std::string type = "uniform " + helpers_.type(expr_.type_of_name(shared[n].name));
    line(type + " * uniform " + stores[n] + " = uniform new " + type + "[" + all + "];");
  }
  line(fmt::format("launch[{}] {}({});", counts, task.function, fmt::join(task.arguments, ", ")));
  line("sync;");
  const std::string part = shared.empty() ? "" : names_.fresh("part");
  for (std::size_t n = 0; n < shared.size(); ++n) {
    line("for (uniform int64 " + part + " = 0; " + part + " < " + all + "; ++" + part + ")");
    ++depth_;
    end_part(shared[n], stores[n] + "[" + part + "]");
    --depth_;
    line("delete[] " + stores[n] + ";");
  }
  --depth_;
  line("}");
}

}  // namespace moonloop
