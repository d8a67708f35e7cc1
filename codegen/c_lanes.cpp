#include <algorithm>

#include "codegen/alignment.h"
#include "codegen/ast.h"
#include "codegen/c_printer.h"
#include "codegen/declare.h"
#include "core/layout.h"

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
const char* const kComponents = "xyzw";

}  // namespace

/// How many elements of `e`, a Load with the loop's iname in its subscripts, one access takes: 1
/// where they do not follow each other, or nothing is known of where they start.
std::int64_t CPrinter::vector_length(const Expr& e, const Loop& x) {
  const auto* l = e.as<Load>();
  if (!l) return 1;
  const Argument* a = k_.find_arg(l->array);
  const Temporary* t = k_.find_temporary(l->array);
  const bool shared = t && !t->read_only && plan_.spaces.count(t->name) &&
                      !plan_.lies_in(t->name, AddressSpace::Private);
  if ((!a || a->constant) && !shared) return 1;
  const Type type = expr_.type(e);
  const std::int64_t size = type.size();
  if (!vector_type(helpers_.language(), type, 2)) return 1;

  const Exprs shape = (a ? a->shape : t->shape).value_or(Exprs{});
  const Exprs strides = l->linear ? Exprs{lit(1)}
                        : a       ? strides_of(shape, a->order, a->strides)
                                  : strides_of(shape, t->order, t->strides);
  Expr first = a && a->offset ? a->offset : lit(0);
  std::int64_t step = 0;
  for (std::size_t i = 0; i < l->index.size(); ++i) {
    const auto along = step_along(l->index[i], x.iname);
    const auto stride = as_int(strides[i]);
    if (!along || (*along != 0 && !stride)) return 1;
    if (*along != 0) step += *along * *stride;
    first =
        index_add({first, index_mul(strides[i], substitute(l->index[i], {{x.iname, x.lower}}))});
  }
  if (step != 1) return 1;
  std::int64_t n = std::min(kMostBytes / size, divisor_of(k_, without_truncation(first)));
  while (n > 1 && x.lanes % n != 0) n /= 2;
  return n * size >= kLeastBytes ? n : 1;
}

/// What a vector's address is cast to.
std::string CPrinter::vector_pointer(const std::string& array, const std::string& type) const {
  const bool local = plan_.lies_in(array, AddressSpace::Local);
  const std::string space = helpers_.language() == Language::Cuda ? ""
                            : local                               ? dialect_.local_prefix()
                                                                  : dialect_.global_prefix();
  return "(" + space + type + " *)";
}

void CPrinter::lanes(const Loop& x) {
  Run run = std::get<Run>(x.body.at(0).op);
  const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run.insn)];
  std::map<std::string, Expr> values;
  for (const auto& [iname, e] : run.values) values.emplace(iname, without_truncation(e));
  const auto outer = [&](const Expr& e) { return values.empty() ? e : substitute(e, values); };
  const Expr start = without_truncation(x.lower);
  const auto lane = [&](std::int64_t i) { return index_add({start, lit(i)}); };
  Loop here;
  here.iname = x.iname;
  here.lower = start;
  here.lanes = x.lanes;

  std::vector<std::pair<Expr, std::int64_t>> loads;  // each once, with elements per access
  const auto note = [&](const Expr& e) {
    walk(e, [&](const Expr& y) {
      const Expr at = outer(y);
      const bool known = std::any_of(loads.begin(), loads.end(),
                                     [&](const auto& l) { return equal(l.first, at); });
      if (!known && y.as<Load>())
        if (const std::int64_t n = vector_length(at, here); n > 1) loads.emplace_back(at, n);
      return true;
    });
  };
  if (insn.rhs) note(insn.rhs);
  std::optional<std::pair<Expr, std::int64_t>> store;
  if (insn.lhs.size() == 1 && insn.role == ReductionRole::None && insn.atomic == Atomicity::None) {
    const Expr at = outer(insn.lhs[0]);
    if (const std::int64_t n = vector_length(at, here); n > 1) store.emplace(at, n);
  }

  const bool braces = !loads.empty() || store;
  if (braces) {
    line("{");
    ++depth_;
  }
  std::vector<std::pair<Expr, std::string>>
      reads;  // an element of a lane, and what it is read from
  std::vector<std::string> stores;
  const auto vectors = [&](const Expr& e, std::int64_t n, bool loaded, bool stored) {
    const Type type = expr_.type(e);
    const std::string vector = vector_type(helpers_.language(), type, n).value();
    const std::string array = written_name(e);
    if (plan_.lies_in(array, AddressSpace::Local)) aligned_.insert(array);
    for (std::int64_t i = 0; i < x.lanes; i += n) {
      const std::string name = names_.fresh("v");
      const std::string place = expr_.place(substitute(e, {{x.iname, lane(i)}}));
      const std::string whole =
          "*" + vector_pointer(array, stored ? vector : vector + " const") + "&" + place;
      line(vector + (stored ? " " : " const ") + name + (loaded ? " = " + whole : "") + ";");
      if (stored) stores.push_back(whole + " = " + name + ";");
      for (std::int64_t j = 0; j < n; ++j)
        reads.emplace_back(substitute(e, {{x.iname, lane(i + j)}}), name + "." + kComponents[j]);
    }
  };
  expr_.set_instruction(run.insn, values);
  for (const auto& [e, n] : loads)
    if (!store || !equal(e, store->first)) vectors(e, n, true, false);
  const std::size_t first_stored = reads.size();
  if (store) {
    const bool read = std::any_of(loads.begin(), loads.end(),
                                  [&](const auto& l) { return equal(l.first, store->first); });
    vectors(store->first, store->second, read, true);
  }
  for (std::size_t i = 0; i < reads.size(); ++i)
    expr_.stand_in(reads[i].first, reads[i].second, i >= first_stored);
  for (std::int64_t i = 0; i < x.lanes; ++i) {
    run.values[x.iname] = lane(i);
    this->run(run);
  }
  expr_.end_stand_ins();
  for (const std::string& s : stores) line(s);
  if (braces) {
    --depth_;
    line("}");
  }
}

}  // namespace moonloop
