#include "core/order/commuting.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/flat_subscripts.h"
#include "core/order/order.h"

namespace moonloop {
namespace {

/// How often the variable is read in `e`, subscripts included.
int uses(const Expr& e, const std::string& variable) {
  int n = 0;
  walk(e, [&](const Expr& x) {
    if (const auto* v = x.as<Var>(); v && v->name == variable) ++n;
    if (const auto* l = x.as<Load>(); l && l->array == variable) ++n;
    return true;
  });
  return n;
}

/// Those in the subscripts of a place.
int uses_in_subscripts(const Expr& place, const std::string& variable) {
  return uses(place, variable) - (written_name(place) == variable ? 1 : 0);
}

std::string field_of(const Expr& place) {
  const auto* f = place.as<Field>();
  return f ? field_of(f->base) + "." + f->name : "";
}
const Expr& element_of(const Expr& place) {
  const auto* f = place.as<Field>();
  return f ? element_of(f->base) : place;
}
Exprs subscripts_of(const Expr& place) {
  const auto* l = element_of(place).as<Load>();
  return l ? l->index : Exprs();
}

/// Tuples that are compared have few parts.
constexpr std::size_t kMostCompared = 8;

struct Chosen {
  Expr cond, yes, no;
};
std::optional<Chosen> choice_of(const Expr& e) {
  if (const auto* s = e.as<Select>()) return Chosen{s->cond, s->yes, s->no};
  const auto* c = e.as<Call>();
  if (c && c->name == "if" && c->args.size() == 3)
    return Chosen{c->args[0], c->args[1], c->args[2]};
  return std::nullopt;
}

/// The field of a choice of records is a choice of their fields.
Expr field_of_value(const Expr& record, const std::string& name) {
  const auto* s = record.as<Select>();
  if (!s) return Expr(Field{record, name}, record.at());
  return Expr(Select{s->cond, field_of_value(s->yes, name), field_of_value(s->no, name)},
              record.at());
}

/// Elements by number: those with equal subscripts, or at one place in memory, have the same.
class Elements {
 public:
  explicit Elements(const Kernel& k) : k_(k) {}
  Expr numbered(const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      return l ? var("element " + std::to_string(number(*l))) : x;
    });
  }

 private:
  std::size_t number(const Load& l) {
    std::size_t n = 0;
    while (n < known_.size() && !is_same(l, known_[n])) ++n;
    if (n == known_.size()) known_.push_back(l);
    return n;
  }
  bool is_same(const Load& x, const Load& y) const {
    if (x.array != y.array) return false;
    if (x.linear == y.linear && equal(x.index, y.index)) return true;
    const auto p = place_in_memory(k_, x.array, moonloop::subscripts_of(x)),
               q = place_in_memory(k_, y.array, moonloop::subscripts_of(y));
    return p && q && as_int(index_sub(*p, *q)) == 0;
  }

  const Kernel& k_;
  std::vector<Load> known_;
};

/// Whether the two are the same expression of the same elements.
bool is_same(const Kernel& k, const Expr& x, const Expr& y) {
  if (equal(x, y)) return true;
  const auto has_flat = [](const Expr& e) {
    bool found = false;
    walk(e, [&](const Expr& part) {
      const auto* l = part.as<Load>();
      found = found || (l && l->linear);
      return !found;
    });
    return found;
  };
  if (!has_flat(x) && !has_flat(y)) return false;
  Elements elements(k);
  return equal(elements.numbered(x), elements.numbered(y));
}

/// `e` as a comparison of `left` with `right`, turned round if necessary.
std::optional<CompareOp> compared(const Kernel& k, const Expr& e, const Expr& left,
                                  const Expr& right) {
  const auto* c = e.as<Compare>();
  if (!c) return std::nullopt;
  if (is_same(k, c->left, left) && is_same(k, c->right, right)) return c->op;
  if (!is_same(k, c->left, right) || !is_same(k, c->right, left)) return std::nullopt;
  switch (c->op) {
    case CompareOp::Lt: return CompareOp::Gt;
    case CompareOp::Le: return CompareOp::Ge;
    case CompareOp::Gt: return CompareOp::Lt;
    case CompareOp::Ge: return CompareOp::Le;
    case CompareOp::Eq:
    case CompareOp::Ne: break;
  }
  return c->op;
}

bool is_number(const Type& t) { return !t.is_record(); }
bool is_inexact(const Type& t) {
  return is_number(t) && (is_real(t.scalar) || is_complex(t.scalar));
}
bool is_whole(const Type& t) { return is_number(t) && is_integer(t.scalar); }
bool is_truth(const Type& t) { return is_number(t) && t.scalar == Scalar::Bool; }

/// Whether every value in `[low, high]` is one of the integer type.
bool has_range(Scalar s, std::int64_t low, std::int64_t high) {
  const int bits = 8 * size_of(s) - (is_unsigned(s) ? 0 : 1);
  if (is_unsigned(s) && low < 0) return false;
  if (bits >= 63) return true;
  return low >= -(std::int64_t{1} << bits) && high < (std::int64_t{1} << bits);
}

const Expr& without_cast_to(const Type& t, const Expr& e) {
  const auto* c = e.as<Cast>();
  return c && c->type == t ? without_cast_to(t, c->arg) : e;
}

/// The change to the place, if it is the same in all instances: made of the place, constants and
/// scalar arguments. Empty if not.
std::string same_for_all(const Kernel& k, const Expr& place, const Expr& value) {
  const std::string hole = "?";
  bool same = true;
  const auto put = [&](const auto& self, const Expr& e) -> Expr {
    if (equal(e, place)) return var(hole);
    if (const auto* v = e.as<Var>()) {
      const Argument* a = k.find_arg(v->name);
      same &= a && !a->is_array;
    }
    same &= !e.as<Load>();
    return map_children(e, [&](const Expr& c) { return self(self, c); });
  };
  const Expr function = put(put, value);
  return same ? "the same: " + to_string(function) : "";
}

}  // namespace

std::set<std::string> claimed_commuting(const Kernel& k) {
  std::set<std::string> out = trusted_inames(k);
  std::erase_if(out, [&](const std::string& n) { return !k.find_arg(n) && !k.find_temporary(n); });
  return out;
}

void claim_also(Kernel& k, Claim::Kind kind, const std::string& from, const std::string& to) {
  for (Claim& c : k.claims)
    if (c.kind == kind && std::find(c.names.begin(), c.names.end(), from) != c.names.end())
      c.names.push_back(to);
}

bool CommutingUpdates::commute(const Instruction& a, const Instruction& b,
                               const std::string& variable) {
  if (a.atomic == Atomicity::None || b.atomic == Atomicity::None) return false;
  if (a.atomic == Atomicity::Init || b.atomic == Atomicity::Init)
    return store_alike(a, b, variable);
  if (claimed_.count(variable)) return true;
  const std::optional<Update>&x = update(a, variable), &y = update(b, variable);
  if (!x || !y) return false;
  if (x->operation.empty() || y->operation.empty()) return true;  // one leaves it as it is
  if (x->field == y->field) return x->operation == y->operation;
  return !(x->field + ".").starts_with(y->field + ".") &&
         !(y->field + ".").starts_with(x->field + ".");
}

bool CommutingUpdates::alike(const Instruction& a, const Instruction& b,
                             const std::string& variable) {
  if (!commute(a, b, variable)) return false;
  if (claimed_.count(variable) && a.atomic == Atomicity::Update) return true;
  const std::optional<Update>&x = update(a, variable), &y = update(b, variable);
  return !x->operation.empty() && x->operation == y->operation && x->field == y->field;
}

std::string CommutingUpdates::operation_of(const Instruction& insn, const std::string& variable) {
  static const std::set<std::string> kOperations{
      "sum", "product", "min", "max", "chosen min", "chosen max", "and", "or", "&", "|", "^"};
  const std::optional<Update>& u = update(insn, variable);
  return u && u->field.empty() && kOperations.count(u->operation) ? u->operation : "";
}

bool CommutingUpdates::store_alike(const Instruction& a, const Instruction& b,
                                   const std::string& variable) {
  const auto stores = [&](const Instruction& i) {
    return i.lhs.size() == 1 && i.rhs && uses(i.rhs, variable) == 0;
  };
  if (!stores(a) || !stores(b)) return false;
  const std::optional<Update>&x = update(a, variable), &y = update(b, variable);
  return x && y && x->field == y->field && x->operation == y->operation;
}

const std::optional<CommutingUpdates::Update>& CommutingUpdates::update(
    const Instruction& insn, const std::string& variable) {
  std::map<std::string, std::optional<Update>>& of = known_[&insn];
  const auto it = of.find(variable);
  return it != of.end() ? it->second : of.emplace(variable, find(insn, variable)).first->second;
}

Type CommutingUpdates::type(const Expr& e, const std::optional<Type>& wanted) {
  if (!typed_)
    if (const auto t = Typer(k_).type(e, wanted)) return t->type;
  if (!typed_) typed_ = infer_types(k_);
  return type_of(*typed_, e, wanted);
}

std::optional<CommutingUpdates::Update> CommutingUpdates::find(const Instruction& insn,
                                                               const std::string& variable) {
  if (!insn.rhs || insn.role != ReductionRole::None) return std::nullopt;
  Exprs values{insn.rhs};
  if (const auto* t = insn.rhs.as<Call>(); t && t->name == "make_tuple") values = t->args;
  if (values.size() != insn.lhs.size()) return std::nullopt;
  std::size_t at = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (uses_in_subscripts(insn.lhs[i], variable) > 0) return std::nullopt;
    if (written_name(insn.lhs[i]) != variable) continue;
    if (at < values.size()) return std::nullopt;  // two places of it
    at = i;
  }
  if (at == values.size()) return std::nullopt;  // it is only read
  for (const Expr& p : insn.predicates)
    if (uses(p, variable) > 0) return std::nullopt;
  if (equal(values[at], insn.lhs[at])) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i != at && uses(values[i], variable) > 0) return std::nullopt;  // fetched
    return Update{"", field_of(insn.lhs[at])};
  }
  std::string found = ordered(insn, values);
  if (found.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i != at && uses(values[i], variable) > 0) return std::nullopt;  // fetched
    const Step s{insn, values, at, type(insn.lhs[at]), variable};
    found = operation(s, without_cast_to(s.type, values[at]));
  }
  if (found.empty()) found = same_for_all(k_, insn.lhs[at], values[at]);
  if (found.empty()) return std::nullopt;
  return Update{found, field_of(insn.lhs[at])};
}

/// The operation of `place = value`; empty if there is none.
std::string CommutingUpdates::operation(const Step& s, const Expr& value) {
  if (const std::string c = choice(s, value); !c.empty()) return c;
  const std::string op = chain(s, value);
  if (op.empty()) return "";
  const Type computed = type(value, s.type);
  if (op == "sum" || op == "product")
    return is_inexact(s.type) || (is_whole(s.type) && (is_whole(computed) || is_truth(computed)))
               ? op
               : "";
  if (op == "and" || op == "or") return is_number(s.type) ? op : "";
  if (op == "min" || op == "max") return stays_in(s.type, s.place(), value) ? op : "";
  return is_whole(s.type) || computed == s.type ? op : "";  // of bits
}

/// The one operation through which the place goes, step by step, to become `value`; nothing else of
/// `value` reads the variable.
std::string CommutingUpdates::chain(const Step& s, const Expr& value) {
  const auto through = [&](const Exprs& terms, const std::string& op) -> std::string {
    const Expr* next = nullptr;
    for (const Expr& t : terms)
      if (uses(t, s.variable) > 0) {
        if (next) return "";
        next = &t;
      }
    if (!next) return "";
    return equal(*next, s.place()) || chain(s, *next) == op ? op : "";
  };
  if (const auto* n = value.as<Nary>()) {
    switch (n->op) {
      case NaryOp::Add: return through(n->terms, "sum");
      case NaryOp::Mul: return through(n->terms, "product");
      case NaryOp::BitAnd: return through(n->terms, "&");
      case NaryOp::BitOr: return through(n->terms, "|");
      case NaryOp::BitXor: return through(n->terms, "^");
      case NaryOp::And: return through(n->terms, "and");
      case NaryOp::Or: return through(n->terms, "or");
    }
  }
  if (const auto* b = value.as<Binary>(); b && b->op == BinaryOp::Div)
    return is_inexact(s.type) && uses(b->right, s.variable) == 0 ? through({b->left}, "product")
                                                                 : "";
  if (const auto* c = value.as<Call>(); c && (c->name == "min" || c->name == "max"))
    return through(c->args, c->name);
  return "";
}

/// `e if e > place else place` and similar ones. Not the same operation as `max`: for a NaN, one
/// keeps what the other replaces.
std::string CommutingUpdates::choice(const Step& s, const Expr& value) {
  const auto c = choice_of(value);
  if (!c) return "";
  const bool kept = equal(c->no, s.place());
  if (!kept && !equal(c->yes, s.place())) return "";
  const Expr& other = kept ? c->yes : c->no;
  const auto op = compared(k_, c->cond, other, s.place());
  if (!op || uses(other, s.variable) > 0 || !stays_in(s.type, s.place(), other)) return "";
  switch (*op) {
    case CompareOp::Gt:
    case CompareOp::Ge: return kept ? "chosen max" : "chosen min or other";
    case CompareOp::Lt:
    case CompareOp::Le: return kept ? "chosen min" : "chosen max or other";
    case CompareOp::Eq:
    case CompareOp::Ne: break;
  }
  return "";
}

/// Whether `insn` leaves the larger one of two tuples in an order of all of them: `m, at =
/// make_tuple(if(c, x, m), if(c, i, at))` with `c` as `x > m or (x == m and i < at)`, or the same
/// for the fields of a record.
std::string CommutingUpdates::ordered(const Instruction& insn, const Exprs& values) {
  std::vector<Candidate> parts;
  Expr cond;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto c = choice_of(values[i]);
    if (!c || !equal(c->no, insn.lhs[i]) || (cond && !equal(c->cond, cond))) return "";
    if (!equal(subscripts_of(insn.lhs[i]), subscripts_of(insn.lhs[0]))) return "";
    cond = c->cond;
    for (const Expr& l : insn.lhs)
      if (uses(c->yes, written_name(l)) > 0 || uses_in_subscripts(insn.lhs[i], written_name(l)) > 0)
        return "";
    const Type t = type(insn.lhs[i]);
    if (!t.is_record()) {
      if (!stays_in(t, insn.lhs[i], c->yes, true)) return "";
      parts.push_back({to_string(insn.lhs[i]), c->yes, insn.lhs[i]});
      continue;
    }
    if (!(type(c->yes) == t)) return "";
    for (const Record::Field& f : t.record->fields) {
      if (f.type.is_record() || is_complex(f.type.scalar)) return "";
      const Expr own(Field{insn.lhs[i], f.name});
      parts.push_back({to_string(own), field_of_value(c->yes, f.name), own});
    }
  }
  if (values.size() == 1 && parts.size() == 1) return "";  // a choice of one value
  // By names without subscripts, which are the same for all parts.
  for (Candidate& c : parts) c.name = written_name(c.place) + field_of(c.place);
  const std::string order = parts.size() > kMostCompared ? "" : lexicographic(cond, parts);
  return order.empty() ? "" : "tuple" + order;
}

/// The order in which the condition compares the candidates with their places, one after the
/// other, until all are compared: ` m> at<`. Empty if it does not.
std::string CommutingUpdates::lexicographic(const Expr& cond,
                                            const std::vector<Candidate>& parts) const {
  const auto strict = [&](const Expr& e, const Candidate& c) -> std::string {
    const auto op = compared(k_, e, c.value, c.place);
    return op == CompareOp::Gt ? " " + c.name + ">" : op == CompareOp::Lt ? " " + c.name + "<" : "";
  };
  if (parts.size() == 1) return strict(cond, parts[0]);
  const auto* either = cond.as<Nary>();
  if (!either || either->op != NaryOp::Or) return "";
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (std::size_t t = 0; t < either->terms.size(); ++t) {
      const std::string first = strict(either->terms[t], parts[p]);
      if (first.empty()) continue;
      Exprs ties;  // what the others require besides equality of the candidate
      for (std::size_t other = 0; other < either->terms.size(); ++other) {
        if (other == t) continue;
        const auto* tie = either->terms[other].as<Nary>();
        if (!tie || tie->op != NaryOp::And) break;
        Exprs rest;
        for (const Expr& e : tie->terms)
          if (compared(k_, e, parts[p].value, parts[p].place) != CompareOp::Eq) rest.push_back(e);
        if (rest.size() + 1 != tie->terms.size()) break;
        ties.push_back(conjunction(rest));
      }
      if (ties.size() + 1 != either->terms.size()) continue;
      std::vector<Candidate> left = parts;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(p));
      const Expr tied = ties.size() == 1 ? ties[0] : Expr(Nary{NaryOp::Or, ties}, cond.at());
      if (const std::string rest = lexicographic(tied, left); !rest.empty()) return first + rest;
    }
  return "";
}

/// Whether `e`, which may go through the place, keeps its place among other values when it becomes
/// one of the place's type `t`. Rounding does, though two values may become one, unless `exact`.
bool CommutingUpdates::stays_in(const Type& t, const Expr& place, const Expr& e, bool exact) {
  if (!is_number(t) || is_complex(t.scalar)) return false;
  if (equal(e, place)) return true;
  const Type own = type(e, t);
  if (own == t) return true;
  if (!is_number(own)) return false;
  if (is_real(t.scalar) && !exact) return !is_complex(own.scalar);
  if (is_real(t.scalar)) return is_real(own.scalar) && size_of(own.scalar) <= size_of(t.scalar);
  if (!is_whole(t)) return false;
  if (const auto* c = e.as<Call>(); c && (c->name == "min" || c->name == "max"))
    return std::all_of(c->args.begin(), c->args.end(),
                       [&](const Expr& x) { return stays_in(t, place, x, exact); });
  if (const auto v = as_int(e)) return has_range(t.scalar, *v, *v);
  if (const auto* b = e.as<Binary>(); b && b->op == BinaryOp::Mod && is_whole(own))
    if (const auto v = as_int(b->right); v && *v > 0) return has_range(t.scalar, 0, *v - 1);
  if (const auto* c = e.as<Cast>(); c && is_whole(own) && stays_in(own, place, c->arg, exact) &&
                                    stays_in(t, place, c->arg, exact))
    return true;  // the cast changes nothing
  if (is_truth(own)) return true;
  return is_whole(own) && Type(promote(t.scalar, own.scalar)) == t;
}

}  // namespace moonloop
