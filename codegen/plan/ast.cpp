#include "codegen/plan/ast.h"

#include <algorithm>
#include <utility>

#include "core/expr/integers.h"

namespace moonloop {
namespace {

/// True when instructions in the statement write a name in `names`.
bool writes_any(const Stmt& s, const std::set<std::string>& names,
                const std::function<std::set<std::string>(int)>& writes) {
  const auto in = [&](const Block& b) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Stmt& x) { return writes_any(x, names, writes); });
  };
  return std::visit(
      overload{[&](const Loop& x) { return in(x.body); },
               [&](const If& x) { return in(x.body) || in(x.otherwise); },
               [&](const Scope& x) { return in(x.body); }, [](const Leave&) { return false; },
               [&](const Run& x) {
                 const std::set<std::string> all = writes(x.insn);
                 return std::any_of(all.begin(), all.end(),
                                    [&](const auto& w) { return names.count(w) > 0; });
               },
               [&](const Launch& x) { return in(x.body); }, [](const Declare&) { return false; },
               [](const Release&) { return false; }, [](const Sync&) { return false; },
               [](const GroupCombine&) { return true; }},
      s.op);
}

}  // namespace

Expr fold_index(const Expr& e) {
  return rewrite(e, [](const Expr& x) -> Expr {
    if (const auto* n = x.as<Nary>()) {
      if (n->op == NaryOp::Add) return index_add(n->terms);
      if (n->op == NaryOp::Mul) {
        Expr product = n->terms[0];
        for (std::size_t i = 1; i < n->terms.size(); ++i) product = index_mul(product, n->terms[i]);
        return product;
      }
    }
    // A Sub is taken in by its sum, which comes after it.
    if (const auto* u = x.as<Unary>(); u && u->op == UnaryOp::Neg)
      return index_mul(lit(-1), u->arg);
    return x;
  });
}

Expr without_decided_choices(const Expr& e) {
  bool chooses = false;
  walk(e, [&](const Expr& x) {
    chooses = chooses || x.as<Select>();
    return !chooses;
  });
  if (!chooses) return e;
  return rewrite(e, [](const Expr& x) -> Expr {
    if (const auto* c = x.as<Compare>()) {
      const auto a = as_int(c->left), b = as_int(c->right);
      return a && b ? Expr(BoolLit{holds(c->op, *a, *b)}) : x;
    }
    if (const auto* n = x.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) {
      const bool ends = n->op == NaryOp::Or;  // the value that decides it
      Exprs open;
      for (const Expr& t : n->terms)
        if (const auto* b = t.as<BoolLit>(); !b)
          open.push_back(t);
        else if (b->value == ends)
          return t;
      if (open.empty()) return Expr(BoolLit{!ends});
      return open.size() == 1 ? open[0] : Expr(Nary{n->op, open}, x.at());
    }
    const auto* s = x.as<Select>();
    const auto* b = s ? s->cond.as<BoolLit>() : nullptr;
    return b ? (b->value ? s->yes : s->no) : x;
  });
}

Expr without_truncation(const Expr& e) {
  return rewrite(e, [](const Expr& x) {
    const auto* c = x.as<Call>();
    if (c && c->name == kTruncDiv) return Expr(Binary{BinaryOp::FloorDiv, c->args[0], c->args[1]});
    if (c && c->name == kTruncMod) return Expr(Binary{BinaryOp::Mod, c->args[0], c->args[1]});
    return x;
  });
}

std::int64_t statements_in(const Block& block) {
  std::int64_t out = 0;
  for (const Stmt& s : block)
    std::visit(
        overload{[&](const Loop& x) { out += statements_in(x.body); },
                 [&](const If& x) { out += statements_in(x.body) + statements_in(x.otherwise); },
                 [](const Leave&) {}, [&](const Scope& x) { out += statements_in(x.body); },
                 [&](const Run&) { ++out; }, [&](const Launch& x) { out += statements_in(x.body); },
                 [](const Declare&) {}, [](const Release&) {}, [](const Sync&) {},
                 [&](const GroupCombine&) { ++out; }},
        s.op);
  return out;
}

Block only(Stmt s) {
  Block out;
  out.push_back(std::move(s));
  return out;
}

bool says(const Block& block, const std::string& name) {
  const auto in = [&](const Expr& e) {
    std::set<std::string> names;
    if (e) collect_reads(e, names);
    return names.count(name) > 0;
  };
  const auto among = [&](const std::map<std::string, Expr>& values) {
    return std::any_of(values.begin(), values.end(), [&](const auto& v) { return in(v.second); });
  };
  return std::any_of(block.begin(), block.end(), [&](const Stmt& s) {
    return std::visit(
        overload{[&](const Loop& x) {
                   return in(x.lower) || in(x.upper) || in(x.only_while) || says(x.body, name);
                 },
                 [&](const If& x) {
                   return in(x.cond) || says(x.body, name) || says(x.otherwise, name);
                 },
                 [](const Leave&) { return false; },
                 [&](const Scope& x) { return in(x.value) || says(x.body, name); },
                 [&](const Run& x) { return among(x.values); },
                 [&](const Launch& x) { return says(x.body, name); },
                 [](const Declare&) { return false; }, [](const Release&) { return false; },
                 [](const Sync&) { return false; },
                 [&](const GroupCombine& x) { return in(x.cond) || among(x.values); }},
        s.op);
  });
}

Expr with_values(const Expr& e, const std::map<std::string, Expr>& values,
                 const std::function<Expr(const Expr&)>& typed) {
  if (!e || values.empty()) return e;
  // Values may mention inames that have values too: those in subscripts get names of their own.
  std::map<std::string, Expr> marks, marked, elsewhere;
  for (const auto& [iname, v] : values) {
    marks.emplace(iname, var("in subscripts " + iname));
    marked.emplace("in subscripts " + iname, v);
    elsewhere.emplace(iname, typed(v));
  }
  const Expr apart = rewrite(e, [&](const Expr& x) {
    const auto* l = x.as<Load>();
    if (!l) return x;
    Load out = *l;
    for (Expr& i : out.index) i = substitute(i, marks);
    return Expr(std::move(out), x.at());
  });
  return rewrite(substitute(substitute(apart, elsewhere), marked), [](const Expr& x) {
    const auto* l = x.as<Load>();
    if (!l) return x;
    Load out = *l;
    bool changed = false;
    for (Expr& i : out.index) {
      const Expr decided = without_decided_choices(i);
      changed = changed || !decided.same_as(i);
      i = decided;
    }
    return changed ? Expr(std::move(out), x.at()) : x;
  });
}

void substitute(Block& block, const std::string& iname, const Expr& value, Scalar index) {
  const std::map<std::string, Expr> by{{iname, value}};
  const auto in = [&](Expr& e) { e = fold_index(substitute(e, by)); };
  const auto typed = [&](const Expr& v) {
    const auto n = as_int(v);
    return n ? Expr(IntLit{*n, index}) : v;
  };
  for (Stmt& s : block)
    std::visit(overload{[&](Loop& x) {
                          in(x.lower), in(x.upper);
                          substitute(x.body, iname, value, index);
                        },
                        [&](If& x) {
                          x.cond = with_values(x.cond, by, typed);
                          substitute(x.body, iname, value, index);
                          substitute(x.otherwise, iname, value, index);
                        },
                        [](Leave&) {},
                        [&](Scope& x) {
                          if (x.value) in(x.value);
                          substitute(x.body, iname, value, index);
                        },
                        [&](Run& x) {
                          for (auto& [name, e] : x.values) in(e);
                          x.values.emplace(iname, value);
                        },
                        [&](Launch& x) { substitute(x.body, iname, value, index); },
                        [](Declare&) {}, [](Release&) {}, [](Sync&) {},
                        [&](GroupCombine& x) {
                          x.cond = with_values(x.cond, by, typed);
                          for (auto& [name, e] : x.values) in(e);
                          x.values.emplace(iname, value);
                        }},
               s.op);
}

void put_in_bounds(Block& block, const std::string& scalar, const Expr& value) {
  const std::map<std::string, Expr> by{{scalar, value}};
  const auto in = [&](Expr& e) {
    if (e) e = substitute(e, by);
  };
  const auto below = [&](Block& b) { put_in_bounds(b, scalar, value); };
  for (Stmt& s : block)
    std::visit(
        overload{[&](Loop& x) { in(x.lower), in(x.upper), in(x.only_while), below(x.body); },
                 [&](If& x) { in(x.cond), below(x.body), below(x.otherwise); }, [](Leave&) {},
                 [&](Scope& x) { in(x.value), below(x.body); },
                 [&](Run& x) {
                   for (auto& [name, e] : x.values) in(e);
                 },
                 [&](Launch& x) { below(x.body); }, [](Declare&) {}, [](Release&) {}, [](Sync&) {},
                 [&](GroupCombine& x) {
                   in(x.cond);
                   for (auto& [name, e] : x.values) in(e);
                 }},
        s.op);
}

Exprs conjuncts(const Expr& cond) {
  const auto* all = cond.as<Nary>();
  return all && all->op == NaryOp::And ? all->terms : Exprs{cond};
}

bool holds_term(const Exprs& terms, const Expr& term) {
  return std::any_of(terms.begin(), terms.end(), [&](const Expr& t) { return equal(t, term); });
}

bool declares(const Block& block) {
  return std::any_of(block.begin(), block.end(),
                     [](const Stmt& s) { return std::holds_alternative<Declare>(s.op); });
}

void collect_declared(const Block& block, std::set<std::string>& out) {
  const auto within = [&](const auto& x) {
    out.insert(x.iname);
    collect_declared(x.body, out);
  };
  for (const Stmt& s : block)
    std::visit(overload{[&](const Loop& x) { within(x); }, [&](const Scope& x) { within(x); },
                        [&](const If& x) {
                          collect_declared(x.body, out), collect_declared(x.otherwise, out);
                        },
                        [&](const Run& x) {
                          for (const auto& [name, constant] : x.declares) out.insert(name);
                        },
                        [&](const Declare& x) { out.insert(x.temporary); }, [](const auto&) {}},
               s.op);
}

namespace {

using Writes = std::function<std::set<std::string>(int)>;

/// A block's declarations are known only in it, also next to another one's statements.
void enclose(Block& block) {
  if (!declares(block)) return;
  Block body = std::exchange(block, Block());
  block.push_back(Stmt{Scope{{}, {}, std::move(body)}});
}

void join_neighbours(Block& block, const Writes& writes) {
  const auto guard = [](const Stmt& s) { return std::holds_alternative<If>(s.op); };
  const auto both = [&](const Stmt& a, const Stmt& b) { return guard(a) && guard(b); };
  if (std::adjacent_find(block.begin(), block.end(), both) == block.end()) return;
  Block out;
  std::size_t checked = 0;  // statements of the last guard's body that do not write its inputs
  for (Stmt& s : block) {
    If* next = std::get_if<If>(&s.op);
    If* last = out.empty() ? nullptr : std::get_if<If>(&out.back().op);
    if (next && last && equal(next->cond, last->cond)) {
      std::set<std::string> names;
      collect_reads(next->cond, names);
      const auto unchecked = last->body.begin() + static_cast<std::ptrdiff_t>(checked);
      const bool written = std::any_of(unchecked, last->body.end(),
                                       [&](const Stmt& b) { return writes_any(b, names, writes); });
      if (!written) {
        enclose(last->body);
        enclose(next->body);
        checked = last->body.size();
        std::move(next->body.begin(), next->body.end(), std::back_inserter(last->body));
        continue;
      }
    }
    out.push_back(std::move(s));
    checked = 0;
  }
  block = std::move(out);
}

/// The block with its guards rid of these terms.
Block without_terms(Block block, const Exprs& terms) {
  Block out;
  for (Stmt& s : block) {
    If* const guard = std::get_if<If>(&s.op);
    if (!guard) {
      out.push_back(std::move(s));
      continue;
    }
    Exprs rest;
    for (const Expr& t : conjuncts(guard->cond))
      if (!holds_term(terms, t)) rest.push_back(t);
    if (rest.empty()) {
      std::move(guard->body.begin(), guard->body.end(), std::back_inserter(out));
    } else {
      guard->cond = conjunction(rest);
      out.push_back(std::move(s));
    }
  }
  return out;
}

/// Where the loop has an iteration; null: always.
Expr runs(const Loop& loop) {
  const auto low = as_int(loop.lower), high = as_int(loop.upper);
  if (low && high && (loop.inclusive ? *low <= *high : *low < *high)) return {};
  return Expr(Compare{loop.inclusive ? CompareOp::Le : CompareOp::Lt, loop.lower, loop.upper});
}

/// The common condition on what does not change of all guards in `loop`'s body, which has nothing
/// else to run. Takes it out of the guards. Elements of arrays may not exist where the loop does
/// not run.
Expr take_invariant(Loop& loop, const Writes& writes) {
  std::vector<const If*> guards;
  for (const Stmt& s : loop.body) {
    const bool storage =
        std::holds_alternative<Declare>(s.op) || std::holds_alternative<Release>(s.op);
    if (!storage && !std::holds_alternative<If>(s.op)) return {};
    if (!storage) guards.push_back(&std::get<If>(s.op));
  }
  if (guards.empty()) return {};
  Exprs out;
  bool asks_elements = false;
  for (const Expr& t : conjuncts(guards[0]->cond)) {
    bool stays = true, loads = false;
    walk(t, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      stays &= !(v && v->name == loop.iname);
      loads |= x.as<Load>() != nullptr;
      return stays;
    });
    std::set<std::string> names;
    collect_reads(t, names);
    for (const If* g : guards) stays = stays && holds_term(conjuncts(g->cond), t);
    for (const Stmt& s : loop.body) stays = stays && !writes_any(s, names, writes);
    if (loads) {  // asked where the guards did, behind the same conditions
      stays = stays && !loop.only_while && !waits_within(loop.body);
      for (const If* g : guards)
        for (const Expr& before : conjuncts(g->cond)) {
          if (equal(before, t)) break;
          stays = stays && holds_term(out, before);
        }
    }
    if (stays) asks_elements |= loads, out.push_back(t);
  }
  if (out.empty()) return {};
  loop.body = without_terms(std::move(loop.body), out);
  if (const Expr some = asks_elements ? runs(loop) : Expr()) out.insert(out.begin(), some);
  return conjunction(out);
}

}  // namespace

bool waits_within(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Stmt& s) {
    return std::visit(
        overload{[](const Loop& x) { return waits_within(x.body); },
                 [](const If& x) { return waits_within(x.body) || waits_within(x.otherwise); },
                 [](const Scope& x) { return waits_within(x.body); },
                 [](const Launch& x) { return waits_within(x.body); },
                 [](const Sync&) { return true; }, [](const GroupCombine&) { return true; },
                 [](const auto&) { return false; }},
        s.op);
  });
}

namespace {

/// A guard whose statements may be in the same block as its neighbours'.
bool may_join(const If& guard) { return !waits_within(guard.body) && !declares(guard.body); }

/// Drops the terms of guards below that hold there anyway and that nothing in the block changes.
void drop_known(Block& block, const Exprs& known) {
  Block out;
  for (Stmt& s : block) {
    if (auto* x = std::get_if<Loop>(&s.op)) drop_known(x->body, known);
    if (auto* x = std::get_if<Scope>(&s.op)) drop_known(x->body, known);
    auto* guard = std::get_if<If>(&s.op);
    if (guard) drop_known(guard->body, known);
    const Exprs terms = guard ? conjuncts(guard->cond) : Exprs();
    const auto is_known = [&](const Expr& t) { return holds_term(known, t); };
    if (!guard || std::none_of(terms.begin(), terms.end(), is_known)) {
      out.push_back(std::move(s));
      continue;
    }
    const bool all = std::all_of(terms.begin(), terms.end(), is_known);
    if (all && !may_join(*guard)) {
      out.push_back(Stmt{Scope{{}, {}, std::move(guard->body)}});
      continue;
    }
    for (Stmt& rest : without_terms(only(std::move(s)), known)) out.push_back(std::move(rest));
  }
  block = std::move(out);
}

void drop_repeated(Block& block, const Writes& writes) {
  for (Stmt& s : block) {
    if (auto* x = std::get_if<Loop>(&s.op)) drop_repeated(x->body, writes);
    if (auto* x = std::get_if<Scope>(&s.op)) drop_repeated(x->body, writes);
    if (auto* x = std::get_if<Launch>(&s.op)) drop_repeated(x->body, writes);
    auto* guard = std::get_if<If>(&s.op);
    if (!guard) continue;
    Exprs known;
    for (const Expr& t : conjuncts(guard->cond)) {
      std::set<std::string> names;
      collect_reads(t, names);
      if (std::none_of(guard->body.begin(), guard->body.end(),
                       [&](const Stmt& b) { return writes_any(b, names, writes); }))
        known.push_back(t);
    }
    if (!known.empty()) drop_known(guard->body, known);
    drop_repeated(guard->body, writes);
  }
}

/// Those of the terms, which all the guards have, that may be asked before the others: some guard
/// asks for no other one first.
Exprs asked_anyway(const Exprs& terms, const std::vector<Exprs>& guards) {
  Exprs out;
  for (bool more = true; more;) {
    more = false;
    for (const Exprs& guard : guards)
      for (const Expr& t : guard) {
        if (holds_term(out, t)) continue;
        if (!holds_term(terms, t)) break;
        out.push_back(t);
        more = true;
      }
  }
  return out;
}

/// Puts neighbours that share terms of their conditions under one guard with these.
void factor_neighbours(Block& block, const Writes& writes) {
  Block out;
  for (std::size_t n = 0; n < block.size();) {
    Exprs common, shared;
    std::vector<Exprs> guards;
    std::size_t end = n + 1;
    for (std::size_t next = n; next < block.size(); ++next) {
      const If* guard = std::get_if<If>(&block[next].op);
      if (!guard || !may_join(*guard)) break;
      guards.push_back(conjuncts(guard->cond));
      if (next == n) common = guards.back();
      std::erase_if(common, [&](const Expr& t) { return !holds_term(guards.back(), t); });
      std::set<std::string> names;
      for (const Expr& t : common) collect_reads(t, names);
      if (common.empty() || (next > n && writes_any(block[next - 1], names, writes))) break;
      Exprs first = asked_anyway(common, guards);
      if (next > n && !first.empty()) shared = std::move(first), end = next + 1;
    }
    if (end == n + 1) {
      out.push_back(std::move(block[n++]));
      continue;
    }
    Block within(std::make_move_iterator(block.begin() + static_cast<std::ptrdiff_t>(n)),
                 std::make_move_iterator(block.begin() + static_cast<std::ptrdiff_t>(end)));
    within = without_terms(std::move(within), shared);
    factor_neighbours(within, writes);
    out.push_back(Stmt{If{conjunction(shared), std::move(within)}});
    n = end;
  }
  block = std::move(out);
}

}  // namespace

void spread_guards(Block& block, const std::function<bool(const Expr&)>& by_group) {
  Block out;
  for (Stmt& s : block) {
    if (Loop* x = std::get_if<Loop>(&s.op)) spread_guards(x->body, by_group);
    if (Scope* x = std::get_if<Scope>(&s.op)) spread_guards(x->body, by_group);
    if (Launch* x = std::get_if<Launch>(&s.op)) spread_guards(x->body, by_group);
    If* guard = std::get_if<If>(&s.op);
    if (guard) spread_guards(guard->body, by_group);
    const auto waits = [](const Stmt& b) {
      return std::holds_alternative<Sync>(b.op) || std::holds_alternative<GroupCombine>(b.op);
    };
    if (!guard || by_group(guard->cond) ||
        std::none_of(guard->body.begin(), guard->body.end(), waits)) {
      out.push_back(std::move(s));
      continue;
    }
    Block all, part;
    const auto close = [&] {
      if (!part.empty()) all.push_back(Stmt{If{guard->cond, std::move(part)}});
      part = Block();
    };
    for (Stmt& b : guard->body) {
      const bool stays = waits(b) || std::holds_alternative<Declare>(b.op);
      if (!stays) {
        part.push_back(std::move(b));
        continue;
      }
      close();
      if (GroupCombine* x = std::get_if<GroupCombine>(&b.op))
        x->cond = x->cond ? conjunction({guard->cond, x->cond}) : guard->cond;
      all.push_back(std::move(b));
    }
    close();
    out.push_back(Stmt{Scope{{}, {}, std::move(all)}});
  }
  block = std::move(out);
}

namespace {

void tidy_block(Block& block, const Writes& writes) {
  for (Stmt& s : block) {
    if (If* x = std::get_if<If>(&s.op)) tidy_block(x->body, writes);
    if (Scope* x = std::get_if<Scope>(&s.op)) tidy_block(x->body, writes);
    if (Launch* x = std::get_if<Launch>(&s.op)) tidy_block(x->body, writes);
    Loop* x = std::get_if<Loop>(&s.op);
    if (!x) continue;
    tidy_block(x->body, writes);
    if (Expr cond = take_invariant(*x, writes)) {
      Block body = only(std::move(s));
      s = Stmt{If{std::move(cond), std::move(body)}};
    }
  }
  join_neighbours(block, writes);
  factor_neighbours(block, writes);
}

}  // namespace

/// Nothing but variables that nothing uses.
static bool does_nothing(const Block& block) {
  return std::all_of(block.begin(), block.end(), [](const Stmt& s) {
    return std::holds_alternative<Declare>(s.op) || std::holds_alternative<Release>(s.op);
  });
}

/// Drops what is under a condition that never holds, and loops that do nothing without that.
/// Whether a condition holds nowhere, whatever its variables are.
static bool is_false(const Expr& e) {
  if (const auto* b = e.as<BoolLit>()) return !b->value;
  const auto* n = e.as<Nary>();
  if (n && n->op == NaryOp::And) return std::any_of(n->terms.begin(), n->terms.end(), is_false);
  return n && n->op == NaryOp::Or && std::all_of(n->terms.begin(), n->terms.end(), is_false);
}

static void drop_dead(Block& block) {
  std::erase_if(block, [](Stmt& s) {
    if (auto* launch = std::get_if<Launch>(&s.op)) drop_dead(launch->body);
    auto* guard = std::get_if<If>(&s.op);
    auto* loop = std::get_if<Loop>(&s.op);
    auto* scope = std::get_if<Scope>(&s.op);
    if (!guard && !loop && !scope) return false;
    Block& body = guard ? guard->body : loop ? loop->body : scope->body;
    const bool did_nothing = does_nothing(body);
    drop_dead(body);
    return (!did_nothing && does_nothing(body)) || (guard && is_false(guard->cond));
  });
}

void tidy_guards(Block& block, const Writes& writes) {
  drop_dead(block);
  tidy_block(block, writes);
  drop_repeated(block, writes);
}

static Exprs asked_by_all(const Block& block);

/// The scalar of `v`, of `not v` and of `v == 1`; null for other conditions.
static const Var* flag_of(const Expr& condition) {
  if (const auto* c = condition.as<Compare>(); c && as_int(c->right)) return c->left.as<Var>();
  const auto* n = condition.as<Unary>();
  return n && n->op == UnaryOp::Not ? n->arg.as<Var>() : condition.as<Var>();
}

/// Whether something in the block has a variable of that name for itself.
static bool declares(const Block& block, const std::string& name) {
  return std::any_of(block.begin(), block.end(), [&](const Stmt& s) {
    if (const auto* d = std::get_if<Declare>(&s.op)) return d->temporary == name;
    if (const auto* x = std::get_if<If>(&s.op))
      return declares(x->body, name) || declares(x->otherwise, name);
    if (const auto* x = std::get_if<Loop>(&s.op)) return declares(x->body, name);
    const auto* scope = std::get_if<Scope>(&s.op);
    return scope && declares(scope->body, name);
  });
}

/// Conditions of one scalar each without which a statement does nothing.
static Exprs asked_by(const Stmt& s) {
  if (const auto* loop = std::get_if<Loop>(&s.op)) {
    // Where nothing in the first iteration runs, the scalar is as it was in the next one.
    Exprs out = asked_by_all(loop->body);
    std::erase_if(out, [&](const Expr& t) {
      const std::string& name = flag_of(t)->name;
      return name == loop->iname || declares(loop->body, name);
    });
    for (const Expr& t : loop->only_while ? conjuncts(loop->only_while) : Exprs())
      if (!holds_term(out, t)) out.push_back(t);
    return out;
  }
  if (const auto* scope = std::get_if<Scope>(&s.op)) {
    Exprs inner = asked_by_all(scope->body);
    std::erase_if(inner, [&](const Expr& t) { return flag_of(t)->name == scope->iname; });
    return inner;
  }
  const auto* guard = std::get_if<If>(&s.op);
  if (!guard) return {};
  Exprs out = conjuncts(guard->cond);
  const Exprs inner = asked_by_all(guard->body);
  out.insert(out.end(), inner.begin(), inner.end());
  std::erase_if(out, [](const Expr& t) { return !flag_of(t); });
  return out;
}

static Exprs asked_by_all(const Block& block) {
  Exprs out;
  bool first = true;
  for (const Stmt& s : block) {
    if (std::holds_alternative<Declare>(s.op) || std::holds_alternative<Release>(s.op)) continue;
    const Exprs terms = asked_by(s);
    if (std::exchange(first, false))
      for (const Expr& t : terms)
        if (!holds_term(out, t)) out.push_back(t);
    std::erase_if(out, [&](const Expr& t) { return !holds_term(terms, t); });
  }
  return out;
}

/// The first statement that runs in the block; `guards` gets the conditions around it. Null where
/// that is a loop's.
static const Run* first_run(const Block& block, Exprs& guards) {
  for (const Stmt& s : block) {
    if (std::holds_alternative<Declare>(s.op)) continue;
    const auto* x = std::get_if<If>(&s.op);
    if (!x) return std::get_if<Run>(&s.op);
    const Exprs terms = conjuncts(x->cond);
    guards.insert(guards.end(), terms.begin(), terms.end());
    return first_run(x->body, guards);
  }
  return nullptr;
}

/// Whether all in the block but `saves` is under all of these conditions.
static bool all_ask(const Block& block, const Exprs& conditions, const Run* saves) {
  return std::all_of(block.begin(), block.end(), [&](const Stmt& s) {
    if (std::holds_alternative<Declare>(s.op) || std::holds_alternative<Release>(s.op)) return true;
    if (const auto* run = std::get_if<Run>(&s.op)) return run == saves;
    if (const auto* scope = std::get_if<Scope>(&s.op))
      return all_ask(scope->body, conditions, saves);
    const auto* guard = std::get_if<If>(&s.op);
    const auto* loop = std::get_if<Loop>(&s.op);
    if (!guard && !loop) return false;
    const Expr cond = guard ? guard->cond : loop->only_while;
    const Exprs terms = cond ? conjuncts(cond) : Exprs();
    Exprs open = conditions;
    std::erase_if(open, [&](const Expr& t) { return holds_term(terms, t); });
    return open.empty() || all_ask(guard ? guard->body : loop->body, open, saves);
  });
}

/// How many instructions write a variable; counted when it is first asked.
class Writers {
 public:
  explicit Writers(const Kernel& k) : k_(k) {}
  int of(const std::string& variable) {
    if (counts_.empty())
      for (const InsnPtr& i : k_.instructions)
        for (const std::string& w : writes(*i)) ++counts_[w];
    return counts_[variable];
  }

 private:
  const Kernel& k_;
  std::map<std::string, int> counts_;
};

/// What each iteration saves in a scalar at its beginning, where nothing else in it runs unless
/// that holds: scalars, which then stay as they are. Null where there is no such value.
static Expr saved_condition(const Loop& loop, const Kernel& k, Writers& writers) {
  Exprs guards;
  const Run* first = first_run(loop.body, guards);
  if (!first) return {};
  const Instruction& i = *k.instructions[std::size_t(first->insn)];
  if (i.lhs.size() != 1 || !i.lhs[0].as<Var>() || !i.rhs) return {};
  const Temporary* saved = k.find_temporary(i.lhs[0].as<Var>()->name);
  if (!saved || saved->type != Type(Scalar::Bool)) return {};  // a value, not a condition
  Exprs flags = conjuncts(i.rhs);
  for (Expr& t : flags) {
    const auto* test = t.as<Compare>();
    if (test && test->op == CompareOp::Ne && as_int(test->right) == 0 && test->left.as<Var>())
      t = test->left;
    if (t.as<Unary>() || !flag_of(t) || flag_of(t)->name == loop.iname) return {};
  }
  if (std::none_of(flags.begin(), flags.end(), [](const Expr& t) { return t.as<Var>(); }))
    return {};
  if (writers.of(i.lhs[0].as<Var>()->name) != 1) return {};
  // Where a condition on parameters and loops around does not hold, the scalar has no value in any
  // iteration.
  std::erase_if(guards, [&](const Expr& t) {
    std::set<std::string> names;
    collect_reads(t, names);
    return std::all_of(names.begin(), names.end(), [&](const std::string& n) {
      const Argument* a = k.find_arg(n);
      return (a && !a->is_array) || (k.has_iname(n) && n != loop.iname);
    });
  });
  guards.push_back(i.lhs[0]);
  return all_ask(loop.body, guards, first) ? conjunction(flags) : Expr();
}

static void end_early(Block& block, const Kernel& k, Writers& writers) {
  for (Stmt& s : block) {
    if (auto* x = std::get_if<If>(&s.op)) end_early(x->body, k, writers);
    if (auto* x = std::get_if<Scope>(&s.op)) end_early(x->body, k, writers);
    if (auto* x = std::get_if<Launch>(&s.op)) end_early(x->body, k, writers);
    auto* loop = std::get_if<Loop>(&s.op);
    if (!loop) continue;
    end_early(loop->body, k, writers);
    const InameTag* tag = k.tag(loop->iname);  // targets add directives later
    const bool sequential = loop->pragmas.empty() && loop->lanes == 0 && !loop->matrix &&
                            (!tag || run_of(tag->kind) == TagRun::InOrder);
    if (!sequential || waits_within(loop->body)) continue;
    Exprs flags = asked_by_all(loop->body);
    std::erase_if(flags, [&](const Expr& t) {
      const std::string& name = flag_of(t)->name;  // has to be known in the loop's head
      return name == loop->iname ||
             std::any_of(loop->body.begin(), loop->body.end(), [&](const Stmt& x) {
               const auto* d = std::get_if<Declare>(&x.op);
               return d && d->temporary == name;
             });
    });
    const Expr saved = saved_condition(*loop, k, writers);
    // What only says that something is not so ends no loop by itself: compilers take such a
    // condition out of the loop.
    if (!saved &&
        std::none_of(flags.begin(), flags.end(), [](const Expr& t) { return t.as<Var>(); }))
      continue;
    Exprs all = saved ? conjuncts(saved) : Exprs();
    for (const Expr& f : flags)
      if (!holds_term(all, f)) all.push_back(f);
    if (all.empty()) continue;
    loop->only_while = conjunction(all);
    Block first = without_terms(only(std::move(loop->body.front())), flags);
    loop->body.erase(loop->body.begin());
    loop->body.insert(loop->body.begin(), std::make_move_iterator(first.begin()),
                      std::make_move_iterator(first.end()));
  }
}

void end_loops_early(Block& block, const Kernel& k) {
  Writers writers(k);
  end_early(block, k, writers);
}

}  // namespace moonloop
