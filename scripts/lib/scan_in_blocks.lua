local lp = require "moonloop"
local support = require "moonloop.support"
local divided = require "moonloop.divided_scan"

--- Computes the sums of all beginnings of an array in three phases, two of them in parallel.
---
---     for i: y[i] = sum(j, x[j]) with j <= i    becomes    for blocks, in parallel: sum each block
---                                                          for blocks: add up the sums before it
---                                                          for blocks, in parallel: for i in it:
---                                                            y[i] is these and what comes before i
---
--- For other operations than sums too. Loops around stay around all three phases.
---
--- Reductions of two values, such as `segmented(sum)` and `argmax`, can be scanned, too.
---
--- Refuses instructions without exactly one reduction, and reductions
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
  local insn = divided.checked("scan_in_blocks", knl, id, iname)
  options = support.options("scan_in_blocks", 4, options, "size, tag")
  local tag = options.tag or "par"
  support.string("scan_in_blocks", 4, tag)
  local device = tag:find "^g%." ~= nil
  local size = support.integer("scan_in_blocks", 4, options.size or device and 128 or 1024, 1)
  local d
  knl, d = divided.divide(knl, id, iname, insn.reduction_inames[1], size,
                          device and "global" or "auto")
  if device then
    knl = lp.split_iname(knl, d.start_loop, size, {inner_tag = "l.0"})
    knl = lp.tag_inames(knl, {[d.item] = "l.0"})
  end
  knl = lp.realize_reduction(knl, "id:" .. d.start, {force_scan = true})
  knl = divided.in_order(knl, d.own_id, d.item)
  knl = lp.tag_inames(knl, {[d.block] = tag})
  if d.part_loop then  -- else there is one block before at most
    knl = lp.tag_inames(knl, {[d.part_loop] = tag})
  end
  if d.own_id ~= id then  -- the order may count: each work-item has neighbouring terms
    if not device then return knl end
    return lp.split_iname(knl, d.terms, (size + 31)//32, {outer_tag = "l.0"})
  end
  return lp.tag_inames(knl, {[d.terms] = device and "l.0" or "simd"})
end

return scan_in_blocks
