-- Scans divided into blocks. For other files of the library alone.
local lp = require "moonloop"
local support = require "moonloop.support"
local divided = {}

-- The instruction with that id.
function divided.instruction(knl, id)
  for _, each in ipairs(knl.instructions) do
    if each.id == id then return each end
  end
end

-- `base`, or the first of base_0, base_1, ... that neither a name nor an instruction has.
function divided.fresh(knl, base)
  local ids, name, n = {}, support.fresh(knl, base), 0
  for _, id in ipairs(knl.ids) do ids[id] = true end
  while ids[name] do name, n = support.fresh(knl, base .. "_" .. n), n + 1 end
  return name
end
local fresh = divided.fresh

-- The iterations of that loop add their terms to what the one before had. Where these are the same,
-- as in blocks of two of which the first has none, there is nothing to add.
function divided.in_order(knl, id, iname)
  local within = "id:" .. id
  local options = {force_scan = true, force_outer_iname_for_scan = iname}
  local out, refusal = lp.attempt(lp.realize_reduction, knl, within, options)
  if out then return out end
  if refusal.code == "no-reduction" then return knl end
  return lp.realize_reduction(knl, within, options)  -- refused, with its place
end

-- The reduction over `iname` in a text, such as `sum(j, x[j])` or `reduce(max, j, x[j])`.
local function reduction_text(text, iname)
  local open = text:find("%(" .. iname .. ", ") or text:find("%(%w+, " .. iname .. ", ")
  return text:sub(1, open - 1):match "[%w_]+$" .. text:match("^%b()", open)
end

-- The instruction with that id, after checks of the arguments of `name`, a function of the library.
function divided.checked(name, knl, id, iname)
  support.kernel(name, knl)
  support.string(name, 2, id)
  local insn = divided.instruction(knl, id)
  support.check(insn, name, 2, "kernel '%s' has no instruction '%s'", knl.name, id)
  support.check(#insn.reduction_inames == 1, name, 2,
                "instruction '%s' has reductions over %d inames, not one", id,
                #insn.reduction_inames)
  support.iname(name, 3, knl, iname)
  return insn
end

-- The arrays that a text reads, as a sorted list.
function divided.arrays_in(text)
  local known, out = {}, {}
  for name in text:gmatch "([%a_][%w_]*)%[" do
    if not known[name] then out[#out + 1] = name end
    known[name] = true
  end
  table.sort(out)
  return out
end

-- Whether the reduction of an instruction has a second value, such as a flag that begins a segment.
function divided.has_two_values(insn)
  return insn.rhs:find "^reduce%(segmented" ~= nil or insn.rhs:find "^arg" ~= nil
end

-- The same for reductions of two values, whose terms stay in their order.
function divided.divide_pairs(knl, d, iname, over, size, memory)
  d.part, d.part_loop = fresh(knl, d.id .. "_part"), fresh(knl, iname .. "_part")
  d.start, d.start_loop = fresh(knl, d.id .. "_start"), fresh(knl, iname .. "_start")
  d.own_id, d.own = fresh(knl, d.id .. "_own"), fresh(knl, over .. "_own")
  d.parts, d.terms = fresh(knl, over .. "_block"), fresh(knl, over .. "_item")
  knl = lp.split_scan(knl, d.id, d.block, d.item, d.first, size,
                      {part_id = d.part, part_iname = d.part_loop, terms_iname = d.terms,
                       start_id = d.start, start_iname = d.start_loop, parts_iname = d.parts,
                       own_id = d.own_id, own_iname = d.own, temporary_address_space = memory})
  return knl, d
end

-- Divides the scan `id` along `iname` into blocks of `size` iterations. Its reduction over `over`,
-- whose first term is number `first` (an expression; a multiple of `size`), becomes
--
--   part[b] = the terms of block b      start[b] = of all part[c] before b
--   id: start[block] and the terms of the block up to the iteration's own, of which instruction
--       `own_id` is, if that is another one
--
-- with both arrays in the address space `memory`. Gives the kernel and the names: the loop `block`
-- over blocks, `item` in one; instructions `part` and `start` with their loops `part_loop` over
-- blocks (none where one block at most is before another) and `start_loop`; the terms of a part,
-- those of a start (`parts`) and of the instruction itself, `own`, from number `first` on.
function divided.divide(knl, id, iname, over, size, memory, first, slabs)
  local within = "id:" .. id
  local d = {id = id, own_id = id, block = fresh(knl, iname .. "_block"), item = fresh(knl, iname .. "_item")}
  knl = lp.split_iname(knl, iname, size, {outer_iname = d.block, inner_iname = d.item, slabs = slabs})
  d.first = (first and first .. " + " or "") .. ("%d*%s"):format(size, d.block)
  if divided.has_two_values(divided.instruction(knl, id)) then
    return divided.divide_pairs(knl, d, iname, over, size, memory)
  end

  -- The terms of the blocks before, and those of the block itself.
  local known, before = support.iname_set(knl), over
  d.own = fresh(knl, over .. "_own")
  knl = lp.split_reduction_at(knl, over, d.first, {from_iname = d.own})
  for _, each in ipairs(knl.inames) do
    if not known[each] and each ~= d.own then before = each end
  end
  d.parts, d.terms = fresh(knl, before .. "_block"), fresh(knl, before .. "_item")
  knl = lp.split_iname(knl, before, size, {outer_iname = d.parts, inner_iname = d.terms})
  knl = lp.split_reduction_inward(knl, d.terms, within)

  d.part, d.part_loop = fresh(knl, id .. "_part"), fresh(knl, iname .. "_part")
  local parts = fresh(knl, id .. "_parts")
  knl = lp.reduction_arg_to_subst_rule(knl, d.parts, within, {subst_rule_name = d.part})
  knl = lp.precompute(knl, d.part, {d.block, d.item, d.parts},
                      {temporary_name = parts, precompute_inames = {d.part_loop},
                       default_tag = false, temporary_address_space = memory,
                       compute_insn_id = d.part})
  if not support.iname_set(knl)[d.part_loop] then d.part_loop = nil end

  d.start, d.start_loop = fresh(knl, id .. "_start"), fresh(knl, iname .. "_start")
  local starts = fresh(knl, id .. "_starts")
  knl = lp.extract_subst(knl, d.start, reduction_text(divided.instruction(knl, id).rhs, d.parts),
                         {}, within)
  knl = lp.precompute(knl, d.start, {d.block, d.item},
                      {temporary_name = starts, precompute_inames = {d.start_loop},
                       default_tag = false, temporary_address_space = memory,
                       compute_insn_id = d.start})
  d.parts = divided.instruction(knl, d.start).reduction_inames[1]
  return knl, d
end

return divided
