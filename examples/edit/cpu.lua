-- The cells of a diagonal do not depend on one another: threads share them.
local lib = require "moonloop.lib"
edit = lib.wavefront(edit, "i", "j")
