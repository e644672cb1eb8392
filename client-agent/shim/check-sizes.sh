#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that no C file in the folders given is longer than `file_lines`, but for those listed here, and that no
# function is longer than `function_lines`. A file that has become short must be taken off the list.
set -eu

file_lines=350
function_lines=60
long_files='c/compat/export_tables.c c/graph/graph_exec.c c/memory/memcpy3d.c c/memory/mirror.c
  c/threads_test.c'

find "$@" -name '*.[ch]' | LC_ALL=C sort | xargs awk -v file_lines="$file_lines" -v function_lines="$function_lines" \
  -v long_files="$long_files" -v folders="$*" '
  function fault(text) {
    print "shim: " text >"/dev/stderr"
    faults++
  }
  FNR == 1 { end_file(); file = FILENAME; first = 0 }
  { length_of_file = FNR }
  # A function begins with a line at the margin that has a parenthesis, and ends with a brace there.
  /^[A-Za-z_].*\(/ && !/;$/ { first = FNR; name = $0 }
  /^}/ {
    if (first && FNR - first + 1 > function_lines)
      fault(file ":" first ": " FNR - first + 1 " lines, more than " function_lines ": " name)
    first = 0
  }
  function end_file(listed, folder, short) {
    if (!file) return
    short = file
    for (folder in roots) sub("^" roots[folder] "/", "", short)
    if (short in expected) {
      found[short]
      if (length_of_file <= file_lines) fault(file " is short enough: take it off the list in check-sizes.sh")
    } else if (length_of_file > file_lines)
      fault(file ": " length_of_file " lines, more than " file_lines)
  }
  BEGIN {
    split(folders, roots, " ")
    split(long_files, list, " ")
    for (i in list) expected[list[i]]
  }
  END {
    end_file()
    for (listed in expected) if (!(listed in found)) fault("check-sizes.sh lists " listed ", which is not there")
    exit faults > 0
  }'
