local lp = require "moonloop"
local support = require "moonloop.support"
local divided = require "moonloop.divided_scan"

-- The iterations of that loop add their terms to what the one before had.
local function in_order(knl, id, iname)
  return lp.realize_reduction(knl, "id:" .. id,
                              {force_scan = true, force_outer_iname_for_scan = iname})
end

-- Each work-item of a group adds up `each` elements of a block, the sums are scanned by the group
-- in steps, and each work-item scans its own from there. Terms and results are in local memory in
-- between, so that neighbouring work-items read and write neighbouring elements.
local function in_group(knl, d, how)
  local array = divided.instruction(knl, d.id).writes[1]
  local term, terms = divided.fresh(knl, d.id .. "_term"), divided.fresh(knl, d.id .. "_terms")
  local results = divided.fresh(knl, d.id .. "_results")
  knl = lp.reduction_arg_to_subst_rule(knl, d.own, "id:" .. d.id, {subst_rule_name = term})
  local w
  knl, w = divided.divide(knl, d.id, d.item, d.own, how.each, "local", d.first)
  local sweep = {w.part_loop, w.terms, w.block, w.item, w.own}
  knl = lp.precompute(knl, term, sweep,
                      {within = ("id:%s or id:%s"):format(w.part, d.id), temporary_name = terms,
                       temporary_address_space = "local", default_tag = "l.auto"})
  knl = lp.buffer_array(knl, array, {w.block, w.item},
                        {within = "id:" .. d.id, init_expression = how.init, temporary_scope = "local",
                         temporary_name = results, default_tag = "l.auto"})
  knl = lp.tag_inames(knl, {[w.start_loop] = how.tag})
  knl = in_order(knl, w.start, w.start_loop)
  knl = in_order(knl, d.id, w.item)
  return lp.tag_inames(knl, {[w.part_loop] = how.tag, [w.block] = how.tag})
end

local function scan(knl, id, iname, options)
  support.kernel("scan", knl)
  support.string("scan", 2, id)
  local insn = divided.instruction(knl, id)
  support.check(insn, "scan", 2, "kernel '%s' has no instruction '%s'", knl.name, id)
  support.check(#insn.reduction_inames == 1, "scan", 2,
                "instruction '%s' has reductions over %d inames, not one", id,
                #insn.reduction_inames)
  support.iname("scan", 3, knl, iname)
  options = support.options("scan", 4, options, "items, each, group_tag, item_tag")
  local how = {items = support.integer("scan", 4, options.items or 256, 2),
               each = support.integer("scan", 4, options.each or 9, 2),
               tag = options.item_tag or "l.0", init=0}
  local group = options.group_tag or "g.0"
  local size = how.items*how.each

  local d, s
  knl, d = divided.divide(knl, id, iname, insn.reduction_inames[1], size, "global")
  -- The parts of blocks are scanned by one group, block by block.
  local wide = how.items
  knl, s = divided.divide(knl, d.start, d.start_loop, d.parts, wide*how.each, "global")
  knl = in_group(knl, s, {each = how.each, tag = how.tag, init=0})
  knl = in_order(knl, s.start, s.start_loop)
  knl = in_group(knl, d, how)
  for _, each in ipairs {d, s} do
    knl = lp.split_iname(knl, each.terms, how.items, {inner_tag = how.tag})
  end
  knl = lp.tag_inames(knl, {[d.block] = group})
  if d.part_loop then knl = lp.tag_inames(knl, {[d.part_loop] = group}) end
  return knl
end

return scan
