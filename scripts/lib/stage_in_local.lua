local lp = require "moonloop"
local support = require "moonloop.support"

--- Copies what a work-group reads of an array into local memory, spread over its work-items.
---
--- `add_prefetch` finds what is read while the swept loops run. Without `axes`, code generation
--- chooses the work-items' axes (`l.auto`). With `axes`, the loop of the copy along each axis of
--- the array gets that tag, `for` being none; `lengths` says how many work-items there are along
--- it, and a loop that may be longer is split, so that each work-item copies several elements.
---
--- Refuses what `add_prefetch` refuses; above all an array that is written between the copy and a
--- read.
---
--- @param array (string, required): the array, or some of its reads: `a`, `a$tag` or `a[i, :]`
--- @param sweep (names, required): the loops that are swept
--- @option axes (names): the tag of the copy's loop along each axis of the array: {"l.1", "l.0"}
--- @option lengths (integers): how many work-items each of `axes` has: {16, 16}
--- @option temporary_name (string, default <array>_fetch): the copy
--- @option fetch_bounding_box (boolean, default false): copies the box around what is read
--- @option fetch_outer_inames (names, default chosen): loops around the copy
--- @option within (match): which reads
--- @return kernel (kernel): the kernel with the copy
--- @example
---     kernel blur(n: int32, a: float64[n + 2, n + 2], c: float64[n, n])
---     domain {[i, j]: 0 <= i, j < n}
---     c[i, j] = a[i, j] + a[i + 2, j] + a[i, j + 2] + a[i + 2, j + 2]
---
---     local lib = require "moonloop.lib"
---     knl = lp.split_iname(knl, "i", 8, {outer_tag = "g.1", inner_tag = "l.1"})
---     knl = lp.split_iname(knl, "j", 32, {outer_tag = "g.0", inner_tag = "l.0"})
---     knl = lib.stage_in_local(knl, "a", "i_inner, j_inner",
---       {axes = {"l.1", "l.0"}, lengths = {8, 32}})
local function stage_in_local(knl, array, sweep, options)
  support.kernel("stage_in_local", knl)
  support.string("stage_in_local", 2, array)
  local known = "axes, fetch_bounding_box, fetch_outer_inames, lengths, temporary_name, within"
  options = support.options("stage_in_local", 4, options, known)
  local axes = options.axes and support.names("stage_in_local", 4, options.axes)
  local lengths = options.lengths or {}
  support.check(type(lengths) == "table", "stage_in_local", 4, "array of integers expected, got %s",
                type(lengths))
  support.check(axes or #lengths == 0, "stage_in_local", 4, "lengths need axes")
  for _, length in ipairs(lengths) do support.integer("stage_in_local", 4, length, 1) end

  local name, loops = array:match "^[%w_]+" or array, nil
  if axes then
    loops = {}
    for axis = 1, #axes do
      loops[axis] = support.fresh(knl, ("%s_dim_%d"):format(name, axis - 1))
    end
  end
  knl = lp.add_prefetch(knl, array, sweep, {
    dim_arg_names = loops,
    default_tag = axes and "for" or "l.auto",
    temporary_name = options.temporary_name,
    temporary_address_space = "local",
    fetch_bounding_box = options.fetch_bounding_box,
    fetch_outer_inames = options.fetch_outer_inames,
    within = options.within,
  })
  local there, tags = support.iname_set(knl), {}
  for axis, loop in ipairs(loops or {}) do
    if there[loop] and axes[axis] ~= "for" then  -- an axis of one element has no loop
      if lengths[axis] then knl, _, loop = support.split(knl, loop, lengths[axis]) end
      tags[loop] = axes[axis]
    end
  end
  if next(tags) then knl = lp.tag_inames(knl, tags) end
  return knl
end

return stage_in_local
