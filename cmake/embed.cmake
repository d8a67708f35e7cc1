# cmake -DFILES=a.lua;b.lua -DOUTPUT=x.cpp -P embed.cmake: the files of the bundled Lua library as a
# table of names and texts.
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  string(APPEND rows "    {\"${name}\", R\"lua(${text})lua\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"scripts/library.h\"

namespace moonloop {

const std::vector<LibraryFile>& library_files() {
  static const std::vector<LibraryFile> kFiles{
${rows}  };
  return kFiles;
}

}  // namespace moonloop
")
