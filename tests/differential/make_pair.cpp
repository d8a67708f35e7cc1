#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/model/memo.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/reordered.h"
#include "core/order/tree.h"
#include "core/sets/budget.h"
#include "frontends/text/parse.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_axes.h"
#include "tests/differential/random_claims.h"
#include "tests/differential/random_fusion.h"
#include "tests/differential/random_groups.h"
#include "tests/differential/random_kernel.h"
#include "tests/differential/random_memory.h"
#include "tests/differential/random_names.h"
#include "tests/differential/random_records.h"
#include "tests/differential/random_scans.h"
#include "tests/differential/random_storage.h"
#include "tests/differential/random_updates.h"
#include "transforms/registry.h"

namespace moonloop::differential {
namespace {

using Kind = Verdict::Kind;

/// Small sizes that the kernel's assumptions allow.
std::vector<Integers> small_sizes(const Kernel& k) {
  std::vector<Integers> out;
  for (const std::int64_t n : sizes_of(k, {5, 6, 9, 12, 8, 11, 16}, 4)) out.push_back({{"n", n}});
  return out;
}

/// Reasons about order; all others are about whether the transform can be applied.
bool about_order(const std::string& code) {
  return code == "breaks-order" || code == "races" || code == "cannot-nest";
}

Kernel apply(const Call& c, const Kernel& k, Proof proof = Proof::Made) {
  const Op* op = find_op(c.name);
  if (!op) throw InternalError("a random step is not a transform");
  return run_op(*op, k, c.positional, c.options, {}, proof);
}

class Chain {
 public:
  /// Acceptance and refusal are checked against enumeration if `confirms`.
  Chain(Pair& pair, bool confirms, Statistics& statistics, std::vector<Problem>& problems)
      : pair_(pair),
        base_(std::make_unique<BruteForce>(pair.original)),
        confirms_(confirms),
        statistics_(statistics),
        problems_(problems) {}

  void attempt(const Call& call) {
    if (is_fusion(call)) return pair_.steps.push_back(call);  // done, in start()
    Tally& tally = statistics_.by_transform[call.name];
    const Kernel& k = pair_.result;
    const std::string before = print_kernel(k);
    if (std::getenv("MOONLOOP_VERBOSE")) {
      if (!std::exchange(told_, true)) {
        fmt::print("{}", pair_.text);
        for (const Call& done : pair_.steps) fmt::print("{}\n", done.str());
      }
      fmt::print("{}\n", call.str());
      std::fflush(stdout);
    }
    try {
      // Chains for devices stage a lot; those that take long to prove are skipped.
      std::optional<IslBudget> budget;
      if (!confirms_) budget.emplace(500'000);
      Kernel next = apply(call, k);
      ++tally.accepted;
      if (next.reference && confirms_)
        confirm_legal(call, next, tally);
      else
        base_ = std::make_unique<BruteForce>(next);
      pair_.result = std::move(next);
      pair_.steps.push_back(call);
    } catch (const Refused& e) {
      if (std::getenv("MOONLOOP_VERBOSE")) fmt::print("-- {}\n", e.what());
      refused(call, e.diagnostic(), tally);
      if (print_kernel(k) != before) problem(call, "a refused step changed the kernel");
    } catch (const Error& e) {
      ++tally.inapplicable;
      ++statistics_.codes[e.diagnostic().code];
    } catch (const std::exception& e) { problem(call, std::string("internal error: ") + e.what()); }
  }

 private:
  void problem(const Call& call, const std::string& what) {
    Problem p{pair_.seed, what, pair_.text, pair_.steps};
    p.steps.push_back(call);
    problems_.push_back(std::move(p));
  }

  void confirm_legal(const Call& call, const Kernel& next, Tally& tally) {
    bool all = true;
    for (const Integers& values : small_sizes(next)) {
      const Verdict v = base_->compare(next, values);
      if (v.kind == Kind::Illegal)
        return problem(call, fmt::format("accepted, but with n = {} {}", values.at("n"), v.why));
      all = all && v.kind != Kind::Unknown;
    }
    if (all) ++tally.confirmed;
  }

  void refused(const Call& call, const Diagnostic& d, Tally& tally) {
    ++statistics_.codes[d.code];
    if (!about_order(d.code)) {
      ++tally.inapplicable;
      return;
    }
    ++tally.refused;
    if (!confirms_) return;
    std::vector<Integers> sizes = small_sizes(pair_.result);
    // The message names instances for some n; enumeration has to look there.
    if (const auto at = d.text.rfind("(n="); at != std::string::npos)
      sizes.push_back({{"n", std::strtol(d.text.c_str() + at + 3, nullptr, 10)}});
    // Loops of groups run in the order of these; without the proof they run where they can.
    bool cautious = call.name == "distribute_loops" && call.positional.size() > 1;
    try {
      const Kernel next = apply(call, pair_.result, Proof::LeftOut);
      if (!next.reference) return;
      for (const Integers& values : sizes) {
        const Verdict v = base_->compare(next, values);
        if (v.kind == Kind::Unknown) return;
        if (v.kind == Kind::Illegal) {
          ++tally.confirmed;
          return;
        }
        cautious = cautious || v.kind == Kind::Conservative;
      }
    } catch (const Error&) {
      return;  // no such order exists
    }
    if (cautious)
      ++tally.cautious;
    else
      problem(call, fmt::format("refused, but legal by enumeration: {} [{}]", d.text, d.code));
  }

  Pair& pair_;
  bool told_ = false;                 // the kernel and the steps before the chain are printed
  std::unique_ptr<BruteForce> base_;  // the last kernel that is its own reference
  bool confirms_;
  Statistics& statistics_;
  std::vector<Problem>& problems_;
};

}  // namespace

namespace {

std::optional<Pair> start(std::uint64_t seed, const Opening& opening, Statistics& statistics,
                          std::vector<Problem>& problems) {
  Pair out;
  out.seed = seed;
  out.text = opening.text;
  try {
    out.parts = parse_kernels(add_source(fmt::format("seed {}", seed), out.text));
    out.original = out.parts.at(0);
    if (out.parts.size() > 1)
      out.original = fused(out.parts, opening.steps);
    else
      out.parts.clear();
    nest(complete(out.original));  // some have no loop tree
  } catch (const Error& e) {
    ++statistics.invalid;
    if (std::getenv("MOONLOOP_VERBOSE"))
      fmt::print("invalid: {} [{}]\n{}\n", e.diagnostic().text, e.diagnostic().code, out.text);
    return std::nullopt;
  } catch (const std::exception& e) {
    problems.push_back({seed, std::string("internal error: ") + e.what(), out.text, opening.steps});
    return std::nullopt;
  }
  out.result = out.original;
  return out;
}

/// Something out of the ordinary for some of the seeds that have no groups; the others have the
/// kernels of `text`.
Opening special(std::uint64_t seed, Random& random, const std::string& name,
                const std::string& text, Flavour flavour, std::string& what) {
  const int choice = random.below(flavour == Flavour::Host ? 100 : 80);
  what = choice < 8    ? "fused"
         : choice < 16 ? "scans"
         : choice < 24 ? "claims"
         : choice < 34 ? "records"
         : choice < 40 ? "updates"
                       : "plain";
  if (const char* only = std::getenv("MOONLOOP_KIND")) what = only;
  if (what == "fused") return random_fusion(random, name);
  if (what == "scans") return random_scans(random, name);
  if (what == "claims") return random_claims(random, name);
  if (what == "updates") return random_updates(random, name);
  if (what == "records") return {with_reserved_names(seed, with_records(random, text)), {}};
  return {with_reserved_names(seed, with_layouts(seed, text)), {}};
}

}  // namespace

std::optional<Pair> make_pair(std::uint64_t seed, Flavour flavour, Statistics& statistics,
                              std::vector<Problem>& problems) {
  // In some, the data remembered by steps is recomputed. On devices the budget is small.
  memo().compares = flavour == Flavour::Host && seed % 4 == 0;
  Random random(seed), more(seed ^ 0x7370656369616cu), storage(seed ^ 0x73746f72u);
  const std::string name = fmt::format("k{}", seed);
  Opening opening;
  std::string what = "groups";
  const bool groups = random.chance(flavour == Flavour::Host ? 10 : 40);
  const char* only = std::getenv("MOONLOOP_KIND");
  if (only ? std::string_view(only) == what : groups)
    opening = random_groups(random, name);
  else
    opening = special(seed, more, name, random_kernel(random, name), flavour, what);
  auto out = start(seed, opening, statistics, problems);
  if (!out) return out;
  ++statistics.made[what];
  Chain chain(*out, flavour == Flavour::Host, statistics, problems);
  for (const Call& c : opening.steps) chain.attempt(c);
  const bool axes = more.chance(10), early = more.chance(60);
  const auto tag_axes = [&] {
    ++statistics.made["axis tags"];
    for (const Call& c : axes_steps(more, out->result)) chain.attempt(c);
  };
  if (axes && early) tag_axes();
  const int steps = random.between(1, 8);
  // A refused step is followed by another try, so that chains get long.
  const std::size_t wanted = out->steps.size() + static_cast<std::size_t>(steps);
  for (int tries = 0; tries < 3 * steps && out->steps.size() < wanted; ++tries)
    chain.attempt(storage.chance(10) ? storage_step(storage, out->result, flavour)
                                     : random_step(random, out->result, flavour));
  if (axes && !early) tag_axes();
  return out;
}

std::optional<Pair> replay(std::uint64_t seed, const std::string& text,
                           const std::vector<Call>& steps, Statistics& statistics,
                           std::vector<Problem>& problems) {
  auto out = start(seed, {text, steps}, statistics, problems);
  if (!out) return out;
  Chain chain(*out, true, statistics, problems);
  for (const Call& c : steps) chain.attempt(c);
  return out;
}

Problem shrink(const Problem& problem) {
  const auto kind = [](const Problem& p) { return p.what.substr(0, p.what.find_first_of(" :")); };
  const auto still = [&](const std::string& text, const std::vector<Call>& steps) {
    Statistics unused;
    std::vector<Problem> found;
    std::vector<Pair> pairs;
    if (auto p = replay(problem.seed, text, steps, unused, found)) pairs.push_back(std::move(*p));
    try {
      if (device_problem(problem))
        run_on_device(pairs, unused, found);
      else
        run_pairs(pairs, unused, found);
    } catch (const std::exception&) {}
    for (const Problem& p : found)
      if (kind(p) == kind(problem)) return std::optional(p);
    return std::optional<Problem>();
  };
  // Without a line that wrote what another one reads, the kernel by itself would show a difference.
  const bool from_steps = !still(problem.kernel, {});
  const auto smaller = [&](const std::string& text, const std::vector<Call>& steps) {
    const auto p = still(text, steps);
    return p && from_steps && still(text, {}) ? std::nullopt : p;
  };
  Problem best = problem;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = best.steps.size(); i-- > 0;) {
      std::vector<Call> fewer = best.steps;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (const auto p = smaller(best.kernel, fewer)) best = *p, changed = true;
      i = std::min(i, best.steps.size());
    }
    std::size_t from = best.kernel.find('\n') + 1;
    while (from < best.kernel.size()) {
      const std::size_t end = best.kernel.find('\n', from) + 1;
      if (const auto p = smaller(best.kernel.substr(0, from) + best.kernel.substr(end), best.steps))
        best = *p, changed = true;
      else
        from = end;
    }
  }
  return best;
}

std::string Problem::str() const {
  std::string out = fmt::format("seed {}: {}\n{}", seed, what, kernel);
  for (const Call& c : steps) out += c.str() + "\n";
  return out;
}

std::string Statistics::str() const {
  std::string out = fmt::format("{:<26}{:>9}{:>9}{:>14}{:>11}{:>10}\n", "transform", "accepted",
                                "refused", "inapplicable", "confirmed", "cautious");
  Tally all;
  for (const auto& [name, t] : by_transform) {
    out += fmt::format("{:<26}{:>9}{:>9}{:>14}{:>11}{:>10}\n", name, t.accepted, t.refused,
                       t.inapplicable, t.confirmed, t.cautious);
    all.accepted += t.accepted, all.refused += t.refused, all.inapplicable += t.inapplicable;
    all.confirmed += t.confirmed, all.cautious += t.cautious;
  }
  out += fmt::format("{:<26}{:>9}{:>9}{:>14}{:>11}{:>10}\n", "all", all.accepted, all.refused,
                     all.inapplicable, all.confirmed, all.cautious);
  out += "reasons:";
  for (const auto& [code, n] : codes) out += fmt::format(" {} {}", code, n);
  out += fmt::format("\nran on C and OpenMP: {}; no code:", run);
  for (const auto& [code, n] : no_code) out += fmt::format(" {} {}", code, n);
  if (compiler_faults > 0) out += fmt::format("; the compiler's own faults: {}", compiler_faults);
  out += fmt::format("; not a kernel: {}\nkernels:", invalid);
  for (const auto& [what, n] : made) out += fmt::format(" {} {}", what, n);
  return out + "\n";
}

}  // namespace moonloop::differential
