#include <algorithm>

#include "codegen/ast.h"
#include "codegen/c_expr.h"
#include "codegen/declare.h"
#include "codegen/domains.h"
#include "core/layout.h"

// Expressions of integers: bounds, guards, subscripts, sizes; and the places they lead to.
namespace moonloop {
namespace {

bool is_truncated(const Call& c) { return c.name == kTruncDiv || c.name == kTruncMod; }
bool is_id(const Call& c) { return c.name == kLocalId || c.name == kGroupId; }

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
/// conversion.
bool CExpr::is_index(const Expr& e) const {
  const auto all = [&](const Exprs& es) {
    return std::all_of(es.begin(), es.end(), [&](const Expr& x) { return is_index(x); });
  };
  const auto integer = [&](const std::string& n) {
    const Type& t = type_of_name(n);
    return !t.is_record() && is_integer(t.scalar) && !is_unsigned(t.scalar) &&
           size_of(t.scalar) >= 4;
  };
  return e.visit(overload{
      [](const IntLit& x) { return !x.type; }, [](const FloatLit&) { return false; },
      [](const ComplexLit&) { return false; }, [](const BoolLit&) { return true; },
      [&](const Var& x) { return integer(x.name); },
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
      if (i->value > INT32_MAX || i->value < INT32_MIN) out = Scalar::I64;
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

std::string CExpr::index(const Expr& e, bool wide, Prec min) {
  return wrap(print_index(is_index(e) ? fold_index(e) : e, wide), min);
}

CExpr::Piece CExpr::print_index(const Expr& e, bool wide) {
  if (!is_index(e)) return print(e, {});
  const Type t = index_width(e);
  const auto sub = [&](const Expr& x, Prec min) { return wrap(print_index(x, wide), min); };
  if (const auto* n = e.as<Nary>()) {
    if (n->op == NaryOp::Add) return index_sum(*n, wide);
    if (n->op == NaryOp::Mul) return index_product(n->terms, wide);
    std::string out;
    for (const Expr& x : n->terms)
      out += (out.empty() ? "" : n->op == NaryOp::And ? " && " : " || ") + sub(x, Prec::BitOr);
    return {out, n->op == NaryOp::And ? Prec::And : Prec::Or, Scalar::Bool};
  }
  if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Not)
    return {"!" + sub(u->arg, Prec::Unary), Prec::Unary, Scalar::Bool};
  if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Neg) {
    const std::string inner = sub(u->arg, Prec::Product);
    return {"-" + (inner[0] == '-' ? "(" + inner + ")" : inner), Prec::Unary, t};
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
  return print(e, {});
}

CExpr::Piece CExpr::index_sum(const Nary& x, bool wide) {
  std::string out;
  Type t = Scalar::I32;
  for (const Expr& term : x.terms) {
    const auto* u = term.as<Unary>();
    const auto n = as_int(term);
    const bool minus =
        !out.empty() && ((u && u->op == UnaryOp::Neg) || (n && *n < 0 && *n != INT64_MIN));
    const Expr shown = !minus ? term : n ? lit(-*n) : u->arg;
    const Piece p = print_index(shown, wide);
    if (index_width(term) == Scalar::I64) t = Scalar::I64;
    std::string text = wrap(p, out.empty() ? Prec::Sum : Prec::Product);
    if (!out.empty() && text[0] == '-') text = "(" + text + ")";
    out += out.empty() ? text : (minus ? " - " : " + ") + text;
  }
  return {out, Prec::Sum, t};
}

CExpr::Piece CExpr::index_product(const Exprs& terms, bool wide) {
  Type t = Scalar::I32;
  for (const Expr& f : terms)
    if (index_width(f) == Scalar::I64) t = Scalar::I64;
  const auto variables =
      std::count_if(terms.begin(), terms.end(), [](const Expr& f) { return !as_int(f); });
  bool cast = wide && variables >= 2 && t == Type(Scalar::I32);
  std::string out;
  for (const Expr& f : terms) {
    std::string text;
    if (cast && !as_int(f)) {
      text = "(" + helpers_.type(Scalar::I64) + ")" + wrap(print_index(f, false), Prec::Unary);
      cast = false;
      t = Scalar::I64;
    } else {
      const Piece p = print_index(f, wide);
      text = wrap(p, out.empty() ? Prec::Product : Prec::Unary);
      if (!out.empty() && text[0] == '-') text = "(" + text + ")";
    }
    out += (out.empty() ? "" : "*") + text;
  }
  return {out, Prec::Product, t};
}

std::string CExpr::host_head(const HostStep& s, const Type& iname) {
  if (s.iname.empty()) return s.condition ? "if (" + condition(s.condition) + ") " : "";
  const std::string& i = names_.of(s.iname);
  const std::string next = s.step == 1 ? "++" + i : i + " += " + std::to_string(s.step);
  return "for (" + helpers_.type(iname) + " " + i + " = " + index(s.lower) + "; " + i +
         " <= " + index(s.upper, false, Prec::Shift) + "; " + next + ") ";
}

// ---- Signs ------------------------------------------------------------------------------------

/// The least value that an iname or a parameter can have, when there is one.
std::optional<std::int64_t> CExpr::lowest(const std::string& name) {
  const auto [it, fresh] = lowest_.try_emplace(name);
  if (!fresh) return it->second;
  Set s = context_of(k_);
  for (const Domain& d : k_.domains) {
    const std::vector<std::string> own = d.inames();
    if (std::find(own.begin(), own.end(), name) == own.end()) continue;
    s = domain_of(k_, {name});
  }
  if (dim_names(s).empty()) s = to_dims(s, {name});
  const Aff x =
      isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(s.get())), isl_dim_set, 0);
  Val low = isl_set_min_val(s.get(), x.get());
  if (yes(isl_val_is_int(low.get()))) it->second = to_int(low);
  return it->second;
}

bool CExpr::not_negative(const Expr& e) {
  const auto all = [&](const Exprs& es) {
    return std::all_of(es.begin(), es.end(), [&](const Expr& x) { return not_negative(x); });
  };
  if (const auto n = as_int(e)) return *n >= 0;
  if (const auto* v = e.as<Var>()) {
    const auto known = types_.find(v->name);
    if (known == types_.end() || !known->second || known->second->is_record()) return false;
    if (is_unsigned(known->second->scalar)) return true;
    if (k_.find_temporary(v->name) || !is_integer(known->second->scalar)) return false;
    const auto low = lowest(v->name);
    return low && *low >= 0;
  }
  if (const auto* n = e.as<Nary>())
    return (n->op == NaryOp::Add || n->op == NaryOp::Mul) && all(n->terms);
  if (const auto* b = e.as<Binary>()) {
    if (b->op == BinaryOp::FloorDiv) return not_negative(b->left) && positive(b->right);
    return b->op == BinaryOp::Mod && positive(b->right);
  }
  if (const auto* c = e.as<Call>())
    return (is_truncated(*c) || c->name == "min")
               ? all(c->args)
               : c->name == "max" && std::any_of(c->args.begin(), c->args.end(),
                                                 [&](const Expr& x) { return not_negative(x); });
  return false;
}

bool CExpr::positive(const Expr& e) {
  if (const auto n = as_int(e)) return *n > 0;
  if (const auto* v = e.as<Var>(); v && not_negative(e)) {
    if (is_unsigned(types_.at(v->name)->scalar)) return true;
    return lowest(v->name).value_or(0) > 0;
  }
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Mul)
    return std::all_of(n->terms.begin(), n->terms.end(),
                       [&](const Expr& x) { return positive(x); });
  return false;
}

// ---- Places -----------------------------------------------------------------------------------

/// The extents of its memory: of work-items' copies, then of its own axes, or of all that they span
/// where they have strides.
Exprs CExpr::extents(const Temporary& t) const {
  Exprs out;
  if (const auto it = plan_.expansions.find(t.name); it != plan_.expansions.end())
    for (std::int64_t n : it->second.extent) out.push_back(lit(n));
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
  if (!f) throw InternalError("an assignee that is no place");
  return place(f->base) + "." + f->name;
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
    if (copies > 0) {  // those stand outside
      const Exprs outer = strides_of(memory, Order::C, {});
      strides.insert(strides.begin(), outer.begin(),
                     outer.begin() + static_cast<std::ptrdiff_t>(copies));
    }
    const auto n = product(memory);
    const bool wide = !n || *n > INT32_MAX;
    return name + "[" + flat(all, strides, {}, wide) + "]";
  }
  const Argument& a = *args_.at(array);
  const Exprs shape = a.shape.value_or(Exprs{});
  const auto n = product(shape);
  const bool wide = a.strides || a.offset || !n || *n > INT32_MAX;
  const Exprs strides = linear ? Exprs{lit(1)} : strides_of(shape, a.order, a.strides);
  return name + "[" + flat(index, strides, a.offset, wide) + "]";
}

std::string CExpr::flat(const Exprs& index, const Exprs& strides, const Expr& offset, bool wide) {
  Exprs terms;  // those that 32 bits hold: the unit stride's
  std::string text;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto stride = as_int(strides[i]);
    const Expr at = is_index(index[i]) ? fold_index(index[i]) : index[i];
    if (!wide || stride == 1) {
      terms.push_back(index_mul(strides[i], at));
      continue;
    }
    if (as_int(at) == 0 || stride == 0) continue;
    const bool is_wide = index_width(strides[i]) == Scalar::I64 || index_width(at) == Scalar::I64;
    const std::string cast = is_wide ? "" : "(" + helpers_.type(Scalar::I64) + ")";
    std::string term;
    if (as_int(at) == 1) {
      term = wrap(print_index(strides[i], true), Prec::Sum);
    } else if (stride) {
      term = *stride == -1 ? "-" : std::to_string(*stride) + "*";
      term += cast + wrap(print_index(at, true), is_wide ? Prec::Product : Prec::Unary);
    } else {
      const auto* m = strides[i].as<Nary>();
      const Exprs parts = m && m->op == NaryOp::Mul ? m->terms : Exprs{strides[i]};
      bool pending = !is_wide;
      for (const Expr& f : parts) {
        term += term.empty() ? "" : "*";
        if (pending && !as_int(f)) {
          term += "(" + helpers_.type(Scalar::I64) + ")" + wrap(print_index(f, true), Prec::Unary);
          pending = false;
        } else {
          term += wrap(print_index(f, true), Prec::Unary);
        }
      }
      term += "*" + wrap(print_index(at, true), Prec::Unary);
    }
    text += text.empty() ? term : term[0] == '-' ? " - " + term.substr(1) : " + " + term;
  }
  if (offset) terms.push_back(offset);
  if (terms.empty()) return text.empty() ? "0" : text;
  const Expr rest = index_add(terms);
  if (as_int(rest) == 0 && !text.empty()) return text;
  const std::string tail = wrap(print_index(rest, wide), Prec::Sum);
  if (text.empty()) return tail;
  return text + (tail[0] == '-' ? " - " + tail.substr(1) : " + " + tail);
}

}  // namespace moonloop
