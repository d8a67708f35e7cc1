#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/base/diagnostic.h"
#include "core/model/memo.h"
#include "core/order/check_kernel.h"
#include "core/order/order.h"
#include "core/order/parallelism.h"
#include "frontends/text/parse.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_claims.h"
#include "tests/differential/random_kernel.h"
#include "tests/differential/random_memory.h"
#include "tests/differential/random_records.h"
#include "tests/differential/random_scans.h"
#include "tests/differential/values.h"
#include "transforms/registry.h"

/// What is said of the loops of random kernels, as written and after random steps: a loop may have
/// the tag `par` exactly where `tag_inames` proves it, and distances and bands are those that
/// enumeration finds. MOONLOOP_PAIRS says how many (120), MOONLOOP_SEED the first one.
namespace moonloop::differential {
namespace {

struct Found {
  int kernels = 0, loops = 0, bands = 0, dependences = 0, confirmed = 0, enumerated = 0,
      recognized = 0;
  std::map<std::string, int> by_status;
  std::vector<std::string> problems;
};

Kernel with_step(const Call& c, const Kernel& k) {
  return run_op(*find_op(c.name), k, c.positional, c.options, {}, Proof::Made);
}

/// `legal`, or the code of the refusal.
std::string verdict_of(const Call& c, const Kernel& k) {
  try {
    with_step(c, k);
    return "legal";
  } catch (const Error& e) { return e.diagnostic().code; }
}

class ParallelismCheck {
 public:
  ParallelismCheck(const Kernel& k, std::string about, Found& found)
      : k_(k), about_(std::move(about)), found_(found), said_(parallelism(k)) {}

  void check() {
    ++found_.kernels;
    for (const LoopParallelism& l : said_.loops) check_tag(l);
    for (const PermutableBand& b : said_.bands) check_permutation(b);
    if (!said_.loops.empty()) check_within(said_.loops[said_.loops.size() / 2]);
    for (const auto& [iname, tag] : k_.iname_tags)
      if (in_team(&tag)) return;
    if (!k_.callees.empty()) return;
    std::vector<Conflict> all;
    for (const std::int64_t n : sizes_of(k_, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 10)) {
      auto some = conflicts(k_, {{"n", n}});
      if (!some) return;
      all.insert(all.end(), some->begin(), some->end());
    }
    ++found_.enumerated;
    for (const Conflict& c : all) check_conflict(c);
    for (const CarriedDependence& d : said_.dependences) check_distance(d, all);
  }

 private:
  void problem(const std::string& what) { found_.problems.push_back(what + "\n" + about_); }

  void check_tag(const LoopParallelism& l) {
    ++found_.loops;
    ++found_.by_status[to_string(l.status)];
    if (trusted_inames(k_).count(l.iname)) return;  // the step would not ask
    const Call tag{"tag_inames",
                   {Value{ValueDict{{l.iname, Value{std::string("par")}}}}},
                   {{"force", Value{true}}}};
    const std::string verdict = verdict_of(tag, k_);
    if (l.par != (verdict == "legal"))
      problem(fmt::format("{} is {}, but the tag is {}", l.iname, to_string(l.status), verdict));
    // The tag may be refused because of an accumulation beside what is unproved.
    const auto accumulates = [&](const CarriedDependence& d) {
      return d.exact && d.from == d.to && d.loops[d.level] == l.iname;
    };
    if (l.status == LoopStatus::Unproved && l.why->code != verdict &&
        std::none_of(said_.dependences.begin(), said_.dependences.end(), accumulates))
      problem(fmt::format("{} is unproved ({}), but the tag {}", l.iname, l.why->code, verdict));
    if ((l.status == LoopStatus::Parallel) > l.par || (l.why.has_value() == l.par))
      problem(l.iname + " says two things");
    const bool carries =
        std::any_of(said_.dependences.begin(), said_.dependences.end(),
                    [&](const CarriedDependence& d) { return d.loops[d.level] == l.iname; });
    if (l.instances && !carries) problem(l.iname + " is refused, but carries no dependence");
    if (l.par && carries && k_.tag(l.iname) == nullptr)
      problem(l.iname + " carries a dependence, but is " + to_string(l.status));
    if (l.status == LoopStatus::Reduction && !l.par) check_recognition(l);
  }

  /// Of one loop and those in it the same is said where nothing else is asked.
  void check_within(const LoopParallelism& one) {
    const auto is_in = [&](const std::string& iname, const std::vector<std::string>& around) {
      return iname == one.iname ||
             std::find(around.begin(), around.end(), one.iname) != around.end();
    };
    const auto lines = [&](const Parallelism& p) {
      std::set<std::string> out;
      for (const LoopParallelism& l : p.loops)
        if (is_in(l.iname, l.around))
          out.insert(
              fmt::format("{} {} {} {}", l.iname, to_string(l.status), l.par, l.reductions.size()));
      for (const CarriedDependence& d : p.dependences)
        if (is_in({}, {d.loops.begin(), d.loops.begin() + long(d.level) + 1}))
          out.insert(fmt::format("{} {} {} {} {}", d.variable, d.from, d.to, d.level, d.vector()));
      return out;
    };
    const Parallelism within = parallelism(k_, {.within = one.iname});
    const std::set<std::string> all = lines(said_), some = lines(within);
    if (all != some)
      problem(fmt::format("within {}:\n  {}\nbut of all:\n  {}", one.iname, fmt::join(some, "\n  "),
                          fmt::join(all, "\n  ")));
    if (within.loops.empty() || within.loops[0].iname != one.iname)
      problem("within " + one.iname + " another loop is said first");
  }

  /// What is called an accumulation can be recognized, and then is none any more.
  void check_recognition(const LoopParallelism& l) {
    Kernel k = k_;
    for (const LoopReduction& r : l.reductions) {
      if (r.declared()) continue;
      try {
        k = with_step({"recognize_reduction",
                       {Value{ValueList{Value{l.iname}}}, Value{"id:" + r.statement}},
                       {}},
                      k);
        ++found_.recognized;
      } catch (const Error& e) {
        if (e.diagnostic().code == "cannot-nest") continue;  // without that loop around it
        problem(fmt::format("{} accumulates over {}, but is not recognized: {} [{}]", r.statement,
                            l.iname, e.diagnostic().text, e.diagnostic().code));
      }
    }
  }

  void check_permutation(const PermutableBand& b) {
    ++found_.bands;
    for (const std::string& i : b.loops)
      if (is_parallel(k_.tag(i))) return;  // a loop that carries what it has to would be inside
    if (!b.perfect) return;
    std::vector<std::string> order(b.loops.rbegin(), b.loops.rend());
    const Call turn{"prioritize_loops", {Value{fmt::format("{}", fmt::join(order, ", "))}}, {}};
    const std::string verdict = verdict_of(turn, k_);
    if (verdict != "legal" && verdict != "cannot-nest")
      problem(fmt::format("the band {} cannot be turned: {}", fmt::join(b.loops, ", "), verdict));
  }

  void check_conflict(const Conflict& c) {
    const std::string& loop = c.loops[c.level];
    const auto carries = [&](const CarriedDependence& d) { return d.loops[d.level] == loop; };
    if (std::none_of(said_.dependences.begin(), said_.dependences.end(), carries))
      problem(fmt::format("{} carries {} {} {} -> {} ({})", loop, to_string(c.kind), c.variable,
                          c.from, c.to, fmt::join(c.distance, ", ")));
    for (const PermutableBand& b : said_.bands) {
      const auto at = std::find(c.loops.begin(), c.loops.end(), b.loops[0]);
      if (at == c.loops.end() || at - c.loops.begin() > static_cast<long>(c.level)) continue;
      for (std::size_t l = 0; l < c.loops.size(); ++l)
        if (c.distance[l] < 0 &&
            std::find(b.loops.begin(), b.loops.end(), c.loops[l]) != b.loops.end())
          problem(fmt::format("the band {} has {} {} -> {} ({})", fmt::join(b.loops, ", "),
                              c.variable, c.from, c.to, fmt::join(c.distance, ", ")));
    }
  }

  /// A constant distance of array elements is that of two instances.
  void check_distance(const CarriedDependence& d, const std::vector<Conflict>& all) {
    ++found_.dependences;
    const auto constant = [](const LoopDistance& x) { return x.least && x.least == x.most; };
    if (!d.exact || !d.kind || !k_.find_arg(d.variable) ||
        !std::all_of(d.distance.begin(), d.distance.end(), constant))
      return;
    for (const LoopDistance& x : d.distance)
      if (std::abs(*x.least) > 4) return;  // there may be none at these sizes
    const auto is_it = [&](const Conflict& c) {
      if (c.from != d.from || c.to != d.to || c.kind != *d.kind || c.variable != d.variable ||
          c.loops != d.loops)
        return false;
      for (std::size_t l = 0; l < c.loops.size(); ++l)
        if (c.distance[l] != *d.distance[l].least) return false;
      return true;
    };
    bool seen = std::any_of(all.begin(), all.end(), is_it);
    if (!seen) {  // pieces of loops are long enough for some distances only at large sizes
      const auto more = conflicts(k_, {{"n", 48}});
      if (!more) return;
      seen = std::any_of(more->begin(), more->end(), is_it);
    }
    found_.confirmed += seen;
    if (!seen)
      problem(fmt::format("{} {} {} -> {} {} is not there", to_string(*d.kind), d.variable, d.from,
                          d.to, d.vector()));
  }

  const Kernel& k_;
  std::string about_;
  Found& found_;
  Parallelism said_;
};

void check_seed(std::uint64_t seed, Found& found) {
  Random random(seed ^ 0x706172u);
  const std::string name = fmt::format("k{}", seed);
  Opening opening{random_kernel(random, name), {}};
  const int choice = random.below(100);
  if (choice < 15) opening.text = with_records(random, opening.text);
  if (choice >= 15 && choice < 30) opening = random_claims(random, name);
  if (choice >= 30 && choice < 40) opening = random_scans(random, name);
  if (choice >= 40 && choice < 60) opening.text = with_layouts(seed, opening.text);
  if (choice >= 60 && choice < 65) opening = random_groups(random, name);
  memo().compares = seed % 4 == 0;
  Kernel k;
  try {
    k = parse_kernels(add_source(fmt::format("seed {}", seed), opening.text)).at(0);
    nest(complete(k));
  } catch (const Error&) { return; }
  std::string about = fmt::format("seed {}\n{}", seed, opening.text);
  const auto check = [&] {
    try {
      ParallelismCheck(k, about, found).check();
    } catch (const std::exception& e) {
      found.problems.push_back(fmt::format("{}\n{}", e.what(), about));
    }
  };
  check();
  bool changed = false;
  const auto attempt = [&](const Call& c) {
    try {
      k = with_step(c, k);
      about += c.str() + "\n";
      changed = true;
    } catch (const Error&) {
    } catch (const std::exception& e) {
      found.problems.push_back(fmt::format("{}: {}\n{}", c.str(), e.what(), about));
    }
  };
  for (const Call& c : opening.steps) attempt(c);
  if (random.chance(20) && !k.instructions.empty())
    attempt({"outline", {text("id:" + random.pick(k.instruction_ids())), text("part")}, {}});
  for (int i = random.below(6); i > 0 && !k.inames().empty(); --i)
    attempt(random_step(random, k, random.chance(80) ? Flavour::Host : Flavour::Device));
  if (changed) check();
}

}  // namespace

TEST_CASE("differential: loops are parallel where the tag is proved, distances are as enumerated") {
  const auto setting = [](const char* name, long otherwise) {
    const char* given = std::getenv(name);
    return given ? std::strtol(given, nullptr, 10) : otherwise;
  };
  const long wanted = setting("MOONLOOP_PAIRS", 120);
  const auto first = static_cast<std::uint64_t>(setting("MOONLOOP_SEED", 1));
  Found found;
  for (long n = 0; n < wanted; ++n) check_seed(first + static_cast<std::uint64_t>(n), found);
  std::string statuses;
  for (const auto& [status, n] : found.by_status) statuses += fmt::format(" {} {}", status, n);
  fmt::print(
      "{} kernels, {} enumerated; {} loops:{}; {} recognized; {} bands; {} dependences, {} of "
      "constant distance confirmed\n",
      found.kernels, found.enumerated, found.loops, statuses, found.recognized, found.bands,
      found.dependences, found.confirmed);
  for (const std::string& p : found.problems) fmt::print("\n{}\n", p);
  CHECK(found.problems.empty());
  if (wanted < 100) return;
  for (const char* status : {"parallel", "reduction", "carried", "unproved"})
    CHECK(found.by_status[status] > 0);
  CHECK(found.confirmed > wanted / 10);
}

}  // namespace moonloop::differential
