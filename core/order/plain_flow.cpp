#include "core/order/plain_flow.h"

#include <algorithm>

#include "core/order/two_instances.h"

namespace moonloop {
namespace {

/// Of two remainders by one number.
std::optional<std::int64_t> common_modulus(const Expr& a, const Expr& b) {
  const auto *x = a.as<Binary>(), *y = b.as<Binary>();
  if (!x || !y || x->op != BinaryOp::Mod || y->op != BinaryOp::Mod) return std::nullopt;
  const auto m = as_int(x->right);
  return m && *m > 0 && m == as_int(y->right) ? m : std::nullopt;
}

}  // namespace

std::optional<std::vector<LinearRows>> plain_flow(const RunOrder& o, const Variables& variables,
                                                  int writer, const Access& write, int reader,
                                                  const Access& read,
                                                  const std::vector<std::string>& same) {
  if (write.when || write.index.size() != read.index.size()) return std::nullopt;
  if (flat_of(write.index) || flat_of(read.index)) return std::nullopt;
  const ApproximateSet written = o.domain(writer);
  if (!written.exact) return std::nullopt;
  TwoInstances two;
  two.add(1, o.dims(reader));
  if (!two.add(0, o.dims(writer), written.all)) return std::nullopt;
  const auto fixed = [&](const std::string& name) {
    return !variables.has(name) && !o.kernel().find_temporary(name) && !o.kernel().has_iname(name);
  };
  const auto later = [&](const Expr& a, const Expr& b) -> std::optional<LinearForm> {
    const auto f = two.value(a, two.values(0), fixed), g = two.value(b, two.values(1), fixed);
    return f && g ? weighted_sum(1, *g, -1, *f) : std::nullopt;
  };
  std::vector<LinearForm> equal;
  const auto equate = [&](const std::string& iname) {
    auto d = later(var(iname), var(iname));
    if (d) equal.push_back(std::move(*d));
    return d.has_value();
  };
  for (std::size_t i = 0; i < write.index.size(); ++i) {
    const Expr &x = write.index[i], &y = read.index[i];
    const auto by = common_modulus(x, y);
    auto d = by ? later(x.as<Binary>()->left, y.as<Binary>()->left) : later(x, y);
    if (d && by) d = weighted_sum(1, *d, -*by, two.unknown());
    if (!d || !is_fixed(x, variables) || !is_fixed(y, variables)) return std::nullopt;
    equal.push_back(std::move(*d));
  }
  for (const std::string& i : same)
    if (!equate(i)) return std::nullopt;
  std::vector<LinearRows> out;
  const auto add = [&](const std::optional<LinearForm>& beyond) {
    LinearRows rows = two.rows(0, 1);
    const std::vector<std::size_t> numbers = two.numbers(0, 1);
    const auto placed = [&](LinearForm f) {
      for (auto& [v, c] : f.terms) v = numbers[v];
      return f;
    };
    for (const LinearForm& f : equal) rows.zero.push_back(placed(f));
    if (beyond) rows.not_negative.push_back(placed(*beyond));
    out.push_back(std::move(rows));
  };
  for (std::size_t i = 0; i < o.common_loops(writer, reader); ++i) {
    const std::string& loop = o.loops(writer)[i];
    if (std::find(same.begin(), same.end(), loop) != same.end()) continue;
    auto beyond = later(var(loop), var(loop));
    if (!beyond) return std::nullopt;
    --beyond->constant;
    add(beyond);
    equate(loop);
  }
  if (o.first(writer, reader)) add({});
  std::reverse(out.begin(), out.end());
  return out;
}

bool plainly_misses(const RunOrder& o, int reader,
                    const std::vector<std::vector<LinearRows>>& flows) {
  const ApproximateSet domain = o.domain(reader);
  TwoInstances one;
  if (!domain.exact || !one.add(0, o.dims(reader), domain.all)) return false;
  one.take_in();
  const auto point = one.proof.point();
  if (!point) return false;
  return std::all_of(flows.begin(), flows.end(), [&](const std::vector<LinearRows>& parts) {
    return std::all_of(parts.begin(), parts.end(), [&](const LinearRows& rows) {
      LinearProof pairs(rows.dims + rows.params.size() + rows.quotients);
      const auto fix = [&](std::size_t variable, std::size_t as) {
        pairs.zero({{{variable, 1}}, -(*point)[as]});
      };
      const std::vector<std::size_t>& own = one.places(0);
      for (std::size_t d = 0; d < own.size(); ++d) fix(rows.dims - own.size() + d, own[d]);
      for (std::size_t p = 0; p < rows.params.size(); ++p)
        if (const auto it = one.parameters().find(rows.params[p]); it != one.parameters().end())
          fix(rows.dims + p, it->second);
      for (const LinearForm& f : rows.zero) pairs.zero(f);
      for (const LinearForm& f : rows.not_negative) pairs.not_negative(f);
      return pairs.impossible();
    });
  });
}

}  // namespace moonloop
