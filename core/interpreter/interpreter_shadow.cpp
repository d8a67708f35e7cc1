#include "core/interpreter/interpreter_compile.h"
#include "core/interpreter/interpreter_scalars.h"
#include "core/model/domain.h"
#include "core/model/external.h"

/// Which variables need bounds, and the room for them.
namespace moonloop::interp {
namespace {

std::int64_t granule(const Type& t) {
  if (!t.is_record()) return size_of(t.scalar);
  std::int64_t g = 16;
  for (const auto& f : t.record->fields) {
    const std::int64_t part = granule(f.type);
    // A complex number is aligned like its parts.
    const bool complex = !f.type.is_record() && is_complex(f.type.scalar);
    g = std::min(g, complex ? part / 2 : part);
  }
  return g;
}

const Type* type_of(const Kernel& k, const std::string& name) {
  if (const Argument* a = k.find_arg(name)) return a->type ? &*a->type : nullptr;
  const Temporary* t = k.find_temporary(name);
  return t && t->type ? &*t->type : nullptr;
}

bool gives_reals(const std::string& function) {
  const FnInfo* f = find_function(function);
  return f && (f->cls == FnClass::Real || f->cls == FnClass::RealOrComplex ||
               f->cls == FnClass::Component || f->cls == FnClass::Conjugate ||
               f->cls == FnClass::Bessel);
}

/// Whether reals, or integers in `decided`, may decide the value of `e`. An operation on uint64 and
/// a signed type is one on reals.
bool decides(const Kernel& k, const Expr& e, const std::set<std::string>& decided) {
  bool found = false, signed_parts = false, u64_parts = false;
  const auto part = [&](const Type& t) {
    found = found || !holds_int(t);
    if (t == Type(Scalar::U64))
      u64_parts = true;
    else if (holds_int(t) && !t.is_record() && !is_unsigned(t.scalar))
      signed_parts = true;
  };
  const auto named = [&](const std::string& name) {
    const Type* t = type_of(k, name);
    part(t ? *t : Type(Scalar::I32));  // of an iname or a parameter
    found = found || decided.count(name) != 0;
  };
  walk(e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>()) named(v->name);
    if (const auto* l = x.as<Load>()) {  // its subscripts are computed for themselves
      named(l->array);
      for (const Expr& i : l->index) found = found || decides(k, i, decided);
      return false;
    }
    if (const auto* c = x.as<Cast>()) part(c->type);
    if (const auto* n = x.as<IntLit>(); n && n->type) part(*n->type);
    const auto* b = x.as<Binary>();
    const auto* f = x.as<Call>();
    found = found || x.as<FloatLit>() || x.as<ComplexLit>() || (b && b->op == BinaryOp::Div) ||
            (f && gives_reals(f->name)) || (u64_parts && signed_parts);
    return !found;
  });
  return found;
}

bool decides(const Kernel& k, const Instruction& insn, const std::set<std::string>& decided) {
  const auto open = [&](const Expr& e) { return decides(k, e, decided); };
  if ((insn.rhs && open(insn.rhs)) ||
      std::any_of(insn.predicates.begin(), insn.predicates.end(), open))
    return true;
  for (const Expr& l : insn.lhs)
    if (const auto* x = l.as<Load>())
      if (std::any_of(x->index.begin(), x->index.end(), open)) return true;
  if (decided.empty()) return false;
  for (const std::string& p : param_names(domain_of(k, {insn.inames.begin(), insn.inames.end()})))
    if (decided.count(p)) return true;
  return false;
}

}  // namespace

std::set<std::string> decided_integers(const Kernel& k) {
  std::set<std::string> out;
  for (bool again = true; again;) {
    again = false;
    for (const InsnPtr& i : k.instructions) {
      std::vector<std::string> integers;
      for (const std::string& n : writes(*i))
        if (const Type* t = type_of(k, n); t && holds_int(*t) && !out.count(n))
          integers.push_back(n);
      if (integers.empty() || !decides(k, *i, out)) continue;
      out.insert(integers.begin(), integers.end());
      again = true;
    }
  }
  return out;
}

std::set<std::string> summed_variables(const Kernel& k) {
  std::set<std::string> out;
  for (const InsnPtr& i : k.instructions) {
    const bool reduces = i->role == ReductionRole::Update &&
                         (i->reduce_op == ReduceOp::Sum || i->reduce_op == ReduceOp::SegmentedSum);
    if (reduces) out.insert(written_name(i->lhs[0]));
    if (i->role != ReductionRole::None || external_call(k, *i)) continue;
    for (std::size_t n = 0; n < i->lhs.size(); ++n)
      if (place_in_sum(i->lhs[n], assigned(*i, n))) out.insert(written_name(i->lhs[n]));
  }
  return out;
}

void Storage::reach(std::int64_t last) {
  Copies& c = copies.back();
  std::int64_t extent = 0, elements = 0, bytes = 0;
  if (__builtin_sub_overflow(last, c.first, &extent) ||
      __builtin_add_overflow(extent, std::int64_t{1}, &extent) ||
      __builtin_mul_overflow(extent, c.stride, &elements) ||
      __builtin_mul_overflow(elements, std::int64_t{type.size()}, &bytes))
    fail("size-overflow", {}, "the work-items' copies of a temporary exceed 64 bits");
  if (extent <= c.extent) return;
  c.extent = extent;
  try {
    own.resize(static_cast<std::size_t>(bytes), unset);
  } catch (const std::exception&) {
    fail("size-overflow", {}, "there is no memory for {} bytes of a temporary's copies", bytes);
  }
  data = own.data();
  if (!shadow) return;
  shadow->origin = data;
  shadow->bounds.resize((own.size() >> shadow->shift) + 1);
  if (!shadow->sums.empty()) shadow->sums.resize(shadow->bounds.size());
}

Shadow make_shadow(const Type& t, const char* origin, std::size_t bytes, const Accuracy& accuracy,
                   bool sums) {
  Shadow s;
  s.accuracy = &accuracy;
  s.origin = origin;
  while ((std::int64_t{1} << (s.shift + 1)) <= granule(t)) ++s.shift;
  s.bounds.assign((bytes >> s.shift) + 1, 0);
  if (sums) s.sums.resize(s.bounds.size());
  return s;
}

}  // namespace moonloop::interp
