#include "runtime/sizes.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/diagnostic.h"
#include "core/model/layout.h"
#include "core/model/lookup.h"
#include "runtime/npy.h"

namespace moonloop {
namespace {

/// The only x with extent(x) = wanted, of an extent that is linear in it; nothing for others.
std::optional<std::int64_t> solve(const Expr& extent, const std::string& unknown, Integers values,
                                  std::int64_t wanted) {
  const auto at = [&](std::int64_t x) {
    values[unknown] = x;
    return evaluate(extent, values, "an extent");
  };
  try {
    const std::int64_t first = at(0), slope = at(1) - first;
    if (slope == 0 || (wanted - first) % slope != 0) return {};
    const std::int64_t x = (wanted - first) / slope;
    if (at(x) != wanted || at(x - 1) == wanted || at(x + 1) == wanted) return {};
    return x;
  } catch (const Error&) { return {}; }  // depends on data, or overflows: it determines nothing
}

std::map<std::string, std::vector<std::int64_t>> shapes_of(
    const Kernel& k, const std::map<std::string, std::string>& inputs) {
  std::map<std::string, std::vector<std::int64_t>> out;
  for (const auto& [name, path] : inputs)
    if (const Argument* a = k.find_arg(name); a && a->is_array && path != "-")
      out.emplace(name, read_npy_header(path).shape);
  return out;
}

}  // namespace

Kernel with_extents_of_files(Kernel k, const std::map<std::string, std::string>& inputs) {
  const auto is_unknown = [](const Expr& e) { return as_int(e) == kUnknownExtent; };
  if (std::none_of(k.args.begin(), k.args.end(), [&](const Argument& a) {
        return a.is_array && std::any_of(a.shape->begin(), a.shape->end(), is_unknown);
      }))
    return k;
  const auto shapes = shapes_of(k, inputs);
  std::vector<Argument> args = k.args;
  for (Argument& a : args) {
    const auto file = shapes.find(a.name);
    if (file == shapes.end() || file->second.size() != a.shape->size()) continue;
    Exprs shape = *a.shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (is_unknown(shape[d])) shape[d] = lit(file->second[d]);
    a.shape = std::move(shape);
  }
  k.args = std::move(args);
  return k;
}

GivenValues with_sizes_of_files(const Kernel& k, GivenValues given,
                                const std::map<std::string, std::string>& inputs) {
  const auto shapes = shapes_of(k, inputs);
  if (shapes.empty()) return given;
  Integers known;
  for (const auto& [name, text] : given)
    if (const Argument* a = k.find_arg(name))
      if (!a->is_array && !a->type->is_record() && is_integer(a->type->scalar))
        known[name] = parse_value(name, a->type->scalar, text).i;
  for (bool again = true; again;) {
    again = false;
    for (const auto& [name, shape] : shapes) {
      const Argument& a = *k.find_arg(name);
      if (a.shape->size() != shape.size()) continue;  // read_npy says so
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const Expr& extent = (*a.shape)[d];
        std::set<std::string> unknown;
        collect_vars(extent, unknown);
        std::erase_if(unknown, [&](const std::string& n) { return known.count(n) != 0; });
        if (unknown.size() != 1) continue;
        const std::string& n = *unknown.begin();
        const Argument* scalar = k.find_arg(n);
        if (!scalar || scalar->is_array || !is_integer(scalar->type->scalar)) continue;
        const auto x = solve(extent, n, known, shape[d]);
        if (!x) continue;
        known[n] = *x;
        given.emplace_back(n, std::to_string(*x));
        again = true;
      }
    }
  }
  return given;
}

}  // namespace moonloop
