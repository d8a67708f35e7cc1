#include <algorithm>

#include "codegen/plan/alignment.h"
#include "codegen/plan/array_places.h"
#include "codegen/plan/ast.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/declare.h"

// `vec` loops on a device: the iterations of one statement side by side, with loads and stores of 8
// and 16 bytes where their elements follow each other in memory at multiples of that size.
namespace moonloop {
namespace {

/// A type of several numbers that a device loads and stores at once.
std::optional<std::string> vector_type(Language language, const Type& t, std::int64_t lanes) {
  if (t.is_record()) return std::nullopt;
  const bool cl = language == Language::OpenCL;
  const char* name = nullptr;
  switch (t.scalar) {
    case Scalar::F32: name = "float"; break;
    case Scalar::F64: name = "double"; break;
    case Scalar::I16: name = "short"; break;
    case Scalar::F16:
    case Scalar::U16: name = "ushort"; break;
    case Scalar::I32: name = "int"; break;
    case Scalar::U32: name = "uint"; break;
    case Scalar::I64: name = cl ? "long" : "longlong"; break;
    case Scalar::U64: name = cl ? "ulong" : "ulonglong"; break;
    default: return std::nullopt;
  }
  return name + std::to_string(lanes);
}

constexpr std::int64_t kMostBytes = 16, kLeastBytes = 8;
constexpr std::int64_t kMostLanes = 4;  // CUDA has no longer vectors
const char* const kComponents = "xyzw";

}  // namespace

/// How many elements of `e`, a Load with the loop's iname in its subscripts, one access takes: 1
/// where they do not follow each other, or their start is unknown.
std::int64_t CPrinter::vector_length(const Expr& e, const Loop& x) {
  const auto* l = e.as<Load>();
  if (!l) return 1;
  const Type type = expr_.type(e);
  const std::optional<ArrayPlaces> lies = places_in(plan_, *l);
  if (!lies || !vector_type(helpers_.language(), type, 2)) return 1;
  if (lies->step(*l, x.iname) != 1) return 1;
  const Expr first = lies->place(*substitute(e, {{x.iname, x.lower}}).as<Load>());
  const std::int64_t size = type.size();
  std::int64_t n =
      std::min({kMostBytes / size, kMostLanes, divisor_of(k_, without_truncation(first))});
  while (n > 1 && x.lanes % n != 0) n /= 2;
  return n * size >= kLeastBytes ? n : 1;
}

/// The type that a vector's address is cast to.
std::string CPrinter::vector_pointer(const std::string& array, const std::string& type) const {
  const bool local = plan_.lies_in(array, AddressSpace::Local);
  const std::string space = helpers_.language() == Language::Cuda ? ""
                            : local                               ? dialect_.local_prefix()
                                                                  : dialect_.global_prefix();
  return "(" + space + type + " *)";
}

/// The vectors that the instruction loads and stores; `in` puts the outer inames' values into its
/// expressions. A load that only some lanes may make is not one.
std::vector<CPrinter::VectorAccess> CPrinter::vector_accesses(
    const Instruction& insn, const Loop& x, const std::function<Expr(const Expr&)>& in) {
  std::vector<VectorAccess> out;
  const std::function<bool(const Expr&)> visit = [&](const Expr& e) {
    if (const auto* s = e.as<Select>()) return walk(s->cond, visit), false;
    if (const auto* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or))
      return walk(n->terms[0], visit), false;  // the others may not be evaluated
    const Expr at = in(e);
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const VectorAccess& v) { return equal(v.element, at); });
    if (!known && e.as<Load>())
      if (const std::int64_t n = vector_length(at, x); n > 1) out.push_back({at, n, true, false});
    return true;
  };
  if (insn.rhs) walk(insn.rhs, visit);
  const bool plain =
      insn.lhs.size() == 1 && insn.role == ReductionRole::None && insn.atomic == Atomicity::None;
  if (!plain) return out;
  const Expr at = in(insn.lhs[0]);
  const std::int64_t n = vector_length(at, x);
  if (n == 1) return out;
  for (VectorAccess& v : out)
    if (equal(v.element, at)) return v.stored = true, out;
  bool read = false;  // by some lanes: all may load it, as they store there
  if (insn.rhs)
    walk(insn.rhs, [&](const Expr& e) {
      read = read || (e.as<Load>() && equal(in(e), at));
      return !read;
    });
  out.push_back({at, n, read, true});
  return out;
}

/// Declares the vectors of an access, with their values if it loads them, and replaces its elements
/// by them from here on. Returns the statements that store them.
std::vector<std::string> CPrinter::declare_vectors(const VectorAccess& v, const Loop& x) {
  const std::string vector =
      vector_type(helpers_.language(), expr_.type(v.element), v.length).value();
  const std::string array = written_name(v.element);
  const auto lane = [&](std::int64_t i) {
    return substitute(v.element, {{x.iname, index_add({x.lower, lit(i)})}});
  };
  if (plan_.lies_in(array, AddressSpace::Local)) aligned_.insert(array);
  std::vector<std::string> stores;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < x.lanes; i += v.length) {
    const std::string& name = names.emplace_back(names_.fresh("v"));
    const std::string whole = "*" + vector_pointer(array, v.stored ? vector : vector + " const") +
                              "&" + expr_.place(lane(i));
    line(vector + (v.stored ? " " : " const ") + name + (v.loaded ? " = " + whole : "") + ";");
    if (v.stored) stores.push_back(whole + " = " + name + ";");
  }
  for (std::int64_t i = 0; i < x.lanes; ++i)
    expr_.stand_in(lane(i),
                   names[static_cast<std::size_t>(i / v.length)] + "." + kComponents[i % v.length],
                   v.stored);
  return stores;
}

void CPrinter::lanes(const Loop& x) {
  Run run = std::get<Run>(x.body.at(0).op);
  if (lanes_ahead(run, x)) return;
  const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run.insn)];
  std::map<std::string, Expr> values;
  for (const auto& [iname, e] : run.values) values.emplace(iname, without_truncation(e));
  Loop here;
  here.iname = x.iname;
  here.lower = without_truncation(x.lower);
  here.lanes = x.lanes;
  expr_.set_instruction(run.insn, values);
  expr_.within_domains(true);
  const std::vector<VectorAccess> vectors = vector_accesses(
      insn, here, [&](const Expr& e) { return values.empty() ? e : substitute(e, values); });
  if (!vectors.empty()) {
    line("{");
    ++depth_;
  }
  const std::size_t kept = expr_.stand_ins();
  std::vector<std::string> stores;
  for (const VectorAccess& v : vectors)
    for (std::string& s : declare_vectors(v, here)) stores.push_back(std::move(s));
  for (std::int64_t i = 0; i < x.lanes; ++i) {
    run.values[x.iname] = index_add({here.lower, lit(i)});
    this->run(run);
  }
  expr_.within_domains(false);
  expr_.end_stand_ins(kept);
  for (const std::string& s : stores) line(s);
  if (!vectors.empty()) {
    --depth_;
    line("}");
  }
}

/// A clause for a loop that is as long as numbers which no array is as long as along it: a halo, a
/// stencil. It may be a few iterations, which take longer in vectors, inside of one of many.
std::string CPrinter::where_long(const Loop& x) {
  if (loops_around_ == 0 || x.step != 1) return "";
  const Expr length = index_sub(x.inclusive ? index_add({x.upper, lit(1)}) : x.upper, x.lower);
  std::set<std::string> counts;
  collect_vars(length, counts), collect_reads(length, counts);
  if (counts.empty() || std::any_of(counts.begin(), counts.end(), [&](const std::string& n) {
        const Argument* a = k_.find_arg(n);
        return !a || a->is_array;
      }))
    return "";
  const auto mention = [](const Expr& e, const std::set<std::string>& names) {
    std::set<std::string> own;
    collect_vars(e, own);
    return std::any_of(own.begin(), own.end(),
                       [&](const std::string& n) { return names.count(n); });
  };
  bool known = false, few = true;
  const auto look = [&](const Load& l, const std::set<std::string>& moved) {
    const Argument* a = k_.find_arg(l.array);
    const Temporary* t = a ? nullptr : k_.find_temporary(l.array);
    const Exprs extents = a && a->shape ? *a->shape : t ? expr_.extents(*t) : Exprs{};
    for (std::size_t d = 0; d < std::min(l.index.size(), extents.size()); ++d) {
      if (!mention(l.index[d], moved)) continue;
      known = true;
      few = few && !mention(extents[d], counts);
    }
  };
  for_each_within(x.body, [&](const Stmt& s) {
    const auto* run = std::get_if<Run>(&s.op);
    if (!run) return;
    std::set<std::string> moved{x.iname};
    for (const auto& [iname, value] : run->values)
      if (mention(value, {x.iname})) moved.insert(iname);
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run->insn)];
    for (const Expr& e : insn.lhs)
      for_each_of<Load>(e, [&](const Load& l, const Expr&) { look(l, moved); });
    for_each_of<Load>(insn.rhs, [&](const Load& l, const Expr&) { look(l, moved); });
  });
  if (!known || !few) return "";
  return " if (" + expr_.index(length, false, Prec::Shift) +
         " >= " + std::to_string(kFewIterations) + ")";
}

}  // namespace moonloop
