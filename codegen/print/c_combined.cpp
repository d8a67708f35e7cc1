#include "codegen/print/c_printer.h"
#include "core/order/combinable.h"

// Atomic updates that the work-items of a warp combine before the first of each element makes them.
namespace moonloop {
namespace {

/// Those that run this statement together, the work-item's own number in the warp and those before
/// it. Few elements of many meet by chance, and then neighbours do not: that is asked first, by two
/// instructions. Addresses differ in their last 32 bits, or it costs time but no more.
constexpr const char* kMeeting =
    R"(struct warp_meeting {
  unsigned all, lane, before, equal;
};
/* Whether some work-items of the warp that arrive together have the same address as another one;
   those with this one's are the bits of `equal`. */
static __device__ __forceinline__ bool warp_meets(void const *at, warp_meeting *m) {
  m->all = __activemask();
  asm("mov.u32 %0, %%laneid;" : "=r"(m->lane));
  m->equal = 1u << m->lane;
  m->before = m->all & (m->equal - 1);
#if __CUDA_ARCH__ >= 700
  unsigned const word = (unsigned)(size_t)at;
  int const neighbour = m->before != 0 ? 31 - __clz(m->before) : (int)m->lane;
  bool const same = __shfl_sync(m->all, word, neighbour) == word && m->before != 0;
  if (!__any_sync(m->all, same)) return false;
  m->equal = __match_any_sync(m->all, (unsigned long long)at);
  return true;
#else
  return false;
#endif
}
)";

constexpr const char* kNumber =
    R"(static __device__ __forceinline__ int number_of_equal(void const *at) {
  warp_meeting m;
  if (!warp_meets(at, &m)) return 1;
  return (m.equal & m.before) != 0 ? 0 : __popc(m.equal);
}
)";

/// Pairs of neighbours among the equal ones, then pairs of these pairs, and so on.
constexpr const char* kFirst =
    R"(template <class T, class F>
static __device__ __forceinline__ bool first_of_equal(void const *at, T *value, F combine) {
  warp_meeting m;
  if (!warp_meets(at, &m)) return true;
  unsigned place = __popc(m.equal & m.before);
  bool const first = place == 0;
  for (unsigned after = m.equal & ~m.before & ~(1u << m.lane); __any_sync(m.all, after != 0);
       place >>= 1) {
    T const next = __shfl_sync(m.all, *value, after != 0 ? __ffs(after) - 1 : (int)m.lane);
    if (after != 0) *value = combine(*value, next);
    after &= __ballot_sync(m.all, place % 2 == 0);
  }
  return first;
}
)";

/// The update, which a step since combine_updates may have given another form.
CombinableUpdate update_of(const Kernel& k, const Instruction& insn) {
  CommutingUpdates updates(k);
  try {
    return combinable_update(k, insn, updates);
  } catch (const Refused& e) {
    fail("unsupported", insn.at, "instruction `{}` is combined, but cannot be any more: {}",
         insn.id, e.diagnostic().text);
  }
}

}  // namespace

std::string Helpers::number_of_equal() {
  functions_["meeting of a warp"] = kMeeting;
  functions_["number_of_equal"] = kNumber;
  return "number_of_equal";
}

std::string Helpers::first_of_equal() {
  functions_["meeting of a warp"] = kMeeting;
  functions_["meeting, first_of_equal"] = kFirst;
  return "first_of_equal";
}

void CPrinter::combined_atomic(const Instruction& insn) {
  using Operation = CombinableUpdate::Operation;
  const CombinableUpdate u = update_of(k_, insn);
  const Type t = expr_.type(insn.lhs[0]);
  const std::string place = expr_.place(insn.lhs[0]), type = type_name(t);
  const auto* minus = u.term.as<Unary>();
  const bool negative = minus && minus->op == UnaryOp::Sub;
  Expr term = u.term;
  if (negative) {  // in the type of the element
    const Expr own = expr_.type(minus->arg, t) == t ? minus->arg : Expr(Cast{t, minus->arg});
    term = Expr(Unary{UnaryOp::Neg, own}, u.term.at());
  }
  const Expr& number = negative ? minus->arg : u.term;
  const auto applied = [&](const std::string& a, const std::string& b) -> std::string {
    switch (u.operation) {
      case Operation::Add: return a + " + " + b;
      case Operation::Mul: return a + "*" + b;
      case Operation::BitAnd: return a + " & " + b;
      case Operation::BitOr: return a + " | " + b;
      case Operation::BitXor: return a + " ^ " + b;
      case Operation::Min:
      case Operation::Max: break;
    }
    return helpers_.extremum(u.operation == Operation::Min, t.scalar, has_nans_as_fortran(k_)) +
           "(" + a + ", " + b + ")";
  };
  const std::string name = u.operation == Operation::Add   ? "add"
                           : u.operation == Operation::Min ? "min"
                           : u.operation == Operation::Max ? "max"
                                                           : "";
  const std::string function = name.empty() ? "" : dialect_.atomic_function(name, t.scalar);
  const auto update = [&](const std::string& value) {
    if (!function.empty())
      return line(dialect_.atomic_call(function, "&" + place, value, t.scalar) + ";");
    exchange(place, t, plan_.lies_in(written_name(insn.lhs[0]), AddressSpace::Local),
             [&](const std::string& old) { return applied(old, value); });
  };
  line("{");
  ++depth_;
  if (u.operation == Operation::Add && (number.as<IntLit>() || number.as<FloatLit>())) {
    const std::string equal = names_.fresh("equal");
    line("int const " + equal + " = " + helpers_.number_of_equal() + "(&" + place + ");");
    line("if (" + equal + " != 0) {");
    ++depth_;
    update(as_int(term) == 1 ? equal : expr_.value(term, t) + "*" + equal);
  } else {
    const std::string value = names_.fresh("combined");
    line(type + " " + value + " = " + expr_.value(term, t) + ";");
    line("if (" + helpers_.first_of_equal() + "(&" + place + ", &" + value + ", [](" + type +
         " a, " + type + " b) { return (" + type + ")(" + applied("a", "b") + "); })) {");
    ++depth_;
    update(value);
  }
  --depth_;
  line("}");
  --depth_;
  line("}");
}

}  // namespace moonloop
