-- `lp.auto(knl, options)`: a schedule that nobody wrote. Gives the kernel, and the script that makes
-- it, as text.
local support = require "moonloop.support"
local Script = require "moonloop.auto_script"
local Cpu = require "moonloop.auto_cpu"
local Device = require "moonloop.auto_device"

local kTargets = {
  c = function(script, options) return Cpu.schedule(script, options) end,
  openmp = function(script, options)
    options.threads = true
    return Cpu.schedule(script, options)
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
  options = support.options("auto", 2, options, "params, prefix, target")
  local target = options.target or "c"
  local schedule = kTargets[target]
  support.check(schedule, "auto", 2, "no schedules for target '%s'; there are some for c, openmp, opencl and cuda",
                target)
  local params = options.params or {}
  local function accepts(knl) return (pcall(knl.code, knl, target)) end
  local prefix = options.prefix or ""
  local script = schedule(Script.of(knl, prefix), {params = params})
  if not accepts(script.knl) then  -- some step leads to what the target cannot express
    script = schedule(Script.of(knl, prefix), {params = params, accepts = accepts})
  end
  local sizes = next(params) and " of about " .. list_of(params) or ""
  local head = ("`moonloop auto` for `%s` on %s%s"):format(knl.name, target, sizes)
  return script:tuned(), script:text(head)
end
