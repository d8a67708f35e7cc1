local lp = require "moonloop"
local support = require "moonloop.support"
local divided = require "moonloop.divided_scan"

local in_order = divided.in_order

-- Reads what the instructions `uses` read of an array from local memory, where what they read has a
-- constant size; else, and where subscripts are not affine, it is read where it is.
local function fetched(knl, array, sweep, uses, tag)
  local known = {}
  for _, each in ipairs(knl.temporaries) do known[each.name] = true end
  local out = lp.attempt(lp.add_prefetch, knl, array, sweep,
                         {within = uses, temporary_address_space = "local", default_tag = tag})
  for _, each in ipairs(out and out.temporaries or {}) do
    for _, extent in ipairs(not known[each.name] and each.shape or {}) do
      if not extent:find "^%d+$" and not extent:find "^min" then return knl end
    end
  end
  return out or knl
end

-- Terms and results of the part `d` of a scan are in local memory while its work-items, whose
-- loops are those of `w`, use them, so that neighbouring ones read and write neighbouring elements.
local function staged(knl, d, w)
  local uses = ("id:%s or id:%s"):format(w.part, w.own_id)
  for _, array in ipairs(divided.arrays_in(divided.instruction(knl, w.part).rhs)) do
    knl = fetched(knl, array, {w.part_loop, w.terms, w.block, w.item, w.own}, uses, "l.auto")
  end
  for _, place in ipairs(divided.instruction(knl, d.id).lhs) do
    local results = place:match "^([%a_][%w_]*)%["
    if results then
      knl = lp.buffer_array(knl, results, {w.block, w.item},
                            {within = "id:" .. d.id, init_expression = false,
                             temporary_scope = "local", default_tag = "l.auto",
                             temporary_name = divided.fresh(knl, d.id .. "_results")})
    end
  end
  return knl
end

-- Each work-item of a group has `each` elements of a block: the sums of these are scanned in steps
-- by the group, and each work-item goes on from there through its own.
local function in_group(knl, d, each, tag, stages)
  local w
  knl, w = divided.divide(knl, d.own_id, d.item, d.own, each, "local", d.first)
  if stages then knl = staged(knl, d, w) end
  knl = lp.tag_inames(knl, {[w.start_loop] = tag})
  knl = in_order(knl, w.start, w.start_loop)
  knl = in_order(knl, w.own_id, w.item)
  return lp.tag_inames(knl, {[w.part_loop] = tag, [w.block] = tag})
end

-- The work-items of a group share the terms of a part: neighbouring ones neighbouring terms, or,
-- where the order counts, each `each` terms, which are read together before.
local function parts_in_group(knl, d, items, each, tag, stages)
  if d.own_id == d.id then return lp.split_iname(knl, d.terms, items, {inner_tag = tag}) end
  local item, own = divided.fresh(knl, d.terms .. "_outer"), divided.fresh(knl, d.terms .. "_inner")
  knl = lp.split_iname(knl, d.terms, each,
                       {outer_iname = item, inner_iname = own, outer_tag = tag})
  if not stages then return knl end
  for _, array in ipairs(divided.arrays_in(divided.instruction(knl, d.part).rhs)) do
    local known = support.iname_set(knl)
    knl = fetched(knl, array, {item, own}, "id:" .. d.part, false)
    for _, loop in ipairs(knl.inames) do
      if not known[loop] then  -- by the group's own work-items, whose loop a reduction has
        knl = lp.split_iname(knl, loop, items, {inner_tag = tag})
      end
    end
  end
  return knl
end

-- The parts of `d` from the last to the first, so that those that are read next are in a cache that
-- holds a part of the array. Where their number is no quotient of parameters, they stay as they are.
local function backwards(knl, d)
  local loop, array = d.part_loop, divided.instruction(knl, d.part).writes[1]
  local last = divided.fresh(knl, loop .. "_last")
  for _, each in ipairs(knl.temporaries) do
    if each.name == array and each.shape then
      local number = each.shape[#each.shape]:gsub("(%b()) // (%d+)", "floor(%1/%2)")
      local map = ("[%s] -> { [%s] -> [%s] : %s = %s - 1 - %s }"):format(
        table.concat(knl.params, ", "), loop, last, last, number, loop)
      local turned = lp.attempt(lp.map_domain, knl, map)
      if turned then return lp.rename_iname(turned, last, loop) end
    end
  end
  return knl
end

--- Computes the sums of all beginnings of an array with all groups of a device.
---
---     for i: y[i] = sum(j, x[j]) with j <= i    becomes    for blocks, in parallel: sum each block
---                                                          in one group: scan these sums
---                                                          for blocks, in parallel: scan each one,
---                                                            from the sum of those before
---
--- For sums, products, minima and maxima; `j < i`, without the iteration's own term, too. Each
--- block of `items*each` elements is read coalesced into local memory, scanned there by the
--- work-items of a group, and written coalesced: the array is read twice and written once. The one
--- group in between walks over 1024*`each` blocks at a time. Loops around stay around all phases.
---
--- So are reductions of two values: `y[i], <> seen = reduce(segmented(sum), j, x[j], begins[j])`
--- begins again where the flag is set, and `argmax` and `argmin` give a beginning's extremum.
---
--- An odd number for `each` keeps work-items out of each other's way in the banks of local memory,
--- of which a group has 2*`items*each` elements. For targets without groups: `scan_in_blocks`.
---
--- Refuses what `scan_in_blocks` refuses: instructions without exactly one reduction, and
--- reductions whose terms are not those of the iteration before and some more.
---
--- Source: Sengupta, Harris, Zhang, Owens, "Scan primitives for GPU computing" (2007).
---
--- @param id (string, required): the instruction
--- @param iname (string, required): the loop whose iterations have more and more terms
--- @option items (integer, default 256): work-items of a group, a power of two, 4 or more
--- @option each (integer, default 9): elements of each
--- @option start_items (integer, default 1024): work-items of the one group that scans the sums
--- @option group_tag (string, default "g.0"): tag of the loops over blocks
--- @option item_tag (string, default "l.0"): tag of the loops over work-items
--- @return kernel (kernel): the kernel in three phases
--- @example
---     kernel scan(n: int32, x: in float32[n], y: out float32[n])
---     domain {[i]: 0 <= i < n}
---     domain {[j]: 0 <= j <= i}
---     y[i] = sum(j, x[j])   {id=add}
---
---     local lib = require "moonloop.lib"
---     knl = lib.scan(knl, "add", "i")
local function scan(knl, id, iname, options)
  local insn = divided.checked("scan", knl, id, iname)
  options = support.options("scan", 4, options, "items, each, start_items, group_tag, item_tag")
  local items = support.integer("scan", 4, options.items or 256, 4)
  local each = support.integer("scan", 4, options.each or 9, 2)
  local tag, group = options.item_tag or "l.0", options.group_tag or "g.0"
  support.string("scan", 4, tag)
  support.string("scan", 4, group)
  local wide = support.integer("scan", 4, options.start_items or 1024, 4)

  local device, one
  knl, device = divided.divide(knl, id, iname, insn.reduction_inames[1], items*each, "global",
                               nil, {0, 1})
  knl, one = divided.divide(knl, device.start, device.start_loop, device.parts, wide*each,
                            "global")
  knl = in_group(knl, one, each, tag, false)
  knl = in_order(knl, one.start, one.start_loop)
  knl = in_group(knl, device, each, tag, true)
  knl = parts_in_group(knl, device, items, each, tag, true)
  knl = parts_in_group(knl, one, wide, each, tag, false)
  if device.part_loop then
    knl = backwards(knl, device)
    knl = lp.tag_inames(knl, {[device.part_loop] = group})
  end
  return lp.tag_inames(knl, {[device.block] = group})
end

return scan
