# cmake -DFILE=a.html -DOUTPUT=x.cpp -DHEADER=h -DFUNCTION=f -P embed_text.cmake: a text as what a
# function gives, in pieces that compilers take.
file(READ "${FILE}" text)
string(LENGTH "${text}" length)
set(pieces "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "\n         R\"text(${piece})text\"")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace moonloop {

std::string ${FUNCTION}() {
  return${pieces};
}

}  // namespace moonloop
")
