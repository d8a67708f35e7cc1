#include "scripts/session.h"

#include <algorithm>

#include "core/model/print.h"
#include "core/rewrite/as_text.h"
#include "reports/summary.h"
#include "runtime/file.h"
#include "scripts/interrupt.h"
#include "scripts/state.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

using lua::State;

constexpr std::size_t kMostMade = 256;   // kernels that a session made, kept for replay
constexpr std::size_t kMostSeen = 4096;  // kernels within a script, kept as states of their own

bool same_call(const Step& a, const Step& b) {
  return a.name == b.name && to_lua(Value{a.positional}) == to_lua(Value{b.positional}) &&
         to_lua(Value{a.options}) == to_lua(Value{b.options});
}

/// The steps of `after` begin with those of `before`.
bool continues(const Kernel& after, const Kernel& before) {
  return after.name == before.name && before.trace.size() <= after.trace.size() &&
         std::equal(before.trace.begin(), before.trace.end(), after.trace.begin(), same_call);
}

bool same_kernel(const Kernel& a, const Kernel& b) {
  return a.trace.size() == b.trace.size() && continues(a, b) && print_kernel(a) == print_kernel(b);
}

Snapshot snapshot_of(const std::vector<Kernel>& kernels) {
  Snapshot out;
  for (const Kernel& k : kernels) out.kernels[k.name] = std::make_shared<const Kernel>(k);
  if (!kernels.empty()) out.current = kernels.front().name;
  return out;
}

Failure internal(const std::exception& e) {
  return {{{"internal-error",
            fmt::format("internal error: {}", e.what()),
            {},
            {},
            "please report this with the kernel and the lines before"}},
          nullptr};
}

/// Pushes the table of the kernels that globals were last seen with, which keeps them alive.
void push_held(lua_State* L, const Session* session) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, session) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, session);
}

bool compiles(lua_State* L, const std::string& code) {
  const bool ok = luaL_loadbufferx(L, code.data(), code.size(), "=repl", "t") == LUA_OK;
  if (ok) lua_pop(L, 1);
  return ok;
}

/// `current` and `become` are the Lua functions for the bare names of transforms.
std::string bare_names_code() {
  std::string code = "local current, become = ...\nlocal steps = {\n";
  for (const std::string& name : lua::op_names())
    code += fmt::format("{0} = function(...) return become(current():{0}(...)) end,\n", name);
  return code + "}\nsetmetatable(_G, {__index = function(_, name) return steps[name] end})\n";
}

/// The Lua function's Session.
Session& session_of(lua_State* L) {
  return *static_cast<Session*>(lua_touserdata(L, lua_upvalueindex(1)));
}

int current_function(lua_State* L, State&) {
  const std::string name = session_of(L).now().current;
  lua_pushglobaltable(L);
  lua::push_string(L, name);
  lua_rawget(L, -2);
  if (!lua::to_kernel(L, -1))
    lua::raise(L, "no-kernel", "there is no current kernel; load one with `:open FILE`");
  return 1;
}

int become_function(lua_State* L, State&) {
  if (!lua::to_kernel(L, 1)) return lua_gettop(L);
  lua_pushglobaltable(L);
  lua::push_string(L, session_of(L).now().current);
  lua_pushvalue(L, 1);
  lua_rawset(L, -3);
  lua_settop(L, 1);
  return 1;
}

}  // namespace

bool derives_from(const Kernel& after, const Kernel& before) {
  return after.trace.size() > before.trace.size() && continues(after, before);
}

Session::Session(const std::vector<Kernel>& kernels, const std::vector<Kernel>& originals,
                 ScriptOptions options)
    : history_(snapshot_of(kernels)) {
  transcript_.name = "<repl>";
  options.on_step = [this](const StepReport& r) { saw(r); };
  const std::string directory = options.directory;
  state_ = std::make_unique<State>(std::move(options), directory);
  state_->protect([&](lua_State* L) {
    const std::string code = bare_names_code();
    if (luaL_loadbufferx(L, code.data(), code.size(), "=repl", "t") != LUA_OK) lua_error(L);
    for (const lua_CFunction f : {lua::guarded<current_function>, lua::guarded<become_function>}) {
      lua_pushlightuserdata(L, this);
      lua_pushcclosure(L, f, 1);
    }
    lua_call(L, 2, 0);
  });
  for (const Kernel& k : kernels) {
    Base base{k, k, {}};
    for (const Kernel& o : originals)
      if (o.name == k.name) base.original = o;
    bases_.push_back(std::move(base));
  }
  for (const auto& [name, k] : now().kernels) hold(name, k);
}

Session::~Session() = default;

const Kernel& Session::kernel() const {
  const auto it = now().kernels.find(now().current);
  if (it == now().kernels.end())
    fail("no-kernel", {}, "there is no current kernel; load one with `:open FILE`");
  return *it->second;
}

// ---- Lines of Lua -------------------------------------------------------------------------------

void Session::skip_line(const std::string& line) {
  transcript_.line_starts.push_back(transcript_.text.size());
  transcript_.text += line + "\n";
}

Span Session::last_line() const {
  const std::size_t begin = transcript_.line_starts.back();
  const std::size_t first = transcript_.text.find_first_not_of(" \t", begin);
  const std::size_t end = transcript_.text.find('\n', first);
  return span_at(&transcript_, first, end - first);
}

Outcome Session::feed(const std::string& line) {
  skip_line(line);
  if (pending_.empty()) pending_from_ = static_cast<int>(transcript_.line_starts.size());
  pending_ += (pending_.empty() ? "" : "\n") + line;
  if (pending_.starts_with("=")) pending_ = "return " + pending_.substr(1);
  bool unfinished = false;
  state_->protect([&](lua_State* L) {
    if (compiles(L, "return " + pending_)) return;
    lua_pop(L, 1);
    if (compiles(L, pending_)) return;
    unfinished = std::string_view(lua_tostring(L, -1)).ends_with("<eof>");
  });
  if (unfinished) return {true, {}, {}};
  return finish();
}

Outcome Session::finish() {
  const std::string code = std::exchange(pending_, {});
  if (code.empty()) return {};
  return run(code, pending_from_);
}

void Session::drop_pending() { pending_.clear(); }

Outcome Session::run(const std::string& code, int first_line) {
  const std::string above(static_cast<std::size_t>(first_line - 1), '\n');
  return guarded(code, false, [&](lua_State* L) {
    const bool returns = code.starts_with("return ");
    bool expression = returns;
    if (!expression && !(expression = compiles(L, "return " + code))) lua_pop(L, 1);
    if (!expression) return state_->run_chunk(L, &transcript_, above + code);
    // Not in a tail position, where Lua would forget the line that calls.
    const std::string values = returns ? code.substr(7) : code;
    state_->run_chunk(L, &transcript_,
                      above + "return (function(...) return ... end)(" + values + "\n)");
    show_results();
  });
}

template <class F>
Outcome Session::guarded(const std::string& line, bool split, F f) {
  Outcome out;
  seen_.clear();
  state_->options().knobs->begin_again();
  collecting_ = split;
  state_->refill();
  try {
    state_->protect(f);
  } catch (const RefusedByCounterexample& e) {
    out.failure = Failure{e.diagnostics(), e.counterexample()};
  } catch (const Error& e) {
    out.failure = Failure{e.diagnostics(), nullptr};
  } catch (const std::exception& e) { out.failure = internal(e); }
  if (out.failure && interrupted())
    out.failure = Failure{{{"interrupted", "interrupted", {}, {}, {}}}, nullptr};
  take_changes(line, split, out);
  return out;
}

/// Prints the values on the stack: a kernel as a summary, a table by what is in it.
void Session::show_results() {
  lua_State* L = state_->main();
  const int n = lua_gettop(L);
  if (n == 0 || (n == 1 && adopt())) return;
  luaL_checkstack(L, 8, nullptr);
  for (int i = 1; i <= n; ++i) {
    std::string text;
    if (const Kernel* k = lua::to_kernel(L, i)) {
      text = summary(*k);
    } else if (lua_istable(L, i) && luaL_getmetafield(L, i, "__tostring") == LUA_TNIL) {
      try {
        text = summary(lua::to_value(L, i));
      } catch (const Error&) { continue; }  // functions are in it
    } else {
      lua_settop(L, n);
      continue;
    }
    if (text.ends_with('\n')) text.pop_back();
    lua::push_string(L, text);
    lua_replace(L, i);
    lua_settop(L, n);
  }
  lua_pushglobaltable(L);
  lua_pushliteral(L, "print");
  lua_rawget(L, -2);
  lua_replace(L, -2);
  lua_insert(L, 1);
  state_->call(L, n, 0);
}

/// Whether the one value on the stack is a kernel that is in a global now because of this line: the
/// line put it there itself, or this function does, because it derives from the global's value.
bool Session::adopt() {
  lua_State* L = state_->main();
  const Kernel* k = lua::to_kernel(L, 1);
  if (!k) return false;
  for (const auto& [name, held] : lua::global_kernels(L)) {
    if (held != k) continue;
    push_held(L, this);
    lua_getfield(L, -1, name.c_str());
    const bool known = lua_rawequal(L, -1, 1) != 0;
    lua_settop(L, 1);
    return !known;
  }
  std::string into;
  for (const auto& [name, was] : now().kernels) {
    if (!derives_from(*k, *was)) continue;
    const auto longest = now().kernels.find(into);
    if (name == now().current) {
      into = name;
      break;
    }
    if (into.empty() || was->trace.size() > longest->second->trace.size()) into = name;
  }
  if (into.empty()) return false;
  lua_pushglobaltable(L);
  lua::push_string(L, into);
  lua_pushvalue(L, 1);
  lua_rawset(L, -3);
  lua_settop(L, 1);
  return true;
}

// ---- Changes ------------------------------------------------------------------------------------

void Session::saw(const StepReport& r) {
  if (collecting_ && seen_.size() < kMostSeen)
    seen_.push_back(std::make_shared<const Kernel>(r.before));
  if (!r.before.trace.empty()) return;
  for (const Base& b : bases_)
    if (b.kernel.name == r.before.name && b.kernel.instructions == r.before.instructions) return;
  const auto made = [](const Base& b) { return b.first.has_value(); };
  if (std::count_if(bases_.begin(), bases_.end(), made) >= static_cast<long>(kMostMade))
    bases_.erase(std::find_if(bases_.begin(), bases_.end(), made));
  bases_.push_back({r.before, r.before, r.step});
}

/// Compares the globals with the state of the history and adds changes to it.
void Session::take_changes(const std::string& line, bool split, Outcome& out) {
  Snapshot next = now();
  std::vector<std::string> changed;
  state_->protect([&](lua_State* L) {
    const auto held = lua::global_kernels(L);
    push_held(L, this);
    for (const auto& [name, k] : held) {
      lua_getfield(L, 1, name.c_str());
      const bool same = lua::to_kernel(L, -1) == k;
      lua_pop(L, 1);
      if (same) continue;
      lua_getglobal(L, name.c_str());
      lua_setfield(L, 1, name.c_str());
      const auto was = next.kernels.find(name);
      if (was != next.kernels.end() && same_kernel(*was->second, *k)) continue;
      next.kernels[name] = std::make_shared<const Kernel>(*k);
      changed.push_back(name);
    }
    for (const auto& [name, k] : now().kernels) {
      if (held.count(name)) continue;
      lua_pushnil(L);
      lua_setfield(L, 1, name.c_str());
      next.kernels.erase(name);
    }
  });
  if (!changed.empty() && std::find(changed.begin(), changed.end(), next.current) == changed.end())
    next.current = changed.front();
  if (!next.kernels.count(next.current))
    next.current = next.kernels.empty() ? "" : next.kernels.begin()->first;
  if (changed.empty() && next.kernels.size() == now().kernels.size()) return;
  if (split)
    for (Snapshot& s : stages(next)) commit(std::move(s), line, out);
  else
    commit(std::move(next), line, out);
}

/// The states between the present one and `next`, which is the last of them: one after each
/// transform of a kernel that is there, as far as they were seen.
std::vector<Snapshot> Session::stages(const Snapshot& next) const {
  std::vector<Snapshot> out;
  Snapshot state = now();
  for (const auto& [name, k] : next.kernels) {
    const auto was = state.kernels.find(name);
    if (was == state.kernels.end() || was->second == k) continue;
    const KernelPtr before = was->second;
    for (std::size_t n = before->trace.size() + 1; n < k->trace.size(); ++n)
      for (const KernelPtr& s : seen_)
        if (s->trace.size() == n && derives_from(*k, *s) && derives_from(*s, *before)) {
          state.kernels[name] = s;
          state.current = name;
          out.push_back(state);
          break;
        }
    state.kernels[name] = k;
    state.current = name;
    out.push_back(state);
  }
  if (out.empty() || out.back().kernels != next.kernels) out.push_back(next);
  out.back().current = next.current;
  return out;
}

/// The differences between two states.
static std::vector<Change> differences(const Snapshot& from, const Snapshot& to) {
  std::vector<Change> out;
  for (const auto& [name, k] : to.kernels) {
    const auto was = from.kernels.find(name);
    const KernelPtr before = was == from.kernels.end() ? nullptr : was->second;
    if (before != k) out.push_back({name, before, k});
  }
  for (const auto& [name, k] : from.kernels)
    if (!to.kernels.count(name)) out.push_back({name, k, nullptr});
  return out;
}

void Session::commit(Snapshot next, const std::string& line, Outcome& out) {
  out.changes.push_back(differences(now(), next));
  history_.add(std::move(next), line);
}

void Session::hold(const std::string& name, const KernelPtr& k) {
  state_->protect([&](lua_State* L) {
    lua_pushglobaltable(L);
    push_held(L, this);
    lua::push_string(L, name);
    if (k)
      lua::push_kernel(L, *k);
    else
      lua_pushnil(L);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 2);
    lua_rawset(L, 1);
  });
}

/// Puts the kernels of the present state into the globals.
std::vector<Change> Session::show(const Snapshot& from) {
  std::vector<Change> out = differences(from, now());
  for (const Change& c : out) hold(c.global, c.after);
  return out;
}

std::vector<Change> Session::undo(int n) {
  const Snapshot from = now();
  history_.undo(n);
  return show(from);
}

std::vector<Change> Session::redo(int n) {
  const Snapshot from = now();
  history_.redo(n);
  return show(from);
}

void Session::make_branch(const std::string& name) { history_.make_branch(name); }

std::vector<Change> Session::switch_to(const std::string& name) {
  if (!history_.has_branch(name)) {
    std::vector<std::string> names = history_.branches();
    for (const auto& [kernel, k] : now().kernels) names.push_back(kernel);
    if (!now().kernels.count(name))
      fail("unknown-branch", {}, "no branch or kernel `{}`; there is {}{}", name,
           quoted_list(names), did_you_mean(name, names));
    history_.touch(name);
    return {};
  }
  const Snapshot from = now();
  history_.switch_to(name);
  return show(from);
}

// ---- Files --------------------------------------------------------------------------------------

Outcome Session::add_kernels(const std::vector<Kernel>& kernels,
                             const std::vector<Kernel>& originals, const std::string& line) {
  for (const Kernel& k : kernels) {
    Base base{k, k, {}};
    for (const Kernel& o : originals)
      if (o.name == k.name) base.original = o;
    bases_.insert(bases_.begin(), std::move(base));
  }
  Snapshot next = now();
  const Snapshot fresh = snapshot_of(kernels);
  for (const auto& [name, k] : fresh.kernels) next.kernels[name] = k;
  if (!kernels.empty()) next.current = fresh.current;
  Outcome out;
  const Snapshot from = now();
  commit(std::move(next), line, out);
  show(from);
  return out;
}

Outcome Session::open_script(const std::string& path) {
  std::string text;
  if (!read_whole(path, text)) fail("cannot-read", {}, "cannot read `{}`", path);
  const Source* source = add_source(path, std::move(text));
  const std::string before = state_->directory();
  const auto slash = path.rfind('/');
  state_->set_directory(
      slash == std::string::npos ? "" : path.substr(0, std::max<std::size_t>(slash, 1)));
  Outcome out = guarded(":open " + path, true, [&](lua_State* L) {
    state_->run_chunk(L, source, source->text);
    for (int i = lua_gettop(L); i >= 1; --i)
      if (const Kernel* k = lua::to_kernel(L, i)) {
        lua_pushglobaltable(L);
        lua::push_string(L, k->name);
        lua_pushvalue(L, i);
        lua_rawset(L, -3);
        lua_pop(L, 1);
      }
  });
  state_->set_directory(before);
  return out;
}

// ---- Replay -------------------------------------------------------------------------------------

/// The kernels that `k` may have been made from, the likeliest first.
std::vector<const Session::Base*> Session::bases_of(const Kernel& k) const {
  std::vector<const Base*> out;
  for (const Base& b : bases_)
    if (!b.first && continues(k, b.kernel)) out.push_back(&b);
  if (k.trace.empty()) return out;
  for (auto b = bases_.rbegin(); b != bases_.rend(); ++b)
    if (b->first && b->kernel.name == k.name && same_call(*b->first, k.trace.front()))
      out.push_back(&*b);
  return out;
}

Kernel Session::original_of(const Kernel& k) const {
  for (const Base* b : bases_of(k))
    if (k.trace.size() > b->kernel.trace.size() || b->kernel.instructions == k.instructions)
      return b->original;
  return k;
}

const Knobs& Session::knobs() const { return *state_->options().knobs; }

std::string Session::script_for(const Kernel& k) const {
  ScriptOptions options = state_->options();
  options.on_step = {};
  const auto gives_k = [&](const std::vector<Kernel>& made) {
    return std::any_of(made.begin(), made.end(),
                       [&](const Kernel& m) { return same_kernel(m, k); });
  };
  const auto parsed = [](const Kernel& start) {
    return "lp.parse([==[\n" + print_kernel(as_text(start)) + "]==])\n";
  };
  for (const Base* b : bases_of(k)) {
    const std::string steps = replay_script(k, b->kernel.trace.size());
    if (!b->first) {
      if (gives_k(run_transform_script(add_source("<saved>", steps), {b->kernel}, options)))
        return steps;
      continue;
    }
    const std::string name = lua_global(k.name);
    const std::string script = name + " = " + parsed(b->kernel) + steps + "return " + name + "\n";
    if (gives_k(run_kernel_script(add_source("<saved>", script), options))) return script;
  }
  if (!k.trace.empty())
    fail("cannot-replay", k.at, "what kernel `{}` was before its {} transforms is not known",
         k.name, k.trace.size());
  return "return " + parsed(k);
}

// ---- Completion ---------------------------------------------------------------------------------

Vocabulary Session::vocabulary() const {
  Vocabulary v;
  v.kernels = now().kernels;
  v.current = now().current;
  v.branches = history_.branches();
  state_->protect([&](lua_State* L) {
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING) continue;
      const std::string name = lua_tostring(L, -2);
      v.globals.push_back(name);
      if (!lua_istable(L, -1) || name == "_G" || name == "lp") continue;
      std::vector<std::string>& members = v.members[name];
      for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) members.emplace_back(lua_tostring(L, -2));
    }
  });
  v.members["lp"] = lua::module_names();
  for (const std::string& name : lua::op_names()) v.members["lp"].push_back(name);
  v.kernel_members = lua::kernel_names();
  return v;
}

}  // namespace moonloop
