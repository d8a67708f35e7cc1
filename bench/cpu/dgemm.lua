local lib = require "moonloop.lib"
dgemm = lib.packed_product(dgemm, {i = 8, j = 24, k = 512}, "k", {tag = "par"})
