#include "scripts/state.h"

#include <cstdlib>
#include <new>

#include "core/base/memory.h"

namespace moonloop::lua {
namespace {

constexpr int kQuantum = 100;            // instructions between two looks at the limits
constexpr std::int64_t kCall = 4;        // instructions that a call costs
constexpr std::size_t kBytes = 16;       // of memory that cost as much as an instruction
constexpr std::int64_t kRoom = 1 << 20;  // bytes for the last message

ScriptOptions with_own(ScriptOptions o) {
  if (!o.account) o.account = std::make_shared<Account>(o);
  if (!o.knobs) o.knobs = std::make_shared<Knobs>();
  return o;
}

/// The name that Lua's messages show for chunk `@name` (luaO_chunkid).
std::string short_name(const std::string& name) {
  if (name.size() + 1 <= LUA_IDSIZE) return name;
  constexpr std::size_t kTail = LUA_IDSIZE - 3 - 1;
  return "..." + name.substr(name.size() - kTail);
}

struct Call {
  void (*f)(lua_State*, void*);
  void* data;
};

int trampoline(lua_State* L, State&) {
  const Call& call = *static_cast<Call*>(lua_touserdata(L, 1));
  lua_settop(L, 0);
  call.f(L, call.data);
  return 0;
}

}  // namespace

State::State(const ScriptOptions& options, std::string directory)
    : options_(with_own(options)), nested_(account()), directory_(std::move(directory)) {
  L_ = lua_newstate(allocate, this);
  if (!L_) throw std::bad_alloc();
  *static_cast<State**>(lua_getextraspace(L_)) = this;
  try {
    protect([&](lua_State* L) {
      install_error_type(L);
      open_libraries(L, options_.trust);
      install_kernel_type(L);
      install_count_types(L);
      install_module(L, options_);
    });
  } catch (...) {
    lua_close(L_);
    throw;
  }
}

State::~State() { lua_close(L_); }

void* State::allocate(void* state, void* block, std::size_t old_size, std::size_t new_size) {
  State& s = *static_cast<State*>(state);
  if (!block) old_size = 0;  // then it is a type, not a size
  if (new_size == 0) {
    std::free(block);
    memory::note(-static_cast<std::int64_t>(old_size));
    return nullptr;
  }
  const auto more = static_cast<std::int64_t>(new_size) - static_cast<std::int64_t>(old_size);
  if (!s.options_.trust && more > 0) {
    if (more > s.account().most_held() + s.room_ - memory::held()) {
      const memory::Unlimited within_lua;
      if (s.L_) s.memory_at_ = where(s.L_);
      return nullptr;
    }
    s.work_ += more / static_cast<std::int64_t>(kBytes);
  }
  void* out = std::realloc(block, new_size);
  if (out) memory::note(more);
  return out;
}

void State::collect_garbage(lua_State* L) {
  if (!account().wants_collection()) return;
  lua_gc(L, LUA_GCCOLLECT);
  account().collected();
}

void State::spend(lua_State* L, std::int64_t n) {
  const bool interrupted = options_.interrupted && options_.interrupted();
  if (!interrupted && (options_.trust || account().spend(n + std::exchange(work_, 0)))) return;
  const memory::Unlimited small;
  Diagnostic d{"interrupted", "interrupted", {}, {}, {}};
  if (!interrupted) d = {"script-limit", account().why(), {}, {}, "--trust takes the limit away"};
  ended_ = true;
  set_hook(L, 1);  // from now on no `pcall` gets any further
  push_error(L, {{std::move(d)}, false, true});
  lua_error(L);
}

void State::hook(lua_State* L, lua_Debug* ar) {
  State& s = of(L);
  s.spend(L, ar->event == LUA_HOOKCOUNT ? kQuantum : kCall);
  s.collect_garbage(L);
}

void State::set_hook(lua_State* L, int quantum) {
  lua_sethook(L, hook, LUA_MASKCOUNT | LUA_MASKCALL, quantum);
}

void State::add_chunk(const Source* source) {
  chunks_["@" + source->name] = source;
  chunks_[short_name(source->name)] = source;
}

const Source* State::find_chunk(const std::string& name) const {
  const auto it = chunks_.find(name);
  return it == chunks_.end() ? nullptr : it->second;
}

void State::run_chunk(lua_State* L, const Source* source, std::string_view code) {
  add_chunk(source);
  std::string text(code);
  if (text.rfind('#', 0) == 0) text.insert(0, "--");  // `#!` line
  if (luaL_loadbufferx(L, text.data(), text.size(), ("@" + source->name).c_str(), "t") != LUA_OK) {
    Diagnostic d = diagnostics_of(L, *this, LUA_ERRSYNTAX).front();
    d.code = "script-syntax";
    throw Error(std::move(d));
  }
  call(L, 0, LUA_MULTRET);
}

void State::call(lua_State* L, int arguments, int results) {
  const memory::Limit limit(options_.trust ? memory::kNoLimit : account().most_held());
  if (!options_.trust || options_.interrupted) set_hook(L, kQuantum);
  lua_call(L, arguments, results);
  if (ended_) spend(L, 0);  // the script's last act was to catch the error
  lua_sethook(L, nullptr, 0, 0);
}

void State::protect_raw(void (*f)(lua_State*, void*), void* data) {
  Call call{f, data};
  lua_pushcfunction(L_, message_handler);
  lua_pushcfunction(L_, guarded<trampoline>);
  lua_pushlightuserdata(L_, &call);
  const int status = lua_pcall(L_, 1, 0, -3);
  if (status != LUA_OK) throw_top(status);
  lua_pop(L_, 1);
}

void State::throw_top(int status) {
  lua_sethook(L_, nullptr, 0, 0);  // the limit that ended the script does not end later code
  room_ = kRoom;
  std::vector<Diagnostic> all = diagnostics_of(L_, *this, status);
  const ErrorBox* box = to_error(L_, -1);
  const std::shared_ptr<const Counterexample> counterexample = box ? box->counterexample : nullptr;
  const bool refused = box && box->refused;
  lua_settop(L_, 0);
  room_ = 0;
  if (all.front().code == "script-memory") {
    Diagnostic& d = all.front();
    d.text = fmt::format("the script needs more than {} MiB of memory", options_.memory >> 20);
    d.hint = "--trust takes the limit away";
    if (!d.where.at) d.where.at = memory_at_;
  }
  if (all.front().code == "internal-error") throw InternalError(all.front().text);
  if (counterexample) throw RefusedByCounterexample(std::move(all), counterexample);
  if (refused) throw Refused(std::move(all));
  throw Error(std::move(all));
}

}  // namespace moonloop::lua
