#include <cstdio>
#include <iostream>
#include <string>

#include "scripts/state.h"

/// The interactive loop: an expression prints its values, an unfinished statement asks for more, an
/// error is reported and the loop goes on.
namespace moonloop {
namespace {

using lua::State;

enum class Syntax { Expression, Statement, Unfinished };

bool compiles(lua_State* L, const std::string& code) {
  const bool ok = luaL_loadbufferx(L, code.data(), code.size(), "=repl", "t") == LUA_OK;
  if (ok) lua_pop(L, 1);
  return ok;
}

/// Bad syntax counts as a statement: running it reports it.
Syntax classify(lua_State* L, const std::string& code) {
  if (compiles(L, "return " + code)) return Syntax::Expression;
  lua_pop(L, 1);
  if (compiles(L, code)) return Syntax::Statement;
  const std::string message = lua_tostring(L, -1);
  lua_pop(L, 1);
  return message.ends_with("<eof>") ? Syntax::Unfinished : Syntax::Statement;
}

void print_results(lua_State* L) {
  const int n = lua_gettop(L);
  if (n == 0) return;
  luaL_checkstack(L, 2, nullptr);
  lua_getglobal(L, "print");
  lua_insert(L, 1);
  lua_call(L, n, 0);
}

}  // namespace

void run_repl(const std::vector<Kernel>& kernels, const ScriptOptions& options, bool prompt,
              const std::function<void(const Error&)>& report) {
  State state(options, options.directory);
  state.protect([&](lua_State* L) {
    for (const Kernel& k : kernels) {
      lua::push_kernel(L, k);
      lua_setglobal(L, k.name.c_str());
    }
  });
  std::string code, line;
  const auto ask = [&] {
    if (prompt) std::fputs(code.empty() ? "> " : ">> ", stdout), std::fflush(stdout);
    return static_cast<bool>(std::getline(std::cin, line));
  };
  while (ask()) {
    code += (code.empty() ? "" : "\n") + line;
    try {
      bool done = true;
      state.protect([&](lua_State* L) {
        const Syntax syntax = classify(L, code);
        done = syntax != Syntax::Unfinished;
        if (!done) return;
        const Source* source = add_source("<repl>", code);
        state.run_chunk(L, source, syntax == Syntax::Expression ? "return " + code : code);
        print_results(L);
      });
      if (!done) continue;
    } catch (const Error& e) { report(e); }
    code.clear();
  }
  if (!code.empty()) {
    const Source* source = add_source("<repl>", code);
    try {
      state.protect([&](lua_State* L) { state.run_chunk(L, source, code); });
    } catch (const Error& e) { report(e); }
  }
  if (prompt) std::fputs("\n", stdout);
}

}  // namespace moonloop
