-- `lp.auto(knl, options)`: a schedule that nobody wrote. Gives the kernel, and the script that makes
-- it, as text.
local lp = require "moonloop"
local support = require "moonloop.support"
local Script = require "moonloop.auto_script"
local Cpu = require "moonloop.auto_cpu"
local Device = require "moonloop.auto_device"

local kAbout = 1000   -- what a parameter is taken to be that nothing is known of
local kWorse = 1.15   -- times as long with threads as with one, from which on there is one

-- The predicted seconds of a kernel; or nothing, and why.
local function predicted(knl, target, params, device)
  local sizes = {}
  for _, each in ipairs(knl.args) do
    if not each.is_array then sizes[each.name] = params[each.name] or kAbout end
  end
  local done, result = pcall(lp.cost, knl, {target = target, params = sizes, device = device})
  if not done then return nil, tostring(result):match "[^\n]*" end
  for _, remark in ipairs(result.remarks) do
    if remark:find "not affine" then return nil, remark end
  end
  return result.seconds
end

-- The script, or one without its threads where the model predicts that they only cost time.
local function with_threads_that_pay(script, params, device)
  if not script:has "par" then return script end
  local with, why = predicted(script.knl, "openmp", params, device)
  local without = with and predicted(script.knl, "c", params, device)
  if not without then
    script:note(("whether threads pay is not predicted: %s"):format(why))
    return script
  end
  if with <= kWorse*without then return script end
  local one = script:without "par"
  if not one then return script end
  one:note(("one thread: with more, it is predicted to take %.1f times as long"):format(with/without))
  return one
end

local kTargets = {
  c = function(script, options) return Cpu.schedule(script, options) end,
  openmp = function(script, options)
    options.threads = true
    return with_threads_that_pay(Cpu.schedule(script, options), options.params, options.device)
  end,
  cuda = function(script, options) return Device.schedule(script, options) end,
  opencl = function(script, options) return Device.schedule(script, options) end,
}

local function list_of(params)
  local names, out = {}, {}
  for name in pairs(params) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do out[i] = ("%s = %s"):format(name, params[name]) end
  return table.concat(out, ", ")
end

return function(knl, options)
  support.kernel("auto", knl)
  options = support.options("auto", 2, options, "device, params, prefix, target")
  local target = options.target or "c"
  local schedule = kTargets[target]
  support.check(schedule, "auto", 2, "no schedules for target '%s'; there are some for c, openmp, opencl and cuda",
                target)
  local params = options.params or {}
  local function accepts(knl) return (pcall(knl.code, knl, target)) end
  local prefix = options.prefix or ""
  local script = schedule(Script.of(knl, prefix), {params = params, device = options.device})
  if not accepts(script.knl) then  -- some step leads to what the target cannot express
    script = schedule(Script.of(knl, prefix), {params = params, device = options.device, accepts = accepts})
  end
  local sizes = next(params) and " of about " .. list_of(params) or ""
  local head = ("`moonloop auto` for `%s` on %s%s"):format(knl.name, target, sizes)
  return script:tuned(), script:text(head)
end
