#include "tests/differential/random_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

struct Chosen {
  std::string name;
  std::vector<std::optional<std::int64_t>> lengths;  // of the axes, where they are constant
  bool temporary = false;
};

std::optional<Chosen> choose(Random& r, const Kernel& k) {
  std::vector<Chosen> all;
  const auto add = [&](const std::string& name, const std::optional<Exprs>& shape, bool temporary) {
    if (!shape || shape->empty()) return;
    Chosen c{name, {}, temporary};
    for (const Expr& e : *shape) c.lengths.push_back(as_int(e));
    all.push_back(std::move(c));
  };
  std::set<std::string> used;
  for (const InsnPtr& i : k.instructions) {
    for (const std::string& n : writes(*i)) used.insert(n);
    for (const std::string& n : reads(k, *i)) used.insert(n);
  }
  for (const Argument& a : k.args)
    if (a.is_array && used.count(a.name)) add(a.name, a.shape, false);
  for (const auto& [name, t] : k.temporaries)
    for (int more = 0; more < 2; ++more) add(name, t.shape, true);  // prefers those
  if (all.empty()) return {};
  return r.pick(all);
}

/// Tags for all axes but those that have one: nested, one way or another.
std::vector<std::string> nested(Random& r, std::vector<std::string> tags) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tags.size(); ++i)
    if (tags[i].empty()) open.push_back(i);
  const auto pad = [&] {
    return r.chance(25) ? fmt::format("(pad={})", r.pick(std::vector<int>{2, 4, 5, 8})) : "";
  };
  if (r.chance(40)) {
    const std::string order = r.pick({"c", "f"});
    for (const std::size_t i : open) tags[i] = order + pad();
    return tags;
  }
  std::vector<std::size_t> level(open.size());
  for (std::size_t n = 0; n < level.size(); ++n) level[n] = n;
  for (std::size_t n = level.size(); n > 1; --n)
    std::swap(level[n - 1], level[static_cast<std::size_t>(r.below(static_cast<int>(n)))]);
  for (std::size_t n = 0; n < open.size(); ++n)
    tags[open[n]] = fmt::format("N{}{}", level[n], pad());
  return tags;
}

Call tag(const std::string& name, const std::vector<std::string>& tags) {
  ValueList list;
  for (const std::string& t : tags) list.push_back(text(t));
  return {"tag_array_axes", {text(name), Value{list}}, {}};
}

}  // namespace

std::vector<Call> axes_steps(Random& r, const Kernel& k) {
  const auto chosen = choose(r, k);
  if (!chosen) return {};
  std::vector<Call> out;
  std::vector<std::optional<std::int64_t>> lengths = chosen->lengths;
  const auto rank = [&] { return static_cast<int>(lengths.size()); };
  if (r.chance(20)) {  // explicit strides: the last axis, or the first, with gaps
    std::vector<std::string> tags(lengths.size());
    if (rank() == 1) {
      tags[0] = fmt::format("stride:{}", r.between(1, 3));
    } else if (lengths[0] && lengths[1] && rank() == 2) {
      const std::int64_t gap = r.between(1, 2);
      const bool first = r.chance(50);
      tags[first ? 0 : 1] = fmt::format("stride:{}", gap);
      tags[first ? 1 : 0] = fmt::format("stride:{}", gap * (first ? *lengths[0] : *lengths[1]));
    } else if (!chosen->temporary && rank() == 2) {  // those of the random kernels are that long
      const bool first = r.chance(50);
      tags[first ? 0 : 1] = "stride:1";
      tags[first ? 1 : 0] = fmt::format("stride:3*n + {}", r.between(12, 14));
    }
    if (std::none_of(tags.begin(), tags.end(), [](const std::string& t) { return t.empty(); }))
      return {tag(chosen->name, tags)};
  }
  if (r.chance(20)) return {tag(chosen->name, nested(r, std::vector<std::string>(lengths.size())))};

  int count = 0;
  for (int splits = r.chance(20) ? 2 : 1; splits > 0; --splits) {
    const bool has = std::any_of(lengths.begin(), lengths.end(),
                                 [](const auto& l) { return l && *l <= 4 && *l > 1; });
    if (has && r.chance(60)) continue;
    const int axis = r.below(rank());
    count = r.between(2, 4);
    const std::string order = r.pick({"C", "C", "F"});
    out.push_back(
        {"split_array_axis", {text(chosen->name), number(axis), number(count), text(order)}, {}});
    const auto at = lengths.begin() + axis;
    const std::optional<std::int64_t> whole =
        *at ? std::optional((**at + count - 1) / count) : std::nullopt;
    *at = order == "C" ? whole : std::optional<std::int64_t>(count);
    lengths.insert(at + 1, order == "C" ? std::optional<std::int64_t>(count) : whole);
  }
  std::vector<std::string> tags(lengths.size());
  bool vector = false;
  for (std::size_t i = lengths.size(); i-- > 0;) {
    if (!lengths[i] || *lengths[i] > 8) continue;
    const std::string kind = r.pick({"vec", "vec", "sep", "sep", ""});
    if (kind == "vec" && vector) continue;
    vector = vector || kind == "vec";
    tags[i] = kind;
  }
  out.push_back(tag(chosen->name, nested(r, tags)));
  if (count > 0 && r.chance(40)) {
    const std::vector<std::string> inames = k.inames();
    out.push_back({"split_iname",
                   {text(r.pick(inames)), number(count)},
                   {{"inner_tag", text(r.pick({"vec", "vec", "unr", "ilp"}))}}});
  }
  return out;
}

}  // namespace moonloop::differential
