#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/repl.h"
#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/reference.h"
#include "core/rewrite/as_text.h"
#include "reports/report.h"
#include "reports/summary.h"

/// The commands of the REPL, one row each.
namespace moonloop::cli {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void bad_command(const std::string& name) {
  for (const ReplCommand& c : repl_commands())
    if (c.name == name)
      fail("bad-command", {}, "`{}` takes {}", name,
           c.arguments.empty() ? "no arguments" : "`" + c.arguments + "`");
  throw InternalError("no command " + name);
}

void at_most(const std::string& name, const Words& words, std::size_t n) {
  if (words.size() > n) bad_command(name);
}

Target target_in(Repl& r, const std::string& name, const Words& words) {
  at_most(name, words, 1);
  if (words.empty()) return r.target;
  const auto target = parse_target(words.front());
  if (!target)
    fail("unknown-target", {}, "no target `{}`; there is {}", words.front(),
         quoted_list(target_names()));
  return *target;
}

/// The count after `:undo` and similar commands.
int count_in(const std::string& name, const Words& words) {
  at_most(name, words, 1);
  if (words.empty()) return 1;
  const std::string& w = words.front();
  const bool digits = w.size() <= 6 && w.find_first_not_of("0123456789") == std::string::npos;
  const int n = digits ? std::stoi(w) : 0;
  if (n < 1) bad_command(name);
  return n;
}

const std::string& only_word(const std::string& name, const Words& words) {
  if (words.size() != 1) bad_command(name);
  return words.front();
}

// ---- Looking at the kernel
// ------------------------------------------------------------------------

void tree(Repl& r, const Words& words) {
  at_most(":tree", words, 0);
  r.show(report_tree(r.session.kernel()));
}

/// For a word that may be a file or a target: one with a dot or a slash is not a misspelt target.
bool is_file(const std::string& word) {
  return word == "-" || word.find_first_of("./") != std::string::npos;
}

void code(Repl& r, const Words& words) {
  at_most(":code", words, 2);
  const bool to_file = !words.empty() && is_file(words.back());
  const Words rest(words.begin(), words.end() - (to_file ? 1 : 0));
  const Target target = target_in(r, ":code", rest);
  const Kernel& k = r.session.kernel();
  const std::string text = generate(k, target).source;
  if (!to_file || words.back() == "-") return r.show(text);
  write_output(words.back(), text);
  r.say(fmt::format("{}: the code of kernel {} for {}\n", words.back(), k.name, to_string(target)));
}

void view(Repl& r, const Words& words) {
  const std::string& path = only_word(":view", words);
  const Kernel& k = r.session.kernel();
  const Kernel original = r.session.original_of(k);
  GivenValues values;  // those that this kernel has
  for (const auto& v : r.values)
    if (k.find_arg(v.first) || original.find_arg(v.first)) values.push_back(v);
  const std::string page = page_of(original, k, values, r.quiet());
  if (path == "-") return r.show(page);
  write_output(path, page);
  r.say(fmt::format("{}: the page of kernel {}\n", path, k.name));
}

void ir(Repl& r, const Words& words) {
  at_most(":ir", words, 0);
  r.show(print_kernel(as_text(r.session.kernel())));
}

void deps(Repl& r, const Words& words) {
  if (words.size() == 2) return r.show(report_dependences(r.session.kernel(), words[0], words[1]));
  at_most(":deps", words, 0);
  r.show(report_dependences(r.session.kernel()));
}

void schedule(Repl& r, const Words& words) {
  const Target target = target_in(r, ":schedule", words);
  r.show(report_schedule(r.session.kernel(), target));
}

void stats(Repl& r, const Words& words) {
  at_most(":stats", words, 0);
  const Kernel k = complete(r.session.kernel());
  GivenValues values;  // those that this kernel has
  for (const auto& v : r.values)
    if (k.find_arg(v.first)) values.push_back(v);
  r.show(report_stats(r.session.kernel(), {std::nullopt, given_integers(k, values)}));
}

void trace(Repl& r, const Words& words) {
  at_most(":trace", words, 0);
  r.show(replay_script(r.session.kernel(), 0, &r.session.knobs()));
}

/// The text of `f`, or the reason why there is none.
template <class F>
std::string or_reason(F f) {
  try {
    return f();
  } catch (const Error& e) { return std::string(e.what()) + "\n"; }
}

void show_diff(Repl& r, const Words& words) {
  at_most(":diff", words, 1);
  const History& history = r.session.history();
  const bool number = words.empty() || words[0].find_first_not_of("0123456789") == words[0].npos;
  const int n = number ? count_in(":diff", words) : 0, now = history.steps();
  const Kernel& after = r.session.kernel();
  const Snapshot& then = number ? history.before(n) : history.on_branch(words[0]);
  const auto it = then.kernels.find(r.session.now().current);
  if (it == then.kernels.end())
    fail("no-kernel", {}, "kernel `{}` {}", r.session.now().current,
         number ? "was not there yet" : "is not on branch `" + words[0] + "`");
  const Kernel& before = *it->second;
  const std::string was = number ? fmt::format("after step {}", std::max(0, now - n))
                                 : "on branch " + words[0],
                    is = number ? fmt::format("after step {}", now)
                                : "on branch " + history.branch();
  const auto tree_of = [](const Kernel& k) { return or_reason([&] { return report_tree(k); }); };
  const auto code_of = [&](const Kernel& k) {
    return or_reason([&] { return generate(k, r.target).source; });
  };
  const std::string text =
      diff(tree_of(before), tree_of(after), "tree " + was, "tree " + is, r.color) +
      diff(code_of(before), code_of(after), "code " + was, "code " + is, r.color);
  r.show(text.empty() ? "no difference in tree and code\n" : text);
}

// ---- Moving in the history
// ------------------------------------------------------------------------

void say_where(Repl& r) {
  const History& h = r.session.history();
  r.say(fmt::format("on branch {}, after {} step{}; kernel {}\n", h.branch(), h.steps(),
                    h.steps() == 1 ? "" : "s",
                    r.session.now().current.empty() ? "none" : r.session.now().current));
}

void undo(Repl& r, const Words& words) {
  const int n = count_in(":undo", words);
  const Words lines = r.session.history().lines();
  r.session.undo(n);
  for (std::size_t i = lines.size(); i-- > lines.size() - std::size_t(n);)
    r.say(fmt::format("[{}] undone: {}\n", i + 1, lines[i]));
}

void redo(Repl& r, const Words& words) {
  const int n = count_in(":redo", words);
  r.session.redo(n);
  const Words lines = r.session.history().lines();
  for (std::size_t i = lines.size() - std::size_t(n); i < lines.size(); ++i)
    r.say(fmt::format("[{}] done again: {}\n", i + 1, lines[i]));
}

void branch(Repl& r, const Words& words) {
  at_most(":branch", words, 1);
  if (!words.empty()) {
    r.session.make_branch(words.front());
    return say_where(r);
  }
  std::string out;
  for (const std::string& name : r.session.history().branches())
    out += fmt::format("{} {}\n", name == r.session.history().branch() ? "*" : " ", name);
  r.show(out);
}

void switch_to(Repl& r, const Words& words) {
  r.session.switch_to(only_word(":switch", words));
  say_where(r);
}

// ---- Running
// --------------------------------------------------------------------------------------

void run(Repl& r, const Words& words) {
  for (const std::string& w : words) r.set_value(":run", w);
  const Ran ran = r.run(r.session.kernel(), true, false);
  r.show(ran.text);
  r.complain(ran.error);
}

void time_runs(Repl& r, const Words& words) {
  Words values = words;
  const bool off = std::erase(values, "off") > 0, said_on = std::erase(values, "on") > 0;
  if (off && (said_on || !values.empty())) bad_command(":time");
  for (const std::string& w : values) r.set_value(":time", w);
  const bool on = said_on || !values.empty() || (!off && !r.timing);
  r.timing = on;
  if (!on) return r.say("times are off\n");
  const Ran ran = r.run(r.session.kernel(), false, true);
  if (ran.seconds) r.remember_time(r.session.now().kernel(), *ran.seconds);
  r.show(ran.text);
  r.complain(ran.error);
  r.say("times are on: each step tells what it changes\n");
}

void check(Repl& r, const Words& words) {
  at_most(":check", words, 0);
  const Kernel& k = r.session.kernel();
  check_legal(k);
  check_defined(complete(k));
  std::string out = fmt::format("{}: legal\n", k.name);
  for (const Claim& c : k.claims) out += fmt::format("  claimed, not proved: {}\n", c.step);
  r.show(out);
}

// ---- Files, settings
// ------------------------------------------------------------------------------

void save(Repl& r, const Words& words) {
  const std::string& path = only_word(":save", words);
  const Kernel& k = r.session.kernel();
  const std::string script = r.session.script_for(k);
  if (path == "-") return r.show(script);
  write_output(path, script);
  r.say(fmt::format("{}: the {} transforms of kernel {}\n", path, k.trace.size(), k.name));
}

void open(Repl& r, const Words& words) { r.open(only_word(":open", words)); }

void help(Repl& r, const Words& words) {
  at_most(":help", words, 1);
  r.show(r.help(words.empty() ? "" : words.front()));
}

void set(Repl& r, const Words& words) {
  for (const std::string& w : words) {
    const auto equals = w.find('=');
    const std::string name = w.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : w.substr(equals + 1);
    if (name == "target") {
      r.target = target_in(r, ":set", {value});
    } else if (name == "device") {
      if (value.empty() || value.size() > 4 ||
          value.find_first_not_of("0123456789") != std::string::npos)
        fail("bad-command", {}, "`device` is a number, as `moonloop devices` lists them");
      r.device = std::stoi(value);
    } else if (name == "tolerance") {
      char* end = nullptr;
      const double t = std::strtod(value.c_str(), &end);
      if (value.empty() || *end || !(t >= 0) || !std::isfinite(t))
        fail("bad-command", {}, "`tolerance` is a finite number, at least 0");
      r.tolerance = t;
    } else if (const Argument* a =
                   r.session.now().kernel() ? r.session.kernel().find_arg(name) : nullptr;
               a && !a->is_array) {
      r.set_value(":set", w);
    } else {
      const Words known{"target", "device", "tolerance"};
      fail("unknown-setting", {}, "no setting `{}`{}; there is {}, and each scalar of the kernel",
           name, did_you_mean(name, known), quoted_list(known));
    }
  }
  std::string out = fmt::format("target={}", to_string(r.target));
  if (r.device >= 0) out += fmt::format(" device={}", r.device);
  out += fmt::format(" tolerance={}", r.tolerance);
  for (const auto& [name, value] : r.values) out += fmt::format(" {}={}", name, value);
  r.forget_times();
  r.show(out + "\n");
}

void quit(Repl& r, const Words& words) {
  at_most(":quit", words, 0);
  r.quit();
}

}  // namespace

const std::vector<ReplCommand>& repl_commands() {
  static const std::vector<ReplCommand> kRows{
      {":tree", "", "the loops of the current kernel", Takes::Nothing, tree},
      {":code", "[target] [FILE]",
       "the generated code, or writes it to a file\n"
       "For the target that is set when none is given, as `moonloop gen` prints it. A word with a "
       "dot or a slash is a file.",
       Takes::TargetOrFile, code},
      {":ir", "", "the kernel as kernel text", Takes::Nothing, ir},
      {":deps", "[a b]",
       "dependences between instances\n"
       "All of them, or those between two instructions, by their ids.",
       Takes::Ids, deps},
      {":schedule", "[target]", "the loops as code generation plans them", Takes::Target, schedule},
      {":stats", "",
       "counts: instructions, loops, operations, accesses\n"
       "With numbers where scalars have values, by `:set` or a run.",
       Takes::Nothing, stats},
      {":view", "FILE.html",
       "writes a page that shows the kernel and its steps\n"
       "As `moonloop view` makes it, with the sizes that `:set` or a run gave, else with small "
       "ones.",
       Takes::File, view},
      {":trace", "", "the script that replays the transforms", Takes::Nothing, trace},
      {":diff", "[n|BRANCH]",
       "what the last n steps changed in tree and code, or how a branch differs\n"
       "As `diff -u` shows it; n is 1 when left out.",
       Takes::Point, show_diff},
      {":undo", "[n]",
       "takes back the last step, or n steps\n"
       "A step is a line that changed a kernel, or a transform of a script that `:open` ran. The "
       "globals get back what they held; other variables stay as they are.",
       Takes::Nothing, undo, false},
      {":redo", "[n]", "does again what was undone last", Takes::Nothing, redo, false},
      {":branch", "[NAME]",
       "names this state and goes on under that name; without a name lists the branches\n"
       "The branch that one was on stays here, and `:switch` goes back to it.",
       Takes::Nothing, branch, false},
      {":switch", "NAME",
       "goes to a branch, or makes another kernel the current one\n"
       "Commands are about the current kernel: the one that changed last, unless this says "
       "otherwise. Where a branch and a kernel have one name, it is the branch.",
       Takes::Point, switch_to, false},
      {":run", "[k=v...]",
       "runs on the target, verifies and prints checksums\n"
       "Values of scalars stay for later runs. It runs in a process of its own: Ctrl-C, or a "
       "crash, "
       "ends the run alone.",
       Takes::Parameters, run},
      {":time", "[on|off] [k=v...]", "measures, and from then on after each step; again: no more",
       Takes::OnOff, time_runs},
      {":check", "", "proves the kernel legal and lists what was claimed", Takes::Nothing, check},
      {":save", "FILE",
       "writes the shortest script that replays the current kernel\n"
       "Undone steps are not in it. `moonloop gen INPUT -t FILE` gives the same kernel; `-` shows "
       "it.",
       Takes::File, save},
      {":open", "FILE",
       "runs a script in this session, or loads kernels\n"
       "Each transform of a script is a step of its own.",
       Takes::File, open, false},
      {":help", "[NAME]", "the commands, or what `moonloop doc NAME` says", Takes::Topic, help,
       false},
      {":set", "[target=... k=v...]",
       "sets the target, `device`, `tolerance` or a scalar; shows what is set", Takes::Settings,
       set, false},
      {":quit", "", "ends the session, as the end of the input does", Takes::Nothing, quit, false},
  };
  return kRows;
}

}  // namespace moonloop::cli
