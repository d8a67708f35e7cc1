#include <algorithm>
#include <cmath>
#include <cstring>

#include "scripts/state.h"

/// Functions of Lua's libraries for scripts that are not trusted. Lua's own ones loop as often as
/// their arguments say, and nothing ends a loop in C; these count each round. They do the same and
/// fail with the same messages. Objects get no finalizers: Lua runs those with its hooks off, and
/// some after the script's end.
namespace moonloop::lua {
namespace {

/// Counts the rounds of a loop.
class Rounds {
 public:
  Rounds(lua_State* L, State& s) : L_(L), s_(s) {}
  void operator()() {
    if (++n_ < kMany) return;
    s_.spend(L_, n_);
    n_ = 0;
  }

 private:
  static constexpr std::int64_t kMany = 1000;
  lua_State* L_;
  State& s_;
  std::int64_t n_ = 0;
};

// ---- Tables -------------------------------------------------------------------------------------

/// A table, or a value with the metamethods to be used as one.
void check_table(lua_State* L, int index, std::initializer_list<const char*> needs) {
  if (lua_istable(L, index)) return;
  for (const char* metamethod : needs) {
    if (luaL_getmetafield(L, index, metamethod) == LUA_TNIL) luaL_checktype(L, index, LUA_TTABLE);
    lua_pop(L, 1);
  }
}

int table_insert(lua_State* L, State& s) {
  check_table(L, 1, {"__index", "__newindex", "__len"});
  const int given = lua_gettop(L);
  const auto end = static_cast<lua_Integer>(static_cast<lua_Unsigned>(luaL_len(L, 1)) + 1);
  lua_Integer at = end;
  if (given == 3) {
    at = luaL_checkinteger(L, 2);
    luaL_argcheck(L, static_cast<lua_Unsigned>(at) - 1 < static_cast<lua_Unsigned>(end), 2,
                  "position out of bounds");
    Rounds round(L, s);
    for (lua_Integer i = end; i > at; --i) {
      round();
      lua_geti(L, 1, i - 1);
      lua_seti(L, 1, i);
    }
  } else if (given != 2) {
    return luaL_error(L, "wrong number of arguments to 'insert'");
  }
  lua_settop(L, given);
  lua_seti(L, 1, at);
  return 0;
}

int table_remove(lua_State* L, State& s) {
  check_table(L, 1, {"__index", "__newindex", "__len"});
  const lua_Integer size = luaL_len(L, 1);
  lua_Integer at = luaL_optinteger(L, 2, size);
  if (at != size)
    luaL_argcheck(L, static_cast<lua_Unsigned>(at) - 1 <= static_cast<lua_Unsigned>(size), 2,
                  "position out of bounds");
  lua_geti(L, 1, at);
  Rounds round(L, s);
  for (; at < size; ++at) {
    round();
    lua_geti(L, 1, at + 1);
    lua_seti(L, 1, at);
  }
  lua_pushnil(L);
  lua_seti(L, 1, at);
  return 1;
}

int table_move(lua_State* L, State& s) {
  const lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3),
                    at = luaL_checkinteger(L, 4);
  const int target = lua_isnoneornil(L, 5) ? 1 : 5;
  check_table(L, 1, {"__index"});
  check_table(L, target, {"__newindex"});
  if (to >= from) {
    luaL_argcheck(L, from > 0 || to < LUA_MAXINTEGER + from, 3, "too many elements to move");
    luaL_argcheck(L, at <= LUA_MAXINTEGER - (to - from), 4, "destination wrap around");
    const bool apart = at > to || at <= from || (target != 1 && !lua_compare(L, 1, 5, LUA_OPEQ));
    const lua_Integer last = to - from;
    Rounds round(L, s);
    for (lua_Integer i = 0; i <= last; ++i) {
      round();
      const lua_Integer each = apart ? i : last - i;
      lua_geti(L, 1, from + each);
      lua_seti(L, target, at + each);
    }
  }
  lua_pushvalue(L, target);
  return 1;
}

int table_concat(lua_State* L, State& s) {
  check_table(L, 1, {"__index", "__len"});
  const lua_Integer size = luaL_len(L, 1);
  std::size_t between_size = 0;
  const char* between = luaL_optlstring(L, 2, "", &between_size);
  const lua_Integer from = luaL_optinteger(L, 3, 1), to = luaL_optinteger(L, 4, size);
  std::string out;
  Rounds round(L, s);
  for (lua_Integer i = from; i <= to; ++i) {
    round();
    lua_geti(L, 1, i);
    if (!lua_isstring(L, -1))
      return luaL_error(L, "invalid value (%s) at index %I in table for 'concat'",
                        luaL_typename(L, -1), static_cast<LUAI_UACINT>(i));
    std::size_t length = 0;
    const char* text = lua_tolstring(L, -1, &length);
    out.append(text, length);
    lua_pop(L, 1);
    if (i == to) break;  // the next may not be an integer
    out.append(between, between_size);
  }
  push_string(L, out);
  return 1;
}

/// `table.sort`, which is Lua's own: its cost follows from the length.
int table_sort(lua_State* L, State& s) {
  check_table(L, 1, {"__index", "__newindex", "__len"});
  const auto n = static_cast<double>(std::max<lua_Integer>(luaL_len(L, 1), 1));
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  s.spend(L, static_cast<std::int64_t>(2 * n * std::log2(n + 1)));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 0);
  return 0;
}

// ---- Strings ------------------------------------------------------------------------------------

int string_rep(lua_State* L, State&) {
  std::size_t size = 0, between_size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  const lua_Integer n = luaL_checkinteger(L, 2);
  const char* between = luaL_optlstring(L, 3, "", &between_size);
  std::size_t all = 0;
  if (n <= 0 || size + between_size == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  if (__builtin_mul_overflow(size + between_size, static_cast<std::size_t>(n), &all) ||
      all > static_cast<std::size_t>(LUA_MAXINTEGER))
    return luaL_error(L, "resulting string too large");
  all -= between_size;
  luaL_Buffer buffer;
  char* out = luaL_buffinitsize(L, &buffer, all);
  std::size_t done = std::min(size + between_size, all);
  std::memcpy(out, text, size);
  std::memcpy(out + size, between, done - size);
  for (; done < all;) {  // it holds a whole number of rounds
    const std::size_t more = std::min(done, all - done);
    std::memcpy(out + done, out, more);
    done += more;
  }
  luaL_pushresultsize(&buffer, all);
  return 1;
}

// ---- The rest -----------------------------------------------------------------------------------

int set_metatable(lua_State* L, State&) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argexpected(L, lua_istable(L, 2) || lua_type(L, 2) == LUA_TNIL, 2, "nil or table");
  if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
    return luaL_error(L, "cannot change a protected metatable");
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) != LUA_TNIL) needs_trust(L, "a finalizer (`__gc`)");
  }
  lua_settop(L, 2);
  lua_setmetatable(L, 1);
  return 1;
}

int collect_garbage_function(lua_State* L, State& s) {
  const std::string_view what = luaL_optstring(L, 1, "collect");
  if (what == "collect" || what == "step") {
    constexpr std::int64_t kBytes = 64;  // that cost as much as an instruction
    s.spend(L, s.account().used() / kBytes);
    lua_gc(L, LUA_GCCOLLECT);
    if (what == "step")
      lua_pushboolean(L, 1);
    else
      lua_pushinteger(L, 0);
    return 1;
  }
  if (what == "incremental" || what == "generational" || what == "setpause" || what == "setstepmul")
    needs_trust(L, fmt::format("collectgarbage(\"{}\")", what));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/// The input of `load`: a string, or the strings that a function returns.
struct Pieces {
  State& s;
  bool given = false;
};

const char* next_piece(lua_State* L, void* data, std::size_t* size) {
  Pieces& pieces = *static_cast<Pieces*>(data);
  constexpr int kPlace = 5;  // where a string is kept while Lua reads it
  if (lua_type(L, 1) == LUA_TSTRING) {
    if (std::exchange(pieces.given, true)) return nullptr;
    lua_pushvalue(L, 1);
  } else {
    luaL_checkstack(L, 2, "too many nested functions");
    lua_pushvalue(L, 1);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      return nullptr;
    }
    if (!lua_isstring(L, -1)) luaL_error(L, "reader function must return a string");
  }
  lua_replace(L, kPlace);
  const char* text = lua_tolstring(L, kPlace, size);
  pieces.s.spend(L, kCompile * static_cast<std::int64_t>(*size));
  return text;
}

/// `load` for text only.
int load_text(lua_State* L, State& s) {
  const bool environment = lua_gettop(L) >= 4;
  const bool string = lua_isstring(L, 1) != 0;
  if (string)
    lua_tostring(L, 1);  // a number as text
  else
    luaL_checktype(L, 1, LUA_TFUNCTION);
  const char* name = luaL_optstring(L, 2, string ? lua_tostring(L, 1) : "=(load)");
  lua_settop(L, 5);
  Pieces pieces{s};
  const int status = lua_load(L, next_piece, &pieces, name, "t");
  if (status == LUA_OK) {
    if (environment) {
      lua_pushvalue(L, 4);
      if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
    }
    return 1;
  }
  if (s.ended()) lua_error(L);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/// `write` of the io library and of files: the bytes are counted.
int write_function(lua_State* L, State& s) {
  constexpr std::int64_t kBytes = 16;  // that cost as much as an instruction
  std::int64_t bytes = 0;
  for (int i = 1; i <= lua_gettop(L); ++i)
    if (lua_type(L, i) == LUA_TSTRING) bytes += static_cast<std::int64_t>(lua_rawlen(L, i));
  s.spend(L, bytes / kBytes);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/// The function of `coroutine.wrap`, whose upvalue is the coroutine. Lua's own one closes the
/// variables of a coroutine that failed, also after a limit ended it, when its hooks are off.
int resume_wrapped(lua_State* L, State& s) {
  lua_State* co = lua_tothread(L, lua_upvalueindex(1));
  const int arguments = lua_gettop(L);
  if (!lua_checkstack(co, arguments)) return luaL_error(L, "too many arguments to resume");
  lua_xmove(L, co, arguments);
  int results = 0;
  const int status = lua_resume(co, L, arguments, &results);
  if (status == LUA_OK || status == LUA_YIELD) {
    if (!lua_checkstack(L, results + 1)) {
      lua_pop(co, results);
      return luaL_error(L, "too many results to resume");
    }
    lua_xmove(co, L, results);
    return results;
  }
  const bool failed = lua_status(co) != LUA_OK && lua_status(co) != LUA_YIELD;
  if (failed && !s.ended()) lua_resetthread(co);
  lua_xmove(co, L, 1);
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

int wrap_coroutine(lua_State* L, State&) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State* co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, guarded<resume_wrapped>, 1);
  return 1;
}

void set_fields(lua_State* L, const char* library, std::initializer_list<luaL_Reg> functions) {
  lua_getglobal(L, library);
  for (const luaL_Reg& f : functions) {
    lua_pushcfunction(L, f.func);
    lua_setfield(L, -2, f.name);
  }
  lua_pop(L, 1);
}

}  // namespace

void limit_libraries(lua_State* L) {
  set_fields(L, LUA_TABLIBNAME,
             {{"concat", guarded<table_concat>},
              {"insert", guarded<table_insert>},
              {"move", guarded<table_move>},
              {"remove", guarded<table_remove>}});
  wrap(L, LUA_TABLIBNAME, "sort", guarded<table_sort>);
  set_fields(L, LUA_STRLIBNAME, {{"rep", guarded<string_rep>}});
  set_fields(L, LUA_COLIBNAME, {{"wrap", guarded<wrap_coroutine>}});
  set_fields(L, LUA_GNAME,
             {{"load", guarded<load_text>}, {"setmetatable", guarded<set_metatable>}});
  wrap(L, LUA_GNAME, "collectgarbage", guarded<collect_garbage_function>);
  wrap(L, LUA_IOLIBNAME, "write", guarded<write_function>);

  luaL_getmetatable(L, LUA_FILEHANDLE);  // open to scripts, it would give them finalizers
  lua_pushliteral(L, "file");
  lua_setfield(L, -2, "__metatable");
  lua_getfield(L, -1, "__index");
  lua_getfield(L, -1, "write");
  lua_pushcclosure(L, guarded<write_function>, 1);
  lua_setfield(L, -2, "write");
  lua_pop(L, 2);
}

}  // namespace moonloop::lua
