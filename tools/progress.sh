#!/usr/bin/env bash
# Shortens what ninja says on stdin to how far it is and how long it will still take: one line that
# is written anew on a terminal, else a line for each tenth of the way or every 15 s. Everything that
# is no step of its own (a command that failed, with its output) passes through whole.
#
# Expects NINJA_STATUS="[%f/%t %e] ". Uses nothing but bash: it runs before anything is installed.
set -uo pipefail

what=${1:-building}
terminal=0
[ -t 1 ] && terminal=1
shown=0        # of the last line: tenths of the way
shown_at=0     # and seconds
open_line=0    # whether the terminal's cursor stands at the end of one

clear_line() {
  [ $open_line = 0 ] || printf '\r\033[K'
  open_line=0
}

readable() { # seconds
  if [ "$1" -ge 90 ]; then echo "$((($1 + 30) / 60)) min"; else echo "$1 s"; fi
}

# Steps differ, so this is no promise; of the first few nothing can be said.
time_left() { # finished total seconds
  [ "$1" -ge 3 ] && [ "$3" -ge 3 ] || return
  echo ", about $(readable $(($3 * ($2 - $1) / $1))) left"
}

step() { # finished total seconds
  local tenths=$((10 * $1 / $2)) line
  if [ $terminal = 0 ]; then
    [ "$1" = "$2" ] || [ $tenths -gt $shown ] || [ $(($3 - shown_at)) -ge 15 ] || return
    shown=$tenths
    shown_at=$3
  fi
  line="$what: $1 of $2 steps"
  if [ "$1" = "$2" ]; then line+=", $(readable "$3")"; else line+=$(time_left "$1" "$2" "$3"); fi
  if [ $terminal = 1 ]; then
    printf '\r\033[K%s' "$line"
    open_line=1
  else
    echo "$line"
  fi
}

while IFS= read -r line || [ -n "$line" ]; do
  # Of these the build looks at nothing but the lists of files.
  if [[ $line == *"] Re-checking globbed directories..." ]]; then
    continue
  elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\ ([0-9]+)\.?[0-9]*\]\  ]]; then
    step "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
  elif [ "$line" != "ninja: no work to do." ]; then
    clear_line
    printf '%s\n' "$line"
  fi
done
[ $open_line = 0 ] || echo
