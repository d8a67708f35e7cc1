#include "codegen/c_printer.h"

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
  if (t.is_record() || size_of(t.scalar) > 8)
    fail("unsupported", insn.at,
         "instruction `{}`: target `{}` has no atomic updates of type {}, only of up to 8 bytes",
         insn.id, to_string(plan_.target), t.str());
  const bool local = plan_.lies_in(written_name(lhs), AddressSpace::Local);
  const std::string place = expr_.place(lhs);
  const bool small = size_of(t.scalar) < 4;
  if (const auto s = simple_update(lhs, rhs);
      s && !small && !is_complex(t.scalar) && !mentions(s->other, lhs))
    if (const std::string name = dialect_.atomic_function(s->op, t.scalar); !name.empty())
      return line(dialect_.atomic_call(name, "&" + place, expr_.value(s->other, t), t.scalar) +
                  ";");
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
  line(type_name(t) + " const " + old + " = " +
       (small ? "(" + type_name(t) + ")(" + before + " >> " + shift + " & " + bits + ")"
              : w.to_value + "(" + before + ")") +
       ";");
  expr_.stand_in(lhs, old);
  const std::string value = expr_.value(rhs, t);
  expr_.end_stand_ins();
  const std::string after = small
                                ? "(" + before + " & ~(" + bits + " << " + shift + ")) | ((" +
                                      type_name(t) + ")(" + value + ") & " + bits + ") << " + shift
                                : w.to_word + "(" + value + ")";
  line(seen + " = " + w.exchange + "(" + at + ", " + before + ", " + after + ");");
  --depth_;
  line("} while (" + seen + " != " + before + ");");
  --depth_;
  line("}");
}

}  // namespace moonloop
