#include "core/order/plain_flow.h"

#include <algorithm>

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

bool PlainPairs::add(const std::vector<std::string>& writer, const Set& written, const Exprs& write,
                     const std::vector<std::string>& reader, const Exprs& read) {
  if (write.size() != read.size() || flat_of(write) || flat_of(read)) return false;
  two_.add(1, reader);
  if (!two_.add(0, writer, written)) return false;
  for (std::size_t i = 0; i < write.size(); ++i) {
    const Expr &x = write[i], &y = read[i];
    if (!is_fixed(x, variables_) || !is_fixed(y, variables_)) return false;
    const auto by = common_modulus(x, y);
    auto d = by ? later(x.as<Binary>()->left, y.as<Binary>()->left) : later(x, y);
    if (d && by) d = weighted_sum(1, *d, -*by, two_.unknown());
    if (!d) return false;
    equal_.push_back(std::move(*d));
  }
  return true;
}

bool PlainPairs::equate(const std::string& iname) {
  auto d = later(var(iname), var(iname));
  if (d) equal_.push_back(std::move(*d));
  return d.has_value();
}

std::optional<LinearForm> PlainPairs::later(const Expr& a, const Expr& b) {
  const auto fixed = [&](const std::string& name) {
    return !variables_.has(name) && !k_.find_temporary(name) && !k_.has_iname(name);
  };
  const auto f = two_.value(a, two_.values(0), fixed), g = two_.value(b, two_.values(1), fixed);
  return f && g ? weighted_sum(1, *g, -1, *f) : std::nullopt;
}

std::optional<LinearRows> PlainPairs::rows(const std::optional<LinearForm>& more) const {
  if (!two_.exact) return std::nullopt;
  LinearRows out = two_.rows(0, 1);
  const std::vector<std::size_t> numbers = two_.numbers(0, 1);
  const auto placed = [&](LinearForm f) {
    for (auto& [v, c] : f.terms) v = numbers[v];
    return f;
  };
  for (const LinearForm& f : equal_) out.zero.push_back(placed(f));
  if (more) out.not_negative.push_back(placed(*more));
  return out;
}

std::optional<std::vector<LinearRows>> plain_flow(const RunOrder& o, const Variables& variables,
                                                  int writer, const Access& write, int reader,
                                                  const Access& read,
                                                  const std::vector<std::string>& same) {
  const ApproximateSet written = o.domain(writer);
  PlainPairs pairs(o.kernel(), variables);
  if (!written.exact || write.when ||
      !pairs.add(o.dims(writer), written.all, write.index, o.dims(reader), read.index))
    return std::nullopt;
  for (const std::string& i : same)
    if (!pairs.equate(i)) return std::nullopt;
  std::vector<LinearRows> out;
  for (std::size_t i = 0; i < o.common_loops(writer, reader); ++i) {
    const std::string& loop = o.loops(writer)[i];
    if (std::find(same.begin(), same.end(), loop) != same.end()) continue;
    auto beyond = pairs.later(var(loop), var(loop));
    if (!beyond) return std::nullopt;
    --beyond->constant;
    auto rows = pairs.rows(beyond);
    if (!rows) return std::nullopt;
    out.push_back(std::move(*rows));
    pairs.equate(loop);
  }
  if (o.first(writer, reader)) {
    auto rows = pairs.rows();
    if (!rows) return std::nullopt;
    out.push_back(std::move(*rows));
  }
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
