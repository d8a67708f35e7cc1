#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "core/model/original_layout.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/rewrite/as_text.h"
#include "core/sets/isl.h"
#include "frontends/text/parse.h"
#include "runtime/counterparts.h"
#include "runtime/runner.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_groups.h"
#include "tests/differential/unit.h"

namespace moonloop::differential {
namespace {

struct Member {
  const Pair* pair;
  Kernel original, result, read_again;  // completed
  Program c, openmp;
  std::optional<Program> ispc;
};

/// For ISPC, where its compiler is found; nothing where the language has not what the kernel uses.
std::optional<Program> ispc_program(Kernel k, Statistics& statistics) {
  static const bool found = has_ispc_compiler();
  if (!found) return std::nullopt;
  try {
    k.name += "_ispc";
    return generate(std::move(k), Target::Ispc);
  } catch (const Error& e) {
    if (e.diagnostic().code != "unsupported") throw;
    ++statistics.no_code["unsupported by ispc"];
    return std::nullopt;
  }
}

Kernel reread(const Kernel& k) {
  return parse_kernels(add_source("printed " + k.name, print_kernel(as_text(k)))).at(0);
}

Problem problem_of(const Pair& p, const std::string& what) {
  return {p.seed, what, p.text, p.steps};
}

/// Runs one program on fresh arrays; the complaint, or nothing.
std::string complaint(const Member& m, const Program& p, const Executable& f,
                      const Expected& expected) {
  std::vector<Buffer> found = filled_buffers(m.original, m.result, integers_of(expected.scalars));
  call(f, p, expected.scalars, found);
  return difference(to_string(p.target), expected, m.result, found);
}

/// A kernel that was made of several gives the results of these one after the other, to the last
/// bit.
std::string sequence_difference(const Member& m, const Expected& expected) {
  if (m.pair->parts.empty()) return {};
  std::vector<Buffer> found = filled_buffers(m.original, m.original, integers_of(expected.scalars));
  for (const Kernel& part : m.pair->parts) {
    Bindings data = bindings_of(expected.scalars, found);
    std::erase_if(data.arrays, [&](const auto& a) { return !part.find_arg(a.first); });
    interpret(part, data);
  }
  for (std::size_t b = 0; b < found.size(); ++b)
    if (const Comparison c = compare(expected.buffers[b], found[b], expected.bounds, 0); !c.equal())
      return fmt::format("fused: {}{} is {}, but {} when one kernel runs after the other", c.array,
                         c.index, c.expected, c.found);
  return {};
}

void run_member(const Member& m, const Library& library, std::vector<Problem>& problems) {
  const Executable c(m.c, library), openmp(m.openmp, library);
  std::vector<std::pair<const Program*, const Executable*>> runs{{&m.c, &c}, {&m.openmp, &openmp}};
  std::optional<Executable> ispc;
  if (m.ispc) {
    ispc.emplace(*m.ispc, CompileOptions{.contract = false, .level = 1}, Cache(""));
    runs.emplace_back(&*m.ispc, &*ispc);
  }
  for (const std::string& n : run_sizes(m.result)) {
    const Expected expected(m.original, n,
                            {.contract = false, .reciprocals = divides_by_reciprocals(m.result)});
    if (const std::string what = sequence_difference(m, expected); !what.empty()) {
      problems.push_back(problem_of(*m.pair, what));
      return;
    }
    for (const auto& [program, f] : runs)
      if (const std::string what = complaint(m, *program, *f, expected); !what.empty()) {
        problems.push_back(problem_of(*m.pair, what));
        return;
      }
    // The text alone means the same, without the reference that the steps kept.
    std::vector<Buffer> found = filled_buffers(m.original, m.result, integers_of(expected.scalars));
    Bindings again = bindings_of(expected.scalars, found);
    interpret(m.read_again, again);
    if (const std::string what = difference("its text, read again,", expected, m.result, found);
        !what.empty()) {
      problems.push_back(problem_of(*m.pair, what));
      return;
    }
  }
}

}  // namespace

std::vector<std::int64_t> sizes_of(const Kernel& k, const std::vector<std::int64_t>& all,
                                   std::size_t wanted) {
  std::vector<std::int64_t> out;
  for (const std::int64_t n : all) {
    if (out.size() == wanted) break;
    Set s = k.assumptions;
    const int at = s ? isl_set_find_dim_by_name(s.get(), isl_dim_param, "n") : -1;
    if (at >= 0)
      s = Set(
          isl_set_fix_si(s.take(), isl_dim_param, static_cast<unsigned>(at), static_cast<int>(n)));
    if (!s || !yes(isl_set_is_empty(s.get()))) out.push_back(n);
  }
  return out;
}

std::vector<std::string> run_sizes(const Kernel& k) {
  std::vector<std::string> out;
  for (const std::int64_t n : sizes_of(k, {5, 8, 13, 12, 9, 16, 11, 20}, 3))
    out.push_back(std::to_string(n));
  return out;
}

std::vector<Buffer> filled_buffers(const Kernel& original, const Kernel& k,
                                   const Integers& values) {
  std::vector<Buffer> out = make_buffers(k, values);
  keep_promises(out);
  std::vector<Buffer> wholes;
  for (Buffer& b : out) {
    const Argument& a = *k.find_arg(b.layout().name);
    if (!a.original_layout) continue;
    if (wholes.empty()) {
      wholes = make_buffers(original, values);
      keep_promises(wholes);
    }
    for (const Buffer& whole : wholes)
      if (whole.layout().name == a.original_layout->of)
        for_each_counterpart(
            b, *a.original_layout, whole, [&](std::byte* here, const std::byte* there) {
              std::memcpy(here, there, static_cast<std::size_t>(b.layout().type.size()));
            });
  }
  return out;
}

Expected::Expected(const Kernel& original, const std::string& n, const Accuracy& accuracy)
    : scalars(read_scalars(original, {{"n", n}})),
      buffers(filled_buffers(original, original, integers_of(scalars))) {
  bounds.accuracy = accuracy;
  Bindings data = bindings_of(scalars, buffers);
  interpret(original, data, bounds);
}

std::string difference(const std::string& where, const Expected& expected, const Kernel& k,
                       const std::vector<Buffer>& found) {
  const ScalarArgument& n = expected.scalars[0];
  for (const Buffer& b : found)
    if (!b.intact()) return fmt::format("{} wrote outside of `{}`", where, b.layout().name);
  for (const Buffer& e : expected.buffers) {
    // Elements that no part has were not touched.
    Buffer whole(e.layout());
    whole.copy_elements(e);
    if (const Buffer* other = put_together(whole, k, found))
      return fmt::format("{} has an array {}, which is not part of `{}`", where,
                         other->layout().str(), e.layout().name);
    const Comparison c = compare(e, whole, expected.bounds);
    if (!c.equal())
      return fmt::format(
          "{} with {} = {}: {}{} is {}, not {}, where {:.2g} is allowed; {} elements differ", where,
          n.name, n.text(), c.array, c.index, c.found, c.expected, c.bound, c.different);
  }
  return {};
}

void run_pairs(const std::vector<Pair>& pairs, Statistics& statistics,
               std::vector<Problem>& problems) {
  Unit unit;
  std::vector<Member> members;
  for (const Pair& p : pairs) {
    if (std::getenv("MOONLOOP_VERBOSE"))
      fmt::print("about to run: {}\n", problem_of(p, "").str()), std::fflush(stdout);
    try {
      Member m{&p, complete(p.original), complete(p.result), complete(reread(p.result)), {}, {},
               {}};
      m.ispc = ispc_program(p.result, statistics);
      Kernel named = p.result;
      m.c = generate(named, Target::C);
      named.name += "_openmp";
      m.openmp = generate(named, Target::OpenMP);
      unit.add(m.c);
      unit.add(m.openmp);
      members.push_back(std::move(m));
    } catch (const Error& e) {  // a limit of the target, with its reason
      ++statistics.no_code[e.diagnostic().code];
      const std::string& code = e.diagnostic().code;
      if (has_code(p.result, Target::C) && has_code(p.result, Target::OpenMP))
        problems.push_back(problem_of(p, "has_code() knows better: " + e.diagnostic().text));
      if (code != "unsupported" && code != "unroll-bound")
        problems.push_back(problem_of(p, "no code for what was accepted: " + e.diagnostic().text));
    } catch (const std::exception& e) {
      problems.push_back(problem_of(p, std::string("no code for what was accepted: ") + e.what()));
    }
  }
  if (members.empty()) return;
  const auto compiled = [&](int level) {
    return compile(unit.text(), Target::OpenMP, {.contract = false, .level = level}, Cache(""));
  };
  std::optional<Library> library;
  try {
    library = compiled(1);
  } catch (const Error& e) {
    if (pairs.size() > 1) {
      for (const Pair& p : pairs) run_pairs({p}, statistics, problems);  // which one it is
      return;
    }
    // A compiler that fails by itself says nothing about the code, which has to run all the same.
    const bool compilers_own =
        std::string(e.what()).find("internal compiler error") != std::string::npos;
    try {
      if (!compilers_own) throw;
      library = compiled(0);
      ++statistics.compiler_faults;
    } catch (const Error& again) {
      problems.push_back(problem_of(pairs[0], std::string("compiler: ") + again.what()));
      return;
    }
  }
  statistics.run += static_cast<int>(members.size());
  for (const Member& m : members) {
    try {
      run_member(m, *library, problems);
    } catch (const std::exception& e) { problems.push_back(problem_of(*m.pair, e.what())); }
  }
}

}  // namespace moonloop::differential
