#include "codegen/c_printer.h"
#include "core/typing.h"

// Atomic updates on devices: one operation where the hardware has it, else a loop that tries until
// nobody came between.
namespace moonloop {
namespace {

/// `place = place op other`, with an operation that devices have for integers.
struct Simple {
  std::string op;  // add, min, max
  Expr other;
};

std::optional<Simple> simple_update(const Expr& lhs, const Expr& rhs) {
  const auto split = [&](const Exprs& terms, const char* op) -> std::optional<Simple> {
    if (terms.size() != 2) return std::nullopt;
    if (equal(terms[0], lhs)) return Simple{op, terms[1]};
    if (equal(terms[1], lhs)) return Simple{op, terms[0]};
    return std::nullopt;
  };
  if (const auto* n = rhs.as<Nary>(); n && n->op == NaryOp::Add) return split(n->terms, "add");
  if (const auto* c = rhs.as<Call>(); c && (c->name == "min" || c->name == "max"))
    return split(c->args, c->name.c_str());
  return std::nullopt;
}

bool mentions(const Expr& e, const Expr& place) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    found |= equal(x, place);
    return !found;
  });
  return found;
}

}  // namespace

void CPrinter::device_atomic(const Instruction& insn, const Expr& lhs, const Expr& rhs) {
  const Type t = expr_.type(lhs);
  std::optional<Simple> simple = simple_update(lhs, rhs);
  if (simple && mentions(simple->other, lhs)) simple.reset();
  const bool pair = !t.is_record() && is_complex(t.scalar);
  const bool parts = pair && simple && simple->op == "add";
  if (t.is_record() || (size_of(t.scalar) > 8 && !parts))
    fail("unsupported", insn.at,
         "instruction `{}`: target `{}` has no such atomic update of type {}; up to 8 bytes have "
         "any, complex128 has sums",
         insn.id, to_string(plan_.target), t.str());
  const bool local = plan_.lies_in(written_name(lhs), AddressSpace::Local);
  const std::string place = expr_.place(lhs);
  if (parts) return atomic_sum_of_pairs(place, t, local, expr_.value(simple->other, t));
  if (simple && !pair && size_of(t.scalar) >= 4)
    if (const std::string name = dialect_.atomic_function(simple->op, t.scalar); !name.empty())
      return line(dialect_.atomic_call(name, "&" + place, expr_.value(simple->other, t), t.scalar) +
                  ";");
  exchange(place, t, local, [&](const std::string& old) {
    expr_.stand_in(lhs, old);
    std::string value = expr_.value(rhs, t);
    expr_.end_stand_ins();
    return value;
  });
}

/// Real and imaginary part each by themselves: a sum is whole once all have added to it.
void CPrinter::atomic_sum_of_pairs(const std::string& place, const Type& t, bool local,
                                   const std::string& value) {
  const Type part = real_part(t.scalar);
  const std::string space = helpers_.language() == Language::Cuda ? ""
                            : local                               ? dialect_.local_prefix()
                                                                  : dialect_.global_prefix();
  const std::string add = names_.fresh("add");
  line("{");
  ++depth_;
  line(type_name(t) + " const " + add + " = " + value + ";");
  for (const bool imaginary : {false, true}) {
    const std::string at = "((" + space + type_name(part) + " *)&" + place +
                           (imaginary ? ")[1]" : ")[0]"),
                      more = add + (imaginary ? ".y" : ".x");
    const std::string name = dialect_.atomic_function("add", part.scalar);
    if (!name.empty())
      line(dialect_.atomic_call(name, "&" + at, more, part.scalar) + ";");
    else
      exchange(at, part, local, [&](const std::string& old) { return old + " + " + more; });
  }
  --depth_;
  line("}");
}

/// A loop that computes the new value from the old one until nobody wrote between.
void CPrinter::exchange(const std::string& place, const Type& t, bool local,
                        const std::function<std::string(const std::string& old)>& value) {
  const bool small = size_of(t.scalar) < 4;
  const AtomicWords w = dialect_.atomic_words(small ? Scalar::I32 : t.scalar, local);
  const std::string at = names_.fresh("at"), seen = names_.fresh("seen"),
                    before = names_.fresh("before"), old = names_.fresh("old");
  line("{");
  ++depth_;
  // Less than a word: the bits above `shift` of the word around it, which all devices store with
  // the lowest byte first.
  const std::string shift = small ? names_.fresh("shift") : "";
  const std::string bits = size_of(t.scalar) == 1 ? "0xff" : "0xffff";
  if (small) {
    const std::string address = names_.fresh("address");
    line("size_t const " + address + " = (size_t)&" + place + ";");
    line("int const " + shift + " = 8*(int)(" + address + " % 4);");
    line(w.pointer + "const " + at + " = (" + w.pointer + ")(" + address + " - " + address +
         " % 4);");
  } else {
    line(w.pointer + "const " + at + " = (" + w.pointer + ")&" + place + ";");
  }
  line(w.word + " " + seen + " = *" + at + ", " + before + ";");
  line("do {");
  ++depth_;
  line(before + " = " + seen + ";");
  const std::string type = type_name(t);
  line(type + " const " + old + " = " +
       (small ? "(" + type + ")(" + before + " >> " + shift + " & " + bits + ")"
              : w.to_value + "(" + before + ")") +
       ";");
  const std::string next = value(old);
  const std::string after = small ? "(" + before + " & ~(" + bits + " << " + shift + ")) | ((" +
                                        type + ")(" + next + ") & " + bits + ") << " + shift
                                  : w.to_word + "(" + next + ")";
  line(seen + " = " + w.exchange + "(" + at + ", " + before + ", " + after + ");");
  --depth_;
  line("} while (" + seen + " != " + before + ");");
  --depth_;
  line("}");
}

}  // namespace moonloop
