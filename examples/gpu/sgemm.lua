-- Each group computes a 128 x 128 block of c, each work-item 8 x 8 elements of it in registers; tiles
-- of a and b go through local memory, 8 steps of k at a time. Whole blocks need no guards.
sgemm = lp.assume(sgemm, "n mod 128 = 0 and n >= 128")
sgemm = lp.split_iname(sgemm, "i", 128, {outer_tag = "g.1"})
sgemm = lp.split_iname(sgemm, "j", 128, {outer_tag = "g.0"})
sgemm = lp.split_iname(sgemm, "i_inner", 8, {outer_iname = "i_item", inner_iname = "i_reg", outer_tag = "l.1"})
sgemm = lp.split_iname(sgemm, "j_inner", 8, {outer_iname = "j_item", inner_iname = "j_reg", outer_tag = "l.0"})
sgemm = lp.split_iname(sgemm, "k", 8)
sgemm = lp.prioritize_loops(sgemm, "k_outer, k_inner, i_reg, j_reg")

-- The sum starts from nothing in registers; its terms may be added in any order.
sgemm = lp.buffer_array(sgemm, "c", "k_outer, k_inner, i_reg, j_reg", "0", "base + buffer",
                        {default_tag = "unr", temporary_scope = "private"})
sgemm = lp.add_prefetch(sgemm, "a", "i_item, i_reg, k_inner")
sgemm = lp.add_prefetch(sgemm, "b", "j_item, j_reg, k_inner")
sgemm = lp.tag_inames(sgemm, "i_reg:unr, j_reg:unr")
