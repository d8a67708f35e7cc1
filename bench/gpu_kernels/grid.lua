-- A tile goes through local memory, so that both arrays are walked along their rows; a gap in its rows
-- keeps those who walk down a column on different banks. Each work-item has four elements of it.
transpose = lp.split_iname(transpose, "i", 32, {outer_tag = "g.1"})
transpose = lp.split_iname(transpose, "j", 32, {outer_tag = "g.0", inner_tag = "l.0"})
transpose = lp.add_prefetch(transpose, "a", "i_inner, j_inner", {dim_arg_names = {"row", "column"}, default_tag = "for"})
transpose = lp.add_padding(transpose, "a_fetch", 0, 33*4)
transpose = lp.split_iname(transpose, "i_inner", 8, {outer_tag = "unr", inner_tag = "l.1"})
transpose = lp.split_iname(transpose, "row", 8, {outer_tag = "unr", inner_tag = "l.1"})
transpose = lp.tag_inames(transpose, "column:l.0")

local function spread(knl)
  knl = lp.split_iname(knl, "j", 128, {outer_tag = "g.0", inner_tag = "l.0"})
  return lp.split_iname(knl, "i", 4, {outer_tag = "g.1", inner_tag = "l.1"})
end
five_point, star = spread(five_point), spread(star)
