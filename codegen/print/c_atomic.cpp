#include "codegen/plan/atomics.h"
#include "codegen/print/c_printer.h"
#include "core/infer/typing.h"

// Atomic updates on devices: one operation where the hardware has it, else a loop that tries until
// no other work-item interferes.
namespace moonloop {

std::string CPrinter::space_of(const std::string& variable) const {
  if (helpers_.language() != Language::OpenCL) return "";
  if (outermost_ != this) {
    const auto given = spaces_.find(variable);
    return given == spaces_.end() ? "__private " : given->second;
  }
  return plan_.lies_in(variable, AddressSpace::Private) ? "__private "
         : plan_.lies_in(variable, AddressSpace::Local) ? dialect_.local_prefix()
                                                        : dialect_.global_prefix();
}

void CPrinter::device_atomic(const Exprs& lhs, const Expr& rhs) {
  const std::string& name = written_name(lhs[0]);
  for (const Expr& l : lhs)  // some may be the work-item's own
    if (const auto it = plan_.locked.find(written_name(l)); it != plan_.locked.end())
      return in_turn(lhs, rhs, it->second);
  const Type t = expr_.type(lhs[0]);
  const std::optional<SimpleUpdate> simple = simple_update(lhs[0], rhs);
  const bool local = plan_.lies_in(name, AddressSpace::Local);
  const std::string place = expr_.place(lhs[0]);
  const auto added = [&] {  // a subtracted term is negated in its type
    const auto* u = simple->other.as<Unary>();
    if (!u || u->op != UnaryOp::Sub) return expr_.value(simple->other, t);
    const Expr own = expr_.type(u->arg, t) == t ? u->arg : Expr(Cast{t, u->arg}, u->arg.at());
    return expr_.value(Expr(Unary{UnaryOp::Neg, own}), t);
  };
  if (plan_.sums.count(name)) return atomic_sum_of_pairs(place, t, space_of(name), added());
  if (simple && !is_complex(t.scalar) && size_of(t.scalar) >= 4)
    if (const std::string f = dialect_.atomic_function(simple->op, t.scalar); !f.empty()) {
      if (size_of(t.scalar) == 8)
        helpers_.use(simple->op == "add" ? Feature::Int64Atomics : Feature::Int64Extremes);
      return line(dialect_.atomic_call(f, "&" + place, added(), t.scalar) + ";");
    }
  if (has_gangs() && (t.is_record() || is_complex(t.scalar) || size_of(t.scalar) < 4))
    fail("unsupported", lhs[0].at(), "atomic updates of {} are not supported by target `{}`",
         t.str(), to_string(plan_.target));
  exchange(place, t, local, [&](const std::string& old) {
    const std::size_t kept = expr_.stand_ins();
    expr_.stand_in(lhs[0], old);
    const bool same = t.is_record() || expr_.type(rhs, t) == t;
    std::string value = expr_.value(same ? rhs : Expr(Cast{t, rhs}, rhs.at()), t);
    expr_.end_stand_ins(kept);
    return value;
  });
}

/// The numbers that a value of this type consists of.
std::vector<CPrinter::Number> CPrinter::numbers(const Type& t) const {
  if (!t.is_record() && !is_complex(t.scalar)) return {{"", t, ""}};
  if (!t.is_record()) {
    const Type part = real_part(t.scalar);
    return {{"", part, ".x"}, {"", part, ".y"}};
  }
  std::vector<Number> out;
  for (const Record::Field& f : t.record->fields)
    for (const Number& n : numbers(f.type))
      out.push_back({"." + field_name(helpers_.language(), f.name) + n.path, n.type, n.component});
  return out;
}

/// Under a lock that one work-item at a time has. Those that wait go around the loop, since the one
/// that proceeds may be in their own warp. The variable is read from and written to memory that all
/// see. `each`: an element has a lock of its own, or shares it by chance.
void CPrinter::in_turn(const Exprs& lhs, const Expr& rhs, bool each) {
  const auto* tuple = rhs.as<Call>();
  const bool several = tuple && tuple->name == "make_tuple";
  const std::string done = names_.fresh("done"), number = names_.fresh("number");
  const std::string& locks = names_.of(plan_.locks);
  const std::string address = "&" + locks + "[" + (each ? number : "0") + "]";
  std::vector<std::string> places, old;
  for (const Expr& l : lhs) {
    places.push_back(expr_.place(l));
    old.push_back(names_.fresh("old"));
  }
  const auto in_memory = [&](std::size_t i, const Number& n) {
    const std::string pointer = "(volatile " + space_of(written_name(lhs[i])) +
                                helpers_.element(n.type) + " *)&" + places[i] + n.path;
    return n.component.empty() ? "*" + pointer
                               : "(" + pointer + ")[" + (n.component == ".x" ? "0]" : "1]");
  };
  Expr element = lhs[0];  // fields share the lock of their record
  while (const auto* f = element.as<Field>()) element = f->base;
  const std::string whole = expr_.place(element);
  line("{");
  ++depth_;
  if (each)
    line("int const " + number + " = (size_t)&" + whole + "/sizeof " + whole + " % " +
         std::to_string(*expr_.elements(*k_.find_temporary(plan_.locks))) + ";");
  line("int " + done + " = 0;");
  line("while (!" + done + ")");
  ++depth_;
  line("if (" + dialect_.swap() + "(" + address + ", 1) == 0) {");
  ++depth_;
  line(dialect_.fence());
  const auto own = [&](std::size_t i) {  // no one else sees it
    return plan_.lies_in(written_name(lhs[i]), AddressSpace::Private);
  };
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    if (own(i)) continue;
    const Type t = expr_.type(lhs[i]);
    line(helpers_.element(t) + " " + old[i] + ";");
    for (const Number& n : numbers(t))
      line(old[i] + n.path + n.component + " = " + in_memory(i, n) + ";");
  }
  const std::size_t kept = expr_.stand_ins();
  for (std::size_t i = 0; i < lhs.size(); ++i)
    if (!own(i)) expr_.stand_in(lhs[i], old[i], true);
  std::vector<std::string> next;
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    const Type t = expr_.type(lhs[i]);
    next.push_back(names_.fresh("next"));
    line(helpers_.element(t) + " const " + next[i] + " = " +
         expr_.value(several ? tuple->args[i] : rhs, t) + ";");
  }
  expr_.end_stand_ins(kept);
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    if (own(i)) {
      line(places[i] + " = " + next[i] + ";");
      continue;
    }
    for (const Number& n : numbers(expr_.type(lhs[i])))
      line(in_memory(i, n) + " = " + next[i] + n.path + n.component + ";");
  }
  line(dialect_.fence());
  line(dialect_.swap() + "(" + address + ", 0);");
  line(done + " = 1;");
  --depth_;
  line("}");
  depth_ -= 2;
  line("}");
}

/// Real and imaginary part each by themselves: a sum is whole once all have added to it.
void CPrinter::atomic_sum_of_pairs(const std::string& place, const Type& t,
                                   const std::string& space, const std::string& value) {
  const Type part = real_part(t.scalar);
  const bool local = space == dialect_.local_prefix();
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

/// A loop that computes the new value from the old one until no one wrote in between.
void CPrinter::exchange(const std::string& place, const Type& t, bool local,
                        const std::function<std::string(const std::string& old)>& value) {
  const bool small = size_of(t.scalar) < 4;
  const AtomicWords w = dialect_.atomic_words(small ? Scalar::I32 : t.scalar, local);
  if (size_of(t.scalar) == 8) helpers_.use(Feature::Int64Atomics);
  if (t == Type(Scalar::C64)) helpers_.use(Feature::PairAsWord);
  const std::string at = names_.fresh("at"), seen = names_.fresh("seen"),
                    before = names_.fresh("before"), old = names_.fresh("old");
  const std::string many = !has_gangs() ? "" : in_lanes_ ? "varying " : "uniform ";
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
    line(w.pointer + (has_gangs() ? many : "const ") + at + " = (" + w.pointer + many + ")&" +
         place + ";");
  }
  line(many + w.word + " " + seen + " = *" + at + ", " + before + ";");
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
