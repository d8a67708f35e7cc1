#include "tests/differential/random_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/differential/random_staging.h"
#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

class StepMaker {
 public:
  StepMaker(Random& random, const Kernel& k, Flavour flavour)
      : r_(random), k_(k), device_(flavour == Flavour::Device), inames_(k.inames()) {}

  Call make() {
    if (r_.chance(12))
      if (auto step = staging_step(r_, k_, device_ ? Flavour::Device : Flavour::Host))
        return *std::move(step);
    if (r_.chance(6))
      if (auto step = privatize()) return *std::move(step);
    if (device_ && r_.chance(45)) {  // typical for devices: split, tag, stage
      switch (r_.below(5)) {
        case 0: return tag();
        case 1: return prefetch();
        case 2: return r_.chance(50) ? buffer() : precompute();
        default: return split();
      }
    }
    switch (r_.below(50)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: return split();
      case 5:
      case 6: return join();
      case 7:
      case 8:
      case 9:
      case 10: return tag();
      case 11:
      case 12: return prioritize();
      case 13: return interchange();
      case 14:
      case 15:
      case 16: return fuse();
      case 17: return duplicate();
      case 18: return r_.chance(60) ? distribute() : fuse_loops();
      case 19:
      case 20:
      case 21:
      case 22: return map_domain();
      case 23:
      case 24: return precompute();
      case 25:
      case 26: return prefetch();
      case 27:
      case 28: return buffer();
      case 29: return reduction();
      case 30:
      case 31: return recognize();
      case 32: return {"rename_iname", {text(iname()), text(fresh("r"))}, {}};
      case 33: return rules();
      case 34:
      case 35: return extract();
      case 36: return depend();
      case 37:
      case 38: return layout();
      case 39:
        return r_.chance(50) ? skewed()
                             : Call{"privatize_temporaries_with_inames", {list({iname()})}, {}};
      case 40: return r_.chance(40) ? chunk() : r_.chance(50) ? cut() : split();
      case 41: return realize();
      case 42: return reduction();
      case 43:
      case 44: return chunk_of_nest();
      case 45: return boxed();
      case 46: return r_.chance(60) ? round_up() : Call{"unfold_reduction", {text(within())}, {}};
      case 47: return insn_loops();
      case 48: return names();
      default: return {"untag_inames", {text(iname())}, {}};
    }
  }

 private:
  const std::string& iname() { return r_.pick(inames_); }
  std::string other(const std::string& than) {
    for (int tries = 0; tries < 8; ++tries)
      if (const std::string& i = iname(); i != than) return i;
    return than;
  }
  std::string fresh(const std::string& base) const { return k_.fresh_name(base); }
  std::string within() {
    const auto ids = k_.instruction_ids();
    return "id:" + r_.pick(ids);
  }

  Call split() {
    ValueDict options;
    if (!device_ && r_.chance(10))  // whole vectors, and the last one apart
      return {"split_iname",
              {text(iname()), number(r_.pick(std::vector<int>{2, 4, 4, 8}))},
              {{"inner_tag", text("vec")}, {"slabs", Value{ValueList{number(0), number(1)}}}}};
    if (device_) {
      if (r_.chance(75))
        options.emplace_back("inner_tag",
                             text(r_.pick({"unr", "l.0", "l.0", "l.1", "vec", "ilp"})));
      if (r_.chance(60)) options.emplace_back("outer_tag", text(r_.pick({"g.0", "g.1"})));
    } else {
      if (r_.chance(10))
        options.emplace_back("inner_tag",
                             text(r_.pick({"unr", "l.0", "simd", "par", "vec", "ilp"})));
      if (r_.chance(10)) options.emplace_back("outer_tag", text(r_.pick({"par", "g.0"})));
    }
    if (r_.chance(15))
      options.emplace_back("slabs", Value{ValueList{number(r_.below(2)), number(r_.below(2))}});
    if (r_.chance(15)) options.emplace_back("within", text(within()));
    return {"split_iname", {text(iname()), number(r_.between(2, 4))}, options};
  }
  Call chunk() {
    ValueDict options;
    if (device_) {
      if (r_.chance(50)) options.emplace_back("inner_tag", text(r_.pick({"l.0", "l.0", "l.1"})));
      if (r_.chance(50)) options.emplace_back("outer_tag", text(r_.pick({"g.0", "g.1"})));
    } else if (r_.chance(20)) {
      options.emplace_back("outer_tag", text(r_.pick({"par", "unr"})));
    }
    return {"chunk_iname", {text(iname()), number(r_.between(1, 4))}, options};
  }
  /// Pieces of a loop that others depend on, or that is a part of one itself: this makes domains
  /// that are not boxes.
  Call chunk_of_nest() {
    std::vector<std::string> nested;
    for (const Domain& d : k_.domains) {
      const std::vector<std::string> own = d.inames();
      if (own.size() > 1) nested.insert(nested.end(), own.begin(), own.end());
      for (const std::string& p : d.params())
        if (k_.has_iname(p)) nested.push_back(p);
    }
    Call out = chunk();
    if (!nested.empty()) out.positional[0] = text(r_.pick(nested));
    out.positional[1] = number(r_.between(2, 5));
    return out;
  }
  Call boxed() {
    Call out = r_.chance(30) && !k_.rules.empty() ? precompute() : prefetch();
    std::erase_if(out.options, [](const auto& o) { return o.first == "fetch_bounding_box"; });
    out.options.emplace_back("fetch_bounding_box", Value{true});
    return out;
  }
  Call join() {
    std::vector<std::vector<std::string>> together;  // only those of one domain can be joined
    for (const Domain& d : k_.domains)
      if (d.inames().size() > 1) together.push_back(d.inames());
    if (!together.empty() && r_.chance(80)) {
      const std::vector<std::string>& both = r_.pick(together);
      const int a = r_.below(static_cast<int>(both.size()));
      const int b = r_.below(static_cast<int>(both.size()));
      return {"join_inames", {list({both[std::size_t(a)], both[std::size_t(b)]})}, {}};
    }
    const std::string a = iname();
    return {"join_inames", {list({a, other(a)})}, {}};
  }
  Call tag() {
    const std::string tag = device_ ? r_.pick({"g.0", "g.0", "g.1", "l.0", "unr", "ord", "vec"})
                                    : r_.pick({"par", "par", "unr", "g.0", "g.1", "l.0", "l.1",
                                               "simd", "ord", "ilp", "vec"});
    return {"tag_inames", {Value{ValueDict{{iname(), text(tag)}}}}, {}};
  }
  Call prioritize() {
    std::vector<std::string> chain{iname()};
    for (int more = r_.between(1, 2); more > 0; --more)
      if (const std::string next = other(chain[0]);
          std::find(chain.begin(), chain.end(), next) == chain.end())
        chain.push_back(next);
    return {"prioritize_loops", {list(chain)}, {}};
  }
  Call fuse() {
    const std::string a = iname();
    ValueDict options{{"existing_ok", Value{true}}};
    if (r_.chance(30)) options.emplace_back("raise_on_domain_mismatch", Value{false});
    return {"rename_iname", {text(a), text(other(a))}, options};
  }
  Call duplicate() {
    if (r_.chance(10)) return {"make_reduction_inames_unique", {}, {}};
    return {"duplicate_inames", {text(iname()), text(within())}, {{"suffix", text("_d")}}};
  }
  /// A statement moves into a loop, mostly one of a statement beside it, or out of one.
  Call insn_loops() {
    const InsnPtr& insn = r_.pick(k_.instructions);
    const std::string i = iname();
    ValueDict options;
    if (r_.chance(10)) return {"add_inames_for_unused_hw_axes", {text(within())}, {}};
    if (r_.chance(20)) return {"remove_predicates_from_insn", {text("id:" + insn->id)}, {}};
    if (!insn->inames.contains(i))
      return {"add_inames_to_insn", {text(i), text("id:" + insn->id)}, {}};
    if (r_.chance(60)) options.emplace_back("guard", Value{true});
    // Most statements use all of their loops: one that does not.
    for (const InsnPtr& x : k_.instructions) {
      std::set<std::string> used;
      if (x->rhs) collect_vars(expand_rules(k_, x->rhs), used);
      for (const Expr& e : x->lhs) collect_vars(e, used);
      for (const std::string& n : x->inames)
        if (!used.contains(n))
          return {"remove_inames_from_insn", {text(n), text("id:" + x->id)}, options};
    }
    return {"remove_inames_from_insn", {text(i), text("id:" + insn->id)}, options};
  }
  /// Other names, and what nothing uses.
  Call names() {
    const std::string i = iname(), j = other(i);
    switch (r_.below(7)) {
      case 6: return {"set_instruction_priority", {text(within()), number(r_.between(-2, 2))}, {}};
      case 0: return {"rename_inames", {list({i, j}), text(fresh("v"))}, {}};
      case 1:
        return {"rename_inames_in_batch", {text(fmt::format("{}:{}, {}:{}", i, j, j, i))}, {}};
      case 2: return {"remove_unused_inames", {}, {}};
      case 3: return {"remove_unused_arguments", {}, {}};
      case 4: {
        std::vector<std::string> order;
        for (const Argument& a : k_.args) order.push_back(a.name);
        std::rotate(order.begin(), order.begin() + r_.below(int(order.size())), order.end());
        return {"set_argument_order", {list(order)}, {}};
      }
      default: {
        const auto ids = k_.instruction_ids();
        const std::string &a = r_.pick(ids), &b = r_.pick(ids);
        return {"replace_instruction_ids",
                {text(fmt::format("{}:{}, {}:{}", a, b, b, r_.chance(50) ? a : "renamed"))},
                {}};
      }
    }
  }
  /// Of loops around one statement, mostly.
  Call interchange() {
    const std::string x = iname();
    std::vector<std::string> beside;
    for (const InsnPtr& i : k_.instructions)
      if (i->inames.count(x))
        for (const std::string& y : i->inames)
          if (y != x) beside.push_back(y);
    return {"interchange", {text(x), text(beside.empty() ? other(x) : r_.pick(beside))}, {}};
  }
  Call distribute() {
    if (r_.chance(30)) return {"distribute_loops", {text(iname())}, {}};
    std::vector<std::string> groups{within()};
    if (r_.chance(30)) groups.push_back(within());
    return {"distribute_loops", {text(iname()), list(groups)}, {}};
  }
  Call fuse_loops() {
    const std::string i = iname();
    ValueDict options;
    if (r_.chance(50)) options.emplace_back("name", text(fresh("x")));
    return {"fuse_loops", {list({i, other(i)})}, options};
  }
  Call cut() {
    const std::string i = iname(), j = other(i);
    const std::vector<std::string> places{"3", "n // 2",   "n - 2",
                                          j,   j + " + 1", fmt::format("n - {} - 1", j)};
    const std::string& at = r_.pick(places);
    return {"split_at", {text(i), text(at)}, {}};
  }
  Call round_up() {
    ValueDict blocks;
    for (const std::string& i : inames_)
      if (blocks.empty() || r_.chance(40)) blocks.emplace_back(i, number(r_.between(1, 5)));
    std::sort(blocks.begin(), blocks.end(),
              [](const NamedValue& a, const NamedValue& b) { return a.first < b.first; });
    return {"round_up", {Value{blocks}}, {}};
  }
  /// Tiles along what a loop and some loop inside of it add up to.
  Call skewed() {
    const std::string t = iname();
    const int factor = r_.below(3), first = r_.between(-1, 1);
    ValueDict along;
    for (const InsnPtr& insn : k_.instructions) {
      if (!insn->inames.contains(t)) continue;
      std::vector<std::string> inner(insn->inames.begin(), insn->inames.end());
      const std::string i = r_.pick(inner);
      along.emplace_back(insn->id, text(fmt::format("{}*{} + {} + {}", factor, t, i,
                                                    r_.chance(70) ? first : r_.below(3))));
    }
    std::sort(along.begin(), along.end(),
              [](const NamedValue& a, const NamedValue& b) { return a.first < b.first; });
    return {"skewed_tiles", {text(t), Value{along}, number(r_.between(2, 5))}, {}};
  }
  Call map_domain() {
    if (r_.chance(10)) return {"start_at_zero", {text(iname())}, {}};
    if (r_.chance(10)) return {"tight_bounds", {text(iname())}, {}};
    if (r_.chance(10)) return in_stages();
    const std::string x = iname(), y = other(x), t = fresh("u"), v = fresh("v");
    switch (r_.below(7)) {
      case 0: return map(fmt::format("{{ [{0}] -> [{1}] : {1} = -{0} }}", x, t));
      case 1:
        return map(fmt::format("{{ [{0}] -> [{1}] : {1} = {0} + {2} }}", x, t, r_.between(1, 3)));
      case 2: return map(fmt::format("{{ [{0}] -> [{1}] : {1} = 2*{0} + 1 }}", x, t));
      case 3: return map(fmt::format("{{ [{0}, {1}] -> [{2}, {1}] : {2} = {0} + {1} }}", x, y, t));
      case 4:
        return map(
            fmt::format("{{ [{0}, {1}] -> [{2}, {3}] : {2} = {1} and {3} = {0} }}", x, y, t, v));
      case 5: return map(fmt::format("{{ [{0}, {1}] -> [{0}, {2}] : {2} = {1} - {0} }}", x, y, t));
      default:
        return map(fmt::format("{{ [{0}, {1}] -> [{2}, {1}] : {2} = {0} - 2*{1} }}", x, y, t));
    }
  }
  /// What a loop's iterations have in temporaries, for a few iterations.
  Call in_stages() {
    std::vector<std::string> temporaries;
    for (const auto& [name, t] : k_.temporaries)
      if (t.shape && !t.shape->empty()) temporaries.push_back(name);
    ValueDict options{{"stages", number(r_.between(2, 3))}};
    if (r_.chance(30)) {
      const std::string id =
          k_.instructions[std::size_t(r_.below(int(k_.instructions.size())))]->id;
      return {"separate_values", {text(id), text(fresh("values"))}, {}};
    }
    if (temporaries.empty()) return {"pipeline", {text(iname())}, options};
    const std::string name = r_.pick(temporaries);
    if (temporaries.size() > 1 && r_.chance(30)) {
      const std::string other = r_.pick(temporaries);
      return {"concatenate_arrays", {list({name, other}), text(fresh("whole"))}, {}};
    }
    const auto axes = static_cast<int>(k_.find_temporary(name)->shape->size());
    if (r_.chance(40))
      return {"fold_storage", {text(name), number(r_.below(axes)), number(r_.between(1, 4))}, {}};
    options.emplace_back("temporaries", text(name));
    return {"pipeline", {text(iname())}, options};
  }
  static Call map(const std::string& m) { return {"map_domain", {text(m)}, {}}; }

  std::vector<std::string> sweep() {
    std::vector<std::string> out;
    for (const std::string& i : inames_)
      if (r_.chance(inames_.size() > 2 ? 30 : 50)) out.push_back(i);
    return out;
  }
  std::string array() {
    std::vector<std::string> names;
    for (const Argument& a : k_.args)
      if (a.is_array) names.push_back(a.name);
    // Prefers one that is accessed.
    for (int tries = 0; tries < 6; ++tries) {
      const std::string name = r_.pick(names);
      for (const InsnPtr& i : k_.instructions)
        if (writes(*i).count(name) || reads(k_, *i).count(name)) return name;
    }
    return r_.pick(names);
  }
  Call precompute() {
    if (k_.rules.empty()) return prefetch();
    ValueDict options;
    if (r_.chance(30)) options.emplace_back("default_tag", Value{false});
    if (r_.chance(20)) options.emplace_back("fetch_bounding_box", Value{true});
    return {"precompute",
            {text(k_.rules[std::size_t(r_.below(int(k_.rules.size())))].name), list(sweep())},
            options};
  }
  Call prefetch() {
    ValueDict options;
    if (r_.chance(device_ ? 20 : 50)) options.emplace_back("default_tag", Value{false});
    if (r_.chance(30)) options.emplace_back("fetch_bounding_box", Value{true});
    return {"add_prefetch", {text(array()), list(sweep())}, options};
  }
  Call buffer() {
    ValueDict options;
    if (r_.chance(50)) options.emplace_back("default_tag", Value{false});
    return {"buffer_array", {text(array()), list(sweep())}, options};
  }
  /// Copies for the updates of one of them; nothing where there are none.
  std::optional<Call> privatize() {
    std::vector<const Instruction*> updates;
    for (const InsnPtr& i : k_.instructions)
      if (i->atomic == Atomicity::Update && !i->inames.empty()) updates.push_back(i.get());
    if (updates.empty()) return {};
    const Instruction& insn = *r_.pick(updates);
    std::vector<std::string> over;
    for (const std::string& i : insn.inames)
      if (r_.chance(60)) over.push_back(i);
    if (over.empty()) over.push_back(*insn.inames.begin());
    ValueDict options;
    if (r_.chance(40)) options.emplace_back("within", text("id:" + insn.id));
    if (r_.chance(10)) return Call{"combine_updates", {text(written_name(insn.lhs[0]))}, options};
    if (r_.chance(25))
      options.emplace_back("holds", text("last"));
    else if (r_.chance(40))
      options.emplace_back("temporary_scope", text(r_.pick({"private", "local", "global"})));
    return Call{"privatize_updates", {text(written_name(insn.lhs[0])), list(over)}, options};
  }
  /// The inames of reductions, each with the others of its own.
  std::vector<std::vector<std::string>> reductions() const {
    std::vector<std::vector<std::string>> out;
    const auto collect = [&](const Expr& e) {
      if (!e) return;
      walk(expand_rules(k_, e), [&](const Expr& x) {
        if (const Reduce* r = x.as<Reduce>()) out.push_back(r->inames);
        return true;
      });
    };
    for (const InsnPtr& i : k_.instructions) collect(i->rhs);
    return out;
  }
  Call reduction() {
    const auto all = reductions();
    if (all.empty()) return recognize();
    const std::vector<std::string>& over = r_.pick(all);
    if (r_.chance(20)) return {"reduction_arg_to_subst_rule", {list(over)}, {}};
    if (over.size() == 1 && r_.chance(30))
      return {
          "split_reduction_at", {text(over[0]), text(r_.pick({"1", "n // 2", "n - 1", "2"}))}, {}};
    if (over.size() == 1) return {"split_iname", {text(over[0]), number(r_.between(2, 4))}, {}};
    if (r_.chance(40)) return {"stage_reduction", {list({r_.pick(over)})}, {}};
    return {r_.pick({"split_reduction_inward", "split_reduction_outward"}),
            {list({r_.pick(over)})},
            {}};
  }
  Call recognize() {
    for (const InsnPtr& i : k_.instructions) {
      if (i->lhs.size() != 1 || !reads(k_, *i).count(written_name(i->lhs[0]))) continue;
      std::set<std::string> place;
      collect_vars(i->lhs[0], place);
      std::vector<std::string> along;  // loops on which the accumulator does not depend
      for (const std::string& n : i->inames)
        if (!place.count(n)) along.push_back(n);
      if (!along.empty() && r_.chance(70))
        return {"recognize_reduction", {list({r_.pick(along)})}, {{"within", text("id:" + i->id)}}};
    }
    return {"recognize_reduction", {list({iname()})}, {}};
  }
  Call realize() {
    ValueDict options;
    if (r_.chance(40)) options.emplace_back("force_scan", Value{true});
    return {"realize_reduction", {}, options};
  }
  /// What some instruction divides by.
  std::optional<Expr> some_divisor() {
    std::vector<Expr> all;
    for (const InsnPtr& i : k_.instructions)
      if (i->rhs)
        for_each_of<Binary>(i->rhs, [&](const Binary& b, const Expr&) {
          if (b.op == BinaryOp::Div && !contains_reduction(b.right)) all.push_back(b.right);
        });
    if (all.empty()) return std::nullopt;
    return r_.pick(all);
  }
  /// A rule for all accesses to an array, or for a reciprocal.
  Call extract() {
    if (const std::optional<Expr> divisor = some_divisor(); divisor && r_.chance(50))
      return {"extract_subst",
              {text(fresh("inverse")), text(fmt::format("1/({})", to_string(*divisor)))},
              {{"divisions", Value{true}}}};
    const std::string name = array();
    std::string list;
    const std::size_t rank = k_.find_arg(name)->shape ? k_.find_arg(name)->shape->size() : 1;
    for (std::size_t d = 0; d < rank; ++d)
      list += fmt::format("{}x{}", list.empty() ? "" : ", ", d);
    return {"extract_subst",
            {text(fresh(name + "_at")), text(fmt::format("{}[{}]", name, list))},
            {{"parameters", text(list)}}};
  }
  Call depend() { return {"add_dependency", {text(within()), text(within())}, {}}; }
  /// The layout of the axes of a temporary or an argument.
  Call layout() {
    std::vector<std::string> names;
    for (const auto& [name, t] : k_.temporaries)
      if (!t.shape || !t.shape->empty()) names.push_back(name);
    if (names.empty() || r_.chance(20)) return {"tag_array_axes", {text(array()), text("f")}, {}};
    const std::string name = r_.pick(names);
    switch (r_.below(3)) {
      case 0:
        return {
            "split_array_axis",
            {text(name), number(r_.below(2)), number(r_.between(2, 4)), text(r_.pick({"C", "F"}))},
            {}};
      case 1:
        return {"add_padding", {text(name), number(r_.below(2)), number(8 * r_.between(1, 5))}, {}};
      default:
        return {"tag_array_axes", {text(name), text(r_.pick({"f", "c", "N0(pad=3),N1"}))}, {}};
    }
  }
  Call rules() {
    if (k_.rules.empty() || r_.chance(30)) {
      std::vector<std::string> temporaries;
      for (const auto& [name, t] : k_.temporaries) temporaries.push_back(name);
      if (!temporaries.empty()) return {"assignment_to_subst", {text(r_.pick(temporaries))}, {}};
    }
    return {"expand_subst", {}, {}};
  }

  Random& r_;
  const Kernel& k_;
  bool device_;
  std::vector<std::string> inames_;
};

}  // namespace

std::string Call::str() const {
  std::string out = "k = lp." + name + "(k";
  for (const Value& v : positional) out += ", " + to_lua(v);
  if (!options.empty()) out += ", " + to_lua(Value{options});
  return out + ")";
}

Call random_step(Random& random, const Kernel& k, Flavour flavour) {
  Call out = StepMaker(random, k, flavour).make();
  std::sort(out.options.begin(), out.options.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace moonloop::differential
