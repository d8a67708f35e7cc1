#pragma once
#include <lua.hpp>
#include <new>
#include <optional>
#include <utility>

#include "core/base/memory.h"
#include "scripts/state.h"

/// C++ values as Lua's userdata.
namespace moonloop::lua {

/// The value goes when Lua collects the userdata. The userdata itself may be seen even after that:
/// a table with weak keys has it until the next collection, and the finalizer of a trusted script
/// may keep it.
template <class T>
struct Box {
  std::optional<T> value;
  std::int64_t outside = 0;  // bytes that it holds of C libraries, about
};

template <class T>
int collect_box(lua_State* L) {
  auto* box = static_cast<Box<T>*>(lua_touserdata(L, 1));
  box->value.reset();
  memory::note(-std::exchange(box->outside, 0));
  return 0;
}

constexpr std::int64_t kIslBytes = 1000;  // about the size of a set or a formula

/// Pushes a value under the metatable `type`, whose `__gc` has to be collect_box<T>.
template <class T>
void push_box(lua_State* L, const char* type, T value, std::int64_t outside = 0) {
  State::of(L).collect_garbage(L);
  memory::check();
  void* place = lua_newuserdatauv(L, sizeof(Box<T>), 0);
  new (place) Box<T>{std::move(value), outside};
  memory::note(outside);
  luaL_setmetatable(L, type);
}

/// Null when it is something else, or gone.
template <class T>
T* to_box(lua_State* L, int index, const char* type) {
  auto* box = static_cast<Box<T>*>(luaL_testudata(L, index, type));
  return box && box->value ? &*box->value : nullptr;
}

/// Raises a bad argument when it is something else, or gone.
template <class T>
T& check_box(lua_State* L, int index, const char* type) {
  auto* box = static_cast<Box<T>*>(luaL_checkudata(L, index, type));
  luaL_argcheck(L, box->value.has_value(), index, "it was collected already");
  return *box->value;
}

}  // namespace moonloop::lua
