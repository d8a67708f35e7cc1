#include "transforms/fuse_kernels.h"

#include <algorithm>
#include <unordered_map>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/reference.h"

namespace moonloop {
namespace {

using Names = std::map<std::string, std::string>;

/// Puts kernels one after another. Names of arguments and parameters are common; inames,
/// temporaries, rules and ids of a kernel get others where an earlier one has them.
class Composer {
 public:
  Composer(const std::vector<Kernel>& all, const FuseOptions& o) : all_(all), o_(o) {}

  Composition run() {
    const Kernel& first = all_.front();
    if (!o_.name.empty()) require_identifier(o_.name, {});
    out_.name = o_.name;
    out_.at = first.at;
    out_.index_type = first.index_type;
    for (const Kernel& k : all_) {
      if (o_.name.empty()) out_.name += (out_.name.empty() ? "" : "_and_") + k.name;
      for (const Argument& a : k.args) common_.insert(a.name);
      for (const std::string& name : k.all_names()) ++kernels_with_[name];
    }
    for (std::size_t n = 0; n < all_.size(); ++n) add(rebase(all_[n]), n);
    // Reductions' own loops have nothing to share; outer loops come first.
    std::set<std::string_view> loops;
    for (const InsnPtr& i : out_.instructions) loops.insert(i->inames.begin(), i->inames.end());
    std::erase_if(shared_, [&](const auto& s) {
      return !loops.contains(s.first) || !loops.contains(s.second);
    });
    std::map<std::string_view, std::size_t> places;
    for (std::size_t n = 0; n < out_.loop_order.size(); ++n) places.emplace(out_.loop_order[n], n);
    const auto place = [&](const auto& s) {
      const auto it = places.find(s.second);
      return it == places.end() ? places.size() : it->second;
    };
    std::stable_sort(shared_.begin(), shared_.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return {proved(std::move(out_)), std::move(shared_)};
  }

 private:
  void add(const Kernel& k, std::size_t number) {
    if (k.index_type != out_.index_type)
      refuse("other-argument", k.at, "`{}` counts by {}, and `{}` by {}", k.name,
             Type(k.index_type).str(), all_[0].name, Type(out_.index_type).str());
    const Names names = names_for(k, number), ids = ids_for(k);
    const auto now = [&](const std::string& n) {
      const auto it = names.find(n);
      return it == names.end() ? n : it->second;
    };
    const auto all = [&](const auto& list) {
      auto out = list;
      out.clear();
      for (const auto& n : list) out.insert(out.end(), now(n));
      return out;
    };
    for (const Argument& a : k.args) argument(a);
    for (const auto& [name, record] : k.records) {
      const auto [it, fresh] = out_.records.emplace(name, record);
      if (!fresh && !alike(*it->second, *record))
        refuse("other-argument", k.at, "two records are named `{}`", name);
    }
    for (auto [name, t] : k.temporaries) {
      t.name = now(name);
      if (t.shape)
        for (Expr& e : *t.shape) e = with_names(k, e, names);
      if (t.strides)
        for (Expr& e : *t.strides) e = with_names(k, e, names);
      if (!t.base_storage.empty()) t.base_storage = fresh(t.base_storage);
      const std::string own = t.name;
      out_.temporaries.try_emplace(own, std::move(t));
    }
    for (Rule r : k.rules) {
      Names inside = names;
      for (const std::string& p : r.params) inside.erase(p);
      r.name = now(r.name);
      r.body = with_names(k, r.body, inside);
      out_.rules.push_back(std::move(r));
    }
    for (Domain d : k.domains) {
      d.set = rename_dims(std::move(d.set), names);
      out_.domains.push_back(std::move(d));
    }
    if (k.assumptions)
      out_.assumptions =
          out_.assumptions
              ? Set(isl_set_intersect_params(out_.assumptions.take(), k.assumptions.copy()))
              : k.assumptions;
    for (const InsnPtr& insn : k.instructions)
      out_.instructions.push_back(edit(insn, [&](Instruction& i) {
        i.id = ids.at(i.id);
        for (Expr& e : i.lhs) e = with_names(k, e, names);
        if (i.rhs) i.rhs = with_names(k, i.rhs, names);
        for (Expr& e : i.predicates) e = with_names(k, e, names);
        i.inames = all(i.inames);
        for (std::string& d : i.depends_on) d = ids.at(d);
        for (NoSync& s : i.no_sync)
          if (const auto it = ids.find(s.id); it != ids.end()) s.id = it->second;
      }));
    for (const auto& [iname, tag] : k.iname_tags) out_.iname_tags.emplace(now(iname), tag);
    for (const std::string& i : k.loop_order) out_.loop_order.push_back(now(i));
    for (const auto& chain : k.priorities) out_.priorities.push_back(all(chain));
    for (const auto& [iname, s] : k.slabs) out_.slabs.emplace(now(iname), s);
    out_.reciprocals = out_.reciprocals || k.reciprocals;
    for (Claim c : k.claims) {
      c.names = all(c.names);
      std::map<std::string, std::set<std::string>> inside;
      for (const auto& [iname, loops] : c.inside) inside[now(iname)] = all(loops);
      c.inside = std::move(inside);
      out_.claims.push_back(std::move(c));
    }
    for (const auto& [f, gives] : k.externals)
      if (const auto& [it, added] = out_.externals.emplace(f, gives); !added && it->second != gives)
        fail("other-argument", k.at, "`{}`, which is external, gives different types", f);
    for (const auto& [f, called] : k.callees)
      if (const auto& [it, added] = out_.callees.emplace(f, called); !added && it->second != called)
        fail("other-argument", k.at, "`{}`, which is called, is another kernel than before", f);
  }

  /// Also of rules that are called.
  static Expr with_names(const Kernel& k, const Expr& e, const Names& names) {
    return rewrite(rename(e, names), [&](const Expr& x) {
      const auto* c = x.as<Call>();
      if (!c || !k.find_rule(c->name)) return x;
      const auto it = names.find(c->name);
      if (it == names.end()) return x;
      Call own = *c;
      own.name = it->second;
      return Expr(std::move(own), x.at());
    });
  }

  static bool alike(const Record& a, const Record& b) {
    return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                      [](const Record::Field& x, const Record::Field& y) {
                        return x.name == y.name && x.type == y.type;
                      });
  }

  void argument(const Argument& a) {
    const auto [known, fresh] = args_.try_emplace(a.name, out_.args.size());
    if (fresh) return out_.args.push_back(a);
    Argument* it = &out_.args[known->second];
    const auto same = [](const std::optional<Exprs>& x, const std::optional<Exprs>& y) {
      return !x || !y ||
             std::equal(x->begin(), x->end(), y->begin(), y->end(), [](auto& p, auto& q) {
               return equal(p, q) || as_int(index_sub(p, q)) == 0;
             });
    };
    const bool offsets =
        bool(it->offset) == bool(a.offset) && (!a.offset || equal(it->offset, a.offset));
    if (it->is_array != a.is_array || it->constant != a.constant || it->order != a.order ||
        (it->type && a.type && !(*it->type == *a.type)) || !same(it->shape, a.shape) ||
        !same(it->strides, a.strides) || !offsets)
      refuse("other-argument", a.at,
             "the argument `{}` is another one in `{}` than in a kernel before", a.name,
             all_[0].name);
    if (!it->type) it->type = a.type;
    if (!it->shape) it->shape = a.shape;
    if (!it->strides) it->strides = a.strides;
    if (it->intent != a.intent) it->intent = Intent::Unknown;  // it follows from the accesses
  }

  // ---- Names.

  std::string fresh(const std::string& base) {
    std::string name = base;
    int& n = next_[base];  // those before are taken, and stay so
    if (n > 0) name += "_" + std::to_string(n - 1);
    for (; common_.count(name) || !taken_.insert(name).second; ++n)
      name = base + "_" + std::to_string(n);
    return name;
  }

  Names names_for(const Kernel& k, std::size_t number) {
    Names out;
    const std::vector<std::string> inames = k.inames();
    std::set<std::string> own(inames.begin(), inames.end());
    const auto give = [&](const std::string& name, const std::string& base) {
      if (const std::string now = fresh(base); now != name) out[name] = now;
    };
    for (const std::string& i : inames) {
      const auto before = inames_.find(i);
      give(i, i);
      const std::string now = out.count(i) ? out[i] : i;
      if (before != inames_.end())
        shared_.emplace_back(now, before->second);
      else
        inames_.emplace(i, now);
    }
    const auto elsewhere = [&](const std::string& name) { return kernels_with_.at(name) > 1; };
    for (const auto& [name, t] : k.temporaries)
      give(name, !o_.suffixes.empty() && elsewhere(name) ? name + o_.suffixes[number] : name);
    for (const Rule& r : k.rules) give(r.name, r.name);
    return out;
  }

  Names ids_for(const Kernel& k) {
    Names out;
    for (const InsnPtr& i : k.instructions) {
      std::string id = i->id;
      int& n = next_id_[id];  // those before are taken, and stay so
      if (n > 0) id += "_" + std::to_string(n - 1);
      for (; !ids_.insert(id).second; ++n) id = i->id + "_" + std::to_string(n);
      out[i->id] = id;
    }
    return out;
  }

  const std::vector<Kernel>& all_;
  const FuseOptions& o_;
  Kernel out_;
  std::vector<std::pair<std::string, std::string>> shared_;
  Names inames_;  // by their names, the first of each
  std::set<std::string> common_, taken_, ids_;
  std::unordered_map<std::string, int> next_, next_id_;
  std::unordered_map<std::string, std::size_t> args_;  // by name: which of `out_`
  std::unordered_map<std::string, int> kernels_with_;  // by name: how many of them use it
};

bool writes(const Kernel& k, const std::string& name) {
  return std::any_of(k.instructions.begin(), k.instructions.end(),
                     [&](const InsnPtr& i) { return writes(*i).count(name) != 0; });
}
bool reads(const Kernel& k, const std::string& name) {
  return std::any_of(k.instructions.begin(), k.instructions.end(),
                     [&](const InsnPtr& i) { return reads(k, *i).count(name) != 0; });
}

}  // namespace

Composition fuse_kernels(const std::vector<Kernel>& kernels, const FuseOptions& o) {
  if (kernels.size() < 2)
    throw Refused(
        Diagnostic{"no-kernels",
                   fmt::format("one kernel is made of at least two, not of {}", kernels.size()),
                   {},
                   {},
                   "in Lua, a name that was never given a value is nil, and a list ends there"});
  if (!o.suffixes.empty() && o.suffixes.size() != kernels.size())
    refuse("bad-suffixes", kernels[0].at, "there are {} suffixes for {} kernels", o.suffixes.size(),
           kernels.size());
  const auto count = std::ssize(kernels);
  for (const auto& [name, from, to] : o.data_flow) {
    if (from < 0 || from >= to || to >= count)
      refuse("no-data-flow", kernels[0].at, "`{}` cannot flow from kernel {} to kernel {} of {}",
             name, from, to, count);
    const Kernel &a = kernels[static_cast<std::size_t>(from)],
                 &b = kernels[static_cast<std::size_t>(to)];
    if (!writes(a, name))
      refuse("no-data-flow", a.at, "`{}` does not write `{}`, which is to flow to `{}`", a.name,
             name, b.name);
    if (!reads(b, name) && !writes(b, name))
      refuse("no-data-flow", b.at, "`{}` does not access `{}`, which is to flow from `{}`", b.name,
             name, a.name);
  }
  return Composer(kernels, o).run();
}

}  // namespace moonloop
