#include "scripts/state.h"
#include "transforms/registry.h"

/// The registry's rows as Lua functions.
namespace moonloop::lua {
namespace {

bool takes_table(Kind kind) {
  return kind == Kind::Tags || kind == Kind::Numbers || kind == Kind::Reals || kind == Kind::Any;
}
bool takes_list(Kind kind) {
  return takes_table(kind) || kind == Kind::Names || kind == Kind::IntPair;
}

/// Whether the last argument, a table, holds the options rather than the positional parameter
/// `slot` (null: none is left). A parameter that takes such a table itself gets it unless all its
/// keys are names of parameters.
bool is_options(const Op& row, const Param* slot, const Value& v) {
  if (const ValueDict* d = v.as<ValueDict>()) {
    if (!slot || !takes_table(slot->kind)) return true;
    for (const auto& [name, value] : *d) {
      bool known = false;
      for (const Param& p : row.params) known = known || p.name == name;
      if (!known) return false;
    }
    return true;
  }
  const ValueList* l = v.as<ValueList>();
  return l && l->empty() && !(slot && takes_list(slot->kind));
}

struct Arguments {
  ValueList positional;
  ValueDict options;
};

Arguments read_arguments(lua_State* L, const Op& op, const Span& at) {
  const Op* row = &op;
  if (!op.alias_of.empty() && op.params.empty()) row = find_op(op.alias_of);
  std::vector<const Param*> slots;
  for (const Param& p : row->params)
    if (p.positional) slots.push_back(&p);

  Arguments out;
  int last = lua_gettop(L);
  while (last > 1 && lua_isnil(L, last)) --last;
  for (int i = 2; i <= last; ++i) {
    Value v;
    try {
      v = to_value(L, i);
    } catch (const Error& e) { throw BadArgument(i, op.name, e.what(), at); }
    const std::size_t position = static_cast<std::size_t>(i) - 2;
    const Param* slot = position < slots.size() ? slots[position] : nullptr;
    if (i == last && is_options(*row, slot, v)) {
      if (ValueDict* d = std::get_if<ValueDict>(&v.v)) out.options = std::move(*d);
    } else {
      out.positional.push_back(std::move(v));
    }
  }
  return out;
}

bool called_as_method(lua_State* L) {
  lua_Debug ar;
  return lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) &&
         std::string_view(ar.namewhat) == "method";
}

/// The price of a transform, in instructions of the virtual machine: a loop over transforms ends
/// at the limit as well.
std::int64_t price(const Kernel& k) {
  constexpr std::int64_t kCall = 20'000, kInstruction = 100;
  return kCall + kInstruction * static_cast<std::int64_t>(k.instructions.size());
}

int call_op(lua_State* L, State& s) {
  const Op& op = *static_cast<const Op*>(lua_touserdata(L, lua_upvalueindex(1)));
  const Kernel& k = check_kernel(L, 1);
  s.spend(L, price(k));
  const Span at = where(L, 0, op.name);
  Step step{op.name, {}, {}, at};
  const auto& on_step = s.options().on_step;
  const auto tell = [&](const Diagnostic* refusal) {
    if (on_step) on_step({k, step, refusal});
  };
  const State::Pause pause(s);
  try {
    Arguments args = read_arguments(L, op, at);
    step.positional = args.positional;
    step.options = args.options;
    const Op* row = op.run || op.query ? &op : find_op(op.alias_of);
    if (row && row->query) {
      const Value v = run_query(op, k, args.positional, args.options, at);
      push_value(L, v);
      return 1;
    }
    Kernel out = run_op(op, k, std::move(args.positional), std::move(args.options), at);
    tell(nullptr);
    push_kernel(L, std::move(out));
    return 1;
  } catch (const BadArgument& e) {
    if (!called_as_method(L)) {
      tell(&e.diagnostic());
      throw;
    }
    const BadArgument method(e.number - 1, e.function, e.reason, at);  // does not count its object
    tell(&method.diagnostic());
    throw method;
  } catch (const Error& e) {
    tell(&e.diagnostic());
    throw;
  }
}

}  // namespace

bool push_op(lua_State* L, std::string_view name) {
  const Op* op = find_op(name);
  if (!op) return false;
  lua_pushlightuserdata(L, const_cast<Op*>(op));
  lua_pushcclosure(L, guarded<call_op>, 1);
  return true;
}

std::vector<std::string> op_names() {
  std::vector<std::string> out;
  for (const Op* op : all_ops()) out.push_back(op->name);
  return out;
}

}  // namespace moonloop::lua
