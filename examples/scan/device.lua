-- All groups of a device scan blocks, whose sums one group scans in between.
local lib = require "moonloop.lib"
scan = lib.scan(scan, "add", "i")
