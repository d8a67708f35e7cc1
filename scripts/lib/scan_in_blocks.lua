local lp = require "moonloop"
local support = require "moonloop.support"

-- The instruction with that id.
local function instruction(knl, id)
  for _, each in ipairs(knl.instructions) do
    if each.id == id then return each end
  end
end

-- `base`, or the first of base_0, base_1, ... that neither a name nor an instruction has.
local function fresh(knl, base)
  local ids, name, n = {}, support.fresh(knl, base), 0
  for _, id in ipairs(knl.ids) do ids[id] = true end
  while ids[name] do name, n = support.fresh(knl, base .. "_" .. n), n + 1 end
  return name
end

-- The reduction over `iname` in a text, such as `sum(j, x[j])` or `reduce(max, j, x[j])`.
local function reduction_text(text, iname)
  local open = text:find("%(" .. iname .. ", ") or text:find("%(%w+, " .. iname .. ", ")
  return text:sub(1, open - 1):match "[%w_]+$" .. text:match("^%b()", open)
end

--- Computes the sums of all beginnings of an array in three phases, two of them in parallel.
---
---     for i: y[i] = sum(j, x[j]) with j <= i    becomes    for blocks, in parallel: sum each block
---                                                          for blocks: add up the sums before it
---                                                          for blocks, in parallel: for i in it:
---                                                            y[i] is these and what comes before i
---
--- For other operations than sums too. Loops around stay around all three phases.
---
--- Refuses instructions without exactly one reduction, or with one of two values, and reductions
--- whose terms are not those of the iteration before and some more, or do not begin at 0 and end
--- with the iteration's own number, or one that is a fixed distance away.
---
--- @param id (string, required): the instruction
--- @param iname (string, required): the loop whose iterations have more and more terms
--- @option size (integer, default 1024, for `g.N` 128): iterations of a block
--- @option tag (string, default "par"): tag of the loops over blocks; with `g.0`, work-items along
---   `l.0` have a part of each block
--- @return kernel (kernel): the kernel with blocks
--- @example
---     kernel scan(n: int32, x: float64[n], y: float64[n])
---     domain {[i]: 0 <= i < n}
---     domain {[j]: 0 <= j <= i}
---     y[i] = sum(j, x[j])   {id=add}
---
---     local lib = require "moonloop.lib"
---     knl = lib.scan_in_blocks(knl, "add", "i")
local function scan_in_blocks(knl, id, iname, options)
  support.kernel("scan_in_blocks", knl)
  support.string("scan_in_blocks", 2, id)
  local insn = instruction(knl, id)
  support.check(insn, "scan_in_blocks", 2, "kernel '%s' has no instruction '%s'", knl.name, id)
  support.check(#insn.reduction_inames == 1, "scan_in_blocks", 2,
                "instruction '%s' has reductions over %d inames, not one", id,
                #insn.reduction_inames)
  support.iname("scan_in_blocks", 3, knl, iname)
  options = support.options("scan_in_blocks", 4, options, "size, tag")
  local tag = options.tag or "par"
  support.string("scan_in_blocks", 4, tag)
  local device = tag:find "^g%." ~= nil
  local size = support.integer("scan_in_blocks", 4, options.size or device and 128 or 1024, 1)
  local within, memory = "id:" .. id, device and "global" or "auto"

  local before, own = insn.reduction_inames[1], nil
  local block, item = fresh(knl, iname .. "_block"), fresh(knl, iname .. "_item")
  knl = lp.split_iname(knl, iname, size, {outer_iname = block, inner_iname = item})

  -- The terms of the blocks before, and those of the block itself.
  local known = support.iname_set(knl)
  own = fresh(knl, before .. "_own")
  knl = lp.split_reduction_at(knl, before, ("%d*%s"):format(size, block), {from_iname = own})
  for _, each in ipairs(knl.inames) do
    if not known[each] and each ~= own then before = each end
  end
  local blocks, terms = fresh(knl, before .. "_block"), fresh(knl, before .. "_item")
  knl = lp.split_iname(knl, before, size, {outer_iname = blocks, inner_iname = terms})
  knl = lp.split_reduction_inward(knl, terms, within)

  local part, parts, part_loop = fresh(knl, id .. "_part"), fresh(knl, id .. "_parts"),
                                 fresh(knl, iname .. "_part")
  knl = lp.reduction_arg_to_subst_rule(knl, blocks, within, {subst_rule_name = part})
  knl = lp.precompute(knl, part, {block, item, blocks},
                      {temporary_name = parts, precompute_inames = {part_loop}, default_tag = false,
                       temporary_address_space = memory, compute_insn_id = part})

  local start, starts, start_loop = fresh(knl, id .. "_start"), fresh(knl, id .. "_starts"),
                                    fresh(knl, iname .. "_start")
  knl = lp.extract_subst(knl, start, reduction_text(instruction(knl, id).rhs, blocks), {},
                         within)
  knl = lp.precompute(knl, start, {block, item},
                      {temporary_name = starts, precompute_inames = {start_loop},
                       default_tag = false, temporary_address_space = memory,
                       compute_insn_id = start})
  if device then
    knl = lp.split_iname(knl, start_loop, size, {inner_tag = "l.0"})
    knl = lp.tag_inames(knl, {[item] = "l.0"})
  end
  knl = lp.realize_reduction(knl, "id:" .. start, {force_scan = true})
  knl = lp.realize_reduction(knl, within,
                             {force_scan = true, force_outer_iname_for_scan = item})
  knl = lp.tag_inames(knl, {[block] = tag})
  if support.iname_set(knl)[part_loop] then  -- else there is one block before at most
    knl = lp.tag_inames(knl, {[part_loop] = tag})
  end
  return lp.tag_inames(knl, {[terms] = device and "l.0" or "simd"})
end

return scan_in_blocks
