#include <algorithm>

#include "codegen/plan/ast.h"
#include "codegen/plan/choices.h"
#include "codegen/plan/domains.h"
#include "codegen/print/c_expr.h"
#include "codegen/print/declare.h"
#include "core/model/layout.h"

// Expressions of integers: bounds, guards, subscripts, sizes; and the places they lead to.
namespace moonloop {
namespace {

bool is_id(const Call& c) { return c.name == kLocalId || c.name == kGroupId; }

bool is_sum(const Expr& e) {
  const auto* n = e.as<Nary>();
  return n && n->op == NaryOp::Add;
}

/// The terms of a sum and those of sums among them: C adds them from left to right anyway.
Exprs flat_terms(const Expr& e) {
  Exprs out;
  for (const Expr& t : e.as<Nary>()->terms) {
    if (!is_sum(t)) {
      out.push_back(t);
      continue;
    }
    const Exprs inner = flat_terms(t);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

std::optional<std::int64_t> product(const Exprs& factors) {
  std::int64_t n = 1;
  for (const Expr& e : factors) {
    const auto v = as_int(e);
    if (!v || __builtin_mul_overflow(n, *v, &n)) return std::nullopt;
  }
  return n;
}

}  // namespace

// ---- Integers ---------------------------------------------------------------------------------

/// Made of integer literals, integer variables and elements, and of operations on them that need no
/// conversion: `int`s hold narrower signed ones, whose overflow is undefined. Expressions from isl,
/// which divide as C does, are about plain numbers, whatever the types of their parameters.
bool CExpr::is_index(const Expr& e) const {
  const auto all = [&](const Exprs& es) {
    return std::all_of(es.begin(), es.end(), [&](const Expr& x) { return is_index(x); });
  };
  bool from_isl = false;
  walk(e, [&](const Expr& x) {
    const auto* c = x.as<Call>();
    return !(from_isl = from_isl || (c && is_truncated(*c)));
  });
  const auto integer = [&](const std::string& n) {
    const Type& t = type_of_name(n);
    return !t.is_record() && is_integer(t.scalar) && (from_isl || !is_unsigned(t.scalar));
  };
  return e.visit(overload{
      [](const IntLit& x) { return !x.type || (!is_unsigned(*x.type) && size_of(*x.type) >= 4); },
      [](const FloatLit&) { return false; }, [](const ComplexLit&) { return false; },
      [](const BoolLit&) { return true; }, [&](const Var& x) { return integer(x.name); },
      [&](const Load& x) { return integer(x.array); }, [](const Field&) { return false; },
      [&](const Unary& x) { return x.op != UnaryOp::BitNot && is_index(x.arg); },
      [&](const Binary& x) {
        return (x.op == BinaryOp::FloorDiv || x.op == BinaryOp::Mod) && is_index(x.left) &&
               is_index(x.right);
      },
      [&](const Nary& x) {
        const bool bits = x.op == NaryOp::BitAnd || x.op == NaryOp::BitOr || x.op == NaryOp::BitXor;
        return !bits && all(x.terms);
      },
      [&](const Compare& x) { return is_index(x.left) && is_index(x.right); },
      [&](const Select& x) { return is_index(x.cond) && is_index(x.yes) && is_index(x.no); },
      [&](const Call& x) {
        return is_id(x) || ((is_truncated(x) || x.name == "min" || x.name == "max") && all(x.args));
      },
      [](const Reduce&) { return false; }, [](const Cast&) { return false; },
      [](const Slice&) { return false; }, [](const SubArray&) { return false; }});
}

/// The type in which C computes an index expression.
Scalar CExpr::index_width(const Expr& e) const {
  Scalar out = Scalar::I32;
  walk(e, [&](const Expr& x) {
    if (const auto* i = x.as<IntLit>())
      if (i->value > INT32_MAX || i->value < INT32_MIN || i->type == Scalar::I64) out = Scalar::I64;
    const auto* v = x.as<Var>();
    const auto* l = x.as<Load>();
    if (v || l) {
      const Type& t = type_of_name(v ? v->name : l->array);
      if (!t.is_record() && is_integer(t.scalar) && size_of(t.scalar) == 8) out = Scalar::I64;
    }
    return !l;
  });
  return out;
}

std::optional<Expr> CExpr::as_sum(const Expr& choice) {
  if (!choice.as<Select>() || !is_index(choice)) return std::nullopt;
  const std::optional<NumberedChoice> c = numbered_choice(choice);
  if (!c || (!as_int(c->number) && !stays_within(c->number, c->first, c->last)))
    return std::nullopt;
  return c->sum;
}

std::string CExpr::index(const Expr& e, bool wide, Prec min) {
  return wrap(print_index(is_index(e) ? fold_index(e) : e, wide), min);
}

std::string CExpr::at_least_one(const Expr& elements) {
  const std::string n = index(elements, true);
  return as_int(elements) ? n : index(elements, true, Prec::Shift) + " > 0 ? " + n + " : 1";
}

CExpr::Piece CExpr::print_index(const Expr& e, bool wide) {
  if (!is_index(e)) return print(e, {});
  const Type t = wide && !fits(e) ? Scalar::I64 : index_width(e);
  const auto sub = [&](const Expr& x, Prec min) { return wrap(print_index(x, wide), min); };
  if (const auto* n = e.as<Nary>()) {
    if (n->op == NaryOp::Add) return index_sum(e, wide, false);
    if (n->op == NaryOp::Mul) return index_product(e, wide, false);
    std::string out;
    for (const Expr& x : n->terms)
      out += (out.empty() ? "" : n->op == NaryOp::And ? " && " : " || ") + sub(x, Prec::BitOr);
    return {out, n->op == NaryOp::And ? Prec::And : Prec::Or, Scalar::Bool};
  }
  if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Not)
    return {"!" + sub(u->arg, Prec::Unary), Prec::Unary, Scalar::Bool};
  if (const Expr* x = negated(e)) {
    const Piece p = print_index(*x, wide);
    const std::string inner = wrap(p, Prec::Product);
    if (inner[0] == '-') return {"-(" + inner + ")", Prec::Unary, t};
    // -a/b is (-a)/b, which has the value of -(a/b), but a product with it has to keep it together.
    return {"-" + inner, p.prec == Prec::Product ? Prec::Product : Prec::Unary, t};
  }
  if (const auto* b = e.as<Binary>()) {
    const bool quotient = b->op == BinaryOp::FloorDiv;
    if (not_negative(b->left) && positive(b->right))
      return {sub(b->left, Prec::Product) + (quotient ? " / " : " % ") + sub(b->right, Prec::Unary),
              Prec::Product, t};
    return {helpers_.function(quotient ? "floor_div" : "floor_mod", t.scalar) + "(" +
                sub(b->left, Prec::Select) + ", " + sub(b->right, Prec::Select) + ")",
            Prec::Postfix, t};
  }
  if (const auto* c = e.as<Call>()) {
    if (is_truncated(*c))
      return {sub(c->args[0], Prec::Product) + (c->name == kTruncDiv ? " / " : " % ") +
                  sub(c->args[1], Prec::Unary),
              Prec::Product, t};
    if (is_id(*c)) {
      const auto axis = static_cast<int>(as_int(c->args[0]).value());
      return {hardware_id(helpers_.language(), c->name == kGroupId, axis), Prec::Postfix, t};
    }
    const std::string name = helpers_.function(c->name, t.scalar);
    std::string text = sub(c->args[0], Prec::Select);
    for (std::size_t i = 1; i < c->args.size(); ++i)
      text = name + "(" + text + ", " + sub(c->args[i], Prec::Select) + ")";
    return {text, Prec::Postfix, t};
  }
  if (const auto sum = as_sum(e)) return print_index(*sum, wide);
  if (const auto* s = e.as<Select>())
    return {
        sub(s->cond, Prec::Or) + " ? " + sub(s->yes, Prec::Or) + " : " + sub(s->no, Prec::Select),
        Prec::Select, t};
  if (const auto* c = e.as<Compare>()) {
    const bool equality = c->op == CompareOp::Eq || c->op == CompareOp::Ne;
    const char* op = c->op == CompareOp::Eq   ? " == "
                     : c->op == CompareOp::Ne ? " != "
                     : c->op == CompareOp::Lt ? " < "
                     : c->op == CompareOp::Le ? " <= "
                     : c->op == CompareOp::Gt ? " > "
                                              : " >= ";
    return {sub(c->left, Prec::Shift) + op + sub(c->right, Prec::Shift),
            equality ? Prec::Equal : Prec::Relation, Scalar::Bool};
  }
  const Piece p = print(e, {});
  const bool narrow = integral(p.type) && size_of(p.type.scalar) < 4;
  return in_ispc() && narrow ? cast(p, Scalar::I32) : p;
}

CExpr::Piece CExpr::cast_to_64(const Piece& p) const {
  if (p.type == Type(Scalar::I64)) return p;
  return {"(" + helpers_.type(Scalar::I64) + ")" + wrap(p, Prec::Unary), Prec::Unary, Scalar::I64};
}

/// Computed in 64 bits.
CExpr::Piece CExpr::widened(const Expr& e) {
  const auto* n = e.as<Nary>();
  if (n && n->op == NaryOp::Add) return index_sum(e, true, true);
  if (n && n->op == NaryOp::Mul) return index_product(e, true, true);
  return cast_to_64(print_index(e, true));
}

/// From the first term on in 64 bits, with `in_64` or where 32 may not hold some part of it.
CExpr::Piece CExpr::index_sum(const Expr& e, bool wide, bool in_64) {
  std::string out;
  Type t = Scalar::I32;
  bool pending = in_64 || (wide && !fits(e));
  Exprs terms;
  for (const Expr& t : flat_terms(e)) {
    const std::optional<Expr> sum = as_sum(t);
    const Exprs parts = !sum ? Exprs{t} : is_sum(*sum) ? flat_terms(*sum) : Exprs{*sum};
    for (const Expr& part : parts)
      if (!sum || as_int(part) != 0) terms.push_back(part);
  }
  if (terms.empty()) terms.push_back(lit(0));
  const auto is_wide = [&](std::size_t i) {
    return i < terms.size() && (index_width(terms[i]) == Scalar::I64 || (wide && !fits(terms[i])));
  };
  if (pending && !is_wide(0) && is_wide(1)) pending = false;  // the second makes the sum wide
  for (const Expr& term : terms) {
    const Expr* of = negated(term);
    const auto n = as_int(term);
    const bool minus = !out.empty() && (of || (n && *n < 0 && *n != INT64_MIN));
    const Expr shown = !minus ? term : n ? lit(-*n) : *of;
    const Piece p = pending && !n ? widened(shown) : print_index(shown, wide);
    pending = pending && n;
    if (p.type == Type(Scalar::I64)) t = Scalar::I64;
    std::string text = wrap(p, out.empty() ? Prec::Sum : Prec::Product);
    if (!out.empty() && text[0] == '-') text = "(" + text + ")";
    out += out.empty() ? text : (minus ? " - " : " + ") + text;
  }
  return {out, Prec::Sum, t};
}

CExpr::Piece CExpr::index_product(const Expr& e, bool wide, bool in_64) {
  Type t = Scalar::I32;
  bool pending = in_64 || (wide && !fits(e));
  const Exprs& factors = e.as<Nary>()->terms;
  for (std::size_t i = 0; i < 2 && i < factors.size(); ++i)  // one makes the product wide
    if (index_width(factors[i]) == Scalar::I64) pending = false;
  std::string out;
  for (const Expr& f : factors) {
    const bool here = pending && !as_int(f);
    const Piece p = here ? widened(f) : print_index(f, wide);
    pending = pending && !here;
    if (p.type == Type(Scalar::I64)) t = Scalar::I64;
    std::string text = wrap(p, out.empty() && !here ? Prec::Product : Prec::Unary);
    if (!out.empty() && text[0] == '-') text = "(" + text + ")";
    out += (out.empty() ? "" : "*") + text;
  }
  return {out, Prec::Product, t};
}

std::string CExpr::host_head(const HostStep& s, const Type& iname) {
  if (const auto* guard = std::get_if<HostGuard>(&s.op))
    return "if (" + condition(guard->condition) + ") ";
  const auto& loop = std::get<HostLoop>(s.op);
  runs_from(loop.iname, loop.lower);
  const std::string& i = names_.of(loop.iname);
  const std::string next = loop.step == 1 ? "++" + i : i + " += " + std::to_string(loop.step);
  return "for (" + helpers_.type(iname) + " " + i + " = " + index(loop.lower) + "; " + i +
         " <= " + index(loop.upper, false, Prec::Shift) + "; " + next + ") ";
}

// ---- Places ------------------------------------------------------------------------------------

/// The extents of its memory: of work-items' copies, then of its own axes, or of all that they span
/// where they have strides.
Exprs CExpr::extents(const Temporary& t) const {
  Exprs out;
  if (const auto it = plan_.expansions.find(t.name); it != plan_.expansions.end())
    out = it->second.extent;
  if (t.shape && t.strides)
    out.push_back(lit(span_of(*t.shape, *t.strides).value()));
  else if (t.shape)
    out.insert(out.end(), t.shape->begin(), t.shape->end());
  if (out.empty() && plan_.lies_in(t.name, AddressSpace::Global)) out.push_back(lit(1));
  return out;
}

std::optional<std::int64_t> CExpr::elements(const Temporary& t) const {
  return product(extents(t));
}

bool CExpr::has_axes(const Temporary& t) const {
  if (plan_.lies_in(t.name, AddressSpace::Global) && !t.read_only)
    return false;  // comes by its address
  if (on_heap(*this, t)) return false;
  return t.order == Order::C && !t.strides && elements(t).has_value() && !linear_.count(t.name);
}

std::string CExpr::place(const Expr& e) {
  for (const StandIn& s : stand_ins_)
    if (s.place && equal(e, s.what)) return s.text;
  if (const auto* v = e.as<Var>()) {
    const Temporary* t = k_.find_temporary(v->name);
    const auto a = args_.find(v->name);
    const bool in_memory = (t && !extents(*t).empty()) || (a != args_.end() && a->second->is_array);
    return in_memory ? element(v->name, {}, false) : names_.of(v->name);
  }
  if (const auto* l = e.as<Load>()) return element(l->array, l->index, l->linear);
  const auto* f = e.as<Field>();
  if (!f) throw InternalError("an assignee that is not a place");
  return place(f->base) + "." + field_name(helpers_.language(), f->name);
}

/// An array of Fortran's of one axis, `x(*)`, whose subscripts are in bounds by a claim: numbers of
/// 32 bits, as those of an array with an extent.
bool CExpr::has_one_axis(const Argument& a) const {
  return a.strides && a.strides->size() == 1 && as_int(a.strides->front()) == 1 && !a.offset &&
         k_.index_type == Scalar::I32 && in_bounds_.count(a.name) > 0;
}

std::string CExpr::element(const std::string& array, const Exprs& index, bool linear) {
  const std::string& name = names_.of(array);
  if (const Temporary* t = k_.find_temporary(array)) {
    const Exprs memory = extents(*t);
    if (memory.empty()) return name;
    Exprs copy;  // the work-item's own
    const std::size_t rank = t->shape ? t->shape->size() : 0;
    const auto it = plan_.expansions.find(array);
    if (it != plan_.expansions.end() && (linear || index.size() <= rank)) {
      if (linear)
        fail("unsupported", t->at,
             "each work-item has its own `{}`, which is not supported with a flat subscript",
             array);
      copy = it->second.index.at(insn_);
      for (Expr& i : copy) i = substitute(i, values_);
    }
    Exprs all = copy;
    all.insert(all.end(), index.begin(), index.end());
    if (has_axes(*t)) {
      std::string out = name;
      for (const Expr& i : all) out += "[" + this->index(i) + "]";
      return out;
    }
    Exprs strides =
        linear ? Exprs{lit(1)} : strides_of(t->shape.value_or(Exprs{}), t->order, t->strides);
    const std::size_t copies = all.size() - strides.size();
    if (copies > 0) {  // those are outermost
      const Exprs outer = strides_of(memory, Order::C, {});
      strides.insert(strides.begin(), outer.begin(),
                     outer.begin() + static_cast<std::ptrdiff_t>(copies));
    }
    const Exprs& axes = t->strides || linear ? Exprs{} : memory;
    return name + "[" + flat(all, strides, axes, {}, may_be_large(memory)) + "]";
  }
  const Argument& a = *args_.at(array);
  const Exprs shape = a.shape.value_or(Exprs{});
  const bool wide = !has_one_axis(a) && (a.strides || a.offset || !a.shape || may_be_large(shape));
  const Exprs strides = linear ? Exprs{lit(1)} : strides_of(shape, a.order, a.strides);
  return name + "[" + flat(index, strides, linear ? Exprs{} : shape, a.offset, wide) + "]";
}

/// The flat index of an element, from the array's first one on.
std::string CExpr::number_of(const Load& l) {
  if (l.linear) return index(l.index[0]);
  const auto flat_in = [&](const auto& array) {
    const Exprs shape = array.shape.value_or(Exprs{});
    return flat(l.index, strides_of(shape, array.order, array.strides), shape, {},
                array.strides || !array.shape || may_be_large(shape));
  };
  const Temporary* t = k_.find_temporary(l.array);
  return t ? flat_in(*t) : flat_in(*args_.at(l.array));
}

/// How far terms of short axes may reach next to those of the unit stride for 32 bits to hold all.
static std::int64_t room_beside_units(const Exprs& strides, const Exprs& extents) {
  std::int64_t room = INT32_MAX;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (as_int(strides[i]) != 1) continue;
    const auto extent = i < extents.size() ? as_int(extents[i]) : std::nullopt;
    room = extent && *extent <= room ? room - *extent : 0;
  }
  return room;
}

/// The element's number. `extents` of the axes, where they are known. The part of a single axis
/// stays in 32 bits where these hold it; with `wide`, the axes are added in 64.
std::string CExpr::flat(const Exprs& index, const Exprs& strides, const Exprs& extents,
                        const Expr& offset, bool wide) {
  Exprs terms;  // those that 32 bits hold, together: of the unit stride, and of short axes
  std::int64_t room = offset ? 0 : room_beside_units(strides, extents);
  std::string text;
  const auto add = [&](const std::string& term) {
    text += text.empty() ? term : term[0] == '-' ? " - " + term.substr(1) : " + " + term;
  };
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto stride = as_int(strides[i]);
    const Expr at = is_index(index[i]) ? fold_index(index[i]) : index[i];
    const bool narrow = plan_.outline || !wide || !is_index(at) ||
                        fits_below(at, i < extents.size() ? extents[i] : Expr());
    if (!wide || (stride == 1 && narrow)) {
      terms.push_back(index_mul(strides[i], at));
      continue;
    }
    if (as_int(at) == 0 || stride == 0) continue;
    if (const auto extent = i < extents.size() ? as_int(extents[i]) : std::nullopt;
        stride > 1 && extent && narrow && at.as<Var>() && *extent <= room / *stride) {
      room -= *stride * *extent;
      terms.push_back(index_mul(strides[i], at));
      continue;
    }
    if (stride == 1) {
      const auto* sum = at.as<Nary>();
      if (text.empty())
        add(wrap(widened(at), Prec::Sum));
      else  // it is added to 64 bits
        for (const Expr& t : sum && sum->op == NaryOp::Add ? flat_terms(at) : Exprs{at})
          add(wrap(print_index(t, true), Prec::Product));
      continue;
    }
    if (as_int(at) == 1) {
      add(wrap(print_index(strides[i], true), Prec::Sum));
      continue;
    }
    const Piece here = narrow ? print_index(at, false) : widened(at);
    if (stride) {
      const Piece p = cast_to_64(here);
      const auto* m = at.as<Nary>();
      const bool product = m && m->op == NaryOp::Mul && p.prec == Prec::Product;
      add((*stride == -1 ? "-" : std::to_string(*stride) + "*") +
          wrap(p, product ? Prec::Product : Prec::Unary));
      continue;
    }
    const auto* m = strides[i].as<Nary>();
    const Exprs parts = m && m->op == NaryOp::Mul ? m->terms : Exprs{strides[i]};
    bool pending = index_width(strides[i]) != Scalar::I64 &&
                   !(parts.size() == 1 && here.type == Type(Scalar::I64));
    std::string term;
    for (const Expr& f : parts) {
      const bool casts = pending && !as_int(f);
      term +=
          (term.empty() ? "" : "*") + wrap(casts ? widened(f) : print_index(f, true), Prec::Unary);
      pending = pending && !casts;
    }
    add(term + "*" + wrap(here, Prec::Unary));
  }
  if (offset) terms.push_back(offset);
  if (terms.empty()) return text.empty() ? "0" : text;
  const Expr rest = index_add(terms);
  if (as_int(rest) == 0 && !text.empty()) return text;
  const std::string tail = wrap(print_index(rest, wide && offset), Prec::Sum);
  if (text.empty()) return tail;
  return text + (tail[0] == '-' ? " - " + tail.substr(1) : " + " + tail);
}

}  // namespace moonloop
