#include "cli/repl.h"

#include <unistd.h>

#include <algorithm>
#include <lua.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/run_output.h"
#include "cli/topics.h"
#include "frontends/fortran/fortran.h"
#include "reports/draw_counterexample.h"
#include "reports/summary.h"
#include "runtime/in_child.h"
#include "scripts/interrupt.h"

namespace moonloop::cli {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

std::string rendered(const std::vector<Diagnostic>& all, bool color) {
  std::string out;
  for (const Diagnostic& d : all) out += render(d, color);
  return out;
}

}  // namespace

Repl::Repl(const CLI::App& app, const Common& common, Session& session_, bool interactive,
           bool color_)
    : session(session_),
      device(common.device),
      values(common.params),
      color(color_),
      app_(app),
      common_(common),
      interactive_(interactive) {}

// ---- The loop -----------------------------------------------------------------------------------

void Repl::loop(LineReader& in) {
  const auto guarded = [&](auto f) {
    try {
      f();
    } catch (const RefusedByCounterexample& e) {
      explain({e.diagnostics(), e.counterexample()});
    } catch (const Error& e) {
      explain({e.diagnostics(), nullptr});
    } catch (const std::exception& e) {
      explain({{{"internal-error",
                 fmt::format("internal error: {}", e.what()),
                 {},
                 {},
                 "please report this with the kernel and the lines before"}},
               nullptr});
    }
  };
  std::string line;
  while (!over_) {
    forget_interrupt();
    const Read read = in.read(interactive_ ? prompt() : "", line);
    if (read == Read::End) break;
    if (read == Read::Interrupted)
      session.drop_pending();
    else
      guarded([&] { accept(line); });
  }
  if (session.wants_more()) guarded([&] { tell(session.finish()); });
  guarded([&] { session.knobs().require_declared(); });
}

void Repl::accept(const std::string& line) {
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string::npos && !session.wants_more()) return session.skip_line(line);
  const bool colon =
      first != std::string::npos && line[first] == ':' && line.compare(first, 2, "::") != 0;
  if (!colon || session.wants_more()) return tell(session.feed(line));
  session.skip_line(line);
  if (interactive_) return command(line.substr(first));  // it is the line above the message
  try {
    command(line.substr(first));
  } catch (const Error& e) {
    std::vector<Diagnostic> all = e.diagnostics();
    if (!all.front().where.at) all.front().where.at = session.last_line();
    if (const auto* r = dynamic_cast<const RefusedByCounterexample*>(&e))
      throw RefusedByCounterexample(std::move(all), r->counterexample());
    throw Error(std::move(all));
  }
}

void Repl::command(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  const std::string name = words.front();
  words.erase(words.begin());
  std::vector<std::string> known;
  for (const ReplCommand& c : repl_commands()) {
    if (c.name == name) return c.run(*this, words);
    known.push_back(c.name);
  }
  fail("unknown-command", {}, "no command `{}`{}", name,
       did_you_mean(name, known).empty() ? "; `:help` lists them" : did_you_mean(name, known));
}

std::string Repl::prompt() const {
  if (session.wants_more()) return ">> ";
  std::string out = session.now().current;
  if (session.history().branches().size() > 1) out += "@" + session.history().branch();
  return out + "> ";
}

Completion Repl::complete(const std::string& line, std::size_t cursor) const {
  Vocabulary v = session.vocabulary();
  for (const ReplCommand& c : repl_commands()) v.commands.push_back({c.name, c.takes});
  for (const Topic& t : topics()) v.topics.push_back(t.name);
  v.targets = target_names();
  v.settings = {"target", "device", "tolerance"};
  return moonloop::complete(line, cursor, v);
}

// ---- Messages -----------------------------------------------------------------------------------

void Repl::show(const std::string& text) const { write_output("-", text); }

void Repl::say(const std::string& text) const {
  if (common_.quiet) return;
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Repl::complain(const std::string& text) const {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Later ones do not make it better.
void Repl::failed(Status how) {
  const auto weight = [](Status s) {
    return s == kError ? 3 : s == kCompiler ? 2 : s == kDifference;
  };
  if (weight(how) > weight(worst_)) worst_ = how;
}

void Repl::explain(const Failure& failure) {
  failed(is_compiler_error(failure.all.front().code) ? kCompiler : kError);
  std::string text = interrupted() ? "interrupted\n" : rendered(failure.all, color);
  if (failure.counterexample && !interrupted())
    text += draw_counterexample(*failure.counterexample, color);
  complain(text);
}

void Repl::tell(const Outcome& outcome) {
  const int first = session.history().steps() - static_cast<int>(outcome.changes.size()) + 1;
  for (std::size_t i = 0; i < outcome.changes.size(); ++i)
    say(step_line(first + static_cast<int>(i), outcome.changes[i],
                  timing && i + 1 == outcome.changes.size()));
  if (outcome.failure) explain(*outcome.failure);
}

std::string Repl::step_line(int number, const std::vector<Change>& changes, bool measure) {
  std::string out;
  for (const Change& c : changes) {
    const std::string what = !c.after                            ? "gone"
                             : !c.before                         ? "a new kernel"
                             : derives_from(*c.after, *c.before) ? what_changed(*c.before, *c.after)
                                                                 : "another kernel";
    out += fmt::format("[{}] {}: {}", number, c.global, what);
    if (measure && c.after && c.global == session.now().current) out += effect(c);
    out += "\n";
  }
  return color ? "\033[2m" + out.substr(0, out.size() - 1) + "\033[0m\n" : out;
}

/// `; 2.00 ms -> 1.00 ms, 2.00 times as fast`.
std::string Repl::effect(const Change& change) {
  const auto measured = [&](const KernelPtr& k) -> std::optional<double> {
    if (const auto it = seconds_.find(k); it != seconds_.end()) return it->second;
    const Ran ran = run(*k, false, true);
    if (!ran.seconds) {
      say(ran.error);
      return std::nullopt;
    }
    return seconds_[k] = *ran.seconds;
  };
  std::optional<double> before;
  if (change.before) before = measured(change.before);
  const auto after = measured(change.after);
  if (!after) return "; not measured";
  if (!before) return "; " + duration(*after);
  return fmt::format("; {} -> {}, {:.2f} times as fast", duration(*before), duration(*after),
                     *before / *after);
}

namespace {

/// Hints for the command line, rewritten for the session.
std::vector<Diagnostic> in_session(std::vector<Diagnostic> all) {
  const std::string there = "give `-p ", here = "give `:run ";
  for (Diagnostic& d : all)
    if (const auto at = d.text.find(there); d.code == "missing-parameter" && at != d.text.npos)
      d.text.replace(at, there.size(), here);
  return all;
}

}  // namespace

// ---- The work of the commands -------------------------------------------------------------------

Ran Repl::run(const Kernel& k, bool verify, bool time) {
  using Json = nlohmann::json;
  const Kernel original = session.original_of(k);
  RunRequest request;
  request.target = target;
  request.device = device;
  request.tolerance = tolerance;
  request.verify = verify;
  request.time = time;
  for (const auto& [name, value] : values)
    if (k.find_arg(name) || original.find_arg(name)) request.params.emplace_back(name, value);
  request.note = [&](const std::string& text) { say("note: " + text + "\n"); };
  const ChildResult child = run_in_child(
      [&] {
        Json out;
        try {
          const RunResult result = run_kernel(k, original, request);
          out["text"] = run_text(k, request.target, result);
          out["equal"] = !result.verification || result.verification->equal();
          if (result.timing) out["seconds"] = result.timing->median;
        } catch (const Error& e) {
          out["error"] = rendered(in_session(e.diagnostics()), color);
          out["compiler"] = is_compiler_error(e.diagnostic().code);
        }
        return out.dump(-1, ' ', false, Json::error_handler_t::replace);
      },
      interrupted);
  if (child.stopped) return {{}, "interrupted\n", {}};
  if (child.signal != 0) {
    failed(kError);
    return {
        {},
        rendered({{"run-crashed",
                   fmt::format("the run of kernel `{}` ended by signal {}", k.name, child.signal),
                   {},
                   {},
                   {}}},
                 color),
        {}};
  }
  const Json out = Json::parse(child.text);
  if (out.contains("error")) failed(out.value("compiler", false) ? kCompiler : kError);
  if (!out.value("equal", true)) failed(kDifference);
  Ran ran{out.value("text", ""), out.value("error", ""), {}};
  if (out.contains("seconds")) ran.seconds = out["seconds"].get<double>();
  return ran;
}

/// A scalar that the current kernel has, or had before its steps, and a value of its type.
void Repl::require_value(const std::string& name, const std::string& value) const {
  const Kernel& k = session.kernel();
  const Kernel original = session.original_of(k);
  const Argument* a = k.find_arg(name) ? k.find_arg(name) : original.find_arg(name);
  if (!a || a->is_array) given_scalars(k, {{name, value}});
  if (a && a->type && !a->type->is_record()) parse_value(name, a->type->scalar, value);
}

void Repl::set_value(const std::string& command, const std::string& word) {
  const auto equals = word.find('=');
  if (equals == 0 || equals == std::string::npos)
    fail("bad-command", {}, "`{}` takes NAME=VALUE, not `{}`", command, word);
  const std::string name = word.substr(0, equals);
  require_value(name, word.substr(equals + 1));
  std::erase_if(values, [&](const auto& v) { return v.first == name; });
  values.emplace_back(name, word.substr(equals + 1));
  seconds_.clear();
}

void Repl::open(const std::string& path) {
  if (path.ends_with(".lua")) return tell(session.open_script(path));
  Common common = common_;
  common.input = path;
  common.transforms.clear();
  std::vector<Kernel> originals;
  const std::vector<Kernel> kernels = load_kernels(common, {}, &originals);
  tell(session.add_kernels(kernels, originals, ":open " + path));
}

bool Repl::open_first(const std::string& path) {
  const Outcome out = session.open_script(path);
  if (out.failure) explain(*out.failure);
  return !out.failure;
}

std::string Repl::help(const std::string& name) const {
  if (!name.empty()) {
    for (const ReplCommand& c : repl_commands())
      if (c.name == ":" + name) return help_on(app_, c.name);
    return help_on(app_, name);
  }
  std::string out =
      "Lua: an expression prints its value; `knl = knl:split_iname(\"i\", 16)` is a step, and so "
      "are\n"
      "`knl:split_iname(\"i\", 16)` and, for the current kernel, `split_iname(\"i\", 16)`.\n\n";
  const bool kernel = !session.now().current.empty();
  for (const ReplCommand& c : repl_commands())
    if (kernel || !c.needs_kernel)
      out += fmt::format("  {:<22} {}\n", c.name + " " + c.arguments,
                         c.help.substr(0, c.help.find('\n')));
  if (!kernel) out += "\nThere is no kernel yet; with one there are more commands.\n";
  return out +
         "\n`:help NAME` tells more about a command, a transform, a tag or a word of kernel "
         "text.\n";
}

// ---- The command of the command line
// --------------------------------------------------------------

namespace {

int repl(const CLI::App& app, Common common, bool color) {
  if (common.input == "-")
    fail("bad-input", {}, "`repl` reads Lua from standard input; give the kernels in a file");
  for (const std::string& script : common.transforms)
    if (script == "-")
      fail("bad-input", {}, "`repl` reads Lua from standard input; give the script in a file");
  const bool interactive = isatty(STDIN_FILENO) != 0;
  common.all_knobs = std::make_shared<Knobs>(common.knobs);
  ScriptOptions options = script_options(common);
  options.print_to_stdout = true;
  std::optional<CatchInterrupts> catching;
  if (interactive) {
    catching.emplace();
    options.interrupted = interrupted;
  }
  const bool script = common.input.ends_with(".lua");
  std::vector<Kernel> kernels, originals;
  if (!common.input.empty() && !script) {
    Common alone = common;
    alone.transforms.clear();
    kernels = load_kernels(alone, {}, &originals);
    if (!common.kernels.empty()) pick_kernel(common, kernels);
  }
  Session session(kernels, originals, options);
  Repl repl(app, common, session, interactive, color);
  if (script && !repl.open_first(common.input)) return kError;
  for (const std::string& path : common.transforms)
    if (!repl.open_first(path)) return kError;
  if (!common.kernels.empty()) session.switch_to(common.kernels.front());

  std::unique_ptr<LineReader> in;
  if (interactive) {
    in = editing_reader(
        history_path(), [&](const std::string& why) { repl.say("warning: " + why + "\n"); },
        [&](const std::string& line, std::size_t cursor) { return repl.complete(line, cursor); });
    repl.say("moonloop " MOONLOOP_VERSION ", " LUA_RELEASE "; `:help` lists the commands\n");
    if (!session.now().current.empty()) repl.say(summary(session.kernel()));
  }
  if (!in) in = plain_reader();
  repl.loop(*in);
  return repl.status();
}

}  // namespace

void add_repl(CLI::App& app, Common& common, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("repl", "Interactive Lua with the kernels loaded");
  command->add_option("INPUT", common.input, "kernel text, Fortran or a script that makes kernels")
      ->type_name("");
  add_common_options(*command, common, false);
  command->callback([&app, command, &common, &action] {
    // On a terminal colours are the habit; elsewhere only on request.
    const bool asked = command->get_option("--color")->count() > 0;
    const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    action = [&app, &common, color = asked ? common.color : terminal] {
      return repl(app, common, color);
    };
  });
}

}  // namespace moonloop::cli
