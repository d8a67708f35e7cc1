#pragma once
#include "core/model/kernel.h"

namespace moonloop {

/// Determines the type of every argument and temporary without one, by data flow from the writers
/// (the rules are in core/infer/typing.h). Also accepts kernels with rules and reductions. Fails
/// `unknown-type` (lists what could not be determined), `type-mismatch`, `bad-operand`,
/// `unknown-function`, `unknown-name`.
Kernel infer_types(Kernel k);

/// The type of `e` in `k`, whose variables all have types. `wanted` is the type of the context, to
/// which unsized literals adapt.
Type type_of(const Kernel& k, const Expr& e, const std::optional<Type>& wanted = {});

/// Determines shapes of arrays that have none, from the exact access footprint (at least covering
/// all accesses from index 0; over parameters, minimal). Fails `unknown-shape` (an unbounded or
/// non-affine footprint), `negative-index`, `rank-mismatch` among the uses.
Kernel infer_shapes(Kernel k);

/// Which way each argument goes, from the accesses; a contradiction to a declared intent fails
/// `wrong-intent`. In declared order.
std::vector<Intent> intents(const Kernel& k);
/// The errors of `intents`: declarations that contradict the accesses.
void check_intents(const Kernel& k);

/// Functions of the kernel language: result type for given argument types; nothing if unknown.
/// `abs`, `min`, `max`, `sqrt`, `fmin`, `pow`, …
std::optional<Type> function_type(const std::string& name, const std::vector<Type>& args);
std::vector<std::string> function_names();

}  // namespace moonloop
