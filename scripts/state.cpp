#include "scripts/state.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace moonloop::lua {
namespace {

constexpr int kQuantum = 1000;  // instructions between two looks at the limits

State* volatile current = nullptr;

}  // namespace

/// Runs each second of CPU time. A library function that makes no progress, such as a pattern that
/// backtracks for ever, cannot be interrupted from within, so the process ends here. Only what is
/// safe in a signal handler is used: the script's thread stands still inside that function.
void on_tick(int) {
  State* s = current;
  if (!s || s->paused_ > 0 || s->beats_ != s->last_beats_) {
    if (s) s->last_beats_ = s->beats_;
    if (s) s->stuck_ticks_ = 0;
    return;
  }
  if (++s->stuck_ticks_ < s->options_.stuck_seconds) return;
  char text[1024];
  int used = 0;
  lua_Debug ar;
  for (int level = 0; used == 0 && lua_getstack(s->L_, level, &ar); ++level)
    if (lua_getinfo(s->L_, "Sl", &ar) && ar.currentline > 0)
      used = std::snprintf(text, sizeof text, "%s:%d: ", ar.short_src, ar.currentline);
  used += std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used),
                        "error: one call of a library function ran for more than %d s "
                        "[script-limit]\n",
                        s->options_.stuck_seconds);
  if (write(2, text, static_cast<std::size_t>(used)) < 0) _exit(1);
  _exit(1);
}

namespace {

/// Watches one run of a script.
class Watch {
 public:
  explicit Watch(State* s, bool on) : on_(on) {
    if (!on_) return;
    current = s;
    struct sigaction action {};
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGVTALRM, &action, &old_);
    const itimerval every{{1, 0}, {1, 0}};
    setitimer(ITIMER_VIRTUAL, &every, nullptr);
  }
  ~Watch() {
    if (!on_) return;
    const itimerval never{};
    setitimer(ITIMER_VIRTUAL, &never, nullptr);
    sigaction(SIGVTALRM, &old_, nullptr);
    current = nullptr;
  }

 private:
  bool on_;
  struct sigaction old_ {};
};

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
    : options_(options), directory_(std::move(directory)) {
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
    s.used_ -= old_size;
    return nullptr;
  }
  if (!s.options_.trust && new_size > old_size &&
      s.used_ - old_size + new_size + s.kernels_ > s.options_.memory) {
    if (s.L_) s.memory_at_ = where(s.L_);
    return nullptr;
  }
  void* out = std::realloc(block, new_size);
  ++s.beats_;  // few instructions can do much work, as long as it takes memory
  if (out) s.used_ += new_size - old_size;
  return out;
}

bool State::charge(std::size_t bytes) {
  if (!options_.trust && used_ + kernels_ + bytes > options_.memory) return false;
  kernels_ += bytes;
  return true;
}

bool State::wants_collection(std::size_t bytes) {
  const std::size_t after = kernels_ + bytes;
  if (after < collect_at_ && (options_.trust || used_ + after <= options_.memory)) return false;
  collect_at_ = 2 * after;
  return true;
}

void State::spend(lua_State* L, std::int64_t n) {
  if (options_.interrupted && options_.interrupted()) {
    lua_sethook(L, count_hook, LUA_MASKCOUNT, 1);  // no `pcall` keeps the script going
    push_error(L, {{{"interrupted", "interrupted", {}, {}, {}}}, false, true});
    lua_error(L);
  }
  if (options_.trust) return;
  spent_ += n;
  if (!exhausted_ && spent_ <= options_.instructions) return;
  exhausted_ = true;
  lua_sethook(L, count_hook, LUA_MASKCOUNT, 1);  // from now on no `pcall` gets any further
  push_error(L, {{{"script-limit",
                   fmt::format("the script ran more than {} instructions", options_.instructions),
                   {},
                   {},
                   "--trust takes the limit away"}},
                 false,
                 true});
  lua_error(L);
}

void State::count_hook(lua_State* L, lua_Debug*) {
  State& s = of(L);
  ++s.beats_;
  s.spend(L, kQuantum);
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
  const Watch watch(this, !options_.trust && options_.stuck_seconds > 0 && !current);
  if (!options_.trust || options_.interrupted) lua_sethook(L, count_hook, LUA_MASKCOUNT, kQuantum);
  lua_call(L, arguments, results);
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
  // Building the message allocates: give Lua room for it.
  lua_sethook(L_, nullptr, 0, 0);
  constexpr std::size_t kRoom = std::size_t{1} << 20;
  options_.memory += kRoom;
  std::vector<Diagnostic> all = diagnostics_of(L_, *this, status);
  const ErrorBox* box = to_error(L_, -1);
  const std::shared_ptr<const Clash> clash = box ? box->clash : nullptr;
  lua_settop(L_, 0);
  options_.memory -= kRoom;
  if (all.front().code == "script-memory") {
    Diagnostic& d = all.front();
    d.text = fmt::format("the script needs more than {} MiB of memory", options_.memory >> 20);
    d.hint = "--trust takes the limit away";
    if (!d.where.at) d.where.at = memory_at_;
  }
  if (all.front().code == "internal-error") throw InternalError(all.front().text);
  if (clash) throw ClashRefused(std::move(all), clash);
  throw Error(std::move(all));
}

}  // namespace moonloop::lua
